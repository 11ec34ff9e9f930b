/* The template language: syntax, paths, truth, text forms, places, failures. One table per rule. */
#include <check.h>
#include <string.h>

#include "base/arena.h"

#include "../support/suite.h"
#include "../support/template_world.h"

#define ROWS(w, mode, rows) template_world_check(w, mode, rows, sizeof rows / sizeof rows[0])
#define FAULTS(w, mode, rows)                                                                      \
    template_world_check_faults(w, mode, rows, sizeof rows / sizeof rows[0])

static const char context[] =
    "{\"name\":\"Ada\",\"hostile\":\"O'Hara <b>&\\\"`=\",\"n\":3,\"zero\":0,\"half\":0.5,"
    "\"yes\":true,\"no\":false,\"nil\":null,\"empty\":\"\",\"text0\":\"0\",\"textFalse\":\"false\","
    "\"none\":[],\"nothing\":{},\"list\":[\"a\",\"b\",\"c\"],\"one\":[7],"
    "\"people\":[{\"name\":\"Bo\",\"tags\":[1,2]},{\"name\":\"Cy\",\"tags\":[]}],"
    "\"map\":{\"x\":1,\"y\":2},\"contact\":{\"email\":\"ada@example.com\",\"fields\":{\"city\":"
    "\"Ulm\","
    "\"odd "
    "key\":\"odd\",\"upper\":\"up\"}},\"key\":\"city\",\"upper\":\"never\",\"mixed\":[1,null,\"x\","
    "[2,3],true]}";

START_TEST(syntax)
{
    static const struct template_row rows[] = {
        {"", ""},
        {"plain text", "plain text"},
        {"Hi {{name}}!", "Hi Ada!"},
        {"{{ name }}", "Ada"},
        {"{{{hostile}}}", "O'Hara <b>&\"`="},
        {"{{&hostile}}", "O'Hara <b>&\"`="},
        {"a{{! not here }}b", "ab"},
        {"a{{!-- not }} here --}}b", "ab"},
        {"a{{!-- x --~}}  b", "ab"},
        {"{{#if yes}}A{{else}}B{{/if}}", "A"},
        {"{{#if no}}A{{else}}B{{/if}}", "B"},
        {"{{#if no}}A{{^}}B{{/if}}", "B"},
        {"{{#if no}}A{{else if yes}}B{{else}}C{{/if}}", "B"},
        {"{{#if no}}A{{else if nil}}B{{else if zero}}C{{else}}D{{/if}}", "D"},
        {"{{#if no}}A{{else unless no}}B{{/if}}", "B"},
        {"{{#unless no}}A{{else}}B{{/unless}}", "A"},
        {"{{#unless yes}}A{{else}}B{{/unless}}", "B"},
        {"{{^if no}}A{{else}}B{{/if}}", "A"},
        {"{{#each list}}{{this}}{{/each}}", "abc"},
        {"{{#each list}}{{.}}{{@index}}{{#if @first}}F{{/if}}{{#if @last}}L{{/if}};{{/each}}",
            "a0F;b1;c2L;"},
        {"{{#each map}}{{@key}}={{this}} {{/each}}", "x=1 y=2 "},
        {"{{#each none}}A{{else}}B{{/each}}", "B"},
        {"{{#each nothing}}A{{else}}B{{/each}}", "B"},
        {"{{#each missing}}A{{else}}B{{/each}}", "B"},
        {"{{#each name}}A{{else}}B{{/each}}", "B"},
        {"{{#with contact}}{{email}}{{else}}B{{/with}}", "ada@example.com"},
        {"{{#with missing}}A{{else}}B{{/with}}", "B"},
        {"{{#with none}}A{{else}}B{{/with}}", "B"},
        {"{{upper \"abc\"}}{{upper 'd'}}{{formatNumber 3}}{{eq true true}}{{default null 1}}"
         "{{default undefined 2}}{{eq false false}}",
            "ABCD3true12true"},
        {"{{upper \"say \\\"hi\\\"\"}}", "SAY \"HI\""},
        {"{{upper (lower \"ABC\")}}{{#if (and yes (or no (eq n 3)))}}!{{/if}}", "ABC!"},
        {"{{formatNumber -2}} {{formatNumber 1.25}}", "-2 1.25"},
        {"\\{{name}} {{name}}", "{{name}} Ada"},
        {"\\\\{{name}}", "\\Ada"},
        {"\\{{a}}\\{{b}}", "{{a}}{{b}}"},
        {"{{lookup contact.fields key}}{{lookup list 1}}{{lookup list \"length\"}}", "Ulmb3"},
        {"a{{log \"x\" name}}b", "ab"},
        {"}} { } {{name}} }}", "}} { } Ada }}"},
        {"{{\"name\"}}", "Ada"},
    };
    struct template_world w;

    template_world_init(&w, context);
    ROWS(&w, TEMPLATE_TEXT, rows);
    template_world_deinit(&w);
}
END_TEST

