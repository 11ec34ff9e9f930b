#ifndef MODEL_SUBSCRIPTION_H
#define MODEL_SUBSCRIPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"

struct store;
struct store_batch;

#define SUBSCRIPTIONS_COLL "subscriptions"

/** Consent of one contact; no row means none was given. Stored by name. */
enum subscription_status {
    SUBSCRIPTION_NONE = 0,
    SUBSCRIPTION_SUBSCRIBED,
    SUBSCRIPTION_PENDING_DOI,
    SUBSCRIPTION_UNSUBSCRIBED,
    SUBSCRIPTION_BOUNCED,
    SUBSCRIPTION_COMPLAINED,
    SUBSCRIPTION_STATUSES
};

/** "subscribed", ...; NULL for SUBSCRIPTION_NONE. */
const char *subscription_status_name(enum subscription_status s);
/** The status, or -1 for an unknown name. */
int subscription_status_parse(struct slice name);

struct subscription {
    uint64_t id, contact;
    enum subscription_status status;
    int64_t email_hash; /* address that consented */
    int64_t subscribed_at_ms, unsubscribed_at_ms;
    struct slice reason, source;
    int64_t created_at_ms, updated_at_ms;
};

/** Why and by whom a status changes. */
struct subscription_change {
    uint64_t contact;
    int64_t email_hash;
    struct slice source; /* 1–256 characters: "api", "import", ... */
    int64_t now_ms;
    bool is_resubscribe; /* an explicit opt-in: may also leave unsubscribed */
};

/**
 * Give consent. Allowed from none, pending_doi and subscribed; from unsubscribed only with
 * is_resubscribe; never from bounced or complained. Idempotent steps: the insert meets a duplicate
 * when a row exists, the update is conditional on the old status. Two operations.
 * Blocking callers learn what came of it from subscription_get().
 */
void subscription_subscribe_ops(struct store_batch *b, const struct subscription_change *c);
/** The row of a first consent, appended to an initialised document; for bulk inserts, where a duplicate
 * means that the contact has a row already and keeps it. */
void subscription_build(const struct subscription_change *c, bson_t *doc);
/** Blocking form. ERR_CONFLICT "opted_out" when the state forbids it; the row in force in `s_r`. */
int subscription_subscribe(struct store *st, const struct subscription_change *c, struct arena *a,
    struct subscription *s_r, struct err *err);

/** Move all rows of an address to `to`: unsubscribed (from subscribed and pending_doi), bounced (also
 * from unsubscribed) or complained (from all). Never raises a worse state to a better one. */
void subscription_lower_ops(struct store_batch *b, int64_t email_hash, enum subscription_status to,
    struct slice reason, int64_t now_ms);

/** The contact has a new address: its row follows, so that an opt-out by address finds it. */
void subscription_move_op(
    struct store_batch *b, uint64_t contact, int64_t email_hash, int64_t now_ms);

/** Forget the row of a contact, whatever it says: it has said nothing then. For test contacts. */
void subscription_remove_op(struct store_batch *b, uint64_t contact);

/** The row of a contact; ERR_NOTFOUND when there is none. Blocking. */
int subscription_get(
    struct store *st, uint64_t contact, struct arena *a, struct subscription *s_r, struct err *err);

/** Add a read of the statuses of up to 1000 contacts, and collect them: `out[i]` belongs to
 * `contacts[i]`, which must be ascending. */
unsigned subscription_lookup_op(struct store_batch *b, const uint64_t *contacts, size_t n);
void subscription_lookup_result(const struct store_batch *b, unsigned op, const uint64_t *contacts,
    size_t n, enum subscription_status *out);

bool subscription_from_bson(const bson_t *doc, struct subscription *s_r);
/** {status, subscribedAt, unsubscribedAt, reason, source}; NULL writes null. */
void subscription_write_json(struct json_writer *w, const char *name, const struct subscription *s);

#endif
