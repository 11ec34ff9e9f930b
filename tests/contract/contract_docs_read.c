#include <check.h>
#include <string.h>

#include "contract/docs.h"
#include "contract/drivers.h"
#include "support/suite.h"

/*
 * Reading documents: what a filter finds, in what order, in what pages, and what is refused. The
 * collection `imports` has no index, `contacts` and `audit` have some; both must say the same.
 */

#define LONG(n) "{'$numberLong':'" #n "'}"
#define DATE(n) "{'$date':{'$numberLong':'" #n "'}}"
#define OID     "{'$oid':'0123456789abcdef01234567'}"
#define BIN     "{'$binary':{'base64':'AAEC','subType':'00'}}"

static const char *const zoo[] = {
    /* 1 */ "{'a': 1, 's': 'one', 'tags': ['x','y']}",
    /* 2 */ "{'a': 2.0, 's': 'two', 'tags': []}",
    /* 3 */ "{'a': " LONG(3) ", 's': 'three', 'tags': ['y']}",
    /* 4 */ "{'a': null}",
    /* 5 */ "{'b': {'c': 1, 'd': [1,2]}}",
    /* 6 */ "{'a': '1', 'b': [{'c': 1}, {'c': 2}]}",
    /* 7 */ "{'a': true, 'b': [{'d': 1}]}",
    /* 8 */ "{'a': " DATE(1000) ", 'b': []}",
    /* 9 */ "{'a': [1, 5, 'z'], 'b': [1, 2]}",
    /* 10 */ "{'a': {'x': 1}, 'b': {'c': null}}",
    /* 11 */ "{'a': " OID ", 'b': [[{'c': 9}]]}",
    /* 12 */ "{'a': " BIN "}",
    /* 13 */ "{'a': [], 'b': {'c': [1, [2]]}}",
    /* 14 */ "{'a': " LONG(9007199254740993) "}",
    /* 15 */ "{'a': 9007199254740992.0}",
    /* 16 */ "{'a': -1.5, 's': 'Zoë'}",
    /* 17 */ "{'a': false, 's': 'zo\\u00eb'}",
    /* 18 */ "{'a': [[1, 2], 3]}",
    NULL,
};

struct find_case {
    const char *filter, *ids;
};

