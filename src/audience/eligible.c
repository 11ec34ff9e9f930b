/*
 * One page of the eligible stream: read contacts behind the cursor, look up suppressions and consent of
 * all of them in one batch (one snapshot), and give each matched contact its one verdict.
 *
 * The order of verdicts is fixed, so that a person is always counted under the same heading: no usable
 * address, suppressed, no consent, same address as an earlier contact of the page. Stored contacts have
 * a hash exactly when their address was valid, so it is not parsed again here: this runs for every
 * contact of every list, and its cost is what bounds counting and planning.
 */
#include "audience/eligible.h"

#include <string.h>

#include "base/bsonx.h"
#include "model/contact.h"
#include "model/subscription.h"
#include "model/suppression.h"
#include "store/store.h"
#include "audience/segment.h"

#define CURSOR_BYTES 9
#define CURSOR_MARK  'c'
/* Open addressing over the addresses of a page; twice the page, power of two. */
#define SEEN_SLOTS 1024

struct page_work {
    struct store *st;
    const struct eligible_query *q;
    const struct segment_plan *plan;
    struct arena *a;
    const bson_t *docs; /* of the contacts read, borrowed from their batch */
    size_t n;
    struct contact *contacts;
    uint64_t ids[ELIGIBLE_PAGE_MAX];
    int64_t hashes[ELIGIBLE_PAGE_MAX];
    int8_t suppressed[ELIGIBLE_PAGE_MAX];
    enum subscription_status status[ELIGIBLE_PAGE_MAX];
    int64_t seen[SEEN_SLOTS];
};

/* ---- cursor ---------------------------------------------------------------------------------- */

size_t
eligible_cursor_make(uint64_t contact, char out[ELIGIBLE_CURSOR_MAX])
{
    out[0] = CURSOR_MARK;
    for (int i = 0; i < 8; i++)
        out[1 + i] = (char)(contact >> (56 - 8 * i));
    return CURSOR_BYTES;
}

bool
eligible_cursor_parse(struct slice cursor, uint64_t *contact_r)
{
    uint64_t v = 0;

    *contact_r = 0;
    if (cursor.n == 0)
        return true;
    if (cursor.n != CURSOR_BYTES || cursor.p[0] != CURSOR_MARK)
        return false;
    for (int i = 0; i < 8; i++)
        v = v << 8 | (unsigned char)cursor.p[1 + i];
    *contact_r = v;
    return v != 0 && v <= INT64_MAX;
}

/* ---- reading --------------------------------------------------------------------------------- */

static unsigned
add_find(struct store_batch *b, const struct page_work *w, uint64_t after, unsigned limit)
{
    static const char *const needed[] = {"email", "emailHash", "timezone"};
    struct store_find opts = {.limit = limit};
    bson_t projection, position;
    unsigned op;

    bson_init(&projection);
    bson_init(&position);
    if (!w->plan->needs_documents) {
        for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
            bson_append_int32(&projection, needed[i], -1, 1);
        opts.projection = &projection;
    }
    if (after != 0) {
        bsonx_add_i64(&position, "_id", (int64_t)after);
        opts.after = &position;
    }
    op = store_find(b, CONTACTS_COLL, STORE_SCAN, w->plan->filter, &opts);
    bson_destroy(&position);
    bson_destroy(&projection);
    return op;
}

static int
decode_contacts(struct page_work *w, struct err *err)
{
    w->contacts = arena_array(w->a, w->n, sizeof(*w->contacts));
    for (size_t i = 0; i < w->n; i++) {
        if (!contact_from_bson(&w->docs[i], w->a, &w->contacts[i]))
            return err_set(err, ERR_INTERNAL, "a stored contact cannot be read");
        w->ids[i] = w->contacts[i].id;
        w->hashes[i] = w->contacts[i].email.n > 0 ? w->contacts[i].email_hash : 0;
    }
    return 0;
}

