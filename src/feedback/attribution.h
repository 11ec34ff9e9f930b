#ifndef FEEDBACK_ATTRIBUTION_H
#define FEEDBACK_ATTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

#include "message/tokens.h"

struct store_batch;

/**
 * Whose mail an opt-out answers. The reference comes from a signed token, and still counts only when
 * the row was sent to the very address that leaves: a forwarded mail must not blame the wrong row.
 */
struct attribution {
    struct token_send ref; /* send 0 = names no mail */
    int64_t address_hash;
    int64_t at_ms;
};

/** Operations are numbered from 0 in the order of this call: one per reference, also for those that
 * name no mail, so the batch must be new. Returns how many references name a mail. */
size_t attribution_read_ops(struct store_batch *read, const struct attribution *a, size_t n);
/** From the rows read, one operation that records the fact on each row that fits (operation 0 of
 * `write`). Returns how many; 0 = nothing was added. */
size_t attribution_fact_ops(const struct store_batch *read, const struct attribution *a, size_t n,
    struct store_batch *write);

#endif
