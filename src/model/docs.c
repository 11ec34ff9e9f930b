/*
 * Reads of one document and the few filter shapes that the model uses. Results are copied out of the
 * batch into the caller's arena, so a batch never outlives the call that made it.
 */
#include "model/docs.h"

#include <string.h>

#include "base/bsonx.h"

void
docs_copy(struct arena *a, const bson_t *doc, bson_t *view_r)
{
    struct slice copy = arena_dup(a, bsonx_bytes(doc));

    bson_init_static(view_r, (const uint8_t *)copy.p, copy.n);
}

/* bson_t asks for a larger alignment than an arena promises. */
static bson_t *
docs_views(struct arena *a, size_t n)
{
    uintptr_t align = _Alignof(bson_t);
    uintptr_t p = (uintptr_t)arena_alloc(a, n * sizeof(bson_t) + align);

    return (bson_t *)((p + align - 1) / align * align);
}

int
docs_run(struct store_batch **b, struct err *err)
{
    int rc = store_run(*b, err);

    store_batch_free(b);
    return rc;
}

int
docs_find_many(struct store *st, const char *coll, enum store_access access, const bson_t *filter,
    const struct store_find *opts, struct arena *a, const bson_t **docs_r, size_t *n_r,
    struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    unsigned op = store_find(b, coll, access, filter, opts);
    const struct store_result *res;
    bson_t *docs;

    if (store_run(b, err) != 0) {
        store_batch_free(&b);
        return -1;
    }
    res = store_batch_result(b, op);
    docs = docs_views(a, res->n_docs);
    for (size_t i = 0; i < res->n_docs; i++)
        docs_copy(a, &res->docs[i], &docs[i]);
    *docs_r = docs;
    *n_r = res->n_docs;
    store_batch_free(&b);
    return 0;
}

int
docs_find_one(struct store *st, const char *coll, enum store_access access, const bson_t *filter,
    const bson_t *sort, const char *missing_sub, struct arena *a, bson_t *doc_r, struct err *err)
{
    struct store_find opts = {.sort = sort, .limit = 1};
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    unsigned op = store_find(b, coll, access, filter, &opts);
    int rc = store_run(b, err);

    if (rc == 0) {
        const struct store_result *res = store_batch_result(b, op);

        if (res->n_docs == 0)
            rc = err_sub(err, ERR_NOTFOUND, missing_sub, "there is no such thing in %s", coll);
        else
            docs_copy(a, &res->docs[0], doc_r);
    }
    store_batch_free(&b);
    return rc;
}

int
docs_find_id(struct store *st, const char *coll, uint64_t id, const char *missing_sub,
    struct arena *a, bson_t *doc_r, struct err *err)
{
    bson_t filter;
    int rc;

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)id);
    rc = docs_find_one(st, coll, STORE_INDEXED, &filter, NULL, missing_sub, a, doc_r, err);
    bson_destroy(&filter);
    return rc;
}

int
docs_find_key(struct store *st, const char *coll, const char *key, struct slice value,
    const char *missing_sub, struct arena *a, bson_t *doc_r, struct err *err)
{
    bson_t filter;
    int rc;

    bson_init(&filter);
    bsonx_add_str(&filter, key, value);
    rc = docs_find_one(st, coll, STORE_INDEXED, &filter, NULL, missing_sub, a, doc_r, err);
    bson_destroy(&filter);
    return rc;
}

int
docs_limit_check(unsigned limit, unsigned max, struct err *err)
{
    if (limit < 1 || limit > max)
        return err_field(err, "limit", "must be between 1 and %u", max);
    return 0;
}

void
docs_cond_i64(bson_t *filter, const char *key, const char *op, int64_t v)
{
    bson_t sub;

    bson_append_document_begin(filter, key, -1, &sub);
    bsonx_add_i64(&sub, op, v);
    bson_append_document_end(filter, &sub);
}

void
docs_cond_str(bson_t *filter, const char *key, const char *op, struct slice v)
{
    bson_t sub;

    bson_append_document_begin(filter, key, -1, &sub);
    bsonx_add_str(&sub, op, v);
    bson_append_document_end(filter, &sub);
}

void
docs_cond_prefix(bson_t *filter, const char *key, struct slice prefix)
{
    struct buf end = BUF_INIT;
    bson_t sub;

    /* U+10FFFF sorts behind every other character in UTF-8 order. */
    buf_append_slice(&end, prefix);
    buf_append_str(&end, "\xf4\x8f\xbf\xbf");
    bson_append_document_begin(filter, key, -1, &sub);
    bsonx_add_str(&sub, "$gte", prefix);
    bsonx_add_str(&sub, "$lt", buf_slice(&end));
    bson_append_document_end(filter, &sub);
    buf_deinit(&end);
}

void
docs_cond_i64s(bson_t *filter, const char *key, const char *op, const int64_t *v, size_t n)
{
    bson_t sub, arr;
    char num[16];
    const char *name;

    bson_append_document_begin(filter, key, -1, &sub);
    bson_append_array_begin(&sub, op, -1, &arr);
    for (size_t i = 0; i < n; i++) {
        size_t len = bson_uint32_to_string((uint32_t)i, &name, num, sizeof(num));

        bson_append_int64(&arr, name, (int)len, v[i]);
    }
    bson_append_array_end(&sub, &arr);
    bson_append_document_end(filter, &sub);
}

void
docs_add_strs(bson_t *doc, const char *key, const struct slice *v, size_t n)
{
    bson_t arr;
    char num[16];
    const char *name;

    bson_append_array_begin(doc, key, -1, &arr);
    for (size_t i = 0; i < n; i++) {
        bson_uint32_to_string((uint32_t)i, &name, num, sizeof(num));
        bsonx_add_str(&arr, name, v[i]);
    }
    bson_append_array_end(doc, &arr);
}

void
docs_cond_strs(bson_t *filter, const char *key, const char *op, const struct slice *v, size_t n)
{
    bson_t sub;

    bson_append_document_begin(filter, key, -1, &sub);
    docs_add_strs(&sub, op, v, n);
    bson_append_document_end(filter, &sub);
}
