#include <check.h>
#include <string.h>

#include "contract/docs.h"
#include "contract/drivers.h"
#include "support/suite.h"

/*
 * Changing documents: what each update operator does to what it may meet, upserts, duplicates,
 * conditions of a batch, and that a batch is all or nothing.
 */

#define LONG(n) "{'$numberLong':'" #n "'}"

struct update_case {
    const char *doc, *update;
    const char *after; /* the document, or the sub-code of the error after '!' */
};

static const struct update_case updates[] = {
    /* $set and $unset */
    {"{'a': 1}", "{'$set': {'a': 2}}", "'a' : 2"},
    {"{'a': 1}", "{'$set': {'c': 1, 'b': 2}}", "'a' : 1, 'b' : 2, 'c' : 1"},
    {"{'a': 1}", "{'$set': {'b.c.d': 2}}", "'a' : 1, 'b' : { 'c' : { 'd' : 2 } }"},
    {"{'b': {'x': 1}}", "{'$set': {'b.c': 2, 'b.x': 3}}", "'b' : { 'x' : 3, 'c' : 2 }"},
    {"{'a': 1}", "{'$set': {'a.b': 2}}", "!path_blocked"},
    {"{'a': null}", "{'$set': {'a.b': 2}}", "!path_blocked"},
    {"{'a': [1, 2]}", "{'$set': {'a.1': 9}}", "'a' : [ 1, 9 ]"},
    {"{'a': [1]}", "{'$set': {'a.3': 9}}", "'a' : [ 1, null, null, 9 ]"},
    {"{'a': [{'b': 1}]}", "{'$set': {'a.0.b': 9}}", "'a' : [ { 'b' : 9 } ]"},
    {"{'a': [1]}", "{'$set': {'a.x': 9}}", "!path_blocked"},
    {"{'a': 1, 'b': 2}", "{'$unset': {'a': ''}}", "'b' : 2"},
    {"{'a': 1}", "{'$unset': {'b.c': ''}}", "'a' : 1"},
    {"{'a': {'b': 1}}", "{'$unset': {'a.b': ''}}", "'a' : {  }"},
    {"{'a': [1, 2]}", "{'$unset': {'a.0': ''}}", "'a' : [ null, 2 ]"},
    {"{'a': 5}", "{'$unset': {'a.b': ''}}", "'a' : 5"},
    {"{'a': [5]}", "{'$unset': {'a.b': ''}}", "'a' : [ 5 ]"},
    /* $inc */
    {"{'a': 1}", "{'$inc': {'a': 2}}", "'a' : 3"},
    {"{}", "{'$inc': {'n.a': -2}}", "'n' : { 'a' : -2 }"},
    {"{'a': 2147483647}", "{'$inc': {'a': 1}}", "'a' : 2147483648"},
    {"{'a': 1}", "{'$inc': {'a': 0.5}}", "'a' : 1.5"},
    {"{'a': 1}", "{'$inc': {'a': 0.0}}", "'a' : 1.0"},
    {"{'a': -0.0}", "{'$inc': {'a': 0}}", "'a' : -0.0"},
    {"{'a': " LONG(9223372036854775807) "}", "{'$inc': {'a': 1}}", "!number_overflow"},
    {"{'a': 'x'}", "{'$inc': {'a': 1}}", "!not_a_number"},
    {"{'a': null}", "{'$inc': {'a': 1}}", "!not_a_number"},
    {"{'a': {'$numberDouble': 'Infinity'}}", "{'$inc': {'a': {'$numberDouble': '-Infinity'}}}",
        "!not_a_number"},
    /* $min and $max follow the order of values, over types */
    {"{'a': 5}", "{'$min': {'a': 3}}", "'a' : 3"},
    {"{'a': 5}", "{'$min': {'a': 7}}", "'a' : 5"},
    {"{'a': 5}", "{'$max': {'a': 7}}", "'a' : 7"},
    {"{'a': 5}", "{'$max': {'a': 'x'}}", "'a' : 'x'"},
    {"{'a': 5}", "{'$min': {'a': null}}", "'a' : null"},
    {"{}", "{'$max': {'a': 7}, '$min': {'b': 8}}", "'a' : 7, 'b' : 8"},
    {"{'a': 5}", "{'$max': {'a': 5.0}}", "'a' : 5"},
    /* arrays */
    {"{'t': ['a']}", "{'$addToSet': {'t': 'b'}}", "'t' : [ 'a', 'b' ]"},
    {"{'t': ['a', 1]}", "{'$addToSet': {'t': 1.0}}", "'t' : [ 'a', 1 ]"},
    {"{'t': ['a']}", "{'$addToSet': {'t': {'$each': ['b', 'a', 'b']}}}", "'t' : [ 'a', 'b' ]"},
    {"{}", "{'$addToSet': {'t': ['x']}}", "'t' : [ [ 'x' ] ]"},
    {"{'t': [{'a': 1}]}", "{'$addToSet': {'t': {'a': 1.0}}}", "'t' : [ { 'a' : 1 } ]"},
    {"{'t': 'x'}", "{'$addToSet': {'t': 'y'}}", "!not_an_array"},
    {"{'t': ['a', 'b', 'a']}", "{'$pull': {'t': 'a'}}", "'t' : [ 'b' ]"},
    {"{'t': ['a', 'b', 'c']}", "{'$pull': {'t': {'$in': ['a', 'c']}}}", "'t' : [ 'b' ]"},
    {"{'t': [1, 5, 9, 'x']}", "{'$pull': {'t': {'$gt': 2, '$lt': 9}}}", "'t' : [ 1, 9, 'x' ]"},
    {"{'t': [{'k': 1, 'v': 2}, {'k': 2}, 7]}", "{'$pull': {'t': {'k': 1}}}",
        "'t' : [ { 'k' : 2 }, 7 ]"},
    {"{'t': [[1], 1]}", "{'$pull': {'t': [1]}}", "'t' : [ 1 ]"},
    {"{}", "{'$pull': {'t': 'a'}}", ""},
    {"{'t': 5}", "{'$pull': {'t': 5}}", "!not_an_array"},
    {"{'t': 5}", "{'$pull': {'t.a': 5}}", "!path_blocked"},
    {"{'t': [5]}", "{'$pull': {'t.a': 5}}", "!path_blocked"},
    {"{'t': [[5, 6]]}", "{'$pull': {'t.0': 5}}", "'t' : [ [ 6 ] ]"},
    {"{'t': {}}", "{'$pull': {'t.a.b': 5}}", "'t' : {  }"},
    {"{'t': [1]}", "{'$push': {'t': 1}}", "'t' : [ 1, 1 ]"},
    {"{}", "{'$push': {'a.t': {'k': 1}}}", "'a' : { 't' : [ { 'k' : 1 } ] }"},
    {"{'t': [1, 2]}", "{'$push': {'t': {'$each': [3, 4], '$slice': -3}}}", "'t' : [ 2, 3, 4 ]"},
    {"{'t': [1, 2]}", "{'$push': {'t': {'$each': [3, 4], '$slice': 3}}}", "'t' : [ 1, 2, 3 ]"},
    {"{'t': [1, 2]}", "{'$push': {'t': {'$each': [], '$slice': 1}}}", "'t' : [ 1 ]"},
    {"{'t': [1, 2]}", "{'$push': {'t': {'$each': [3], '$slice': 0}}}", "'t' : [  ]"},
    {"{'t': [1, 2]}", "{'$push': {'t': {'$each': [3], '$slice': -9}}}", "'t' : [ 1, 2, 3 ]"},
    {"{'t': null}", "{'$push': {'t': 1}}", "!not_an_array"},
    /* $setOnInsert does nothing to a document that is there */
    {"{'a': 1}", "{'$setOnInsert': {'b': 2}, '$set': {'c': 3}}", "'a' : 1, 'c' : 3"},
    /* outside the language */
    {"{}", "{'a': 1}", "!unsupported_update"},
    {"{}", "{}", "!invalid_update"},
    {"{}", "{'$rename': {'a': 'b'}}", "!unsupported_update"},
    {"{}", "{'$set': 5}", "!invalid_update"},
    {"{}", "{'$set': {'_id': 5}}", "!invalid_update"},
    {"{}", "{'$set': {'a': 1}, '$inc': {'a': 1}}", "!invalid_update"},
    {"{}", "{'$set': {'a': 1, 'a.b': 1}}", "!invalid_update"},
    {"{}", "{'$set': {'a.b': 1}, '$unset': {'a': 1}}", "!invalid_update"},
    {"{}", "{'$set': {'a$': 1, 'b.$': 1}}", "!invalid_path"},
    {"{}", "{'$inc': {'a': 'x'}}", "!invalid_update"},
    {"{}", "{'$push': {'a': {'$each': 5}}}", "!invalid_update"},
    {"{}", "{'$push': {'a': {'$each': [1], '$sort': 1}}}", "!invalid_update"},
    {"{}", "{'$push': {'a': {'$slice': 1}}}", "!invalid_update"},
    {"{}", "{'$pull': {'a': {'$regexx': 1}}}", "!unsupported_filter"},
    {"{}", "{'$set': {'a': {'$numberDecimal': '1'}}}", "!unsupported_type"},
};

