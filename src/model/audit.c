/*
 * Append-only record of who did what. An entry is added to the batch that does the thing, so neither
 * exists without the other. Ids rise with time, so "newest first" is the order of ids.
 */
#include "model/audit.h"

#include <bson/bson.h>

#include "base/bsonx.h"
#include "base/id.h"
#include "model/docs.h"
#include "store/store.h"

#define SUMMARY_MAX 1024

/* Cut at a character, never within one. */
static struct slice
cut_text(struct slice s, size_t max)
{
    if (s.n <= max)
        return s;
    while (max > 0 && ((unsigned char)s.p[max] & 0xc0) == 0x80)
        max--;
    return slice_make(s.p, max);
}

static void
add_optional(bson_t *doc, const char *key, struct slice v)
{
    bsonx_add_str_or_null(doc, key, v.n > 0 ? v : SLICE_NONE);
}

void
audit_add_op(struct store_batch *b, const struct audit_entry *e)
{
    const bson_t *docs[1];
    bson_t doc;

    bson_init(&doc);
    bsonx_add_i64(&doc, "_id", (int64_t)id_next());
    bsonx_add_str(&doc, "actor", e->actor);
    bsonx_add_str(&doc, "action", e->action);
    add_optional(&doc, "resource", e->resource);
    add_optional(&doc, "resourceId", e->resource_id);
    add_optional(&doc, "summary", cut_text(e->summary, SUMMARY_MAX));
    add_optional(&doc, "requestId", e->request_id);
    bsonx_add_time(&doc, "occurredAt", e->at_ms);
    docs[0] = &doc;
    store_insert(b, AUDIT_COLL, docs, 1);
    bson_destroy(&doc);
}

static void
write_entry(struct json_writer *w, const bson_t *doc)
{
    static const char *const texts[] = {
        "actor", "action", "resource", "resourceId", "summary", "requestId"};

    jw_obj(w, NULL);
    jw_id(w, "id", (uint64_t)bsonx_i64(doc, "_id", 0));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct slice v = bsonx_str(doc, texts[i]);

        if (v.p == NULL)
            jw_null(w, texts[i]);
        else
            jw_str(w, texts[i], v);
    }
    jw_time(w, "occurredAt", bsonx_i64(doc, "occurredAt", 0));
    jw_end_obj(w);
}

int
audit_list(struct store *st, struct slice resource, struct slice resource_id, uint64_t before_id,
    unsigned limit, struct arena *a, struct json_writer *w, uint64_t *next_r, struct err *err)
{
    bool is_one = resource.n > 0;
    const bson_t *docs;
    bson_t filter, sort;
    size_t n;
    int rc;

    if (docs_limit_check(limit, 500, err) != 0)
        return -1;
    bson_init(&filter);
    bson_init(&sort);
    if (is_one) {
        bsonx_add_str(&filter, "resource", resource);
        bsonx_add_str(&filter, "resourceId", resource_id);
    }
    if (before_id != 0)
        docs_cond_i64(&filter, "_id", "$lt", (int64_t)before_id);
    bson_append_int32(&sort, "_id", -1, -1);
    rc = docs_find_many(st, AUDIT_COLL, is_one ? STORE_INDEXED : STORE_SCAN, &filter,
        &(struct store_find){.sort = &sort, .limit = limit}, a, &docs, &n, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        write_entry(w, &docs[i]);
    if (rc == 0 && next_r != NULL)
        *next_r = n == limit ? (uint64_t)bsonx_i64(&docs[n - 1], "_id", 0) : 0;
    bson_destroy(&sort);
    bson_destroy(&filter);
    return rc;
}