START_TEST(whitespace_control)
{
    static const struct template_row rows[] = {
        {"a  {{~name}}  b", "aAda  b"},
        {"a  {{name~}} \n\t b", "a  Adab"},
        {"a \n {{~name~}} \n b", "aAdab"},
        {"a {{~#if yes~}} b {{~/if~}} c", "abc"},
        {"a {{~{hostile}~}} c", "aO'Hara <b>&\"`=c"},
        {"a {{~! x ~}} c", "ac"},
        {"1\n{{#if yes}}\n2\n{{/if}}\n3\n", "1\n2\n3\n"},
        {"1\n  {{#if yes}}  \n  2\n\t{{/if}}\r\n3", "1\n  2\n3"},
        {"{{#if no}}\nA\n{{else}}\nB\n{{/if}}\n", "B\n"},
        {"{{! comment }}\nA", "A"},
        {"A\n{{!-- comment --}}", "A\n"},
        {"x {{! comment }}\nA", "x \nA"},
        {"{{name}}\n{{name}}\n", "Ada\nAda\n"},
        {"{{#if yes}} x\n{{/if}}\n", " x\n"},
        {"{{#each list}}\n- {{this}}\n{{/each}}\n", "- a\n- b\n- c\n"},
        {"{{#if yes}}\n{{#if yes}}\nA\n{{/if}}\n{{/if}}\nB", "A\nB"},
        {"{{#if yes}}{{#if yes}}\nA{{/if}}{{/if}}", "\nA"},
        {"A\n  {{name}}\n", "A\n  Ada\n"},
        {"A\n\\{{x}}\n{{! c }}\nB", "A\n{{x}}\nB"},
    };
    struct template_world w;

    template_world_init(&w, context);
    ROWS(&w, TEMPLATE_TEXT, rows);
    template_world_deinit(&w);
}
END_TEST

START_TEST(sections_and_block_parameters)
{
    static const struct template_row rows[] = {
        {"{{#list}}{{.}}{{@index}} {{/list}}", "a0 b1 c2 "},
        {"{{#contact}}{{email}}{{/contact}}", "ada@example.com"},
        {"{{#yes}}{{name}}{{/yes}}", "Ada"},
        {"{{#name}}{{n}}{{/name}}", "3"},
        {"{{#no}}A{{/no}}{{#none}}B{{/none}}{{#missing}}C{{/missing}}{{#zero}}D{{/zero}}", ""},
        {"{{#no}}A{{else}}B{{/no}}", "B"},
        {"{{^no}}A{{/no}}{{^none}}B{{/none}}{{^yes}}C{{/yes}}", "AB"},
        {"{{^list}}none{{else}}{{.}}{{/list}}", "abc"},
        {"{{#contact.fields}}{{city}}{{/contact.fields}}", "Ulm"},
        {"{{#each people as |p i|}}{{i}}{{p.name}}{{#each p.tags as "
         "|t|}}{{p.name}}{{t}}{{/each}};{{/each}}",
            "0BoBo1Bo2;1Cy;"},
        {"{{#each map as |v k|}}{{k}}{{v}}{{/each}}", "x1y2"},
        {"{{#with contact as |c|}}{{c.email}}{{/with}}", "ada@example.com"},
        {"{{#each list as |name|}}{{name}}{{this.name}}{{/each}}{{name}}", "abcAda"},
        {"{{#each list as |upper|}}{{upper}}{{/each}}", "abc"},
    };
    struct template_world w;

    template_world_init(&w, context);
    ROWS(&w, TEMPLATE_TEXT, rows);
    template_world_deinit(&w);
}
END_TEST

