#ifndef MODEL_RETENTION_H
#define MODEL_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

/** How long a key of a one-off mail keeps a second mail from being made. */
#define RETENTION_SEND_KEYS_MS (INT64_C(30) * 24 * 3600 * 1000)

/**
 * Delete some of what has outlived its use: counts past their expiry, idempotency keys past theirs,
 * keys of one-off mails older than RETENTION_SEND_KEYS_MS. A bounded number per call, found by index;
 * `more_r` asks for another call. Blocking. `deleted_r` is added to.
 */
int retention_purge(
    struct store *st, int64_t now_ms, uint64_t *deleted_r, bool *more_r, struct err *err);

#endif
