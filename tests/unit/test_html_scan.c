/* The HTML scanner: what it reports for a source, with and without holes. */
#include <check.h>
#include <string.h>

#include "base/buf.h"
#include "message/html_scan.h"
#include "message/template_token.h"

#include "../support/suite.h"

struct trace {
    const char *src;
    struct buf out;
    size_t text_end; /* adjoining pieces of text are one */
};

static void
on_text(size_t from, size_t to, bool is_raw, void *arg)
{
    struct trace *t = arg;

    if (t->text_end != from || t->out.n == 0)
        buf_append_str(&t->out, is_raw ? "R:" : "T:");
    else
        t->out.n--;
    buf_append(&t->out, t->src + from, to - from);
    buf_append_char(&t->out, '|');
    t->text_end = to;
}

static void
on_attr(const struct html_attr *attr, void *arg)
{
    struct trace *t = arg;

    buf_append_slice(&t->out, attr->name);
    if (attr->has_value) {
        buf_append_char(&t->out, '=');
        if (attr->quote != 0)
            buf_append_char(&t->out, attr->quote);
        buf_append(&t->out, t->src + attr->from, attr->to - attr->from);
    }
    buf_append_str(&t->out, attr->has_hole ? " (hole)," : ",");
}

static void
on_tag(const struct html_tag *tag, void *arg)
{
    struct trace *t = arg;

    buf_append_str(&t->out, tag->is_end ? "</" : "<");
    buf_append_slice(&t->out, tag->name);
    buf_append_str(&t->out, tag->is_self_closed ? "/>|" : ">|");
    ck_assert_int_eq(t->src[tag->from], '<');
    ck_assert_int_eq(t->src[tag->to - 1], '>');
}

static void
scan(struct trace *t, const char *source)
{
    struct html_events events = {on_text, on_attr, on_tag, t};
    struct template_tokens tokens;
    struct html_scan s;

    t->src = source;
    t->text_end = SIZE_MAX;
    buf_clear(&t->out);
    ck_assert_int_eq(template_tokens_scan(slice_str(source), &tokens, NULL), 0);
    html_scan_init(&s, source, &events);
    for (size_t i = 0; i < tokens.n; i++) {
        const struct template_token *token = &tokens.items[i];

        if (token->kind != TOKEN_TEXT)
            html_scan_hole(&s, token->from, token->to);
        else
            html_scan_feed(&s, token->from, token->to);
    }
    template_tokens_deinit(&tokens);
}

static const char *const rows[][2] = {
    {"a<b>c</b>d", "T:a|<b>|T:c|</b>|T:d|"},
    {"1 < 2 <3", "T:1 < 2 <3|"},
    {"<a href=\"x\" title='y' z=w on>t</a >", "href=\"x,title='y,z=w,on,<a>|T:t|</a>|"},
    {"<a href = \"x>y\"class=b/>", "href=\"x>y,class=b/,<a>|"},
    {"<br/><br />", "<br/>|<br/>|"},
    {"<p a=>x", "a,<p>|T:x|"},
    {"<p =a=b>", "=a=b,<p>|"},
    {"<!-- <a href=x> -->y", "T:y|"},
    {"<!-->x<!--->y<!---->z<!-- --!>w", "T:x|T:y|T:z|T:w|"},
    {"<!--[if mso]><a href=\"x\"><![endif]-->k", "T:k|"},
    {"<![if !mso]>k<![endif]>", "T:k|"},
    {"<!doctype html><?xml a?></ x>t", "T:t|"},
    {"<style>a > b { } </style>t", "<style>|R:a > b { } |</style>|T:t|"},
    {"<SCRIPT>if (a < b) \"</scriptx>\"</Script >t",
        "<SCRIPT>|R:if (a < b) \"</scriptx>\"|</Script>|T:t|"},
    {"<title>a<b></title><textarea><a href=x></textarea>",
        "<title>|R:a<b>|</title>|<textarea>|R:<a href=x>|</textarea>|"},
    {"<a href=\"unfinished", ""},
    {"<", ""},
    {"a{{x}}b<p {{y}} class=\"c{{z}}\">", "T:a|T:b|class=\"c{{z}} (hole),<p>|"},
    {"<a {{#if x}}href=\"p\"{{else}}href='q'{{/if}}>", "href=\"p,href='q,<a>|"},
    {"<a{{#if x}} href=\"p\"{{/if}}>", "href=\"p,<a>|"},
    {"<a href={{x}}>k", "href={{x}} (hole),<a>|T:k|"},
    {"<a href={{x}}&amp;{{y}} b>k", "href={{x}}&amp;{{y}} (hole),b,<a>|T:k|"},
    {"<p {{name}}=\"a>b\" c>", "=\"a>b,c,<p>|"},
    {"<p data-{{n}}=\"1\">", "data-=\"1,<p>|"},
    {"<{{tag}} a=b>x</{{tag}}>", "a=b,<>|T:x|</>|"},
    {"<h{{n}} a>x</h{{n}}>", "a,<h>|T:x|</h>|"},
    {"<p title=\"{{lookup a \">\"}}\">x", "title=\"{{lookup a \">\"}} (hole),<p>|T:x|"},
    {"<p a {{x}}>", "a,<p>|"},
};

START_TEST(sources)
{
    struct trace t = {0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scan(&t, rows[i][0]);
        if (strcmp(buf_cstr(&t.out), rows[i][1]) != 0)
            ck_abort_msg(
                "%s\n  gives    %s\n  expected %s", rows[i][0], buf_cstr(&t.out), rows[i][1]);
    }
    buf_deinit(&t.out);
}
END_TEST

START_TEST(void_elements)
{
    ck_assert(html_is_void(SLICE_LIT("BR")));
    ck_assert(html_is_void(SLICE_LIT("img")));
    ck_assert(!html_is_void(SLICE_LIT("a")));
    ck_assert(!html_is_void(SLICE_LIT("")));
}
END_TEST

SUITE_MAIN("html_scan", sources, void_elements)
