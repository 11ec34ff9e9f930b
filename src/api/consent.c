#include "api/contacts.h"

#include "api/guard.h"
#include "api/resource.h"
#include "base/clock.h"
#include "message/tokens.h"
#include "model/audit.h"
#include "model/contact.h"
#include "model/opt_out.h"
#include "model/subscription.h"
#include "model/suppression.h"
#include "store/sends.h"
#include "store/store.h"

/*
 * Consent by hand or by an application. An opt-in lifts the person's own opt-outs and nothing else:
 * bounces, complaints and erasures stay. An opt-out is durable when it is answered.
 */

/* The contact of the call, past the guard, with an address. */
static int
find_guarded(struct api_call *c, struct contact *contact, struct err *err)
{
    if (api_contact_find(c, c->params[0], contact, err) != 0 ||
        api_guard_contact(c, contact, err) != 0)
        return -1;
    if (contact->email_hash == 0)
        return err_sub(err, ERR_CONFLICT, "no_address", "the contact has no address");
    return 0;
}

static struct slice
source_of(struct api_call *c)
{
    struct slice source = api_body_str(c, "source");

    if (source.n > 0)
        return source;
    return (c->route->flags & API_TEST_CONTACTS) != 0 ? SLICE_LIT("agent") : SLICE_LIT("api");
}

static struct subscription_change
opt_in(struct api_call *c, const struct contact *contact)
{
    return (struct subscription_change){
        .contact = contact->id,
        .email_hash = contact->email_hash,
        .source = source_of(c),
        .now_ms = clock_now_ms(),
        .is_resubscribe = true,
    };
}

static int
lift_optouts(struct api_call *c, const struct contact *contact, uint64_t *n_r, struct err *err)
{
    struct store_batch *b = store_batch_create(c->env->store, STORE_URGENT);
    unsigned op = suppression_remove_optouts_op(b, contact->email_hash, SLICE_LIT("marketing"));
    int rc = store_run(b, err);

    if (rc == 0)
        *n_r = store_batch_result(b, op)->changed;
    store_batch_free(&b);
    return rc;
}

static int
answer_subscription(
    struct api_call *c, const struct contact *contact, uint64_t n_removed, struct err *err)
{
    struct subscription s;
    bool has = true;

    if (subscription_get(c->env->store, contact->id, c->arena, &s, err) != 0) {
        if (err->code != ERR_NOTFOUND)
            return -1;
        err_clear(err);
        has = false;
    }
    jw_obj(&c->w, NULL);
    subscription_write_json(&c->w, "subscription", has ? &s : NULL);
    jw_int(&c->w, "removedSuppressions", (int64_t)n_removed);
    jw_end_obj(&c->w);
    return 0;
}

int
consent_subscribe(struct api_call *c, struct err *err)
{
    struct subscription_change change;
    struct subscription s;
    struct contact contact;
    uint64_t n_removed = 0;

    if (find_guarded(c, &contact, err) != 0)
        return -1;
    change = opt_in(c, &contact);
    if (subscription_subscribe(c->env->store, &change, c->arena, &s, err) != 0 ||
        lift_optouts(c, &contact, &n_removed, err) != 0 ||
        api_audit(c, "contact.subscribe", CONTACTS_COLL, contact.external_id, "", err) != 0)
        return -1;
    return answer_subscription(c, &contact, n_removed, err);
}

int
consent_unsubscribe(struct api_call *c, struct err *err)
{
    struct slice scope = api_body_str(c, "scope");
    struct store_batch *b;
    struct opt_out o = {
        .scope = scope.n > 0 ? scope : SLICE_LIT("marketing"),
        .reason = SUPPRESSION_UNSUBSCRIBED,
        .source = source_of(c),
        .actor = slice_str(c->actor.label),
        .now_ms = clock_now_ms(),
    };
    struct contact contact;
    int rc;

    if (find_guarded(c, &contact, err) != 0)
        return -1;
    suppression_address_of(c->env->keys, contact.email_key, &o.address);
    b = store_batch_create(c->env->store, STORE_URGENT);
    opt_out_ops(b, &o);
    rc = store_run(b, err);
    store_batch_free(&b);
    return rc != 0 ? -1 : answer_subscription(c, &contact, 0, err);
}