static void
check_update(struct store *st, const struct update_case *c, uint64_t id)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t *update = docs_json(c->update), *filter = BCON_NEW("_id", BCON_INT64((int64_t)id));
    char expected[512];
    struct err err;
    int rc;

    ck_assert_int_eq(docs_insert_one(st, "imports", id, c->doc), ERR_NONE);
    store_update(b, "imports", STORE_INDEXED, filter, update, 0);
    err_clear(&err);
    rc = store_run(b, &err);
    if (c->after[0] == '!') {
        ck_assert_msg(rc != 0, "%s on %s is not refused", c->update, c->doc);
        ck_assert_int_eq(err.code, ERR_INVALID);
        ck_assert_msg(strcmp(err.sub, c->after + 1) == 0, "%s on %s: %s: %s", c->update, c->doc,
            err.sub, err.text);
    } else {
        snprintf(expected, sizeof expected, "{ '_id' : %d%s%s }", (int)id,
            c->after[0] != '\0' ? ", " : "", c->after);
        ck_assert_msg(rc == 0, "%s on %s: %s: %s", c->update, c->doc, err.sub, err.text);
        ck_assert_msg(strcmp(docs_get(st, "imports", id), expected) == 0, "%s on %s: %s, not %s",
            c->update, c->doc, docs_get(st, "imports", id), expected);
    }
    bson_destroy(update);
    bson_destroy(filter);
    store_batch_free(&b);
}

