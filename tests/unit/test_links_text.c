/* Plain text derived from HTML. */
#include <check.h>
#include <string.h>

#include "base/rand.h"
#include "base/utf8.h"
#include "message/links.h"

#include "../support/suite.h"
#include "../support/template_world.h"

static const char *const rows[][2] = {
    {"", ""},
    {"plain", "plain"},
    {"  a \n\t b  ", "a b"},
    {"<p>One</p><p>Two</p>", "One\n\nTwo"},
    {"<p></p><p> </p><p>One</p><p></p><p></p><p>Two</p><p></p>", "One\n\nTwo"},
    {"<h1>Title</h1>text<h2>Sub</h2>", "Title\n\ntext\n\nSub"},
    {"<h1>{{contact.fields.Name}}</h1>", "{{contact.fields.Name}}"},
    {"<div>a</div><div>b</div>c", "a\nb\nc"},
    {"a<br>b<br/>c<br><br>d<br><br><br><br>e", "a\nb\nc\n\nd\n\ne"},
    {"a<hr>b", "a\n\n----------------------------------------\n\nb"},
    {"<b>bo</b>ld <i>it</i>alic", "bold italic"},
    {"<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>d", "- a\n- b\n  - c\n\nd"},
    {"<ol><li>a<li>b</ol>", "1. a\n2. b"},
    {"<ul><li></li><li>b</li></ul><p>c</p>", "- b\n\nc"},
    {"<table><tr><td>a</td><td>b</td></tr><tr><th>c<th>d</table>", "a b\nc d"},
    {"<a href=\"https://a.example\">text</a>.", "text <https://a.example>."},
    {"<a href=\"https://a.example/?a=1&amp;b=2\">https://a.example/?a=1&amp;b=2</a>",
        "https://a.example/?a=1&b=2"},
    {"<a href=\"https://a.example\"></a>", "https://a.example"},
    {"x <a href=\"https://a.example\"><img src=i alt=\"Logo\"></a> y", "x https://a.example y"},
    {"<a href=\"mailto:a@b.example\">a@b.example</a> <a href=\"mailto:a@b.example\">me</a>",
        "a@b.example me <mailto:a@b.example>"},
    {"<a href=\"#top\">top</a> <a href=\"/x\">rel</a> <a name=n>anchor</a>", "top rel anchor"},
    {"<a href=\"https://\n\ta.example/{{lookup a\nb}}\">x</a>",
        "x <https://a.example/{{lookup a b}}>"},
    {"<a href=\"{{unsubscribeUrl}}\">out</a>", "out <{{unsubscribeUrl}}>"},
    {"<a href=\"https://a.example\">never closed", "never closed <https://a.example>"},
    {"<a href=\"https://a.example\">one<a href=\"https://b.example\">two</a>",
        "one <https://a.example>two <https://b.example>"},
    {"<img src=x alt=\"A &amp; B\"><img src=y alt=\"\"><img src=z>", "A & B"},
    {"<head><title>t</title><style>p{}</style></head><body>x<script>y</script></body>", "x"},
    {"<head><meta a=b><body>x", "x"},
    {"<style>a</style>b<!-- c -->d<![if x]>e<![endif]>", "bde"},
    {"<div style=\"color:red; DISPLAY : none\">hid<div>den</div> too</div>shown", "shown"},
    {"<p hidden>no</p>yes<img style=\"display:none\" alt=\"no\">", "yes"},
    {"&lt;b&gt; &amp;amp; a&nbsp;b &eacute;&#8364;", "<b> &amp; a b \u00e9\u20ac"},
    {"Hi {{default contact.fields.first \"<you>\"}}!{{! note }}{{!-- more }} --}}",
        "Hi {{default contact.fields.first \"<you>\"}}!"},
    {"{{#if a}}<p>x</p>{{else}}<p>y</p>{{/if}}", "{{#if a}}\n\nx\n\n{{else}}\n\ny\n\n{{/if}}"},
    {"<td {{#if a}}class=\"x\"{{/if}}>y</td>", "y"},
    {"a {{ b", "a {{ b"},
    {"\\{{not}} {{is}}", "\\{{not}} {{is}}"},
    {"0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 012345678",
        "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789\n012345678"},
    {"0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0",
        "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0"},
    {"x {{formatDate contact.fields.date \"long\" tz=\"contact\"}} {{formatDate "
     "contact.fields.date tz=zone}}",
        "x {{formatDate contact.fields.date \"long\" tz=\"contact\"}}\n"
        "{{formatDate contact.fields.date tz=zone}}"},
    {"\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
     "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
     "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4 b c",
        "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
        "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
        "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4 b c"},
};

