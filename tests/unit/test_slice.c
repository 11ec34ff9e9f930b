/* Borrowed bytes: comparing, searching, cutting, numbers. */
#include "base/slice.h"

#include "../support/suite.h"

START_TEST(comparing)
{
    ck_assert_int_lt(slice_cmp(SLICE_LIT("a"), SLICE_LIT("b")), 0);
    ck_assert_int_lt(slice_cmp(SLICE_LIT("a"), SLICE_LIT("ab")), 0);
    ck_assert_int_gt(slice_cmp(SLICE_LIT("\xff"), SLICE_LIT("a")), 0);
    ck_assert_int_eq(slice_cmp(SLICE_NONE, SLICE_LIT("")), 0);
    ck_assert_int_lt(slice_cmp(SLICE_NONE, SLICE_LIT("a")), 0);
    ck_assert(slice_eq(SLICE_NONE, SLICE_LIT("")));
    ck_assert(slice_ieq(SLICE_LIT("Content-TYPE"), SLICE_LIT("content-type")));
    ck_assert(!slice_ieq(SLICE_LIT("@"), SLICE_LIT("`")));
    ck_assert(!slice_ieq(SLICE_LIT("\xc3\x84"), SLICE_LIT("\xc3\xa4")));
    ck_assert(!slice_ieq(SLICE_LIT("a"), SLICE_LIT("ab")));
    ck_assert(slice_eq_str(SLICE_LIT("x"), "x"));
    ck_assert(slice_eq_str(SLICE_NONE, NULL));
    ck_assert(slice_starts(SLICE_LIT("abc"), SLICE_LIT("ab")));
    ck_assert(!slice_starts(SLICE_LIT("a"), SLICE_LIT("ab")));
    ck_assert(slice_starts(SLICE_NONE, SLICE_NONE));
    ck_assert(slice_istarts(SLICE_LIT("EHLO x"), SLICE_LIT("ehlo ")));
    ck_assert(slice_ends(SLICE_LIT("abc"), SLICE_LIT("bc")));
    ck_assert(!slice_ends(SLICE_LIT("c"), SLICE_LIT("bc")));
}
END_TEST

START_TEST(searching)
{
    struct slice s = SLICE_LIT("a.b.c");

    ck_assert_int_eq(slice_find_char(s, '.'), 1);
    ck_assert_int_eq(slice_rfind_char(s, '.'), 3);
    ck_assert_int_eq(slice_find_char(s, 'z'), -1);
    ck_assert_int_eq(slice_rfind_char(SLICE_NONE, 'z'), -1);
    ck_assert_int_eq(slice_find_char(SLICE_NONE, '\0'), -1);
    ck_assert_int_eq(slice_find(s, SLICE_LIT("b.c")), 2);
    ck_assert_int_eq(slice_find(s, SLICE_LIT("b.d")), -1);
    ck_assert_int_eq(slice_find(s, SLICE_NONE), 0);
    ck_assert_int_eq(slice_find(SLICE_NONE, SLICE_LIT("x")), -1);
    ck_assert(slice_eq_str(slice_from(s, 2), "b.c"));
    ck_assert_uint_eq(slice_from(s, 99).n, 0);
}
END_TEST

START_TEST(trimming)
{
    ck_assert(slice_eq_str(slice_trim(SLICE_LIT(" \t\r\n\v\fa b\n ")), "a b"));
    ck_assert_uint_eq(slice_trim(SLICE_LIT(" \n ")).n, 0);
    ck_assert_uint_eq(slice_trim(SLICE_NONE).n, 0);
    ck_assert(slice_eq(slice_trim(SLICE_LIT("\0x\0")), SLICE_LIT("\0x\0")));
}
END_TEST

START_TEST(cutting)
{
    static const struct {
        const char *text;
        const char *tokens[4];
        size_t n;
    } rows[] = {{"a,,b", {"a", "", "b"}, 3}, {"", {""}, 1}, {",", {"", ""}, 2}, {"x", {"x"}, 1}};
    struct slice none = SLICE_NONE, token;

    ck_assert(!slice_cut(&none, ',', &token));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct slice rest = slice_str(rows[i].text);
        size_t n = 0;

        for (; slice_cut(&rest, ',', &token); n++) {
            ck_assert_uint_lt(n, rows[i].n);
            ck_assert(slice_eq_str(token, rows[i].tokens[n]));
        }
        ck_assert_uint_eq(n, rows[i].n);
    }
}
END_TEST

START_TEST(numbers)
{
    static const struct {
        const char *text;
        bool is_u64, is_i64;
        int64_t value;
    } rows[] = {{"0", true, true, 0}, {"007", true, true, 7}, {"-1", false, true, -1},
        {"9223372036854775807", true, true, INT64_MAX},
        {"-9223372036854775808", false, true, INT64_MIN}, {"-9223372036854775809", false, false, 0},
        {"9223372036854775808", true, false, INT64_MIN}, {"18446744073709551615", true, false, -1},
        {"18446744073709551616", false, false, 0}, {"99999999999999999999999", false, false, 0},
        {"", false, false, 0}, {"-", false, false, 0}, {"+1", false, false, 0},
        {" 1", false, false, 0}, {"1a", false, false, 0}, {"--1", false, false, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t u = 0;
        int64_t v = 0;

        ck_assert_msg(slice_u64(slice_str(rows[i].text), &u) == rows[i].is_u64, "%s", rows[i].text);
        ck_assert_msg(slice_i64(slice_str(rows[i].text), &v) == rows[i].is_i64, "%s", rows[i].text);
        if (rows[i].is_u64)
            ck_assert_uint_eq(u, (uint64_t)rows[i].value);
        if (rows[i].is_i64)
            ck_assert_int_eq(v, rows[i].value);
    }
}
END_TEST

SUITE_MAIN("slice", comparing, searching, trimming, cutting, numbers)
