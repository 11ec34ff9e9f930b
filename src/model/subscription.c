/*
 * Consent of contacts. The one rule: a status only gets worse by facts (opt-out, bounce, complaint) and
 * only gets better by an explicit opt-in, never by an import or a repeated call. Every write is
 * conditional on the states it may leave, so writers that race cannot lift an opt-out.
 *
 * A row has the id of its contact: there is one at most, and a page of contacts finds its rows by primary
 * key.
 */
#include "model/subscription.h"

#include <stdlib.h>
#include <string.h>

#include "base/bsonx.h"
#include "model/docs.h"
#include "model/slug.h"
#include "store/store.h"

static const char *const names[SUBSCRIPTION_STATUSES] = {
    [SUBSCRIPTION_SUBSCRIBED] = "subscribed",
    [SUBSCRIPTION_PENDING_DOI] = "pending_doi",
    [SUBSCRIPTION_UNSUBSCRIBED] = "unsubscribed",
    [SUBSCRIPTION_BOUNCED] = "bounced",
    [SUBSCRIPTION_COMPLAINED] = "complained",
};

const char *
subscription_status_name(enum subscription_status s)
{
    return names[s];
}

int
subscription_status_parse(struct slice name)
{
    for (int i = SUBSCRIPTION_NONE + 1; i < SUBSCRIPTION_STATUSES; i++) {
        if (slice_eq_str(name, names[i]))
            return i;
    }
    return -1;
}

/* ---- writes ---------------------------------------------------------------------------------- */

void
subscription_build(const struct subscription_change *c, bson_t *doc)
{
    bsonx_add_i64(doc, "_id", (int64_t)c->contact);
    bsonx_add_i64(doc, "contact", (int64_t)c->contact);
    bsonx_add_i64(doc, "emailHash", c->email_hash);
    bsonx_add_str(doc, "status", slice_str(names[SUBSCRIPTION_SUBSCRIBED]));
    bsonx_add_time(doc, "subscribedAt", c->now_ms);
    bsonx_add_time(doc, "unsubscribedAt", 0);
    bson_append_null(doc, "unsubscribeReason", -1);
    bsonx_add_str(doc, "source", c->source);
    bsonx_add_time(doc, "createdAt", c->now_ms);
    bsonx_add_time(doc, "updatedAt", c->now_ms);
}

/* {"<key>": {"$in": [names of the statuses]}} */
static void
add_status_in(bson_t *filter, const enum subscription_status *from, size_t n)
{
    struct slice from_names[SUBSCRIPTION_STATUSES];

    for (size_t i = 0; i < n; i++)
        from_names[i] = slice_str(names[from[i]]);
    docs_cond_strs(filter, "status", "$in", from_names, n);
}

void
subscription_subscribe_ops(struct store_batch *b, const struct subscription_change *c)
{
    static const enum subscription_status from[] = {
        SUBSCRIPTION_PENDING_DOI, SUBSCRIPTION_UNSUBSCRIBED};
    const bson_t *docs[1];
    bson_t doc, filter, update, set;

    bson_init(&doc);
    subscription_build(c, &doc);
    docs[0] = &doc;
    store_insert(b, SUBSCRIPTIONS_COLL, docs, 1);
    bson_destroy(&doc);

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)c->contact);
    add_status_in(&filter, from, c->is_resubscribe ? 2 : 1);
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &set);
    bsonx_add_str(&set, "status", slice_str(names[SUBSCRIPTION_SUBSCRIBED]));
    bsonx_add_i64(&set, "emailHash", c->email_hash);
    bsonx_add_time(&set, "subscribedAt", c->now_ms);
    bsonx_add_time(&set, "unsubscribedAt", 0);
    bson_append_null(&set, "unsubscribeReason", -1);
    bsonx_add_str(&set, "source", c->source);
    bsonx_add_time(&set, "updatedAt", c->now_ms);
    bson_append_document_end(&update, &set);
    store_update(b, SUBSCRIPTIONS_COLL, STORE_INDEXED, &filter, &update, 0);
    bson_destroy(&update);
    bson_destroy(&filter);
}

int
subscription_subscribe(struct store *st, const struct subscription_change *c, struct arena *a,
    struct subscription *s_r, struct err *err)
{
    struct store_batch *b;

    if (text_check("source", c->source, 1, 256, false, err) != 0)
        return -1;
    b = store_batch_create(st, STORE_URGENT);
    subscription_subscribe_ops(b, c);
    if (docs_run(&b, err) != 0 || subscription_get(st, c->contact, a, s_r, err) != 0)
        return -1;
    if (s_r->status != SUBSCRIPTION_SUBSCRIBED)
        return err_sub(err, ERR_CONFLICT, "opted_out", "the contact is %s", names[s_r->status]);
    return 0;
}

void
subscription_lower_ops(struct store_batch *b, int64_t email_hash, enum subscription_status to,
    struct slice reason, int64_t now_ms)
{
    static const enum subscription_status better[] = {SUBSCRIPTION_SUBSCRIBED,
        SUBSCRIPTION_PENDING_DOI, SUBSCRIPTION_UNSUBSCRIBED, SUBSCRIPTION_BOUNCED};
    size_t n_better = (size_t)to - SUBSCRIPTION_SUBSCRIBED;
    bson_t filter, update, set;