START_TEST(updates_change)
{
    struct store *st = contract_open(&contract_drivers[_i]);

    for (size_t i = 0; i < sizeof updates / sizeof updates[0]; i++)
        check_update(st, &updates[i], i + 1);
    contract_close(&st);
}
END_TEST

/* One update as its own batch; its result is copied out, `doc` (may be NULL) gets the returned text. */
static struct store_result
run_update(struct store *st, const char *coll, const char *filter, const char *update,
    unsigned flags, char *doc, size_t doc_size)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t *f = docs_json(filter), *u = docs_json(update);
    unsigned op = store_update(b, coll, STORE_SCAN, f, u, flags);
    struct store_result r;

    contract_run(b);
    r = *store_batch_result(b, op);
    if (doc != NULL)
        snprintf(doc, doc_size, "%s", r.n_docs > 0 ? docs_text(&r.docs[0]) : "");
    r.docs = NULL;
    bson_destroy(f);
    bson_destroy(u);
    store_batch_free(&b);
    return r;
}

START_TEST(update_counts_and_returns)
{
    static const char *const docs[] = {
        "{'k': 1, 'n': 0}", "{'k': 1, 'n': 5}", "{'k': 2, 'n': 0}", NULL};
    struct store *st = contract_open(&contract_drivers[_i]);
    struct store_result r;
    char text[256];

    docs_insert_all(st, "imports", docs);
    r = run_update(st, "imports", "{'k': 1}", "{'$set': {'n': 5}}", STORE_MANY, NULL, 0);
    ck_assert_uint_eq(r.matched, 2);
    ck_assert_uint_eq(r.changed, 1);
    r = run_update(
        st, "imports", "{'k': {'$gt': 0}}", "{'$inc': {'n': 1}}", STORE_RETURN, text, sizeof text);
    ck_assert_uint_eq(r.matched, 1);
    ck_assert_str_eq(text, "{ '_id' : 1, 'k' : 1, 'n' : 6 }"); /* the first by _id, after */
    r = run_update(
        st, "imports", "{'k': 9}", "{'$set': {'n': 1}}", STORE_RETURN, text, sizeof text);
    ck_assert_uint_eq(r.matched + r.changed + r.n_docs, 0);
    ck_assert(!r.upserted);
    /* A document that its own change moves in the order is met once. */
    r = run_update(st, "imports", "{'n': {'$gte': 0}}", "{'$inc': {'n': 10}}", STORE_MANY, NULL, 0);
    ck_assert_uint_eq(r.changed, 3);
    ck_assert_str_eq(docs_get(st, "imports", 3), "{ '_id' : 3, 'k' : 2, 'n' : 10 }");
    contract_close(&st);
}
END_TEST