START_TEST(path_forms)
{
    static const struct template_row rows[] = {
        {"{{this.name}}{{./name}}{{this/name}}{{@root.name}}", "AdaAdaAdaAda"},
        {"{{contact.fields.city}}{{contact/fields/city}}", "UlmUlm"},
        {"{{contact.fields.[odd key]}}", "odd"},
        {"{{list.[0]}}{{list.1}}{{list.[9]}}{{list.x}}", "ab"},
        {"{{#each people}}{{name}}{{../name}}{{#each "
         "tags}}{{../name}}{{../../n}}{{@root.n}}{{/each}}{{/each}}",
            "BoAdaBo33Bo33CyAda"},
        {"{{#each people}}{{#if name}}{{../name}}{{/if}}{{/each}}", "AdaAda"},
        {"{{#each people}}{{@index}}{{#each tags}}{{@index}}{{@../index}}{{/each}}{{/each}}",
            "000101"},
        {"{{#each people}}{{#with tags}}{{@index}}{{/with}}{{/each}}", "0"},
        {"[{{missing}}{{missing.more.still}}{{name.more}}{{nil.x}}{{n.x}}{{../"
         "name}}{{@index}}{{@nope.x}}]",
            "[]"},
        {"{{list.length}}{{name.length}}{{none.length}}{{map.length}}{{n.length}}", "330"},
        {"{{contact.fields.upper}}", "up"},
        {"[{{upper}}]{{this.upper}}", "[]never"},
    };
    struct template_world w;

    template_world_init(&w, context);
    ROWS(&w, TEMPLATE_TEXT, rows);
    template_world_deinit(&w);
}
END_TEST

START_TEST(truth)
{
    static const struct template_row rows[] = {
        {"{{#if missing}}1{{/if}}{{#if nil}}2{{/if}}{{#if no}}3{{/if}}{{#if empty}}4{{/if}}"
         "{{#if zero}}5{{/if}}{{#if none}}6{{/if}}",
            ""},
        {"{{#if nothing}}1{{/if}}{{#if text0}}2{{/if}}{{#if textFalse}}3{{/if}}{{#if one}}4{{/if}}"
         "{{#if half}}5{{/if}}",
            "12345"},
        {"{{#if zero includeZero=true}}1{{/if}}{{#unless zero includeZero=true}}2{{/unless}}", "1"},
        {"{{#if no includeZero=true}}1{{/if}}{{#if none includeZero=true}}2{{/if}}", ""},
        {"{{and missing}}{{and nil}}{{and no}}{{and empty}}{{and zero}}",
            "falsefalsefalsefalsefalse"},
        {"{{and none}}{{and nothing}}{{and text0}}{{and textFalse}}", "truetruetruetrue"},
        {"{{not none}}{{not zero}}{{or no zero}}{{or no none}}", "falsetruefalsetrue"},
        {"{{#unless nothing}}A{{/unless}}{{#with zero}}B{{else}}C{{/with}}", "C"},
    };
    struct template_world w;

    template_world_init(&w, context);
    ROWS(&w, TEMPLATE_TEXT, rows);
    template_world_deinit(&w);
}
END_TEST

