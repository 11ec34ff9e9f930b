/*
 * Retention of working data: records that only mattered for a while. Each step reads one page of ids by
 * the time index and deletes those, so it never holds the writer for long, however much has piled up.
 */
#include "model/retention.h"

#include <bson/bson.h>

#include "base/arena.h"
#include "base/bsonx.h"
#include "model/docs.h"
#include "model/idempotency.h"
#include "store/store.h"

#define PAGE 200

static const struct {
    const char *coll, *field;
    int64_t keep_ms; /* beyond the time in the field */
} kinds[] = {
    {"counts", "expiresAt", 0},
    {"send_keys", "createdAt", RETENTION_SEND_KEYS_MS},
};

static int
delete_ids(struct store *st, const char *coll, const int64_t *ids, size_t n, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_BULK);
    bson_t filter;

    bson_init(&filter);
    docs_cond_i64s(&filter, "_id", "$in", ids, n);
    store_delete(b, coll, STORE_INDEXED, &filter, STORE_MANY);
    bson_destroy(&filter);
    return docs_run(&b, err);
}

static int
purge_kind(struct store *st, const char *coll, const char *field, int64_t before_ms,
    struct arena *a, size_t *n_r, struct err *err)
{
    int64_t ids[PAGE];
    const bson_t *docs;
    bson_t filter, cond;
    int rc;

    bson_init(&filter);
    bson_append_document_begin(&filter, field, -1, &cond);
    bsonx_add_time(&cond, "$lte", before_ms);
    bson_append_document_end(&filter, &cond);
    rc = docs_find_many(
        st, coll, STORE_INDEXED, &filter, &(struct store_find){.limit = PAGE}, a, &docs, n_r, err);
    bson_destroy(&filter);
    if (rc != 0 || *n_r == 0)
        return rc;
    for (size_t i = 0; i < *n_r; i++)
        ids[i] = bsonx_i64(&docs[i], "_id", 0);
    return delete_ids(st, coll, ids, *n_r, err);
}

int
retention_purge(
    struct store *st, int64_t now_ms, uint64_t *deleted_r, bool *more_r, struct err *err)
{
    struct arena *a = arena_create(0);
    int rc = idempotency_purge(st, now_ms, a, more_r, err);

    for (size_t k = 0; rc == 0 && k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        size_t n = 0;

        rc = purge_kind(st, kinds[k].coll, kinds[k].field, now_ms - kinds[k].keep_ms, a, &n, err);
        *deleted_r += n;
        *more_r = *more_r || n == PAGE;
    }
    arena_free(&a);
    return rc;
}
