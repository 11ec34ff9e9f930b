#ifndef MODEL_OPT_OUT_H
#define MODEL_OPT_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"
#include "model/suppression.h"

struct store_batch;

/** One address leaving, however it was said: page, one-click, API, complaint, bounce. */
struct opt_out {
    struct suppression_address address;
    struct slice scope;             /* "marketing", "all", "transactional", "category:…" */
    enum suppression_reason reason; /* decides the state of the subscriptions */
    struct slice source;            /* "one-click", "page", "api", "provider_webhook", ... */
    struct slice notes;             /* empty = none */
    struct slice actor;             /* for the audit; empty = "system:opt-out" */
    struct slice broadcast;         /* id text of the broadcast it answers to, empty = none */
    int64_t now_ms, expires_at_ms;  /* 0 = permanent */
};

/**
 * Add all of an opt-out to a batch: the suppression, the subscriptions of that address (scopes
 * marketing and all: unsubscribed; a hard bounce: bounced; a complaint: complained; manual and list
 * cleaning: unsubscribed) and one audit row that names the hash, never the address. Idempotent but for
 * the audit row. The batch should be STORE_URGENT.
 */
void opt_out_ops(struct store_batch *b, const struct opt_out *o);

/** One line of the opt-out journal, JSON with a line end appended to `out`, and its reader. The
 * journal holds hash and mac, and the address key only when it may be stored. */
void opt_out_to_line(const struct opt_out *o, struct buf *out);
/** False for a line that is not one of ours. Slices borrow from `scratch`. */
bool opt_out_from_line(struct slice line, struct buf *scratch, struct opt_out *o_r);

#endif