static const struct find_case finds[] = {
    {"{}", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18"},
    {"{'a': 1}", "1,9"},
    {"{'a': 2}", "2"},
    {"{'a': " LONG(2) "}", "2"},
    {"{'a': {'$eq': 3.0}}", "3,18"},
    {"{'a': '1'}", "6"},
    {"{'a': true}", "7"},
    {"{'a': null}", "4,5"},
    {"{'a': {'$ne': null}}", "1,2,3,6,7,8,9,10,11,12,13,14,15,16,17,18"},
    {"{'a': {'$exists': true}}", "1,2,3,4,6,7,8,9,10,11,12,13,14,15,16,17,18"},
    {"{'a': {'$exists': false}}", "5"},
    {"{'a': {'$in': [1, '1', null]}}", "1,4,5,6,9"},
    {"{'a': {'$in': []}}", ""},
    {"{'a': {'$nin': [1, 2, 3, '1', null, true]}}", "8,10,11,12,13,14,15,16,17"},
    {"{'a': {'$gt': 2}}", "3,9,14,15,18"},
    {"{'a': {'$gte': 2, '$lt': 3}}", "2,9"},
    {"{'a': {'$lt': 2}}", "1,9,16"},
    {"{'a': {'$lte': null}}", "4,5"},
    {"{'a': {'$gt': null}}", ""},
    {"{'a': {'$gt': ''}}", "6,9"},
    {"{'a': {'$lt': true}}", "17"},
    {"{'a': {'$gt': " DATE(0) "}}", "8"},
    {"{'a': {'$lt': " DATE(1000) "}}", ""},
    {"{'a': 9007199254740992.0}", "15"},
    {"{'a': {'$gt': 9007199254740992.0}}", "14"},
    {"{'a': " LONG(9007199254740993) "}", "14"},
    {"{'a': {'x': 1}}", "10"},
    {"{'a': {'x': 1.0}}", "10"},
    {"{'a': {'x': 1, 'y': 2}}", ""},
    {"{'a': [1, 5, 'z']}", "9"},
    {"{'a': [1, 2]}", "18"},
    {"{'a': []}", "13"},
    {"{'a': {'$gt': [1]}}", "9,18"},
    {"{'a': " BIN "}", "12"},
    {"{'a': " OID "}", "11"},
    {"{'a.0': 1}", "9"},
    {"{'a.1': 5}", "9"},
    {"{'a.0.1': 2}", "18"},
    {"{'tags': 'y'}", "1,3"},
    {"{'tags': {'$nin': ['x']}, 's': {'$exists': true}}", "2,3,16,17"},
    {"{'b.c': 1}", "5,6,13"},
    {"{'b.c': 2}", "6"},
    {"{'b.c': [2]}", "13"},
    {"{'b.0.c': 1}", "6"},
    {"{'b.c': null}", "1,2,3,4,7,10,12,14,15,16,17,18"},
    {"{'b.c': {'$exists': true}}", "5,6,10,13"},
    {"{'b.d': {'$exists': true}}", "5,7"},
    {"{'b.d': 2}", "5"},
    {"{'b.c': {'$ne': 1}}", "1,2,3,4,7,8,9,10,11,12,14,15,16,17,18"},
    {"{'a': {'$not': {'$gt': 1}}, 's': {'$exists': true}}", "1,16,17"},
    {"{'$or': [{'a': 1}, {'s': 'two'}]}", "1,2,9"},
    {"{'$nor': [{'a': {'$exists': true}}, {'b': 1}]}", "5"},
    {"{'$and': [{'a': {'$gt': 0}}, {'a': {'$lt': 2}}]}", "1,9"},
    {"{'$or': [{'$and': [{'a': 1}, {'tags': 'x'}]}, {'a': {'$not': {'$ne': null}}}]}", "1,4,5"},
    {"{'s': {'$gt': 'Z', '$lt': 'a'}}", "16"},
    {"{'s': 'zo\\u00eb'}", "17"},
    {"{'_id': 3}", "3"},
    {"{'_id': {'$in': [" LONG(3) ", 5.0, 'x', 99]}}", "3,5"},
    {"{'_id': {'$gt': 15, '$lte': 17}}", "16,17"},
    {"{'_id': {'$gt': 15.5, '$lte': 17}}", "16,17"},
    {"{'_id': '3'}", ""},
    {"{'_id': {'$ne': 3}, 'a': {'$in': [1, 3]}}", "1,9,18"},
};

START_TEST(filters_find)
{
    struct store *st = contract_open(&contract_drivers[_i]);

    docs_insert_all(st, "imports", zoo);
    for (size_t i = 0; i < sizeof finds / sizeof finds[0]; i++) {
        const char *ids = docs_find_ids(st, "imports", STORE_SCAN, finds[i].filter, NULL, NULL, 0);

        ck_assert_msg(
            strcmp(ids, finds[i].ids) == 0, "%s: %s, not %s", finds[i].filter, ids, finds[i].ids);
    }
    contract_close(&st);
}
END_TEST

struct order_case {
    const char *sort, *ids;
};

/* Empty array, null and missing, numbers, strings, objects, arrays, binary, id, bool, date. */
static const struct order_case orders[] = {
    {"{'a': 1}", "13,4,5,16,1,9,2,3,18,15,14,6,10,12,11,17,7,8"},
    {"{'a': -1}", "8,7,17,11,12,18,10,9,6,14,15,3,2,1,16,4,5,13"},
    {"{'_id': -1}", "18,17,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1"},
    {"{'s': 1, '_id': -1}", "18,15,14,13,12,11,10,9,8,7,6,5,4,16,1,3,2,17"},
    {"{'b.c': 1, 's': -1}", "17,2,3,1,16,4,7,8,9,10,11,12,14,15,18,5,6,13"},
};

START_TEST(sorts_order)
{
    struct store *st = contract_open(&contract_drivers[_i]);

    docs_insert_all(st, "imports", zoo);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        const char *ids = docs_find_ids(st, "imports", STORE_SCAN, NULL, orders[i].sort, NULL, 0);

        ck_assert_msg(
            strcmp(ids, orders[i].ids) == 0, "%s: %s, not %s", orders[i].sort, ids, orders[i].ids);
    }
    contract_close(&st);
}
END_TEST

