/*
 * Idempotency keys: one document per key, made before the work and completed with the answer after
 * it. The unique index on the key decides between two calls at the same moment; every later step is
 * an update that names the state it expects, so that a take-over after a crash happens once.
 *
 *   (none) ── begin ──► running ── finish ──► done ── 24 h ──► purged
 *                          └────── release ──► (none)
 */
#include "model/idempotency.h"

#include <bson/bson.h>

#include "base/bsonx.h"
#include "base/id.h"
#include "model/docs.h"
#include "store/store.h"

#define BEGIN_TRIES 3
#define PURGE_MAX   200

static void
add_fresh(bson_t *doc, struct slice request, int64_t now_ms)
{
    bsonx_add_str(doc, "request", request);
    bsonx_add_str(doc, "state", SLICE_LIT("running"));
    bsonx_add_time(doc, "startedAt", now_ms);
    bsonx_add_time(doc, "expiresAt", now_ms + IDEMPOTENCY_KEEP_MS);
}

/** True when the key was free. */
static int
try_insert(struct store *st, struct slice key, struct slice request, int64_t now_ms, uint64_t *id_r,
    bool *inserted_r, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    const bson_t *docs[1];
    unsigned op;
    bson_t doc;
    int rc;

    *id_r = id_next();
    bson_init(&doc);
    bsonx_add_i64(&doc, "_id", (int64_t)*id_r);
    bsonx_add_str(&doc, "key", key);
    add_fresh(&doc, request, now_ms);
    docs[0] = &doc;
    op = store_insert(b, IDEMPOTENCY_COLL, docs, 1);
    bson_destroy(&doc);
    rc = store_run(b, err);
    *inserted_r = rc == 0 && store_batch_result(b, op)->changed == 1;
    store_batch_free(&b);
    return rc;
}

/** Take over a document as it was read; false when somebody else moved it meanwhile. */
static int
try_take_over(struct store *st, uint64_t id, int64_t started_at_ms, struct slice request,
    int64_t now_ms, bool *taken_r, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t filter, update, set;
    unsigned op;
    int rc;

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)id);
    bsonx_add_time(&filter, "startedAt", started_at_ms);
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &set);
    add_fresh(&set, request, now_ms);
    bson_append_document_end(&update, &set);
    op = store_update(b, IDEMPOTENCY_COLL, STORE_INDEXED, &filter, &update, 0);
    bson_destroy(&update);
    bson_destroy(&filter);
    rc = store_run(b, err);
    *taken_r = rc == 0 && store_batch_result(b, op)->matched == 1;
    store_batch_free(&b);
    return rc;
}

/** What a key that is taken means for this request. `retry_r`: it changed under our hands. */
static int
judge_taken(struct store *st, const bson_t *doc, struct slice request, int64_t now_ms,
    struct idempotency *i, enum idempotency_verdict *verdict_r, bool *retry_r, struct err *err)
{
    bool is_done = slice_eq_str(bsonx_str(doc, "state"), "done");
    bool is_same = slice_eq(bsonx_str(doc, "request"), request);
    bool is_expired = bsonx_i64(doc, "expiresAt", 0) <= now_ms;
    int64_t started_at_ms = bsonx_i64(doc, "startedAt", 0);
    bool is_stale = !is_done && started_at_ms + IDEMPOTENCY_STALE_MS <= now_ms;
    bool taken;

    i->id = (uint64_t)bsonx_i64(doc, "_id", 0);
    if (is_expired || (is_stale && is_same)) {
        if (try_take_over(st, i->id, started_at_ms, request, now_ms, &taken, err) != 0)
            return -1;
        *verdict_r = IDEMPOTENCY_FRESH;
        *retry_r = !taken;
    } else if (!is_same) {
        *verdict_r = IDEMPOTENCY_MISMATCH;
    } else if (!is_done) {
        *verdict_r = IDEMPOTENCY_RUNNING;
    } else {
        *verdict_r = IDEMPOTENCY_REPLAY;
        i->status = (unsigned)bsonx_i64(doc, "status", 500);
        i->answer = bsonx_bin(doc, "answer");
    }
    return 0;
}

int
idempotency_begin(struct store *st, struct slice key, struct slice request, int64_t now_ms,
    struct arena *a, struct idempotency *i_r, enum idempotency_verdict *verdict_r, struct err *err)
{
    *i_r = (struct idempotency){0};
    for (unsigned n = 0; n < BEGIN_TRIES; n++) {
        bool inserted, retry = false;
        bson_t doc;

        if (try_insert(st, key, request, now_ms, &i_r->id, &inserted, err) != 0)
            return -1;
        if (inserted) {
            *verdict_r = IDEMPOTENCY_FRESH;
            return 0;
        }
        if (docs_find_key(st, IDEMPOTENCY_COLL, "key", key, "not_found", a, &doc, err) != 0) {
            if (err->code != ERR_NOTFOUND)
                return -1;
            err_clear(err); /* released meanwhile */
            continue;
        }
        if (judge_taken(st, &doc, request, now_ms, i_r, verdict_r, &retry, err) != 0)
            return -1;
        if (!retry)
            return 0;
    }
    *verdict_r = IDEMPOTENCY_RUNNING;
    return 0;
}

int
idempotency_finish(
    struct store *st, uint64_t id, unsigned status, struct slice answer, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t filter, update, set;

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)id);
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &set);
    bsonx_add_str(&set, "state", SLICE_LIT("done"));
    bsonx_add_i64(&set, "status", status);
    bsonx_add_bin(&set, "answer", answer);
    bson_append_document_end(&update, &set);
    store_update(b, IDEMPOTENCY_COLL, STORE_INDEXED, &filter, &update, 0);
    bson_destroy(&update);
    bson_destroy(&filter);
    return docs_run(&b, err);
}

int
idempotency_release(struct store *st, uint64_t id, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t filter;

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)id);
    store_delete(b, IDEMPOTENCY_COLL, STORE_INDEXED, &filter, 0);
    bson_destroy(&filter);
    return docs_run(&b, err);
}

int
idempotency_purge(struct store *st, int64_t now_ms, struct arena *a, bool *more_r, struct err *err)
{
    struct store_batch *b;
    bson_t filter, cond;
    const bson_t *docs;
    int64_t ids[PURGE_MAX];
    size_t n;
    int rc;

    bson_init(&filter);
    bson_append_document_begin(&filter, "expiresAt", -1, &cond);
    bsonx_add_time(&cond, "$lte", now_ms);
    bson_append_document_end(&filter, &cond);
    rc = docs_find_many(st, IDEMPOTENCY_COLL, STORE_INDEXED, &filter,
        &(struct store_find){.limit = PURGE_MAX}, a, &docs, &n, err);
    bson_destroy(&filter);
    *more_r = rc == 0 && n == PURGE_MAX;
    if (rc != 0 || n == 0)
        return rc;
    for (size_t i = 0; i < n; i++)
        ids[i] = bsonx_i64(&docs[i], "_id", 0);
    bson_init(&filter);
    docs_cond_i64s(&filter, "_id", "$in", ids, n);
    b = store_batch_create(st, STORE_BULK);
    store_delete(b, IDEMPOTENCY_COLL, STORE_INDEXED, &filter, STORE_MANY);
    bson_destroy(&filter);
    return docs_run(&b, err);
}
