/* Values: look-up, conversion from BSON and JSON with its depth bound, numbers as text. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bsonx.h"
#include "base/json.h"
#include "base/rand.h"
#include "message/html_entity.h"
#include "message/letter_case.h"
#include "message/value.h"
#include "message/value_decimal.h"
#include "message/value_text.h"

#include "../support/suite.h"

START_TEST(bson_becomes_values)
{
    struct arena *a = arena_create(0);
    bson_t *doc = BCON_NEW("s", "text", "i", BCON_INT32(-5), "l", BCON_INT64(1LL << 40), "d",
        BCON_DOUBLE(0.25), "b", BCON_BOOL(true), "n", BCON_NULL, "t", BCON_DATE_TIME(1000), "a",
        "[", BCON_INT32(1), "{", "x", "y", "}", "]", "o", "{", "k", "v", "}");
    struct value v;
    const struct value *list;

    bsonx_add_bin(doc, "bin", SLICE_LIT("xyz"));
    ck_assert(value_from_bson(a, bsonx_bytes(doc), &v));
    ck_assert_int_eq(v.type, VALUE_OBJECT);
    ck_assert(slice_eq_str(value_get(&v, SLICE_LIT("s"))->s, "text"));
    ck_assert_int_eq(value_get(&v, SLICE_LIT("i"))->i, -5);
    ck_assert_int_eq(value_get(&v, SLICE_LIT("l"))->i, 1LL << 40);
    ck_assert_double_eq(value_get(&v, SLICE_LIT("d"))->d, 0.25);
    ck_assert(value_get(&v, SLICE_LIT("b"))->b);
    ck_assert_int_eq(value_get(&v, SLICE_LIT("n"))->type, VALUE_NULL);
    ck_assert_int_eq(value_get(&v, SLICE_LIT("t"))->type, VALUE_DATE);
    ck_assert_int_eq(value_get(&v, SLICE_LIT("bin"))->type, VALUE_UNDEFINED);
    ck_assert_int_eq(value_get(&v, SLICE_LIT("gone"))->type, VALUE_UNDEFINED);
    list = value_get(&v, SLICE_LIT("a"));
    ck_assert_uint_eq(list->array.n, 2);
    ck_assert(slice_eq_str(value_get(&list->array.items[1], SLICE_LIT("x"))->s, "y"));
    ck_assert(slice_eq_str(value_get(value_get(&v, SLICE_LIT("o")), SLICE_LIT("k"))->s, "v"));
    bson_destroy(doc);
    arena_free(&a);
}
END_TEST

START_TEST(ill_formed_bson_is_refused)
{
    struct arena *a = arena_create(0);
    bson_t *doc = BCON_NEW("s", "text", "o", "{", "k", "vvvvvvvvvvvv", "}");
    struct slice bytes = bsonx_bytes(doc);
    char copy[64];
    struct value v;

    ck_assert(!value_from_bson(a, SLICE_NONE, &v));
    ck_assert(!value_from_bson(a, slice_make(bytes.p, bytes.n - 1), &v));
    memcpy(copy, bytes.p, bytes.n);
    copy[bytes.n - 18]++; /* the length of the inner text: 256 bytes too many */
    ck_assert(!value_from_bson(a, slice_make(copy, bytes.n), &v));
    bson_destroy(doc);
    arena_free(&a);
}
END_TEST

START_TEST(depth_is_bounded)
{
    struct arena *a = arena_create(0);
    struct buf text = BUF_INIT;
    struct json *j;
    struct value v;
    const struct value *at = &v;
    unsigned depth = 0;

    for (int i = 0; i < 45; i++)
        buf_append_str(&text, "{\"x\":");
    buf_append_str(&text, "1");
    for (int i = 0; i < 45; i++)
        buf_append_char(&text, '}');
    j = json_parse(buf_slice(&text), 48, 0, NULL);
    ck_assert_ptr_nonnull(j);
    value_from_json(a, j, &v);
    while (at->type == VALUE_OBJECT) {
        at = value_get(at, SLICE_LIT("x"));
        depth++;
    }
    ck_assert_uint_eq(depth, 32);
    ck_assert_int_eq(at->type, VALUE_UNDEFINED);
    json_free(&j);
    buf_deinit(&text);
    arena_free(&a);
}
END_TEST

START_TEST(later_members_win)
{
    const struct value one = {.type = VALUE_INT, .i = 1}, two = {.type = VALUE_INT, .i = 2};
    const struct value_member members[] = {{SLICE_LIT("k"), &one}, {SLICE_LIT("k"), &two}};
    const struct value v = {.type = VALUE_OBJECT, .object = {members, 2}};

    ck_assert_int_eq(value_get(&v, SLICE_LIT("k"))->i, 2);
    ck_assert_int_eq(value_get(&one, SLICE_LIT("k"))->type, VALUE_UNDEFINED);
}
END_TEST