START_TEST(sources)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf out = BUF_INIT;

        ck_assert_int_eq(links_html_to_text(slice_str(rows[i][0]), &out, NULL), 0);
        if (strcmp(buf_cstr(&out), rows[i][1]) != 0)
            ck_abort_msg(
                "%s\n  gives    [%s]\n  expected [%s]", rows[i][0], buf_cstr(&out), rows[i][1]);
        buf_deinit(&out);
    }
}
END_TEST

START_TEST(text_is_appended)
{
    struct buf out = BUF_INIT;

    buf_append_str(&out, "kept\n");
    ck_assert_int_eq(links_html_to_text(SLICE_LIT("<p>x</p>"), &out, NULL), 0);
    ck_assert_str_eq(buf_cstr(&out), "kept\nx");
    buf_deinit(&out);
}
END_TEST

/* Whatever the markup: lines keep their width unless a word is longer, and no three line ends meet. */
START_TEST(lines_keep_their_width)
{
    static const char *const pieces[] = {"<p>", "</p>", "<ul>", "<li>", "</ul>", "<ol>", "</li>",
        "<br>", "<td>", "<tr>", "<table>", "</table>", "word ", "longer-word ", "&nbsp;",
        "\u00e9t\u00e9 ", "<a href=\"https://a.example\">", "</a>", "{{x}} ",
        "<div style=\"display:none\">", "</div>"};

    rand_seed(3);
    for (int i = 0; i < 500; i++) {
        struct buf html = BUF_INIT, out = BUF_INIT;
        struct slice rest, line;

        for (int k = 0; k < 300; k++)
            buf_append_str(&html, pieces[rand_below(sizeof pieces / sizeof pieces[0])]);
        ck_assert_int_eq(links_html_to_text(buf_slice(&html), &out, NULL), 0);
        ck_assert_int_lt(slice_find(buf_slice(&out), SLICE_LIT("\n\n\n")), 0);
        ck_assert(out.n == 0 || (out.p[0] != '\n' && out.p[out.n - 1] != '\n'));
        rest = buf_slice(&out);
        while (slice_cut(&rest, '\n', &line)) {
            struct slice words = slice_trim(line);
            ptrdiff_t blank = slice_find_char(words, ' ');

            if (blank >= 0 && (words.p[blank - 1] == '-' || words.p[blank - 1] == '.'))
                words = slice_from(words, (size_t)blank + 1); /* the bullet of an item */
            if (utf8_count(line) > 78 && slice_find_char(words, ' ') >= 0)
                ck_abort_msg("%.*s", SLICE_FMT(line));
        }
        buf_deinit(&html);
        buf_deinit(&out);
    }
}
END_TEST

START_TEST(deep_and_large_input)
{
    struct buf html = BUF_INIT, out = BUF_INIT;
    struct err err;

    for (int i = 0; i < 100000; i++)
        buf_append_str(&html, "<ul><li>x");
    ck_assert_int_eq(links_html_to_text(buf_slice(&html), &out, NULL), 0);
    ck_assert_uint_lt(out.n, 100000 * 40);
    while (html.n <= 2u << 20)
        buf_append_str(&html, "<div>{{");
    ck_assert_int_eq(links_html_to_text(buf_slice(&html), &out, &err), -1);
    ck_assert_int_eq(err.code, ERR_LIMIT);
    buf_clear(&html);
    buf_clear(&out);
    for (int i = 0; i < 200000; i++)
        buf_append_str(&html, "{{\"");
    ck_assert_int_eq(links_html_to_text(buf_slice(&html), &out, NULL), 0);
    buf_deinit(&html);
    buf_deinit(&out);
}
END_TEST

/* The text of a template is a template: rendered, it says what the HTML says. */
START_TEST(text_of_a_template_compiles)
{
    static const char html[] = "<table>{{#each items}}<tr><td>{{name}}</td><td>{{formatCurrency "
                               "cents}}</td></tr>{{/each}}</table>"
                               "<p>Hi {{default first \"you\"}}</p>";
    struct template_world w;
    struct buf text = BUF_INIT;
    const char *got;

    ck_assert_int_eq(links_html_to_text(SLICE_LIT(""), &text, NULL), 0);
    ck_assert_int_eq(links_html_to_text(slice_str(html), &text, NULL), 0);
    template_world_init(
        &w, "{\"items\":[{\"name\":\"A&B\",\"cents\":100},{\"name\":\"C\",\"cents\":250}]}");
    got = template_world_render(&w, buf_cstr(&text), TEMPLATE_TEXT, NULL);
    ck_assert_str_eq(got, "A&B $1.00\nC $2.50\n\nHi you");
    buf_deinit(&text);
    template_world_deinit(&w);
}
END_TEST

SUITE_MAIN("links_text", sources, text_is_appended, lines_keep_their_width, deep_and_large_input,
    text_of_a_template_compiles)
