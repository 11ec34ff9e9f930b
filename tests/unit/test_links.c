/* Link tables: which hrefs are tracked, what is written in their place, and that nothing else moves. */
#include <check.h>
#include <string.h>

#include "base/rand.h"
#include "message/links.h"

#include "../support/suite.h"
#include "../support/template_world.h"

static const char context[] =
    "{\"site\":\"https://example.net/a?b=1&c=2\",\"script\":\"javascript:alert(1)\",\"slug\":\"x "
    "y\","
    "\"q\":\"a&b=c\",\"yes\":true,\"no\":false,\"list\":[\"1\",\"2\"],"
    "\"unsubscribeUrl\":\"https://m.example.com/m/unsub/T\",\"mail\":\"mailto:x@example.com\"}";

static void
on_click(uint32_t ordinal, struct buf *out, void *arg)
{
    (void)arg;
    buf_printf(out, "CLICK%u", ordinal);
}

static void
on_click_dynamic(uint32_t ordinal, struct slice target, struct buf *out, void *arg)
{
    struct buf *seen = arg;

    buf_append_slice(seen, target);
    buf_append_char(seen, '\n');
    buf_printf(out, "DYN%u", ordinal);
}

static void
on_open(struct buf *out, void *arg)
{
    (void)arg;
    buf_append_str(out, "https://m.example.com/o?a&b");
}

static void
on_inert(uint32_t ordinal, void *arg)
{
    if (ordinal == LINK_NONE)
        buf_append_str(arg, "inert\n");
    else
        buf_printf(arg, "inert %u\n", ordinal);
}

/* One compiled source and what a run says about it. */
struct trial {
    struct template_world w;
    struct template *t;
    const struct link_table *table;
    struct buf seen;
    struct template_links links;
};

static void
trial_init(struct trial *x, const char *html, bool track_clicks, bool track_opens)
{
    memset(x, 0, sizeof *x);
    template_world_init(&x->w, context);
    x->t = links_compile_html(slice_str(html), track_clicks, track_opens, &x->table, &x->w.err);
    x->links = (struct template_links){on_click, on_click_dynamic, on_open, on_inert, &x->seen};
    if (x->t == NULL)
        ck_abort_msg("%s: %s", html, x->w.err.text);
}

static void
trial_deinit(struct trial *x)
{
    template_free(&x->t);
    buf_deinit(&x->seen);
    template_world_deinit(&x->w);
}

static const char *
trial_run(struct trial *x)
{
    const char *got = template_world_run(&x->w, x->t, &x->links);

    if (got == NULL)
        ck_abort_msg("%s", x->w.err.text);
    return got;
}