/* Pages of every size, put together, are the whole. */
static void
check_pages(struct store *st, const char *coll, const char *sort, const char *path, uint32_t limit)
{
    char whole[4096], joined[4096] = "";
    bson_t *s = docs_json(sort), after = BSON_INITIALIZER;
    bool has_after = false;
    size_t n_joined = 0;

    snprintf(whole, sizeof whole, "%s", docs_find_ids(st, coll, STORE_SCAN, NULL, sort, NULL, 0));
    for (;;) {
        struct store_batch *b = store_batch_create(st, STORE_URGENT);
        struct store_find find = {.sort = s, .after = has_after ? &after : NULL, .limit = limit};
        unsigned op = store_find(b, coll, STORE_SCAN, NULL, &find);
        const struct store_result *r;
        bson_iter_t it;

        contract_run(b);
        r = store_batch_result(b, op);
        for (size_t i = 0; i < r->n_docs; i++) {
            ck_assert(bson_iter_init_find(&it, &r->docs[i], "_id"));
            n_joined += (size_t)snprintf(joined + n_joined, sizeof joined - n_joined, "%s%lld",
                n_joined > 0 ? "," : "", (long long)bson_iter_int64(&it));
        }
        if (r->n_docs < limit) {
            store_batch_free(&b);
            break;
        }
        bson_reinit(&after);
        bson_append_iter(&after, "_id", 3, &it);
        if (bson_iter_init_find(&it, &r->docs[r->n_docs - 1], path))
            bson_append_iter(&after, path, -1, &it);
        else
            bson_append_null(&after, path, -1);
        has_after = true;
        store_batch_free(&b);
    }
    ck_assert_msg(strcmp(whole, joined) == 0, "%s by %u: %s, not %s", sort, limit, joined, whole);
    bson_destroy(s);
    bson_destroy(&after);
}

START_TEST(pages_join)
{
    struct store *st = contract_open(&contract_drivers[_i]);

    docs_insert_all(st, "imports", zoo);
    for (uint64_t i = 1; i <= 40; i++) { /* many equal keys, some missing */
        char json[200];

        snprintf(json, sizeof json,
            "{'externalId': 'c%llu', %s 'emailHash': {'$numberLong':'%llu'}}",
            (unsigned long long)i, i % 3 == 0 ? "" : "'updatedAt': {'$date': 5},",
            (unsigned long long)(i % 4));
        ck_assert_int_eq(docs_insert_one(st, "contacts", i, json), ERR_NONE);
    }
    for (uint32_t limit = 1; limit < 20; limit += 3) {
        check_pages(st, "imports", "{'a': 1}", "a", limit);
        check_pages(st, "imports", "{'a': -1}", "a", limit);
        check_pages(st, "imports", "{'s': -1, '_id': -1}", "s", limit);
        check_pages(st, "contacts", "{'updatedAt': 1}", "updatedAt", limit);
        check_pages(st, "contacts", "{'updatedAt': -1}", "updatedAt", limit);
        check_pages(st, "contacts", "{'emailHash': -1, '_id': -1}", "emailHash", limit);
        check_pages(st, "contacts", "{'_id': 1}", "_id", limit);
    }
    contract_close(&st);
}
END_TEST

struct projection_case {
    const char *fields, *expected;
};

static const struct projection_case projections[] = {
    {"{}", "{ '_id' : 1, 'a' : 1, 'b' : [ { 'c' : 1, 'd' : 2 }, 5, [ { 'd' : 3 } ] ], 'e' : { 'f' "
           ": 'x', 'g' : null } }"},
    {"{'a': 1}", "{ '_id' : 1, 'a' : 1 }"},
    {"{'_id': 1}", "{ '_id' : 1 }"},
    {"{'zz': 1}", "{ '_id' : 1 }"},
    {"{'e.g': 1, 'a': 1}", "{ '_id' : 1, 'a' : 1, 'e' : { 'g' : null } }"},
    {"{'b.d': 1}", "{ '_id' : 1, 'b' : [ { 'd' : 2 }, [ { 'd' : 3 } ] ] }"},
    {"{'a.x': 1, 'e.x': 1}", "{ '_id' : 1, 'e' : {  } }"},
};