#define URL_LIFETIME_MS (INT64_C(90) * 24 * 3600 * 1000)

int
consent_unsubscribe_url(struct api_call *c, struct err *err)
{
    struct buf url = BUF_INIT;
    struct contact contact;

    if (find_guarded(c, &contact, err) != 0)
        return -1;
    if (c->env->public_url[0] == '\0')
        return err_sub(err, ERR_CONFLICT, "public_url_required", "publicUrl is not configured");
    buf_printf(&url, "%s/m/unsub/", c->env->public_url);
    token_unsub_make(c->env->keys,
        &(struct token_unsub){
            .scope = TOKEN_SCOPE_MARKETING,
            .expires_ms = clock_now_ms() + URL_LIFETIME_MS,
            .address_key = contact.email_key,
        },
        &url);
    jw_obj(&c->w, NULL);
    jw_obj(&c->w, "contact");
    jw_str(&c->w, "externalId", contact.external_id);
    jw_str(&c->w, "email", contact.email);
    jw_end_obj(&c->w);
    jw_str(&c->w, "unsubscribeUrl", buf_slice(&url));
    jw_end_obj(&c->w);
    buf_deinit(&url);
    return 0;
}

/* ---- reset ----------------------------------------------------------------------------------- */

/* Rows of a broadcast are its memory of whom it mailed; a person who has some is no blank sheet. */
static int
check_no_broadcasts(struct api_call *c, const struct contact *contact, struct err *err)
{
    struct sends_list q = {
        .contact = contact->id, .state = -1, .fail_class = -1, .limit = API_PAGE_MAX};
    bool has_row = false;
    int rc;

    do {
        struct store_batch *b = store_batch_create(c->env->store, STORE_URGENT);
        unsigned op = sends_list(b, &q);

        q.after = 0;
        if ((rc = store_run(b, err)) == 0) {
            const struct sends_result *r = sends_result(b, op);

            for (size_t i = 0; i < r->n_rows; i++)
                has_row = has_row || r->rows[i].broadcast != 0;
            q.after = r->next;
        }
        store_batch_free(&b);
    } while (rc == 0 && !has_row && q.after != 0);
    if (rc == 0 && has_row)
        rc = err_sub(err, ERR_CONFLICT, "has_broadcast_sends",
            "a broadcast has rows of this contact, and they stay");
    return rc;
}

/* Suppressions that name the address go, those kept by hash alone stay: an erasure stays one. */
static int
lift_all(struct api_call *c, const struct contact *contact, struct store_batch *b, uint64_t *n_r,
    struct err *err)
{
    const struct suppression *rows;
    size_t n;

    if (suppression_list_address(c->env->store, contact->email_hash, c->arena, &rows, &n, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].email.n == 0)
            continue;
        suppression_remove_op(b, rows[i].id);
        ++*n_r;
    }
    return 0;
}

int
consent_reset(struct api_call *c, struct err *err)
{
    struct subscription_change change;
    struct store_batch *b;
    struct contact contact;
    uint64_t n_removed = 0;
    int rc = 0;

    if (find_guarded(c, &contact, err) != 0 || check_no_broadcasts(c, &contact, err) != 0)
        return -1;
    b = store_batch_create(c->env->store, STORE_URGENT);
    if (json_bool(json_get(c->body, "suppressions"), true))
        rc = lift_all(c, &contact, b, &n_removed, err);
    if (json_bool(json_get(c->body, "subscribe"), true)) {
        change = opt_in(c, &contact);
        change.source = SLICE_LIT("agent-reset");
        subscription_remove_op(b, contact.id);
        subscription_subscribe_ops(b, &change);
    }
    audit_add_op(b, &(struct audit_entry){
                        .actor = slice_str(c->actor.label),
                        .action = SLICE_LIT("contact.reset"),
                        .resource = SLICE_LIT(CONTACTS_COLL),
                        .resource_id = contact.external_id,
                        .request_id = slice_str(c->request_id),
                        .at_ms = clock_now_ms(),
                    });
    if (rc == 0)
        rc = store_run(b, err);
    store_batch_free(&b);
    return rc != 0 ? -1 : answer_subscription(c, &contact, n_removed, err);
}