static const struct {
    const char *html, *expected;
    size_t n_links, n_inert;
} rows[] = {
    {"<a href=\"https://example.com/\">x</a>", "<a href=\"CLICK0\">x</a>", 1, 0},
    {"<A class=b HREF='http://example.com/?a=1'>x</A>", "<A class=b HREF='CLICK0'>x</A>", 1, 0},
    {"<a href=\"https://a.example\">1</a><a href=\"https://a.example\">2</a>",
        "<a href=\"CLICK0\">1</a><a href=\"CLICK1\">2</a>", 2, 0},
    {"<a href = \" https://a.example/ \">x</a>", "<a href = \"CLICK0\">x</a>", 1, 0},
    {"<a title=\"a>b\" href=\"https://a.example\"/>", "<a title=\"a>b\" href=\"CLICK0\"/>", 1, 0},
    {"<a href=https://a.example>x</a>", "<a href=https://a.example>x</a>", 0, 0},
    {"<map><area href=\"https://a.example\"></map>", "<map><area href=\"https://a.example\"></map>",
        0, 0},
    {"<link href=\"https://a.example\">", "<link href=\"https://a.example\">", 0, 0},
    {"<a data-mailshot-notrack=\"true\" href=\"https://a.example\">x</a>",
        "<a data-mailshot-notrack=\"true\" href=\"https://a.example\">x</a>", 0, 0},
    {"<a href=\"https://a.example\" data-mailer-notrack='TRUE'>x</a>",
        "<a href=\"https://a.example\" data-mailer-notrack='TRUE'>x</a>", 0, 0},
    {"<a data-mailshot-notrack=\"false\" href=\"https://a.example\">x</a>",
        "<a data-mailshot-notrack=\"false\" href=\"CLICK0\">x</a>", 1, 0},
    {"<a href=\"\">x</a><a href=\"/p\">x</a><a href=\"p.html\">x</a>",
        "<a href=\"\">x</a><a href=\"/p\">x</a><a href=\"p.html\">x</a>", 0, 3},
    {"<a href=\"http://\">x</a><a href=\"https:///p\">x</a><a href=\"ftp://a.example\">x</a>",
        "<a href=\"http://\">x</a><a href=\"https:///p\">x</a><a href=\"ftp://a.example\">x</a>", 0,
        3},
    {"<!-- <a href=\"https://a.example\"> --><a href=\"https://b.example\">x</a>",
        "<!-- <a href=\"https://a.example\"> --><a href=\"CLICK0\">x</a>", 1, 0},
    {"<!--[if mso]><a href=\"https://a.example\">x</a><![endif]--><![if !mso]><a "
     "href=\"https://b.example\">y</a><![endif]>",
        "<!--[if mso]><a href=\"https://a.example\">x</a><![endif]--><![if !mso]><a "
        "href=\"CLICK0\">y</a><![endif]>",
        1, 0},
    {"<style>/* <a href=\"https://a.example\"> */</style><script>'<a "
     "href=\"https://a.example\">'</script>",
        "<style>/* <a href=\"https://a.example\"> */</style><script>'<a "
        "href=\"https://a.example\">'</script>",
        0, 0},
    {"<textarea><a href=\"https://a.example\"></textarea>",
        "<textarea><a href=\"https://a.example\"></textarea>", 0, 0},
    {"<a {{#if yes}}href=\"https://a.example\"{{else}}href='https://b.example'{{/if}}>x</a>",
        "<a href=\"CLICK0\">x</a>", 2, 0},
    {"{{#each list}}<a href=\"https://a.example\">{{this}}</a>{{/each}}",
        "<a href=\"CLICK0\">1</a><a href=\"CLICK0\">2</a>", 1, 0},
    {"<table>{{#each list}}<tr {{@root.slug}}><td>{{#if @root.yes}}<a "
     "href=\"https://a.example\">{{/if}}{{this}}</a></td></tr>{{/each}}</table>",
        "<table><tr x y><td><a href=\"CLICK0\">1</a></td></tr><tr x y><td><a "
        "href=\"CLICK0\">2</a></td></tr></table>",
        1, 0},
    {"<a{{#if yes}} href=\"https://a.example\"{{/if}}>x</a>", "<a href=\"CLICK0\">x</a>", 1, 0},
    {"<p>{{slug}}<a title=\"{{lookup list \">\"}}\" href=\"https://a.example\">x</a>",
        "<p>x y<a title=\"\" href=\"CLICK0\">x</a>", 1, 0},
    {"<a href=\"{{unsubscribeUrl}}\">x</a><a href=' {{{ @root.unsubscribeUrl }}} '>y</a>",
        "<a href=\"https://m.example.com/m/unsub/T\">x</a><a href=' "
        "https://m.example.com/m/unsub/T '>y</a>",
        0, 0},
    {"<a href=\"mailto:a@example.com?subject={{q}}\">x</a>",
        "<a href=\"mailto:a@example.com?subject=a%26b%3Dc\">x</a>", 0, 1},
    {"<b><p><a href=\"https://a.example\">x</b>y</a>", "<b><p><a href=\"CLICK0\">x</b>y</a>", 1, 0},
};

START_TEST(hrefs)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trial x;
        const char *got;

        trial_init(&x, rows[i].html, true, false);
        got = trial_run(&x);
        if (strcmp(got, rows[i].expected) != 0)
            ck_abort_msg("%s\n  gives    %s\n  expected %s", rows[i].html, got, rows[i].expected);
        if (x.table->n_links != rows[i].n_links || x.table->n_inert != rows[i].n_inert)
            ck_abort_msg(
                "%s: %zu links, %zu inert", rows[i].html, x.table->n_links, x.table->n_inert);
        trial_deinit(&x);
    }
}
END_TEST

