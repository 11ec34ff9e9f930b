/*
 * One batch of rows into the store: three reads and one write. First who exists (by external id, else
 * by address), then what stands against consent (subscription, suppression), then everything in one
 * atomic batch.
 *
 * Consent only rises from nothing. A row that wishes it for somebody who has opted out, bounced,
 * complained, was suppressed or erased changes their data, when asked to, but not their state.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bsonx.h"
#include "base/id.h"
#include "base/map.h"
#include "base/mem.h"
#include "model/mail_kind.h"
#include "model/opt_out.h"
#include "model/suppression.h"
#include "store/store.h"
#include "audience/import_internal.h"

/* Somebody else may create the same contact at the same time. */
#define RACE_ATTEMPTS 3

/* ---- who exists ------------------------------------------------------------------------------ */

struct matching {
    struct map_str *by_external;
    struct map_u64 *by_hash;
};

static void
read_matches(const struct store_batch *b, unsigned op, struct arena *a, struct matching *m)
{
    const struct store_result *res = store_batch_result(b, op);

    for (size_t i = 0; i < res->n_docs; i++) {
        struct slice bytes = arena_dup(a, bsonx_bytes(&res->docs[i]));
        struct contact *c = arena_alloc(a, sizeof(*c));
        bson_t view;

        if (!bsonx_view(bytes, &view) || !contact_from_bson(&view, a, c))
            continue;
        map_str_put(m->by_external, c->external_id, c);
        /* The oldest contact of an address stands for it. */
        if (!map_u64_has(m->by_hash, (uint64_t)c->email_hash))
            map_u64_put(m->by_hash, (uint64_t)c->email_hash, c);
    }
}

static void
apply_match(struct import_row *row, const struct matching *m)
{
    const struct contact *c;

    if ((row->in.set & CONTACT_SET_EXTERNAL_ID) != 0) {
        c = map_str_get(m->by_external, row->in.external_id);
    } else {
        c = map_u64_get(m->by_hash, (uint64_t)row->hash);
        if (c != NULL && !slice_eq(c->email_key, row->key))
            c = NULL;
    }
    if (c != NULL) {
        row->is_known = true;
        row->old = *c;
    }
}

static int
find_known(const struct import_write *w, struct import_row *rows, size_t n, struct arena *a,
    struct err *err)
{
    struct matching m = {map_str_create(), map_u64_create()};
    struct store_batch *b = store_batch_create(w->st, STORE_BULK);
    struct slice ids[IMPORT_BATCH_ROWS];
    int64_t hashes[IMPORT_BATCH_ROWS];
    size_t n_ids = 0, n_hashes = 0;
    unsigned op_ids = 0, op_hashes = 0;
    int rc;

    for (size_t i = 0; i < n; i++) {
        if ((rows[i].in.set & CONTACT_SET_EXTERNAL_ID) != 0)
            ids[n_ids++] = rows[i].in.external_id;
        else
            hashes[n_hashes++] = rows[i].hash;
    }
    contact_match_ops(b, ids, n_ids, &op_ids, hashes, n_hashes, &op_hashes);
    rc = store_run(b, err);
    if (rc == 0 && n_ids > 0)
        read_matches(b, op_ids, a, &m);
    if (rc == 0 && n_hashes > 0)
        read_matches(b, op_hashes, a, &m);
    store_batch_free(&b);
    for (size_t i = 0; rc == 0 && i < n; i++)
        apply_match(&rows[i], &m);
    map_u64_free(&m.by_hash);
    map_str_free(&m.by_external);
    return rc;
}

/* ---- what stands against consent ------------------------------------------------------------- */

static bool
wishes_consent(const struct import_write *w, const struct import_row *row)
{
    return row->status == SUBSCRIPTION_SUBSCRIBED ||
           (row->status == SUBSCRIPTION_NONE && w->o->subscribe);
}

static int
compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Statuses of the known contacts of the batch, one look-up for all. */
static int
find_statuses(const struct import_write *w, struct import_row *rows, size_t n, struct err *err)
{
    uint64_t ids[IMPORT_BATCH_ROWS];
    enum subscription_status statuses[IMPORT_BATCH_ROWS];
    struct store_batch *b;
    size_t n_ids = 0;
    unsigned op;
    int rc;

    for (size_t i = 0; i < n; i++) {
        if (rows[i].is_known)
            ids[n_ids++] = rows[i].old.id;
    }
    if (n_ids == 0)
        return 0;
    qsort(ids, n_ids, sizeof(*ids), compare_u64);
    b = store_batch_create(w->st, STORE_BULK);
    op = subscription_lookup_op(b, ids, n_ids);
    rc = store_run(b, err);
    if (rc == 0)
        subscription_lookup_result(b, op, ids, n_ids, statuses);
    store_batch_free(&b);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const uint64_t *hit;

        if (!rows[i].is_known)
            continue;
        hit = bsearch(&rows[i].old.id, ids, n_ids, sizeof(*ids), compare_u64);
        rows[i].consent = statuses[hit - ids];
    }
    return rc;
}