START_TEST(projections_cut)
{
    struct store *st = contract_open(&contract_drivers[_i]);

    ck_assert_int_eq(
        docs_insert_one(st, "imports", 1,
            "{'a': 1, 'b': [{'c': 1, 'd': 2}, 5, [{'d': 3}]], 'e': {'f': 'x', 'g': null}}"),
        ERR_NONE);
    for (size_t i = 0; i < sizeof projections / sizeof projections[0]; i++) {
        struct store_batch *b = store_batch_create(st, STORE_URGENT);
        bson_t *fields = docs_json(projections[i].fields);
        struct store_find find = {.projection = fields};
        unsigned op = store_find(b, "imports", STORE_SCAN, NULL, &find);

        contract_run(b);
        ck_assert_str_eq(docs_text(&store_batch_result(b, op)->docs[0]), projections[i].expected);
        bson_destroy(fields);
        store_batch_free(&b);
    }
    contract_close(&st);
}
END_TEST

/* An index changes the speed of a filter, never its answer. */
START_TEST(indexes_agree)
{
    static const char *const filters[] = {
        "{'resource': 'b', 'resourceId': 2}",
        "{'resource': 'b', 'resourceId': {'$in': [1, 2.0]}, 'occurredAt': {'$gte': 3}}",
        "{'resource': {'$gt': 'a'}, 'occurredAt': {'$lt': 6}}",
        "{'occurredAt': {'$gt': 2, '$lte': 7}, 'resource': {'$ne': 'b'}}",
        "{'occurredAt': null}",
        "{'occurredAt': {'$gte': null}}",
        "{'occurredAt': {'$gt': null}}",
        "{'occurredAt': {'$in': [1, '4', null, " DATE(4) "]}}",
        "{'occurredAt': {'$lt': 'zz'}}",
        "{'occurredAt': {'$gte': " DATE(0) "}, '_id': {'$gt': 10}}",
        "{'occurredAt': {'$gt': 4}, '$or': [{'resource': 'a'}, {'resourceId': 1}]}",
    };
    struct store *st = contract_open(&contract_drivers[_i]);

    for (uint64_t i = 1; i <= 60; i++) {
        char time[80] = "", json[200];
        int n = (int)(i % 9);

        switch (i % 5) {
        case 1: snprintf(time, sizeof time, "'occurredAt': %d,", n); break;
        case 2: snprintf(time, sizeof time, "'occurredAt': '%d',", n); break;
        case 3:
            snprintf(time, sizeof time, "'occurredAt': {'$date': {'$numberLong':'%d'}},", n);
            break;
        case 4: snprintf(time, sizeof time, "'occurredAt': %d.5,", n); break;
        default: break;
        }
        snprintf(json, sizeof json, "{'resource': '%c', %s 'resourceId': %d}", (int)('a' + i % 3),
            time, (int)(i % 4));
        ck_assert_int_eq(docs_insert_one(st, "audit", i, json), ERR_NONE);
        ck_assert_int_eq(docs_insert_one(st, "imports", i, json), ERR_NONE);
    }
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        char scanned[1024];

        snprintf(scanned, sizeof scanned, "%s",
            docs_find_ids(st, "imports", STORE_SCAN, filters[i], NULL, NULL, 0));
        ck_assert_msg(strcmp(docs_find_ids(st, "audit", STORE_INDEXED, filters[i], NULL, NULL, 0),
                          scanned) == 0,
            "%s: expected %s", filters[i], scanned);
        ck_assert_msg(strlen(scanned) > 0 || strstr(filters[i], "$gt': null") != NULL,
            "%s finds nothing: a poor case", filters[i]);
    }
    contract_close(&st);
}
END_TEST

static void
expect_refused(struct store *st, const char *coll, enum store_access access, const char *filter,
    const char *sub)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t *f = docs_json(filter);

    store_count(b, coll, access, f);
    contract_run_fails(b, ERR_INVALID, sub);
    bson_destroy(f);
    store_batch_free(&b);
}