START_TEST(text_forms)
{
    static const struct template_row rows[] = {
        {"[{{missing}}][{{nil}}][{{map}}][{{none}}]", "[][][][]"},
        {"{{yes}} {{no}}", "true false"},
        {"{{n}} {{half}} {{zero}}", "3 0.5 0"},
        {"{{list}} {{mixed}}", "a,b,c 1,,x,2,3,true"},
    };
    struct template_world w;

    template_world_init(&w, context);
    ROWS(&w, TEMPLATE_TEXT, rows);
    w.root = (struct value){.type = VALUE_DATE, .i = 1778832000123};
    ck_assert_str_eq(
        template_world_render(&w, "{{this}}", TEMPLATE_TEXT, NULL), "2026-05-15T08:00:00.123Z");
    template_world_deinit(&w);
}
END_TEST

START_TEST(escaping_by_place)
{
    static const char escaped[] = "O&#x27;Hara &lt;b&gt;&amp;&quot;&#x60;&#x3D;";
    static const char encoded[] = "O%27Hara%20%3Cb%3E%26%22%60%3D";
    static const struct {
        const char *before, *after;
        const char *value;
    } places[] = {
        {"<p>", "</p>", escaped},
        {"<p title=\"", "\">", escaped},
        {"<p title='?", "'>", escaped},
        {"<a href=\"https://example.com/?q=", "\">", encoded},
        {"<a href='https://example.com/p?a=1&amp;q=", "&amp;z=1#f'>", encoded},
        {"<img src=\"https://example.com/i.png?n=", "\">", encoded},
        {"<a HREF = \"https://example.com/", "\">", escaped},
        {"<a href=\"https://example.com/?a\" title=\"", "\">", escaped},
        {"<a href=\"https://example.com/?a\">", "</a>", escaped},
        {"<!-- <a href=\"?", "\"> -->", escaped},
        {"<style>a{b:'?", "'}</style>", escaped},
        {"<p class=", ">", "O&#x27;Hara&#x20;&lt;b&gt;&amp;&quot;&#x60;&#x3D;"},
    };
    struct template_world w;
    char source[256], expected[512];

    template_world_init(&w, context);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(source, sizeof source, "%s{{hostile}}%s", places[i].before, places[i].after);
        snprintf(expected, sizeof expected, "%s%s%s", places[i].before, places[i].value,
            places[i].after);
        ck_assert_str_eq(template_world_render(&w, source, TEMPLATE_HTML, NULL), expected);
        snprintf(source, sizeof source, "%s{{{hostile}}}%s", places[i].before, places[i].after);
        snprintf(
            expected, sizeof expected, "%sO'Hara <b>&\"`=%s", places[i].before, places[i].after);
        ck_assert_str_eq(template_world_render(&w, source, TEMPLATE_HTML, NULL), expected);
        ck_assert_str_eq(template_world_render(&w, source, TEMPLATE_TEXT, NULL), expected);
    }
    template_world_deinit(&w);
}
END_TEST

START_TEST(places_behind_branches)
{
    static const struct template_row rows[] = {
        {"<a href=\"x{{#if yes}}?a={{/if}}{{hostile}}\">",
            "<a href=\"x?a=O%27Hara%20%3Cb%3E%26%22%60%3D\">"},
        {"<a href=\"x{{#if yes}}?a=1{{else}}/{{list}}{{/if}}\">{{list}}",
            "<a href=\"x?a=1\">a,b,c"},
        {"<a href=\"x{{#if no}}?a=1{{else}}/{{list}}{{/if}}&amp;{{list}}\">",
            "<a href=\"x/a,b,c&amp;a%2Cb%2Cc\">"},
        {"<a href=\"x?q={{urlencode list}}&amp;r={{upper list}}\">",
            "<a href=\"x?q=a%2Cb%2Cc&amp;r=A%2CB%2CC\">"},
        {"<a title=\"{{lookup contact.fields \"city\"}}\" href=\"?{{list}}\">",
            "<a title=\"Ulm\" href=\"?a%2Cb%2Cc\">"},
        {"<p {{#if yes}}title=\"{{hostile}}\"{{/if}}>{{hostile}}",
            "<p title=\"O&#x27;Hara &lt;b&gt;&amp;&quot;&#x60;&#x3D;\">"
            "O&#x27;Hara &lt;b&gt;&amp;&quot;&#x60;&#x3D;"},
    };
    struct template_world w;

    template_world_init(&w, context);
    ROWS(&w, TEMPLATE_HTML, rows);
    template_world_deinit(&w);
}
END_TEST