START_TEST(dynamic_targets)
{
    static const struct {
        const char *html, *expected, *seen;
    } dynamic[] = {
        {"<a href=\"{{site}}\">x</a>", "<a href=\"DYN0\">x</a>", "https://example.net/a?b=1&c=2\n"},
        {"<a href=\"{{{site}}}\">x</a>", "<a href=\"DYN0\">x</a>",
            "https://example.net/a?b=1&c=2\n"},
        {"<a href=\"https://a.example/{{slug}}?a=1&amp;q={{q}}&amp;r={{{q}}}\">x</a>",
            "<a href=\"DYN0\">x</a>", "https://a.example/x%20y?a=1&q=a%26b%3Dc&r=a&b=c\n"},
        {"<a href=\"{{#if no}}https://a.example{{else}}https://b.example/{{slug}}{{/if}}\">x</a>",
            "<a href=\"DYN0\">x</a>", "https://b.example/x%20y\n"},
        {"<a href=\" {{site}} \">x</a>", "<a href=\"DYN0\">x</a>",
            "https://example.net/a?b=1&c=2\n"},
        {"<a href=\"http{{#if yes}}s{{/if}}://a.example\">x</a>", "<a href=\"DYN0\">x</a>",
            "https://a.example\n"},
        {"<a href=\"{{script}}\">x</a>", "<a href=\"#\">x</a>", "inert 0\n"},
        {"<a href=\"{{missing}}\">x</a>", "<a href=\"#\">x</a>", "inert 0\n"},
        {"<a href=\"{{mail}}\">x</a>", "<a href=\"#\">x</a>", "inert 0\n"},
        {"<a href=\"java{{#if yes}}script:{{/if}}x\">x</a>", "<a href=\"#\">x</a>", "inert 0\n"},
        {"<a href={{script}}>x</a>", "<a href=#>x</a>", "inert\n"},
        {"<area href=\"{{script}}\">", "<area href=\"#\">", "inert\n"},
        {"<a data-mailshot-notrack=\"true\" href=\"{{script}}\">x</a>",
            "<a data-mailshot-notrack=\"true\" href=\"#\">x</a>", "inert\n"},
        {"<a href={{site}}>x</a>", "<a href=https://example.net/a?b&#x3D;1&amp;c&#x3D;2>x</a>", ""},
        {"<a href=\"https://a.example/{{~ slug ~}} \">x</a>", "<a href=\"DYN0\">x</a>",
            "https://a.example/x%20y\n"},
        {"<a href=\"https://a.example\\{{x}}/{{slug}}\">x</a>", "<a href=\"DYN0\">x</a>",
            "https://a.example{{x}}/x%20y\n"},
        {"{{#each list}}<a href=\"https://a.example/{{this}}\">x</a>{{/each}}",
            "<a href=\"DYN0\">x</a><a href=\"DYN0\">x</a>",
            "https://a.example/1\nhttps://a.example/2\n"},
    };

    for (size_t i = 0; i < sizeof dynamic / sizeof dynamic[0]; i++) {
        struct trial x;
        const char *got;

        trial_init(&x, dynamic[i].html, true, false);
        got = trial_run(&x);
        if (strcmp(got, dynamic[i].expected) != 0 ||
            strcmp(buf_cstr(&x.seen), dynamic[i].seen) != 0)
            ck_abort_msg("%s\n  gives    %s %s\n  expected %s %s", dynamic[i].html, got,
                buf_cstr(&x.seen), dynamic[i].expected, dynamic[i].seen);
        trial_deinit(&x);
    }
}
END_TEST

START_TEST(without_a_rewriter_links_stay)
{
    static const char html[] =
        "<body><a href=\"https://a.example/?x=1&amp;y=2\">x</a><a href=\"{{site}}\">y</a>"
        "<a href=\"{{script}}\">z</a></body>";
    struct trial x;

    trial_init(&x, html, true, true);
    ck_assert_str_eq(template_world_run(&x.w, x.t, NULL),
        "<body><a href=\"https://a.example/?x=1&amp;y=2\">x</a>"
        "<a href=\"https://example.net/a?b&#x3D;1&amp;c&#x3D;2\">y</a><a href=\"#\">z</a></body>");
    x.links = (struct template_links){0};
    ck_assert_ptr_nonnull(template_world_run(&x.w, x.t, &x.links));
    trial_deinit(&x);
}
END_TEST