/* Suppressions and consent of the page, from one snapshot. */
static int
look_up(struct page_work *w, struct err *err)
{
    const struct suppression_query q = {
        .kind = w->q->kind, .category = w->q->category, .now_ms = w->q->now_ms};
    bool needs_status = w->plan->is_consent || w->plan->needs_status;
    struct store_batch *b = store_batch_create(w->st, STORE_BULK);
    unsigned op_suppressed = suppression_lookup_op(b, w->hashes, w->n);
    unsigned op_status = needs_status ? subscription_lookup_op(b, w->ids, w->n) : 0;
    bool is_complete = false;
    int rc = store_run(b, err);

    if (rc == 0) {
        is_complete = store_batch_result(b, op_suppressed)->n_docs < 1000;
        if (is_complete)
            suppression_lookup_result(b, op_suppressed, &q, w->hashes, w->n, w->suppressed);
        if (needs_status)
            subscription_lookup_result(b, op_status, w->ids, w->n, w->status);
    }
    store_batch_free(&b);
    if (rc == 0 && !is_complete)
        rc = suppression_lookup(w->st, &q, w->hashes, w->n, w->suppressed, err);
    return rc;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* True when the address was met before in this page. */
static bool
is_repeat(struct page_work *w, int64_t hash)
{
    size_t slot = (uint64_t)hash * UINT64_C(0x9e3779b97f4a7c15) >> 54;

    while (w->seen[slot] != 0) {
        if (w->seen[slot] == hash)
            return true;
        slot = (slot + 1) % SEEN_SLOTS;
    }
    w->seen[slot] = hash;
    return false;
}

static int
verdict_of(struct page_work *w, size_t i)
{
    if (w->hashes[i] == 0)
        return EXCL_INVALID_ADDRESS;
    if (w->suppressed[i] >= 0)
        return (int)suppression_exclusion((enum suppression_reason)w->suppressed[i]);
    if (w->plan->is_consent && w->status[i] != SUBSCRIPTION_SUBSCRIBED)
        return EXCL_NO_CONSENT;
    return is_repeat(w, w->hashes[i]) ? (int)EXCL_DUPLICATE_ADDRESS : -1;
}

static void
judge(struct page_work *w, struct eligible_page *page_r)
{
    struct eligible_contact *out = arena_array(w->a, w->n, sizeof(*out));
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        const struct contact *c = &w->contacts[i];

        if (w->plan->needs_post && !segment_match_rest(w->q->segment, &w->docs[i], w->status[i]))
            continue;
        out[n++] = (struct eligible_contact){
            .contact = c->id,
            .address = arena_dup(w->a, c->email),
            .address_hash = w->hashes[i],
            .timezone = arena_dup(w->a, c->timezone),
            .verdict = verdict_of(w, i),
        };
    }
    page_r->contacts = out;
    page_r->n = n;
}

static int
work_page(struct page_work *w, const struct store_result *res, unsigned limit,
    struct eligible_page *page_r, struct err *err)
{
    char *cursor;

    w->docs = res->docs;
    w->n = res->n_docs;
    page_r->n_read = w->n;
    page_r->is_last = w->n < limit;
    if (w->n == 0)
        return 0;
    if (decode_contacts(w, err) != 0 || look_up(w, err) != 0)
        return -1;
    judge(w, page_r);
    cursor = arena_alloc(w->a, ELIGIBLE_CURSOR_MAX);
    page_r->cursor = slice_make(cursor, eligible_cursor_make(w->ids[w->n - 1], cursor));
    return 0;
}

int
eligible_read_page(struct store *st, const struct eligible_query *q, struct slice cursor,
    struct arena *a, struct eligible_page *page_r, struct err *err)
{
    unsigned limit = q->limit == 0 ? ELIGIBLE_PAGE_MAX : q->limit;
    struct page_work *w = arena_zalloc(a, sizeof(*w));
    struct store_batch *b;
    uint64_t after;
    unsigned op;
    int rc;

    memset(page_r, 0, sizeof(*page_r));
    if (!eligible_cursor_parse(cursor, &after))
        return err_sub(err, ERR_INVALID, "bad_cursor", "no cursor of this stream");
    if (limit > ELIGIBLE_PAGE_MAX)
        return err_field(err, "limit", "must be between 1 and %d", ELIGIBLE_PAGE_MAX);
    page_r->cursor = arena_dup(a, cursor);
    w->st = st;
    w->q = q;
    w->plan = segment_plan(q->segment);
    w->a = a;
    b = store_batch_create(st, STORE_BULK);
    op = add_find(b, w, after, limit);
    rc = store_run(b, err);
    if (rc == 0)
        rc = work_page(w, store_batch_result(b, op), limit, page_r, err);
    store_batch_free(&b);
    return rc;
}