START_TEST(compile_faults_name_the_place)
{
    static const struct template_fault rows[] = {
        {"a\nbc {{name", "template_syntax", "line 2, column 4: the tag that starts here"},
        {"{{#if yes}}x", "template_syntax", "line 1, column 1: this block is never closed: \"if\""},
        {"\xc3\xa4\xc3\xb6 {{/if}}", "template_syntax", "line 1, column 4: nothing is open"},
        {"{{#if yes}}\n{{/each}}", "template_syntax",
            "line 2, column 1: \"each\" closes \"if\" of line 1"},
        {"{{else}}", "template_syntax", "line 1, column 1: else outside"},
        {"{{#if a}}{{else}}{{else}}{{/if}}", "template_syntax", "line 1, column 18: a second else"},
        {"{{> footer}}", "template_syntax", "line 1, column 1: partials"},
        {"{{#> layout}}{{/layout}}", "template_syntax", "line 1, column 1: partial blocks"},
        {"{{#*inline \"x\"}}{{/inline}}", "template_syntax", "line 1, column 1: inline partials"},
        {"{{* decorator}}", "template_syntax", "line 1, column 1: decorators"},
        {"{{{{raw}}}}x{{{{/raw}}}}", "template_syntax", "line 1, column 1: raw blocks"},
        {"{{}}", "template_syntax", "line 1, column 1: nothing"},
        {"{{#if}}{{/if}}", "template_syntax", "line 1, column 1: #if takes exactly one argument"},
        {"{{#if a b}}{{/if}}", "template_syntax",
            "line 1, column 1: #if takes exactly one argument"},
        {"{{if a b c}}", "template_syntax", "line 1, column 1: a block needs"},
        {"{{shout name}}", "template_syntax", "line 1, column 1: missing helper \"shout\""},
        {"{{"
         "shout\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3"
         "\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
         "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
         "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 1}}",
            "template_syntax",
            "line 1, column 1: missing helper "
            "\"shout\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3"
            "\xa4"
            "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3"
            "\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\""},
        {"{{name x=1}}", "template_syntax", "line 1, column 1: missing helper \"name\""},
        {"{{upper (shout name)}}", "template_syntax",
            "line 1, column 1: a sub-expression that calls no"},
        {"{{#eq a b}}{{/eq}}", "template_syntax", "line 1, column 1: only if, unless"},
        {"{{eq a}}", "template_syntax", "line 1, column 1: eq takes 2 to 2 arguments"},
        {"{{upper \"abc}}", "template_syntax", "line 1, column 1: the tag that starts here"},
        {"{{upper (lower x}}", "template_syntax", "line 1, column 1: ( without )"},
        {"{{a..b}}", "template_syntax", "line 1, column 1: \"..\" inside a path"},
        {"{{a.}}", "template_syntax", "line 1, column 1: a path that ends"},
        {"{{a b|c}}", "template_syntax", "line 1, column 1: a name is missing"},
        {"{{#each list as |a b c|}}{{/each}}", "template_syntax",
            "line 1, column 1: block parameters"},
        {"{{name as |a|}}", "template_syntax", "line 1, column 1: block parameters outside"},
        {"bad \xff utf-8", "template_syntax", "not well-formed UTF-8"},
    };
    struct template_world w;

    template_world_init(&w, context);
    FAULTS(&w, TEMPLATE_TEXT, rows);
    template_world_deinit(&w);
}
END_TEST