START_TEST(upserts_insert_once)
{
    struct store *st = contract_open(&contract_drivers[_i]);
    const char *update = "{'$setOnInsert': {'_id': " LONG(7) ", 'a.b': 1}, '$inc': {'n': 1}}";
    struct store_batch *b;
    struct store_result r;
    char text[256];
    bson_t *f, *u;

    r = run_update(st, "meta", "{'slug': 'x', 'v': {'$gt': 3}, '$and': [{'k': 2}]}", update,
        STORE_UPSERT | STORE_RETURN, text, sizeof text);
    ck_assert(r.upserted);
    ck_assert_uint_eq(r.matched, 0);
    ck_assert_str_eq(text, "{ '_id' : 7, 'slug' : 'x', 'k' : 2, 'a' : { 'b' : 1 }, 'n' : 1 }");
    r = run_update(
        st, "meta", "{'slug': 'x'}", update, STORE_UPSERT | STORE_RETURN, text, sizeof text);
    ck_assert(!r.upserted);
    ck_assert_str_eq(text, "{ '_id' : 7, 'slug' : 'x', 'k' : 2, 'a' : { 'b' : 1 }, 'n' : 2 }");

    b = store_batch_create(st, STORE_URGENT);
    f = docs_json("{'slug': 'y'}");
    u = docs_json("{'$set': {'a': 1}}");
    store_update(b, "meta", STORE_SCAN, f, u, STORE_UPSERT);
    contract_run_fails(b, ERR_INVALID, "id_missing");
    bson_destroy(f);
    bson_destroy(u);
    store_batch_free(&b);
    contract_close(&st);
}
END_TEST

