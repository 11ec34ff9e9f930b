/* The JSON parser: what it accepts, what it refuses, and how values are read. */
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

#include "../support/suite.h"

START_TEST(strict_grammar)
{
    static const struct {
        struct slice text;
        bool ok;
    } rows[] = {
        {SLICE_LIT("{}"), true},
        {SLICE_LIT("[]"), true},
        {SLICE_LIT(" \t\r\n1 \n"), true},
        {SLICE_LIT("\"\""), true},
        {SLICE_LIT("null"), true},
        {SLICE_LIT("true"), true},
        {SLICE_LIT("[1,[2,{\"a\":[]}],{}]"), true},
        {SLICE_LIT("-0"), true},
        {SLICE_LIT("0.5e-7"), true},
        {SLICE_LIT("1E+2"), true},
        {SLICE_LIT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\""), true},
        {SLICE_LIT("{\"\":1}"), true},
        {SLICE_LIT("\"\x7f\""), true},
        {SLICE_LIT(""), false},
        {SLICE_LIT(" "), false},
        {SLICE_LIT("{} xx"), false},
        {SLICE_LIT("{}\0"), false},
        {SLICE_LIT("[1,]"), false},
        {SLICE_LIT("[,1]"), false},
        {SLICE_LIT("[1 2]"), false},
        {SLICE_LIT("{\"a\"}"), false},
        {SLICE_LIT("{\"a\":}"), false},
        {SLICE_LIT("{\"a\":1,}"), false},
        {SLICE_LIT("{,}"), false},
        {SLICE_LIT("{a:1}"), false},
        {SLICE_LIT("{'a':1}"), false},
        {SLICE_LIT("[}"), false},
        {SLICE_LIT("{]"), false},
        {SLICE_LIT("[1}"), false},
        {SLICE_LIT("["), false},
        {SLICE_LIT("[1"), false},
        {SLICE_LIT("{\"a\":1"), false},
        {SLICE_LIT("]"), false},
        {SLICE_LIT("01"), false},
        {SLICE_LIT("1."), false},
        {SLICE_LIT(".5"), false},
        {SLICE_LIT("+1"), false},
        {SLICE_LIT("1e"), false},
        {SLICE_LIT("-"), false},
        {SLICE_LIT("0x10"), false},
        {SLICE_LIT("NaN"), false},
        {SLICE_LIT("Infinity"), false},
        {SLICE_LIT("1e999"), false},
        {SLICE_LIT("TRUE"), false},
        {SLICE_LIT("nul"), false},
        {SLICE_LIT("nullx"), false},
        {SLICE_LIT("\"a"), false},
        {SLICE_LIT("\"\\"), false},
        {SLICE_LIT("\"\\x\""), false},
        {SLICE_LIT("\"\\u12\""), false},
        {SLICE_LIT("\"\\u12g4\""), false},
        {SLICE_LIT("\"\\u0000\""), false},
        {SLICE_LIT("{\"\\u0000\":1}"), false},
        {SLICE_LIT("\"\\ud83d\""), false},
        {SLICE_LIT("\"\\ud83dx\""), false},
        {SLICE_LIT("\"\\ude00\""), false},
        {SLICE_LIT("\"\\ud83d\\ud83d\""), false},
        {SLICE_LIT("\"a\nb\""), false},
        {SLICE_LIT("\"a\tb\""), false},
        {SLICE_LIT("\"\0\""), false},
        {SLICE_LIT("\"\xc3(\""), false},
        {SLICE_LIT("\"\xed\xa0\x80\""), false},
        {SLICE_LIT("\xef\xbb\xbf{}"), false},
        {SLICE_LIT("\x0b{}"), false},
        {SLICE_LIT("// x\n1"), false},
        {SLICE_LIT("{\"a\":1,\"b\":2,\"a\":3}"), false},
        {SLICE_LIT("[{\"a\":{\"x\":1,\"x\":1}}]"), false},
        {SLICE_LIT("{\"a\":1,\"\\u0061\":2}"), false},
        {SLICE_LIT("{\"a\":1,\"A\":2}"), true},
        {SLICE_LIT("123456789012345678901234567890123456789012345678901234567890123"), true},
        {SLICE_LIT("1234567890123456789012345678901234567890123456789012345678901234"), false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err e = {0};
        struct json *j = json_parse(rows[i].text, 0, 0, &e);

        ck_assert_msg(
            (j != NULL) == rows[i].ok, "row %zu: %.*s (%s)", i, SLICE_FMT(rows[i].text), e.text);
        if (j == NULL) {
            ck_assert_int_eq(e.code, ERR_INVALID);
            ck_assert_str_eq(e.sub, "invalid_json");
        }
        json_free(&j);
        ck_assert_ptr_null(j);
    }
    ck_assert_ptr_null(json_parse(SLICE_NONE, 0, 0, NULL));
}
END_TEST