START_TEST(pixel_stands_before_the_last_body_end)
{
    static const char pixel[] =
        "<img src=\"https://m.example.com/o?a&amp;b\" width=\"1\" height=\"1\" alt=\"\" "
        "style=\"display:block;border:0\">";
    static const char *const places[][2] = {{"<body>x", "</body></html>"},
        {"<body>x</body>y", "</BODY>"}, {"<p>x</p>", ""}, {"<body>x<!-- </body> -->", ""},
        {"<body><a href=\"https://a.example\">k</a>", "</body><a href=\"https://b.example\">l</a>"},
        {"", ""}};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct trial x;
        char html[256], expected[512];

        snprintf(html, sizeof html, "%s%s", places[i][0], places[i][1]);
        snprintf(expected, sizeof expected, "%s%s%s", places[i][0], pixel, places[i][1]);
        trial_init(&x, html, false, true);
        ck_assert_str_eq(trial_run(&x), expected);
        ck_assert_str_eq(template_world_run(&x.w, x.t, NULL), html);
        trial_deinit(&x);
    }
}
END_TEST

START_TEST(faults)
{
    static const struct {
        const char *html, *sub, *text;
    } bad[] = {
        {"<p>\n<a href=\"javascript:alert(1)\">", "bad_link", "line 2, column 10: "},
        {"<a href='JavaScript:x'>", "bad_link", "line 1"},
        {"<a href=\" java\nscript:x\">", "bad_link", "line 1"},
        {"<a href=\"&#106;avascript&colon;x&#58;\">", NULL, NULL},
        {"<a href=\"&#106;avascript&#58;x\">", "bad_link", "line 1"},
        {"<a href=\"data:text/html,x\">", "bad_link", "line 1"},
        {"<area href=\"vbscript:x\">", "bad_link", "line 1"},
        {"<a href=javascript:x>", "bad_link", "line 1"},
        {"<a href=\"javascript:{{q}}\">", "bad_link", "line 1"},
        {"<a href=\"https://a.example/{{#if yes}}\">x</a>{{/if}}", "bad_link", "line 1"},
        {"{{#if yes}}<a href=\"https://a.example/{{q}}{{/if}}\">", "template_syntax", "line 1"},
        {"<a href={{#if yes}}\"https://a.example\"{{/if}}>", "bad_link", "line 1"},
        {"<a href=\"{{q\">", "template_syntax", "line 1, column 10"},
        {"<a href=\"{{shout q}}\">", "template_syntax", "line 1, column 10: missing helper"},
    };
    const struct link_table *table;
    struct err err;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct template *t;

        err_clear(&err);
        t = links_compile_html(slice_str(bad[i].html), true, true, &table, &err);
        if ((t == NULL) != (bad[i].sub != NULL))
            ck_abort_msg("%s: %s", bad[i].html, t == NULL ? err.text : "no error");
        if (t == NULL && (strcmp(err.sub, bad[i].sub) != 0 ||
                             strncmp(err.text, bad[i].text, strlen(bad[i].text)) != 0))
            ck_abort_msg("%s: [%s] %s", bad[i].html, err.sub, err.text);
        template_free(&t);
    }
}
END_TEST

/* Deep markup is no danger, and what would cost the parser too much is refused. */
START_TEST(markup_is_bounded)
{
    static const struct {
        const char *piece, *again;
        int times, more;
        bool is_refused;
    } shapes[] = {
        {"<div>", "", 10000, 0, false},          /* deep */
        {"<br>", "", 60000, 0, true},            /* too many tags */
        {"<b id=%d>", "<p>x", 2000, 5000, true}, /* 2000 elements opened again in each paragraph */
        {"<b id=%d>", "<p>x", 5, 5000, false},
        {"<b><p></b></p>", "", 2000, 0, false},
        {"<table><tr><td>", "", 2000, 0, false},
        {"<li><dd>", "", 2000, 0, false},
        {"<p>x", "", 20000, 0, false},
    };
    const struct link_table *table;
    struct err err;

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct buf html = BUF_INIT;
        struct template *t;

        if (shapes[i].more > 0)
            buf_append_str(&html, "<p>");
        for (int k = 0; k < shapes[i].times; k++) {
            if (shapes[i].more > 0)
                buf_printf(&html, "<b id=%d>", k);
            else
                buf_append_str(&html, shapes[i].piece);
        }
        for (int k = 0; k < shapes[i].more; k++)
            buf_append_str(&html, shapes[i].again);
        buf_append_str(&html, "<a href=\"https://a.example\">x</a>");
        err_clear(&err);
        t = links_compile_html(buf_slice(&html), true, true, &table, &err);
        if ((t == NULL) != shapes[i].is_refused)
            ck_abort_msg("%s * %d: %s", shapes[i].piece, shapes[i].times, err.text);
        if (t == NULL)
            ck_assert_str_eq(err.sub, "html_too_complex");
        else if (shapes[i].again[0] == '\0')
            ck_assert_uint_eq(table->n_links, 1);
        template_free(&t);
        buf_deinit(&html);
    }
}
END_TEST