START_TEST(duplicates_are_named)
{
    struct store *st = contract_open(&contract_drivers[_i]);
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    static const struct {
        uint64_t id;
        const char *json;
    } in[] = {{1, "{'externalId': 'a'}"}, {2, "{'externalId': 'b'}"}, {3, "{'externalId': 'a'}"},
        {2, "{'externalId': 'c'}"}, {4, "{'x': 1}"}, {5, "{'externalId': null}"},
        {6, "{'externalId': ''}"}};
    const bson_t *docs[7];
    const struct store_result *r;
    unsigned op;

    for (size_t i = 0; i < 7; i++)
        docs[i] = docs_with_id(in[i].id, in[i].json);
    op = store_insert(b, "contacts", docs, 7);
    contract_run(b);
    r = store_batch_result(b, op);
    ck_assert_uint_eq(r->changed, 5);
    ck_assert_uint_eq(r->n_dups, 2);
    ck_assert_uint_eq(r->dups[0].position, 2);
    ck_assert_str_eq(r->dups[0].index, "externalId");
    ck_assert_uint_eq(r->dups[1].position, 3);
    ck_assert_str_eq(r->dups[1].index, "_id");
    for (size_t i = 0; i < 7; i++)
        bson_destroy((bson_t *)(uintptr_t)docs[i]);
    store_batch_free(&b);

    /* Without a partial condition a missing key is a value like any other. */
    ck_assert_int_eq(docs_insert_one(st, "templates", 1, "{}"), ERR_NONE);
    ck_assert_int_eq(docs_insert_one(st, "templates", 2, "{'slug': null}"), ERR_CONFLICT);
    ck_assert_int_eq(docs_insert_one(st, "templates", 3, "{'slug': 1}"), ERR_NONE);
    ck_assert_int_eq(docs_insert_one(st, "templates", 4, "{'slug': 1.0}"), ERR_CONFLICT);
    ck_assert_int_eq(docs_insert_one(st, "templates", 5, "{'slug': '1'}"), ERR_NONE);
    contract_close(&st);
}
END_TEST

START_TEST(update_to_a_taken_key_fails)
{
    struct store *st = contract_open(&contract_drivers[_i]);
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t *f = docs_json("{'slug': 'b'}"), *u = docs_json("{'$set': {'slug': 'a'}}");

    ck_assert_int_eq(docs_insert_one(st, "templates", 1, "{'slug': 'a'}"), ERR_NONE);
    ck_assert_int_eq(docs_insert_one(st, "templates", 2, "{'slug': 'b'}"), ERR_NONE);
    store_update(b, "templates", STORE_INDEXED, f, u, 0);
    contract_run_fails(b, ERR_CONFLICT, "duplicate");
    ck_assert_str_eq(docs_get(st, "templates", 2), "{ '_id' : 2, 'slug' : 'b' }");
    bson_destroy(f);
    bson_destroy(u);
    store_batch_free(&b);
    contract_close(&st);
}
END_TEST

/* The step that fails takes the steps before it back. */
START_TEST(batches_are_whole)
{
    struct store *st = contract_open(&contract_drivers[_i]);
    struct store_batch *b = store_batch_create(st, STORE_BULK);
    bson_t *doc = docs_with_id(1, "{'a': 1}"), *none = docs_json("{'a': 99}");
    bson_t *u = docs_json("{'$set': {'b': 1}}");
    const bson_t *docs[] = {doc};
    unsigned op;

    store_insert(b, "imports", docs, 1);
    op = store_update(b, "imports", STORE_SCAN, none, u, 0);
    store_require(b, op, ERR_CONFLICT, "not_draft");
    contract_run_fails(b, ERR_CONFLICT, "not_draft");
    ck_assert_ptr_null(docs_get(st, "imports", 1));
    store_batch_free(&b);

    b = store_batch_create(st, STORE_BULK);
    op = store_insert(b, "imports", docs, 1);
    store_require(b, op, ERR_CONFLICT, "taken");
    contract_run(b);
    store_batch_free(&b);
    b = store_batch_create(st, STORE_BULK);
    op = store_insert(b, "imports", docs, 1);
    store_require(b, op, ERR_CONFLICT, "taken");
    contract_run_fails(b, ERR_CONFLICT, "taken");
    store_batch_free(&b);
    bson_destroy(doc);
    bson_destroy(none);
    bson_destroy(u);
    contract_close(&st);
}
END_TEST