    bson_init(&filter);
    bsonx_add_i64(&filter, "emailHash", email_hash);
    add_status_in(&filter, better, n_better);
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &set);
    bsonx_add_str(&set, "status", slice_str(names[to]));
    bsonx_add_time(&set, "unsubscribedAt", now_ms);
    bsonx_add_str(&set, "unsubscribeReason", reason);
    bsonx_add_time(&set, "updatedAt", now_ms);
    bson_append_document_end(&update, &set);
    store_update(b, SUBSCRIPTIONS_COLL, STORE_INDEXED, &filter, &update, STORE_MANY);
    bson_destroy(&update);
    bson_destroy(&filter);
}

void
subscription_move_op(struct store_batch *b, uint64_t contact, int64_t email_hash, int64_t now_ms)
{
    bson_t filter, update, set;

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)contact);
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &set);
    bsonx_add_i64(&set, "emailHash", email_hash);
    bsonx_add_time(&set, "updatedAt", now_ms);
    bson_append_document_end(&update, &set);
    store_update(b, SUBSCRIPTIONS_COLL, STORE_INDEXED, &filter, &update, 0);
    bson_destroy(&update);
    bson_destroy(&filter);
}

void
subscription_remove_op(struct store_batch *b, uint64_t contact)
{
    bson_t filter;

    bson_init(&filter);
    bsonx_add_i64(&filter, "contact", (int64_t)contact);
    store_delete(b, SUBSCRIPTIONS_COLL, STORE_INDEXED, &filter, 0);
    bson_destroy(&filter);
}

/* ---- reads ----------------------------------------------------------------------------------- */

int
subscription_get(
    struct store *st, uint64_t contact, struct arena *a, struct subscription *s_r, struct err *err)
{
    bson_t doc;

    if (docs_find_id(st, SUBSCRIPTIONS_COLL, contact, "not_found", a, &doc, err) != 0)
        return -1;
    if (!subscription_from_bson(&doc, s_r))
        return err_set(err, ERR_INTERNAL, "a stored subscription cannot be read");
    return 0;
}

unsigned
subscription_lookup_op(struct store_batch *b, const uint64_t *contacts, size_t n)
{
    /* The rows are small: copying them whole costs less than projecting each. */
    return store_find_ids(b, SUBSCRIPTIONS_COLL, contacts, n, NULL);
}

static int
compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

void
subscription_lookup_result(const struct store_batch *b, unsigned op, const uint64_t *contacts,
    size_t n, enum subscription_status *out)
{
    const struct store_result *res = store_batch_result(b, op);

    for (size_t i = 0; i < n; i++)
        out[i] = SUBSCRIPTION_NONE;
    for (size_t i = 0; i < res->n_docs; i++) {
        uint64_t contact = 0;
        int status = -1;
        bson_iter_t it;
        const uint64_t *hit;

        if (!bson_iter_init(&it, &res->docs[i]))
            continue;
        while (bson_iter_next(&it)) {
            const char *key = bson_iter_key(&it);

            if (strcmp(key, "contact") == 0 && BSON_ITER_HOLDS_INT64(&it))
                contact = (uint64_t)bson_iter_int64(&it);
            else if (strcmp(key, "status") == 0 && BSON_ITER_HOLDS_UTF8(&it))
                status = subscription_status_parse(slice_str(bson_iter_utf8(&it, NULL)));
        }
        hit = n > 0 ? bsearch(&contact, contacts, n, sizeof(*contacts), compare_u64) : NULL;
        if (hit != NULL && status > 0)
            out[hit - contacts] = (enum subscription_status)status;
    }
}

bool
subscription_from_bson(const bson_t *doc, struct subscription *s_r)
{
    int status = subscription_status_parse(bsonx_str(doc, "status"));

    memset(s_r, 0, sizeof(*s_r));
    if (status < 0)
        return false;
    s_r->id = (uint64_t)bsonx_i64(doc, "_id", 0);
    s_r->contact = (uint64_t)bsonx_i64(doc, "contact", 0);
    s_r->status = (enum subscription_status)status;
    s_r->email_hash = bsonx_i64(doc, "emailHash", 0);
    s_r->subscribed_at_ms = bsonx_i64(doc, "subscribedAt", 0);
    s_r->unsubscribed_at_ms = bsonx_i64(doc, "unsubscribedAt", 0);
    s_r->reason = bsonx_str(doc, "unsubscribeReason");
    s_r->source = bsonx_str(doc, "source");
    s_r->created_at_ms = bsonx_i64(doc, "createdAt", 0);
    s_r->updated_at_ms = bsonx_i64(doc, "updatedAt", 0);
    return s_r->contact != 0;
}

void
subscription_write_json(struct json_writer *w, const char *name, const struct subscription *s)
{
    if (s == NULL) {
        jw_null(w, name);
        return;
    }
    jw_obj(w, name);
    jw_cstr(w, "status", names[s->status]);
    jw_time(w, "subscribedAt", s->subscribed_at_ms);
    jw_time(w, "unsubscribedAt", s->unsubscribed_at_ms);
    if (s->reason.n > 0)
        jw_str(w, "reason", s->reason);
    else
        jw_null(w, "reason");
    jw_str(w, "source", s->source);
    jw_end_obj(w);
}
