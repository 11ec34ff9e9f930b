#include <check.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "store/value.h"
#include "support/suite.h"

/*
 * The order of values, as a list that rises strictly: every pair is compared both in place and by its
 * keys. Then equal values, which must have equal keys.
 */

#define MAX_VALUES 64

struct values {
    bson_t *docs[MAX_VALUES];
    size_t n;
};

static bson_iter_t
value_at(const struct values *v, size_t i)
{
    bson_iter_t it;

    ck_assert(bson_iter_init_find(&it, v->docs[i], "v"));
    return it;
}

static void
add_json(struct values *v, const char *json)
{
    bson_error_t error;
    bson_t *doc = bson_new_from_json((const uint8_t *)json, -1, &error);

    ck_assert_msg(doc != NULL, "%s: %s", json, doc == NULL ? error.message : "");
    v->docs[v->n++] = doc;
}

static void
add_text(struct values *v, const char *text, size_t n)
{
    bson_t *doc = bson_new();

    bson_append_utf8(doc, "v", 1, text, (int)n);
    v->docs[v->n++] = doc;
}

static void
free_values(struct values *v)
{
    for (size_t i = 0; i < v->n; i++)
        bson_destroy(v->docs[i]);
}

static void
check_pair(const struct values *v, size_t i, size_t j, int expected)
{
    bson_iter_t a = value_at(v, i), b = value_at(v, j);
    struct buf ka = BUF_INIT, kb = BUF_INIT;
    int c, k;

    c = value_cmp(&a, &b);
    value_key(&ka, &a);
    value_key(&kb, &b);
    k = slice_cmp(buf_slice(&ka), buf_slice(&kb));
    ck_assert_msg((c > 0) - (c < 0) == expected, "values %zu and %zu compare as %d", i, j, c);
    ck_assert_msg((k > 0) - (k < 0) == expected, "keys of %zu and %zu compare as %d", i, j, k);
    buf_deinit(&ka);
    buf_deinit(&kb);
}

#define N(x) "{\"v\":" x "}"
#define L(x) "{\"v\":{\"$numberLong\":\"" x "\"}}"

static const char *const rising[] = {
    N("null"),
    N("{\"$numberDouble\":\"-Infinity\"}"),
    N("-1e300"),
    L("-9223372036854775808"),
    L("-9223372036854775807"),
    L("-9007199254740993"),
    N("-9007199254740992.0"),
    N("-1.5"),
    N("-1"),
    N("-5e-324"),
    N("0"),
    N("5e-324"),
    N("0.5"),
    L("1"),
    N("2147483647"),
    N("9007199254740992.0"),
    L("9007199254740993"),
    N("9007199254740994.0"),
    L("4611686018427387904"),
    L("4611686018427387905"),
    L("9223372036854774784"),
    L("9223372036854775806"),
    L("9223372036854775807"),
    N("9223372036854775808.0"),
    N("1e300"),
    N("{\"$numberDouble\":\"Infinity\"}"),
    NULL, /* here the texts, see below */
    N("{}"),
    N("{\"a\":null}"),
    N("{\"a\":1}"),
    N("{\"a\":1,\"b\":0}"),
    N("{\"a\":2}"),
    N("{\"b\":1}"),
    N("{\"a\":\"x\"}"),
    N("[]"),
    N("[null]"),
    N("[1]"),
    N("[1,1]"),
    N("[1,\"x\"]"),
    N("[2]"),
    N("[\"\"]"),
    N("[\"a\"]"),
    N("[\"a\",1]"),
    N("[\"a\\u0001\"]"),
    N("[\"ab\"]"),
    N("[[]]"),
    N("{\"$binary\":{\"base64\":\"\",\"subType\":\"00\"}}"),
    N("{\"$binary\":{\"base64\":\"/w==\",\"subType\":\"00\"}}"),
    N("{\"$binary\":{\"base64\":\"AAA=\",\"subType\":\"00\"}}"),
    N("{\"$binary\":{\"base64\":\"AAA=\",\"subType\":\"05\"}}"),
    N("{\"$oid\":\"000000000000000000000001\"}"),
    N("{\"$oid\":\"ff0000000000000000000000\"}"),
    N("false"),
    N("true"),
    N("{\"$date\":{\"$numberLong\":\"-1\"}}"),
    N("{\"$date\":{\"$numberLong\":\"0\"}}"),
    N("{\"$date\":{\"$numberLong\":\"1\"}}"),
};

START_TEST(order_rises)
{
    struct values v = {.n = 0};

    for (size_t i = 0; i < sizeof rising / sizeof rising[0]; i++) {
        if (rising[i] != NULL) {
            add_json(&v, rising[i]);
            continue;
        }
        add_text(&v, "", 0);
        add_text(&v, "\0", 1);
        add_text(&v, "A", 1);
        add_text(&v, "a", 1);
        add_text(&v, "a\0", 2);
        add_text(&v, "a\0b", 3);
        add_text(&v, "a\x01", 2);
        add_text(&v, "\xc3\xa9", 2);
    }
    ck_assert_uint_le(v.n, MAX_VALUES);
    for (size_t i = 0; i < v.n; i++) {
        for (size_t j = 0; j < v.n; j++)
            check_pair(&v, i, j, (i > j) - (i < j));
    }
    free_values(&v);
}
END_TEST

START_TEST(equal_numbers_have_one_key)
{
    static const char *const same[][2] = {
        {N("1"), L("1")},
        {N("1"), N("1.0")},
        {N("0.0"), N("-0.0")},
        {L("9007199254740992"), N("9007199254740992.0")},
        {L("-9223372036854775808"), N("-9223372036854775808.0")},
        {N("{\"a\":[1]}"), N("{\"a\":[1.0]}")},
    };

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct values v = {.n = 0};

        add_json(&v, same[i][0]);
        add_json(&v, same[i][1]);
        check_pair(&v, 0, 1, 0);
        free_values(&v);
    }
}
END_TEST

START_TEST(missing_equals_null)
{
    struct values v = {.n = 0};
    bson_iter_t it;

    add_json(&v, N("null"));
    it = value_at(&v, 0);
    ck_assert_int_eq(value_cmp(NULL, &it), 0);
    ck_assert_int_eq(value_cmp(&it, NULL), 0);
    free_values(&v);
}
END_TEST

START_TEST(integers_are_recognised)
{
    static const struct {
        const char *json;
        bool is_int;
        int64_t value;
    } cases[] = {
        {N("7"), true, 7},
        {L("-9"), true, -9},
        {N("3.0"), true, 3},
        {N("3.5"), false, 0},
        {N("1e300"), false, 0},
        {N("9223372036854775808.0"), false, 0},
        {N("-9223372036854775808.0"), true, INT64_MIN},
        {N("\"7\""), false, 0},
        {N("{\"$date\":{\"$numberLong\":\"7\"}}"), false, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct values v = {.n = 0};
        int64_t value = 0;
        bson_iter_t it;

        add_json(&v, cases[i].json);
        it = value_at(&v, 0);
        ck_assert_msg(value_int(&it, &value) == cases[i].is_int, "%s", cases[i].json);
        ck_assert_int_eq(value, cases[i].value);
        free_values(&v);
    }
}
END_TEST

SUITE_MAIN("order of values", order_rises, equal_numbers_have_one_key, missing_equals_null,
    integers_are_recognised)