START_TEST(many_attributes_are_refused)
{
    struct buf html = BUF_INIT;
    const struct link_table *table;
    struct err err;

    buf_append_str(&html, "<a href=\"https://a.example\"");
    for (int i = 0; i < 5000; i++)
        buf_printf(&html, " a%d", i);
    buf_append_str(&html, ">x</a>");
    ck_assert_ptr_null(links_compile_html(buf_slice(&html), true, true, &table, &err));
    ck_assert_str_eq(err.sub, "html_too_complex");
    buf_deinit(&html);
}
END_TEST

/* Random markup without expressions comes out as it went in when nothing is tracked. */
START_TEST(markup_is_kept_byte_for_byte)
{
    static const char *const pieces[] = {"<p>", "</p>", "<a href=\"https://a.example\">", "</a>",
        "<a href='mailto:x@y.example'>", "<div class=\"x\">", "</div>", "<br/>", "<!-- c -->",
        "text ", "&amp;", "\xc3\xa9", "\r\n", "\t", "<table><tr><td>", "</table>", "<", ">", "\"",
        "'", "=", "<style>a{b:c}</style>", "<script>1<2</script>", "</body>", "<body>", "}}", "{",
        "<a href=x>", "<![if x]>", "\\", "<img alt=\"\">", "<a HREF = 'http://b.example/?a&b'>"};

    rand_seed(20);
    for (int i = 0; i < 1500; i++) {
        struct buf html = BUF_INIT;
        const struct link_table *table;
        struct template_world w;
        struct template *t;
        unsigned n = (unsigned)rand_below(40);

        for (unsigned k = 0; k < n; k++) {
            const char *piece = pieces[rand_below(sizeof pieces / sizeof pieces[0])];

            if (piece[0] == '{' && html.n > 0 && html.p[html.n - 1] == '{')
                continue;
            buf_append_str(&html, piece);
        }
        template_world_init(&w, context);
        t = links_compile_html(buf_slice(&html), i % 2 == 0, i % 3 == 0, &table, &w.err);
        if (t == NULL)
            ck_abort_msg("%s: %s", buf_cstr(&html), w.err.text);
        ck_assert_str_eq(template_world_run(&w, t, NULL), buf_cstr(&html));
        template_free(&t);
        t = template_compile(buf_slice(&html), TEMPLATE_HTML, &w.err);
        ck_assert_str_eq(template_world_run(&w, t, NULL), buf_cstr(&html));
        template_free(&t);
        template_world_deinit(&w);
        buf_deinit(&html);
    }
}
END_TEST

/* Links of every kind in one mail: which are rewritten, and to what they lead. */
START_TEST(links_of_every_kind)
{
    static const char html[] =
        "<a href=\"https://example.com/p?a=1&amp;b=2#part\">1</a><a href=\"#top\">2</a>"
        "<a href=\"mailto:x@example.com?subject=A%20B\">3</a><a href=\"tel:+49301234\">4</a>"
        "<a href=\"https://example.com/share?href=http://example.org/\">5</a>"
        "<a href=\"https://example.com/s?f[0]=t:2\">6</a><a href=\"//example.com/rel\">7</a>"
        "<a href=\"{{unsubscribeUrl}}\">8</a><a href=\"{{script}}\">9</a>";
    static const char expected[] =
        "<a href=\"CLICK0\">1</a><a href=\"#top\">2</a>"
        "<a href=\"mailto:x@example.com?subject=A%20B\">3</a><a href=\"tel:+49301234\">4</a>"
        "<a href=\"CLICK1\">5</a><a href=\"CLICK2\">6</a><a href=\"//example.com/rel\">7</a>"
        "<a href=\"https://m.example.com/m/unsub/T\">8</a><a href=\"#\">9</a>";
    static const char *const targets[] = {"https://example.com/p?a=1&b=2#part",
        "https://example.com/share?href=http://example.org/", "https://example.com/s?f[0]=t:2"};
    struct trial x;

    trial_init(&x, html, true, false);
    ck_assert_str_eq(trial_run(&x), expected);
    ck_assert_str_eq(buf_cstr(&x.seen), "inert 3\n");
    ck_assert_uint_eq(x.table->n_links, 4);
    ck_assert_uint_eq(x.table->n_inert, 4);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(x.table->links[i].kind, LINK_STATIC);
        ck_assert(slice_eq_str(x.table->links[i].url, targets[i]));
    }
    ck_assert_int_eq(x.table->links[3].kind, LINK_DYNAMIC);
    trial_deinit(&x);
}
END_TEST