START_TEST(foreign_language_is_refused)
{
    static const struct {
        const char *filter, *sub;
    } cases[] = {
        {"{'a': {'$mod': [2, 0]}}", "unsupported_filter"},
        {"{'a': {'$elemMatch': {'b': 1}}}", "unsupported_filter"},
        {"{'a': {'$all': [1]}}", "unsupported_filter"},
        {"{'a': {'$gt': 1, 'b': 2}}", "unsupported_filter"},
        {"{'$where': 'true'}", "unsupported_filter"},
        {"{'$expr': {'a': 1}}", "unsupported_filter"},
        {"{'a': {'$not': 5}}", "invalid_filter"},
        {"{'a': {'$not': {}}}", "invalid_filter"},
        {"{'a': {'$in': 5}}", "invalid_filter"},
        {"{'a': {'$exists': 1}}", "invalid_filter"},
        {"{'$or': []}", "invalid_filter"},
        {"{'$or': {'a': 1}}", "invalid_filter"},
        {"{'$and': [5]}", "invalid_filter"},
        {"{'a..b': 1}", "invalid_path"},
        {"{'.a': 1}", "invalid_path"},
        {"{'a.$b': 1}", "invalid_path"},
        {"{'': 1}", "invalid_path"},
        {"{'a': {'$numberDouble': 'NaN'}}", "not_a_number"},
        {"{'a': {'$numberDecimal': '1'}}", "unsupported_type"},
        {"{'a': {'$minKey': 1}}", "unsupported_type"},
        {"{'a': {'$regularExpression': {'pattern': 'x', 'options': ''}}}", "unsupported_type"},
    };
    struct store *st = contract_open(&contract_drivers[_i]);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refused(st, "imports", STORE_SCAN, cases[i].filter, cases[i].sub);
    expect_refused(st, "nosuch", STORE_SCAN, "{}", "unknown_collection");
    contract_close(&st);
}
END_TEST

START_TEST(foreign_sorts_are_refused)
{
    static const char *const sorts[] = {"{'a': 2}", "{'a': 'x'}", "{'a.0': 1}", "{'a..b': 1}",
        "{'$a': 1}", "{'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1}"};
    struct store *st = contract_open(&contract_drivers[_i]);

    for (size_t i = 0; i < sizeof sorts / sizeof sorts[0]; i++) {
        struct store_batch *b = store_batch_create(st, STORE_URGENT);
        bson_t *sort = docs_json(sorts[i]);
        struct store_find find = {.sort = sort};
        struct err err;

        store_find(b, "imports", STORE_SCAN, NULL, &find);
        ck_assert_msg(store_run(b, &err) == -1, "%s", sorts[i]);
        ck_assert_int_eq(err.code, ERR_INVALID);
        bson_destroy(sort);
        store_batch_free(&b);
    }
    contract_close(&st);
}
END_TEST

START_TEST(access_is_held)
{
    struct store *st = contract_open(&contract_drivers[_i]);

    expect_refused(st, "contacts", STORE_INDEXED, "{}", "not_indexed");
    expect_refused(st, "contacts", STORE_INDEXED, "{'locale': 'de'}", "not_indexed");
    expect_refused(st, "contacts", STORE_INDEXED, "{'emailHash': {'$ne': 1}}", "not_indexed");
    expect_refused(st, "contacts", STORE_INDEXED, "{'$or': [{'emailHash': 1}]}", "not_indexed");
    /* The index on externalId covers texts; what a filter says must lie in it. */
    expect_refused(st, "contacts", STORE_INDEXED, "{'externalId': null}", "not_indexed");
    expect_refused(st, "contacts", STORE_INDEXED, "{'externalId': {'$gte': ''}}", "not_indexed");
    expect_refused(
        st, "contacts", STORE_INDEXED, "{'externalId': {'$in': ['a', 5]}}", "not_indexed");
    ck_assert_str_eq(
        docs_find_ids(st, "contacts", STORE_INDEXED, "{'externalId': 'x'}", NULL, NULL, 0), "");
    ck_assert_str_eq(docs_find_ids(st, "contacts", STORE_INDEXED,
                         "{'externalId': {'$gt': 'a'}, 'locale': 'de'}", NULL, NULL, 0),
        "");
    ck_assert_str_eq(
        docs_find_ids(st, "contacts", STORE_INDEXED, "{'_id': {'$in': [1, 2]}}", NULL, NULL, 0),
        "");
    ck_assert_str_eq(docs_find_ids(st, "contacts", STORE_INDEXED,
                         "{'externalId': {'$in': []}, 'locale': 'de'}", NULL, NULL, 0),
        "");
    ck_assert_str_eq(
        docs_find_ids(st, "contacts", STORE_INDEXED, "{'_id': {'$in': []}}", NULL, NULL, 0), "");
    ck_assert_str_eq(docs_find_ids(st, "contacts", STORE_INDEXED,
                         "{'externalId': {'$in': ['a', 'b', 'c']}}", NULL, NULL, 0),
        "");
    /* A page in index or id order is bounded by its limit. */
    ck_assert_str_eq(
        docs_find_ids(st, "contacts", STORE_INDEXED, "{}", "{'updatedAt': -1}", NULL, 10), "");
    ck_assert_str_eq(docs_find_ids(st, "contacts", STORE_INDEXED, "{}", NULL, NULL, 10), "");
    contract_close(&st);
}
END_TEST

