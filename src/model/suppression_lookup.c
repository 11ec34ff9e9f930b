/*
 * The question every page and every mail asks: who of these addresses must not be written to, and why?
 * One statement per 500 addresses. Where several rows block one address, the weightiest reason is the
 * verdict, so that the same person is always counted under the same heading.
 */
#include "model/suppression.h"

#include <stdlib.h>
#include <string.h>

#include "base/bsonx.h"
#include "base/mem.h"
#include "model/docs.h"
#include "store/store.h"

#define LOOKUP_MAX 500
#define FIND_LIMIT 1000

/* Higher weighs more. */
static const int8_t weight[SUPPRESSION_REASONS] = {
    [SUPPRESSION_MANUAL] = 0,
    [SUPPRESSION_LIST_CLEANING] = 1,
    [SUPPRESSION_UNSUBSCRIBED] = 2,
    [SUPPRESSION_HARD_BOUNCE] = 3,
    [SUPPRESSION_COMPLAINT] = 4,
    [SUPPRESSION_GDPR_FORGET] = 5,
};

/* Positions of the addresses, sorted by hash, so that a row finds all that carry its hash. */
struct place {
    int64_t hash;
    size_t pos;
};

static int
compare_places(const void *a, const void *b)
{
    int64_t x = ((const struct place *)a)->hash, y = ((const struct place *)b)->hash;

    return (x > y) - (x < y);
}

static struct place *
sort_places(const int64_t *hashes, size_t n)
{
    struct place *places = mem_array(n + 1, sizeof(*places));

    for (size_t i = 0; i < n; i++)
        places[i] = (struct place){hashes[i], i};
    qsort(places, n, sizeof(*places), compare_places);
    return places;
}

static size_t
first_place(const struct place *places, size_t n, int64_t hash)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (places[mid].hash < hash)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void
apply_row(const struct suppression_query *q, const struct suppression *s,
    const struct place *places, size_t n, int8_t *out)
{
    if (s->expires_at_ms != 0 && s->expires_at_ms <= q->now_ms)
        return;
    if (!suppression_scope_blocks(s->scope, q->kind, q->category))
        return;
    for (size_t i = first_place(places, n, s->email_hash); i < n && places[i].hash == s->email_hash;
         i++) {
        int8_t *verdict = &out[places[i].pos];

        if (*verdict < 0 || weight[s->reason] > weight[*verdict])
            *verdict = (int8_t)s->reason;
    }
}

static void
add_lookup_filter(bson_t *filter, const int64_t *hashes, size_t n)
{
    int64_t given[LOOKUP_MAX];
    size_t n_given = 0;

    for (size_t i = 0; i < n && n_given < LOOKUP_MAX; i++) {
        if (hashes[i] != 0)
            given[n_given++] = hashes[i];
    }
    docs_cond_i64s(filter, "emailHash", "$in", given, n_given);
}

static unsigned
lookup_op(struct store_batch *b, const int64_t *hashes, size_t n, uint64_t after)
{
    struct store_find opts = {.limit = FIND_LIMIT};
    bson_t filter, position;
    unsigned op;

    bson_init(&filter);
    add_lookup_filter(&filter, hashes, n);
    bson_init(&position);
    if (after != 0) {
        bsonx_add_i64(&position, "_id", (int64_t)after);
        opts.after = &position;
    }
    op = store_find(b, SUPPRESSIONS_COLL, STORE_INDEXED, &filter, &opts);
    bson_destroy(&position);
    bson_destroy(&filter);
    return op;
}

unsigned
suppression_lookup_op(struct store_batch *b, const int64_t *hashes, size_t n)
{
    return lookup_op(b, hashes, n, 0);
}

static void
apply_rows(const struct store_result *res, const struct suppression_query *q,
    const struct place *places, size_t n, int8_t *out)
{
    struct suppression s;

    for (size_t i = 0; i < res->n_docs; i++) {
        if (suppression_from_bson(&res->docs[i], &s))
            apply_row(q, &s, places, n, out);
    }
}

void
suppression_lookup_result(const struct store_batch *b, unsigned op,
    const struct suppression_query *q, const int64_t *hashes, size_t n, int8_t *out)
{
    const struct store_result *res = store_batch_result(b, op);
    struct place *places;

    memset(out, -1, n);
    if (res->n_docs == 0)
        return;
    places = sort_places(hashes, n);
    apply_rows(res, q, places, n, out);
    mem_free(places);
}

int
suppression_lookup(struct store *st, const struct suppression_query *q, const int64_t *hashes,
    size_t n, int8_t *out, struct err *err)
{
    struct place *places = sort_places(hashes, n);
    int rc = 0;

    memset(out, -1, n);
    for (size_t done = 0; rc == 0 && done < n; done += LOOKUP_MAX) {
        size_t part = n - done < LOOKUP_MAX ? n - done : LOOKUP_MAX;
        uint64_t after = 0;
        size_t got;

        do {
            struct store_batch *b = store_batch_create(st, STORE_BULK);
            unsigned op = lookup_op(b, hashes + done, part, after);

            got = 0;
            rc = store_run(b, err);
            if (rc == 0) {
                const struct store_result *res = store_batch_result(b, op);

                apply_rows(res, q, places, n, out);
                got = res->n_docs;
                if (got > 0)
                    after = (uint64_t)bsonx_i64(&res->docs[got - 1], "_id", 0);
            }
            store_batch_free(&b);
        } while (rc == 0 && got == FIND_LIMIT);
    }
    mem_free(places);
    return rc;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static int
to_rows(const bson_t *docs, size_t n, struct arena *a, const struct suppression **rows_r,
    size_t *n_r, struct err *err)
{
    struct suppression *rows = arena_array(a, n, sizeof(*rows));

    for (size_t i = 0; i < n; i++) {
        if (!suppression_from_bson(&docs[i], &rows[i]))
            return err_set(err, ERR_INTERNAL, "a stored suppression cannot be read");
    }
    *rows_r = rows;
    *n_r = n;
    return 0;
}

int
suppression_list_address(struct store *st, int64_t email_hash, struct arena *a,
    const struct suppression **rows_r, size_t *n_r, struct err *err)
{
    bson_t filter, sort;
    const bson_t *docs;
    size_t n;
    int rc;

    bson_init(&filter);
    bsonx_add_i64(&filter, "emailHash", email_hash);
    bson_init(&sort);
    bson_append_int32(&sort, "_id", -1, -1);
    rc = docs_find_many(st, SUPPRESSIONS_COLL, STORE_INDEXED, &filter,
        &(struct store_find){.sort = &sort}, a, &docs, &n, err);
    bson_destroy(&sort);
    bson_destroy(&filter);
    return rc == 0 ? to_rows(docs, n, a, rows_r, n_r, err) : -1;
}

int
suppression_list(struct store *st, uint64_t after_id, unsigned limit, struct arena *a,
    const struct suppression **rows_r, size_t *n_r, struct err *err)
{
    const bson_t *docs;
    bson_t filter;
    size_t n;
    int rc;

    if (docs_limit_check(limit, 500, err) != 0)
        return -1;
    bson_init(&filter);
    docs_cond_i64(&filter, "_id", "$gt", (int64_t)after_id);
    rc = docs_find_many(st, SUPPRESSIONS_COLL, STORE_INDEXED, &filter,
        &(struct store_find){.limit = limit}, a, &docs, &n, err);
    bson_destroy(&filter);
    return rc == 0 ? to_rows(docs, n, a, rows_r, n_r, err) : -1;
}