START_TEST(numbers_print_shortest)
{
    static const struct {
        double d;
        const char *text;
    } rows[] = {{0, "0"}, {-0.0, "0"}, {1, "1"}, {-17, "-17"}, {0.1, "0.1"}, {1.5, "1.5"},
        {1e15, "1000000000000000"}, {1e20, "100000000000000000000"}, {1e21, "1e+21"},
        {1.5e300, "1.5e+300"}, {1e-6, "0.000001"}, {1e-7, "1e-7"}, {-1.25e-10, "-1.25e-10"},
        {123456.789, "123456.789"}, {0.1 + 0.2, "0.30000000000000004"},
        {9007199254740993.0, "9007199254740992"}, {NAN, "NaN"}, {-INFINITY, "-Infinity"}};
    char out[VALUE_TEXT_SIZE];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct slice s = value_number_text(rows[i].d, out);

        if (!slice_eq_str(s, rows[i].text))
            ck_abort_msg("%.17g gives %.*s, not %s", rows[i].d, SLICE_FMT(s), rows[i].text);
    }
}
END_TEST

/* Any finite double, printed, reads back as itself. */
START_TEST(numbers_survive_a_round_trip)
{
    char out[VALUE_TEXT_SIZE], text[VALUE_TEXT_SIZE + 1];

    rand_seed(7);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = rand_below(UINT64_MAX);
        struct slice s;
        double d;

        memcpy(&d, &bits, sizeof d);
        if (!isfinite(d))
            continue;
        if (i % 2 == 0)
            d = (double)(int64_t)(bits >> 20) / 1000;
        s = value_number_text(d, out);
        ck_assert_uint_lt(s.n, sizeof text);
        memcpy(text, s.p, s.n);
        text[s.n] = '\0';
        if (strtod(text, NULL) != d)
            ck_abort_msg("%.17g gives %s", d, text);
    }
}
END_TEST

START_TEST(rounding_is_half_up_on_digits)
{
    static const struct {
        double d;
        int places;
        const char *text;
    } rows[] = {{1.005, 2, "1.01"}, {1.0049, 2, "1.00"}, {0.995, 2, "1.00"}, {9.995, 2, "10.00"},
        {0.0096, 2, "0.01"}, {0.0049, 2, "0.00"}, {0.005, 2, "0.01"}, {1999.5, 0, "2,000"},
        {0.5, 0, "1"}, {0.4, 0, "0"}, {999999.999, 2, "1,000,000.00"},
        {1e22, 2, "10,000,000,000,000,000,000,000.00"}, {12, 3, "12.000"}};
    struct value_decimal dec;
    char out[VALUE_DECIMAL_SIZE];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t n;

        value_decimal_from_double(rows[i].d, &dec);
        value_decimal_round(&dec, rows[i].places);
        n = value_decimal_group(&dec, rows[i].places, out);
        if (!slice_eq_str(slice_make(out, n), rows[i].text))
            ck_abort_msg("%.17g gives %.*s, not %s", rows[i].d, (int)n, out, rows[i].text);
    }
    value_decimal_from_double(-1.7976931348623157e308, &dec);
    ck_assert_uint_eq(value_decimal_group(&dec, 3, out), 309 + 102 + 4);
    value_decimal_from_int(INT64_MIN, &dec);
    ck_assert(dec.is_negative);
    ck_assert(slice_eq_str(
        slice_make(out, value_decimal_group(&dec, 0, out)), "9,223,372,036,854,775,808"));
}
END_TEST

START_TEST(entities_decode_in_one_pass)
{
    static const char *const rows[][2] = {{"a&amp;b&lt;&gt;&quot;&apos;", "a&b<>\"'"},
        {"&amp;lt;", "&lt;"}, {"&#65;&#x42;&#X43;", "ABC"},
        {"&nbsp;&eacute;&Eacute;&euro;&rsaquo;", "\u00a0\u00e9\u00c9\u20ac\u203a"},
        {"&unknown;&;&#;&#x;&#xZ;&amp", "&unknown;&;&#;&#x;&#xZ;&amp"},
        {"&#0;&#xD800;&#x110000;&#9999999;", "\ufffd\ufffd\ufffd\ufffd"},
        {"&#146;&#x80;", "\u2019\u20ac"},
        {"&AElig;&zwnj;&thetasym;&Aacute;", "\u00c6\u200c\u03d1\u00c1"}, {"&&amp;&", "&&&"},
        {"", ""}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf out = BUF_INIT;

        html_entity_decode(slice_str(rows[i][0]), &out);
        ck_assert_str_eq(buf_cstr(&out), rows[i][1]);
        buf_deinit(&out);
    }
}
END_TEST

/* Lower case of a letter that has a partner leads back to it. */
START_TEST(letters_pair_up)
{
    unsigned pairs = 0;

    for (uint32_t cp = 0; cp < 0x600; cp++) {
        uint32_t lower = letter_lower(cp);

        if (lower == cp)
            continue;
        pairs++;
        ck_assert_uint_eq(letter_upper(lower), cp);
        ck_assert_uint_eq(letter_lower(lower), lower);
        ck_assert_uint_eq(letter_upper(cp), cp);
    }
    ck_assert_uint_gt(pairs, 250);
    ck_assert_uint_eq(letter_lower(0xD7), 0xD7);
    ck_assert_uint_eq(letter_upper(0xDF), 0xDF);
}
END_TEST

SUITE_MAIN("value", bson_becomes_values, ill_formed_bson_is_refused, depth_is_bounded,
    later_members_win, numbers_print_shortest, numbers_survive_a_round_trip,
    rounding_is_half_up_on_digits, entities_decode_in_one_pass, letters_pair_up)