static const char *
grouped(struct store *st, bool is_distinct, const char *path, const char *filter, uint32_t limit)
{
    static char out[2048];
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t *f = docs_json(filter);
    unsigned op = is_distinct ? store_distinct(b, "imports", STORE_SCAN, path, f, limit)
                              : store_group_count(b, "imports", STORE_SCAN, path, f, limit);
    size_t n = 0;

    contract_run(b);
    out[0] = '\0';
    for (size_t i = 0; i < store_batch_result(b, op)->n_docs; i++)
        n += (size_t)snprintf(
            out + n, sizeof out - n, "%s", docs_text(&store_batch_result(b, op)->docs[i]));
    bson_destroy(f);
    store_batch_free(&b);
    return out;
}

START_TEST(groups_count)
{
    static const char *const docs[] = {"{'k': 'b', 't': ['x', 'y']}", "{'k': 'a', 't': ['y']}",
        "{'k': 'b', 't': []}", "{'k': 1, 'n': {'m': 2}}", "{'k': 1.0, 't': null}", "{'t': 'x'}",
        "{'k': null}", NULL};
    struct store *st = contract_open(&contract_drivers[_i]);

    docs_insert_all(st, "imports", docs);
    ck_assert_str_eq(
        grouped(st, true, "k", "{}", 0), "{ 'v' : null }{ 'v' : 1 }{ 'v' : 'a' }{ 'v' : 'b' }");
    ck_assert_str_eq(grouped(st, true, "k", "{}", 2), "{ 'v' : null }{ 'v' : 1 }");
    ck_assert_str_eq(grouped(st, true, "t", "{}", 0), "{ 'v' : null }{ 'v' : 'x' }{ 'v' : 'y' }");
    ck_assert_str_eq(grouped(st, true, "n.m", "{}", 0), "{ 'v' : 2 }");
    ck_assert_str_eq(grouped(st, false, "k", "{}", 0),
        "{ 'v' : null, 'n' : 2 }{ 'v' : 1, 'n' : 2 }{ 'v' : 'a', 'n' : 1 }{ 'v' : 'b', 'n' : 2 }");
    ck_assert_str_eq(grouped(st, false, "k", "{'t': {'$exists': true}}", 0),
        "{ 'v' : null, 'n' : 1 }{ 'v' : 1.0, 'n' : 1 }{ 'v' : 'a', 'n' : 1 }{ 'v' : 'b', 'n' : 2 "
        "}");
    contract_close(&st);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("documents, reading");
    TCase *tc = tcase_create("contract");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tc, 0);
    tcase_add_loop_test(tc, filters_find, 0, contract_n_drivers);
    tcase_add_loop_test(tc, sorts_order, 0, contract_n_drivers);
    tcase_add_loop_test(tc, pages_join, 0, contract_n_drivers);
    tcase_add_loop_test(tc, projections_cut, 0, contract_n_drivers);
    tcase_add_loop_test(tc, indexes_agree, 0, contract_n_drivers);
    tcase_add_loop_test(tc, foreign_language_is_refused, 0, contract_n_drivers);
    tcase_add_loop_test(tc, foreign_sorts_are_refused, 0, contract_n_drivers);
    tcase_add_loop_test(tc, access_is_held, 0, contract_n_drivers);
    tcase_add_loop_test(tc, groups_count, 0, contract_n_drivers);
    suite_add_tcase(suite, tc);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