static int
find_consent(const struct import_write *w, struct import_row *rows, size_t n, struct err *err)
{
    const struct suppression_query q = {.kind = MAIL_MARKETING, .now_ms = w->o->now_ms};
    int64_t hashes[IMPORT_BATCH_ROWS];
    int8_t verdicts[IMPORT_BATCH_ROWS];
    bool is_needed = false;

    for (size_t i = 0; i < n; i++) {
        hashes[i] = rows[i].hash;
        is_needed = is_needed || wishes_consent(w, &rows[i]);
    }
    if (!is_needed)
        return 0;
    if (suppression_lookup(w->st, &q, hashes, n, verdicts, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        rows[i].is_suppressed = verdicts[i] >= 0;
    return find_statuses(w, rows, n, err);
}

/* ---- what is written ------------------------------------------------------------------------- */

/* The write of one batch under construction. */
struct writing {
    const struct import_write *w;
    struct store_batch *b;
    struct import_result counts; /* added to the result once the batch is durable */
    bson_t *contacts[IMPORT_BATCH_ROWS], *consents[IMPORT_BATCH_ROWS];
    size_t n_contacts, n_consents;
};

static bool
has_opted_out(enum subscription_status s)
{
    return s == SUBSCRIPTION_UNSUBSCRIBED || s == SUBSCRIPTION_BOUNCED ||
           s == SUBSCRIPTION_COMPLAINED;
}

static void
add_consent(struct writing *x, const struct import_row *row, uint64_t contact)
{
    const struct import_options *o = x->w->o;

    if (has_opted_out(row->consent) || row->is_suppressed) {
        x->counts.consent_protected++;
        return;
    }
    if (row->consent != SUBSCRIPTION_NONE)
        return;
    x->consents[x->n_consents] = bson_new();
    subscription_build(&(struct subscription_change){.contact = contact,
                           .email_hash = row->hash,
                           .source = o->source.n > 0 ? o->source : SLICE_LIT("import"),
                           .now_ms = o->now_ms},
        x->consents[x->n_consents]);
    x->n_consents++;
    x->counts.subscribed++;
}

static void
add_opt_out(struct writing *x, const struct import_row *row)
{
    static const enum suppression_reason reasons[SUBSCRIPTION_STATUSES] = {
        [SUBSCRIPTION_UNSUBSCRIBED] = SUPPRESSION_UNSUBSCRIBED,
        [SUBSCRIPTION_BOUNCED] = SUPPRESSION_HARD_BOUNCE,
        [SUBSCRIPTION_COMPLAINED] = SUPPRESSION_COMPLAINT,
    };
    struct opt_out o = {
        .scope = SLICE_LIT("marketing"),
        .reason = reasons[row->status],
        .source = SLICE_LIT("import"),
        .actor = x->w->o->actor,
        .now_ms = x->w->o->now_ms,
    };

    suppression_address_of(x->w->keys, row->key, &o.address);
    opt_out_ops(x->b, &o);
    x->counts.opted_out++;
}

/* The contact itself: its id, or 0 when the row was refused. */
static uint64_t
add_contact(struct writing *x, struct import_row *row, struct err *why)
{
    const struct import_options *o = x->w->o;
    uint64_t id;

    if (row->is_known) {
        if (!o->overwrite) {
            x->counts.unchanged++;
            return row->old.id;
        }
        if (contact_patch_ops(x->b, x->w->keys, &row->old, &row->in, o->now_ms, NULL, why) != 0)
            return 0;
        x->counts.updated++;
        return row->old.id;
    }
    id = id_next();
    x->contacts[x->n_contacts] = bson_new();
    if (contact_build(x->w->keys, &row->in, id, o->now_ms, x->contacts[x->n_contacts], why) != 0) {
        bson_destroy(x->contacts[x->n_contacts]);
        return 0;
    }
    x->n_contacts++;
    x->counts.added++;
    return id;
}

static void
add_row(struct writing *x, struct import_row *row)
{
    struct err why;
    uint64_t id;

    err_clear(&why);
    if ((id = add_contact(x, row, &why)) == 0) {
        x->w->refuse(x->w->arg, row->line, &why);
        return;
    }
    if (has_opted_out(row->status))
        add_opt_out(x, row);
    else if (wishes_consent(x->w, row))
        add_consent(x, row, id);
}

static void
add_docs(struct store_batch *b, const char *coll, bson_t *const *docs, size_t n)
{
    const bson_t *list[IMPORT_BATCH_ROWS];

    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        list[i] = docs[i];
    /* A key taken since the look-up fails the whole batch, which is then done again from the start. */
    store_require(b, store_insert(b, coll, list, n), ERR_CONFLICT, "import_raced");
}

static void
add_counts(struct import_result *to, const struct import_result *c)
{
    to->added += c->added;
    to->updated += c->updated;
    to->unchanged += c->unchanged;
    to->subscribed += c->subscribed;
    to->opted_out += c->opted_out;
    to->consent_protected += c->consent_protected;
}

static int
write_batch(const struct import_write *w, struct import_row *rows, size_t n, struct err *err)
{
    struct writing *x = mem_zalloc(sizeof(*x));
    int rc = 0;

    x->w = w;
    x->b = store_batch_create(w->st, STORE_BULK);
    for (size_t i = 0; i < n; i++)
        add_row(x, &rows[i]);
    add_docs(x->b, CONTACTS_COLL, x->contacts, x->n_contacts);
    add_docs(x->b, SUBSCRIPTIONS_COLL, x->consents, x->n_consents);
    for (size_t i = 0; i < x->n_contacts; i++)
        bson_destroy(x->contacts[i]);
    for (size_t i = 0; i < x->n_consents; i++)
        bson_destroy(x->consents[i]);
    if (!w->o->is_dry_run)
        rc = store_run(x->b, err);
    if (rc == 0)
        add_counts(w->r, &x->counts);
    store_batch_free(&x->b);
    mem_free(x);
    return rc;
}

int
import_write_rows(const struct import_write *w, struct import_row *rows, size_t n, struct arena *a,
    struct err *err)
{
    for (int attempt = 0;; attempt++) {
        for (size_t i = 0; i < n; i++)
            rows[i].is_known = false;
        if (find_known(w, rows, n, a, err) != 0 || find_consent(w, rows, n, err) != 0)
            return -1;
        if (write_batch(w, rows, n, err) == 0)
            return 0;
        if (attempt == RACE_ATTEMPTS || err->code != ERR_CONFLICT)
            return -1;
    }
}
