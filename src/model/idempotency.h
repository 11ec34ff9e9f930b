#ifndef MODEL_IDEMPOTENCY_H
#define MODEL_IDEMPOTENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct store;

#define IDEMPOTENCY_COLL "idempotency"
/** How long an answer is kept for repetition. */
#define IDEMPOTENCY_KEEP_MS (INT64_C(24) * 3600 * 1000)
/** A request that has been running for longer than this died with its process. */
#define IDEMPOTENCY_STALE_MS (INT64_C(2) * 60 * 1000)

enum idempotency_verdict {
    IDEMPOTENCY_FRESH,   /* ours to run: finish or release it */
    IDEMPOTENCY_REPLAY,  /* answered before: status and answer are filled */
    IDEMPOTENCY_RUNNING, /* another call with this key is at it */
    IDEMPOTENCY_MISMATCH /* the key stands for another request */
};

struct idempotency {
    uint64_t id;
    unsigned status;
    struct slice answer; /* in the arena */
};

/**
 * Take a key for one request. `key` and `request` are texts of at most 128 characters that name the
 * caller with its key, and everything the request consists of. A key whose request died is taken
 * over by a repetition of the same request. Blocking.
 */
int idempotency_begin(struct store *st, struct slice key, struct slice request, int64_t now_ms,
    struct arena *a, struct idempotency *i_r, enum idempotency_verdict *verdict_r, struct err *err);
/** Keep the answer for repetitions. Blocking. */
int idempotency_finish(
    struct store *st, uint64_t id, unsigned status, struct slice answer, struct err *err);
/** Give the key back: nothing was done, the same call may be tried again. Blocking. */
int idempotency_release(struct store *st, uint64_t id, struct err *err);
/** Delete some of what has expired, a bounded number; `more_r` asks for another call. Blocking. */
int idempotency_purge(
    struct store *st, int64_t now_ms, struct arena *a, bool *more_r, struct err *err);

#endif