START_TEST(render_faults_name_the_place)
{
    static const struct template_fault rows[] = {
        {"a\n {{formatCurrency n \"xxx\"}}", "render_failed", "line 2, column 2: formatCurrency"},
        {"{{formatDate 1 tz=\"Mars/Base\"}}", "render_failed",
            "line 1, column 1: formatDate: no such time zone"},
        {"{{truncate name \"x\"}}", "render_failed", "line 1, column 1: truncate"},
    };
    struct template_world w;

    template_world_init(&w, context);
    FAULTS(&w, TEMPLATE_TEXT, rows);
    template_world_deinit(&w);
}
END_TEST

static void
nest(struct buf *b, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++)
        buf_append_str(b, "{{#if yes}}");
    buf_append_str(b, "x");
    for (unsigned i = 0; i < depth; i++)
        buf_append_str(b, "{{/if}}");
}

START_TEST(limits_hold)
{
    static const struct template_limits few = {.max_visits = 20, .max_output_bytes = 50};
    struct template_world w;
    struct buf b = BUF_INIT;
    struct template *t;

    template_world_init(&w, context);
    nest(&b, 64);
    ck_assert_str_eq(template_world_render(&w, buf_cstr(&b), TEMPLATE_TEXT, NULL), "x");
    buf_clear(&b);
    nest(&b, 65);
    ck_assert_ptr_null(template_world_render(&w, buf_cstr(&b), TEMPLATE_HTML, NULL));
    ck_assert_ptr_nonnull(strstr(w.err.text, "nested deeper than 64"));

    t = template_compile(SLICE_LIT("{{#each list}}{{#each @root.list}}{{.}}{{/each}}{{/each}}"),
        TEMPLATE_TEXT, &w.err);
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(template_render(t, &w.root, NULL, &few, w.scratch, &w.out, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "render_failed");
    ck_assert_ptr_nonnull(strstr(w.err.text, "more work"));
    template_free(&t);

    buf_clear(&w.out);
    buf_append_str(&w.out, "kept");
    t = template_compile(SLICE_LIT("{{hostile}}{{hostile}}{{hostile}}"), TEMPLATE_HTML, &w.err);
    ck_assert_int_eq(template_render(t, &w.root, NULL, &few, w.scratch, &w.out, &w.err), -1);
    ck_assert_ptr_nonnull(strstr(w.err.text, "output is larger"));
    ck_assert(slice_starts(buf_slice(&w.out), SLICE_LIT("kept")));
    template_free(&t);

    buf_clear(&b);
    for (int i = 0; i < 300000; i++)
        buf_append_str(&b, "12345678");
    ck_assert_ptr_null(template_compile(buf_slice(&b), TEMPLATE_TEXT, &w.err));
    ck_assert_str_eq(w.err.sub, "template_syntax");
    buf_clear(&b);
    for (int i = 0; i <= 100000; i++)
        buf_append_str(&b, "{{a}}");
    ck_assert_ptr_null(template_compile(buf_slice(&b), TEMPLATE_TEXT, &w.err));
    ck_assert_ptr_nonnull(strstr(w.err.text, "more than 100000 tags"));
    buf_deinit(&b);
    template_world_deinit(&w);
}
END_TEST

/* Work that grows although the output does not: many long lists joined and thrown away. */
START_TEST(scratch_memory_is_bounded)
{
    static const struct template_limits small = {.max_output_bytes = 1000};
    struct template_world w;
    struct buf json = BUF_INIT;
    struct template *t;

    buf_append_str(&json, "{\"xs\":[0");
    for (int i = 0; i < 300; i++)
        buf_append_str(&json, ",1");
    buf_append_str(&json, "]}");
    template_world_init(&w, buf_cstr(&json));
    t = template_compile(
        SLICE_LIT("{{#each xs}}{{#if (join @root.xs)}}{{/if}}{{/each}}"), TEMPLATE_TEXT, &w.err);
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(template_render(t, &w.root, NULL, &small, w.scratch, &w.out, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "render_failed");
    ck_assert_uint_lt(arena_used(w.scratch), 20000);
    template_free(&t);
    buf_deinit(&json);
    template_world_deinit(&w);
}
END_TEST

START_TEST(paths_read_are_listed)
{
    static const char source[] =
        "{{name}}{{name}}{{contact.fields.city}}{{#if contact.fields.[odd key]}}{{/if}}"
        "{{#each people}}{{inner}}{{../outer}}{{@root.deep.x}}{{@index}}{{#each tags}}{{../../two}}"
        "{{../one}}{{/each}}{{/each}}{{upper (default a.b c.d)}}{{#with w as |p|}}{{p.q}}{{/with}}"
        "{{formatDate d tz=zone}}{{this}}{{#sec}}{{x}}{{else}}{{y}}{{/sec}}{{{raw}}}{{log quiet}}";
    static const char *const expected[] = {"name", "contact.fields.city", "contact.fields.odd key",
        "people", "outer", "deep.x", "two", "a.b", "c.d", "w", "d", "zone", "sec", "y", "raw",
        "quiet"};
    struct err err;
    struct template *t = template_compile(slice_str(source), TEMPLATE_TEXT, &err);
    const struct slice *paths;
    size_t n;

    ck_assert_ptr_nonnull(t);
    n = template_paths(t, &paths);
    ck_assert_uint_eq(n, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < n; i++)
        if (!slice_eq_str(paths[i], expected[i]))
            ck_abort_msg("path %zu is %.*s, expected %s", i, SLICE_FMT(paths[i]), expected[i]);
    template_free(&t);
}
END_TEST

/* A hostile field in three places: text, attribute, query; a raw fragment; a missing field. */
START_TEST(hostile_field_in_three_places)
{
    static const char source[] =
        "<p title=\"{{contact.fields.first}}\">{{contact.fields.first}}</p>"
        "<a href=\"https://example.com/?n={{contact.fields.first}}\">x</a>"
        "<a href=\"https://example.com/?{{{contact.fields.q}}}\">y</a>"
        "{{contact.fields.gone}}{{default contact.fields.gone \"friend\"}}";
    static const char expected[] =
        "<p title=\"O&#x27;Hara &lt;b&gt;&amp;&quot;\">O&#x27;Hara &lt;b&gt;&amp;&quot;</p>"
        "<a href=\"https://example.com/?n=O%27Hara%20%3Cb%3E%26%22\">x</a>"
        "<a href=\"https://example.com/?_al=a/b+c\">y</a>friend";
    struct template_world w;
    struct template *t;
    const struct slice *paths;
    bool is_reported = false;

    template_world_init(
        &w, "{\"contact\":{\"fields\":{\"first\":\"O'Hara <b>&\\\"\",\"q\":\"_al=a/b+c\"}}}");
    t = template_compile(slice_str(source), TEMPLATE_HTML, &w.err);
    ck_assert_ptr_nonnull(t);
    ck_assert_str_eq(template_world_run(&w, t, NULL), expected);
    for (size_t i = template_paths(t, &paths); i-- > 0;)
        is_reported |= slice_eq_str(paths[i], "contact.fields.gone");
    ck_assert(is_reported);
    template_free(&t);
    template_world_deinit(&w);
}
END_TEST

SUITE_MAIN("template", syntax, whitespace_control, sections_and_block_parameters, path_forms, truth,
    text_forms, escaping_by_place, places_behind_branches, compile_faults_name_the_place,
    render_faults_name_the_place, limits_hold, scratch_memory_is_bounded, paths_read_are_listed,
    hostile_field_in_three_places)