static bool
parses(struct slice text, unsigned max_depth, unsigned max_nodes)
{
    struct json *j = json_parse(text, max_depth, max_nodes, NULL);
    bool ok = j != NULL;

    json_free(&j);
    return ok;
}

START_TEST(depth_and_size_are_bounded)
{
    struct buf b = BUF_INIT;

    for (int i = 0; i < 33; i++)
        buf_append_char(&b, '[');
    for (int i = 0; i < 33; i++)
        buf_append_char(&b, ']');
    ck_assert(!parses(buf_slice(&b), 0, 0));
    ck_assert(parses(buf_slice(&b), 33, 0));
    ck_assert(parses(slice_make(b.p + 1, 64), 0, 0));
    ck_assert(parses(SLICE_LIT("[1,2]"), 1, 3));
    ck_assert(!parses(SLICE_LIT("[1,2]"), 1, 2));
    ck_assert(!parses(SLICE_LIT("[[1]]"), 1, 0));
    buf_clear(&b);
    for (int i = 0; i < 200000; i++)
        buf_append_char(&b, '[');
    ck_assert(!parses(buf_slice(&b), 48, 0));
    buf_deinit(&b);
}
END_TEST

START_TEST(many_members_are_checked_too)
{
    struct buf b = BUF_INIT;
    struct json *j;
    size_t whole;

    buf_append_char(&b, '{');
    for (int i = 0; i < 5000; i++)
        buf_printf(&b, "%s\"k%d\":%d", i != 0 ? "," : "", i, i);
    whole = b.n;
    buf_append_char(&b, '}');
    j = json_parse(buf_slice(&b), 0, 0, NULL);
    ck_assert_ptr_nonnull(j);
    ck_assert_uint_eq(json_count(j), 5000);
    ck_assert_int_eq((int)json_num(json_get(j, "k4999"), 0), 4999);
    json_free(&j);
    b.n = whole;
    buf_append_str(&b, ",\"k17\":0}");
    ck_assert_ptr_null(json_parse(buf_slice(&b), 0, 0, NULL));
    buf_deinit(&b);
}
END_TEST

START_TEST(values_are_read_by_type)
{
    struct json *j =
        json_parse(SLICE_LIT("{\"s\":\"gr\\u00fc\\u00df\",\"n\":1.5,\"b\":true,\"z\":null,"
                             "\"a\":[10,20,30],\"o\":{\"x\":1}}"),
            0, 0, NULL);
    const struct json *a = json_get(j, "a");
    const struct json *m;

    ck_assert(slice_eq_str(json_str(json_get(j, "s")), "gr\xc3\xbc\xc3\x9f"));
    ck_assert_ptr_null(json_str(json_get(j, "n")).p);
    ck_assert_ptr_null(json_str(NULL).p);
    ck_assert_double_eq(json_num(json_get(j, "n"), 0), 1.5);
    ck_assert_double_eq(json_num(json_get(j, "s"), -2), -2);
    ck_assert(json_bool(json_get(j, "b"), false));
    ck_assert(json_bool(json_get(j, "z"), true));
    ck_assert_ptr_null(json_get(j, "S"));
    ck_assert_ptr_null(json_get(a, "s"));
    ck_assert_ptr_null(json_get(NULL, "s"));
    ck_assert(json_is(json_get(j, "z"), JSON_NULL));
    ck_assert(!json_is(NULL, JSON_NULL));
    ck_assert_uint_eq(json_count(a), 3);
    ck_assert_double_eq(json_num(json_at(a, 2), 0), 30);
    ck_assert_ptr_null(json_at(a, 3));
    ck_assert_ptr_null(json_at(j, 0));
    ck_assert_uint_eq(json_count(json_get(j, "s")), 0);
    m = json_first(json_get(j, "o"));
    ck_assert(slice_eq_str(json_name(m), "x"));
    ck_assert_ptr_null(json_next(m));
    ck_assert_ptr_null(json_first(json_get(j, "s")));
    json_free(&j);
}
END_TEST

START_TEST(integers_are_exact_or_refused)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } rows[] = {{"0", true, 0}, {"-7", true, -7}, {"1e3", true, 1000}, {"2.0", true, 2},
        {"9007199254740991", true, 9007199254740991},
        {"-9007199254740991", true, -9007199254740991}, {"9007199254740992", false, 0},
        {"9007199254740993", false, 0}, {"1.5", false, 0}, {"1e300", false, 0}, {"\"1\"", false, 0},
        {"true", false, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct json *j = json_parse(slice_str(rows[i].text), 0, 0, NULL);
        int64_t value = 0;

        ck_assert_msg(json_int(j, &value) == rows[i].ok, "%s", rows[i].text);
        ck_assert_int_eq(value, rows[i].value);
        json_free(&j);
    }
}
END_TEST

SUITE_MAIN("json", strict_grammar, depth_and_size_are_bounded, many_members_are_checked_too,
    values_are_read_by_type, integers_are_exact_or_refused)