START_TEST(deletes_remove)
{
    static const char *const docs[] = {"{'k': 1}", "{'k': 1}", "{'k': 2}", "{'k': 1}", NULL};
    struct store *st = contract_open(&contract_drivers[_i]);
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t *f = docs_json("{'k': 1}"), *none = docs_json("{'k': 7}");
    unsigned first, many, nothing, left;

    docs_insert_all(st, "imports", docs);
    first = store_delete(b, "imports", STORE_SCAN, f, 0);
    nothing = store_delete(b, "imports", STORE_SCAN, none, STORE_MANY);
    many = store_delete(b, "imports", STORE_SCAN, f, STORE_MANY);
    left = store_count(b, "imports", STORE_SCAN, NULL);
    contract_run(b);
    ck_assert_uint_eq(store_batch_result(b, first)->changed, 1);
    ck_assert_uint_eq(store_batch_result(b, nothing)->changed, 0);
    ck_assert_uint_eq(store_batch_result(b, many)->changed, 2);
    ck_assert_uint_eq(store_batch_result(b, left)->count, 1);
    ck_assert_str_eq(docs_get(st, "imports", 3), "{ '_id' : 3, 'k' : 2 }");
    bson_destroy(f);
    bson_destroy(none);
    store_batch_free(&b);
    contract_close(&st);
}
END_TEST

START_TEST(bad_documents_are_refused)
{
    static const struct {
        const char *json, *sub;
    } cases[] = {
        {"{'a': 1}", "id_missing"},
        {"{'_id': 1}", "id_missing"}, /* an int32 */
        {"{'_id': 'x'}", "id_missing"},
        {"{'_id': " LONG(1) ", '$a': 1}", "invalid_field_name"},
        {"{'_id': " LONG(1) ", 'a.b': 1}", "invalid_field_name"},
        {"{'_id': " LONG(1) ", 'a': {'$numberDouble': 'NaN'}}", "not_a_number"},
        {"{'_id': " LONG(1) ", 'a': [{'b': {'$timestamp': {'t': 1, 'i': 1}}}]}",
            "unsupported_type"},
    };
    struct store *st = contract_open(&contract_drivers[_i]);
    bson_t *deep = docs_json("{'x': 1}");

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct store_batch *b = store_batch_create(st, STORE_URGENT);
        bson_t *doc = docs_json(cases[i].json);
        const bson_t *docs[] = {doc};

        store_insert(b, "imports", docs, 1);
        contract_run_fails(b, ERR_INVALID, cases[i].sub);
        bson_destroy(doc);
        store_batch_free(&b);
    }
    for (int i = 0; i < 40; i++) {
        bson_t *outer = bson_new();

        bson_append_document(outer, "d", 1, deep);
        bson_destroy(deep);
        deep = outer;
    }
    {
        struct store_batch *b = store_batch_create(st, STORE_URGENT);
        bson_t *doc = docs_with_id(1, "{}");
        const bson_t *docs[] = {doc};

        bson_append_document(doc, "deep", 4, deep);
        store_insert(b, "imports", docs, 1);
        contract_run_fails(b, ERR_INVALID, "too_deep");
        bson_destroy(doc);
        store_batch_free(&b);
    }
    bson_destroy(deep);
    /* One index entry stands for one value: no arrays where an index looks. */
    ck_assert_int_eq(docs_insert_one(st, "contacts", 1, "{'emailHash': [1]}"), ERR_INVALID);
    ck_assert_int_eq(docs_insert_one(st, "contacts", 1, "{'emailHash': 1}"), ERR_NONE);
    contract_close(&st);
}
END_TEST

int
main(void)
{
    static const TTest *const *const tests[] = {&updates_change, &update_counts_and_returns,
        &upserts_insert_once, &duplicates_are_named, &update_to_a_taken_key_fails,
        &batches_are_whole, &deletes_remove, &bad_documents_are_refused};
    Suite *suite = suite_create("documents, writing");
    TCase *tc = tcase_create("contract");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tc, 0);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_loop_test(tc, *tests[i], 0, contract_n_drivers);
    suite_add_tcase(suite, tc);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
