/* The streaming JSON writer. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/rand.h"

#include "../support/suite.h"

START_TEST(structure_and_commas)
{
    struct buf b = BUF_INIT;
    struct json_writer w;

    jw_init(&w, &b);
    jw_obj(&w, NULL);
    jw_str(&w, "s", SLICE_LIT("x"));
    jw_arr(&w, "a");
    jw_int(&w, NULL, -1);
    jw_obj(&w, NULL);
    jw_end_obj(&w);
    jw_arr(&w, NULL);
    jw_end_arr(&w);
    jw_bool(&w, NULL, true);
    jw_end_arr(&w);
    jw_key(&w, SLICE_LIT("k\""));
    jw_obj(&w, NULL);
    jw_null(&w, "n");
    jw_end_obj(&w);
    jw_key(&w, SLICE_LIT("k2"));
    jw_int(&w, NULL, 2);
    jw_raw(&w, "r", SLICE_LIT("[1]"));
    jw_cstr(&w, "c", NULL);
    jw_cstr(&w, "d", "");
    jw_str(&w, "e", SLICE_NONE);
    jw_end_obj(&w);
    ck_assert_str_eq(buf_cstr(&b),
        "{\"s\":\"x\",\"a\":[-1,{},[],true],\"k\\\"\":{\"n\":null},\"k2\":2,\"r\":[1],"
        "\"c\":null,\"d\":\"\",\"e\":\"\"}");
    ck_assert_uint_eq(w.depth, 0);
    buf_deinit(&b);
}
END_TEST

START_TEST(strings_are_escaped)
{
    static const struct {
        struct slice in;
        const char *out;
    } rows[] = {{SLICE_LIT("a\"b\\c/d"), "\"a\\\"b\\\\c/d\""},
        {SLICE_LIT("\b\t\n\f\r\x01\x1f"), "\"\\b\\t\\n\\f\\r\\u0001\\u001f\""},
        {SLICE_LIT("</script>&'"), "\"\\u003c/script>&'\""}, {SLICE_LIT("\0"), "\"\\u0000\""},
        {SLICE_LIT("\x7f"), "\"\\u007f\""},
        {SLICE_LIT("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"),
            "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\""},
        {SLICE_LIT("\xe2\x80\xa8\xe2\x80\xa9"), "\"\\u2028\\u2029\""},
        {SLICE_LIT("a\xff"
                   "b\xc3"),
            "\"a\xef\xbf\xbd"
            "b\xef\xbf\xbd\""},
        {SLICE_LIT("\xef\xbf\xbd"), "\"\xef\xbf\xbd\""}};
    struct buf b = BUF_INIT;
    struct json_writer w;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        buf_clear(&b);
        jw_init(&w, &b);
        jw_str(&w, NULL, rows[i].in);
        ck_assert_str_eq(buf_cstr(&b), rows[i].out);
    }
    buf_deinit(&b);
}
END_TEST

START_TEST(ids_and_times)
{
    struct buf b = BUF_INIT;
    struct json_writer w;

    jw_init(&w, &b);
    jw_arr(&w, NULL);
    jw_id(&w, NULL, 31);
    jw_id(&w, NULL, 0);
    jw_time(&w, NULL, 1780394400000);
    jw_time(&w, NULL, 0);
    jw_int(&w, NULL, INT64_MIN);
    jw_end_arr(&w);
    ck_assert_str_eq(buf_cstr(&b),
        "[\"000000000000Z\",null,\"2026-06-02T10:00:00.000Z\",null,-9223372036854775808]");
    buf_deinit(&b);
}
END_TEST

static void
write_num(struct buf *b, double v)
{
    struct json_writer w;

    buf_clear(b);
    jw_init(&w, b);
    jw_num(&w, NULL, v);
}

START_TEST(numbers_read_back_the_same)
{
    static const struct {
        double v;
        const char *text;
    } rows[] = {{0.1, "0.1"}, {1.0 / 3, "0.3333333333333333"}, {1e21, "1e+21"}, {5, "5"},
        {-2.5, "-2.5"}, {NAN, "null"}, {INFINITY, "null"}, {-INFINITY, "null"}};
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_num(&b, rows[i].v);
        ck_assert_str_eq(buf_cstr(&b), rows[i].text);
    }
    rand_seed(6);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = rand_below(UINT64_MAX);
        double v;

        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        write_num(&b, v);
        if (strtod(buf_cstr(&b), NULL) != v)
            ck_abort_msg("%a", v);
    }
    buf_deinit(&b);
}
END_TEST

START_TEST(parsed_values_are_copied)
{
    static const char text[] = "{\"a\":[1,-2.5,\"x\\ny\",null,true,false,{}],\"b\":{\"c\":[]}}";
    struct json *j = json_parse(slice_str(text), 0, 0, NULL);
    struct buf b = BUF_INIT;
    struct json_writer w;

    jw_init(&w, &b);
    jw_json(&w, NULL, j);
    ck_assert_str_eq(buf_cstr(&b), text);
    buf_clear(&b);
    jw_init(&w, &b);
    jw_json(&w, NULL, NULL);
    ck_assert_str_eq(buf_cstr(&b), "null");
    json_free(&j);
    buf_deinit(&b);
}
END_TEST

SUITE_MAIN("json_writer", structure_and_commas, strings_are_escaped, ids_and_times,
    numbers_read_back_the_same, parsed_values_are_copied)
