#ifndef BROADCAST_ACTIONS_INTERNAL_H
#define BROADCAST_ACTIONS_INTERNAL_H

#include "broadcast/broadcasts.h"

struct segment;
struct store_batch;

/** The stored segment parsed again, with the subscribed rule. ERR_INVALID "invalid_segment",
 * ERR_REFUSED "segment_requires_subscribed". */
int broadcast_segment(const struct broadcast_doc *d, struct segment **s_r, struct err *err);

/** Add the audit row of an action. */
void broadcast_audit(struct store_batch *b, const struct broadcast_call *c, const char *action,
    const struct broadcast_doc *d, const char *summary);

/** Run a batch whose operation `op` changes the run, refusing with ERR_CONFLICT `refusal` when it did
 * not match; the new record goes to `v` and to the run table. Frees the batch. */
int broadcast_change(const struct broadcast_call *c, struct store_batch *b, unsigned op,
    const char *refusal, struct broadcast_view *v, struct err *err);

#endif