START_TEST(http_urls)
{
    static const char *const good[] = {"http://a", "HTTPS://a.example/x?y#z",
        "https://a.example:8/", "https://u@a.example/", "https://\u00e4.example/\u00e9",
        "http://a?b", "http://[::1]/"};
    static const char *const bad[] = {"", "http", "http:", "http:/a", "http://", "http:///a",
        "http://?a", "http://#", "ftp://a", "javascript:alert(1)", "//a", "/a", "http://a b",
        "http://a\\b", "http://a\nb", " http://a", "http://:80/", "http://u@/", "http//a",
        "https://a\x7f"};
    struct buf long_url = BUF_INIT;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!links_is_http_url(slice_str(good[i])))
            ck_abort_msg("%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (links_is_http_url(slice_str(bad[i])))
            ck_abort_msg("%s", bad[i]);
    ck_assert(!links_is_http_url(SLICE_LIT("http://a\0b")));
    buf_append_str(&long_url, "https://a.example/");
    while (long_url.n < 8192)
        buf_append_char(&long_url, 'x');
    ck_assert(links_is_http_url(buf_slice(&long_url)));
    buf_append_char(&long_url, 'x');
    ck_assert(!links_is_http_url(buf_slice(&long_url)));
    buf_deinit(&long_url);
}
END_TEST

static const char *
with_preheader(const char *html, const char *json, struct template_world *w)
{
    struct buf source = BUF_INIT;
    const char *got;

    links_insert_preheader(slice_str(html), &source);
    template_world_init(w, json);
    got = template_world_render(w, buf_cstr(&source), TEMPLATE_HTML, NULL);
    if (got == NULL)
        ck_abort_msg("%s", w->err.text);
    buf_deinit(&source);
    return got;
}

START_TEST(preheader)
{
    static const char block[] =
        "<div style=\"display:none;max-height:0;overflow:hidden;mso-hide:all\">A&amp;B&zwj; &zwj; ";
    static const char *const sources[][2] = {{"<html><body class=\"x\">", "Hi</body></html>"},
        {"<head><title>t</title></head>", "Hi"}, {"", "Hi"}, {"<!-- <body> --><BODY>", "\nHi"}};
    struct template_world w;
    char html[256], expected[512];
    const char *got;

    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        snprintf(html, sizeof html, "%s%s", sources[i][0], sources[i][1]);
        snprintf(expected, sizeof expected, "%s%s", sources[i][0], block);
        got = with_preheader(html, "{\"preheader\":\"A&B\"}", &w);
        ck_assert(slice_starts(slice_str(got), slice_str(expected)));
        ck_assert(slice_ends(slice_str(got), slice_str(sources[i][1])));
        template_world_deinit(&w);
        ck_assert_str_eq(with_preheader(html, "{\"preheader\":\"\"}", &w), html);
        template_world_deinit(&w);
    }
    ck_assert_str_eq(
        with_preheader("<body>{{{preheader}}}", "{\"preheader\":\"x\"}", &w), "<body>x");
    template_world_deinit(&w);
}
END_TEST

SUITE_MAIN("links", hrefs, dynamic_targets, without_a_rewriter_links_stay,
    pixel_stands_before_the_last_body_end, faults, markup_is_bounded, many_attributes_are_refused,
    markup_is_kept_byte_for_byte, links_of_every_kind, http_urls, preheader)
