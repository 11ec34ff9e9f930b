#ifndef AUDIENCE_COUNT_H
#define AUDIENCE_COUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mailshot/states.h"
#include "base/err.h"
#include "base/slice.h"
#include "audience/eligible.h"

struct store;

/** What to count. Borrowed for the call. */
struct count_query {
    struct eligible_query stream;
    struct slice cursor;   /* start behind this position; empty = all */
    uint64_t broadcast;    /* rows that exist already are left out; 0 = none */
    const char *spill_dir; /* where unlinked temporary files go */
};

/** Shared with the thread that shows or stops the job. */
struct count_progress {
    _Atomic uint64_t read; /* contacts read so far */
    atomic_bool cancel;    /* set by the other side: the job ends with ERR_REFUSED "cancelled" */
};

/** matched = eligible + already_sent + Σ excluded. */
struct count_result {
    uint64_t database_matched; /* contacts the store filter alone lets through */
    uint64_t matched;
    uint64_t eligible; /* distinct addresses without a row */
    uint64_t excluded[EXCL_REASONS];
    uint64_t already_sent; /* contacts that have a row in this broadcast */
    uint64_t rows;         /* rows of the broadcast, any state */
    int64_t computed_ms;   /* how long it took */
};

/**
 * Walk the eligible stream and count. Blocking, minutes on a large list: a worker job. Memory stays flat:
 * address hashes go to sorted runs in a temporary file that has no name, and are merged at the end.
 * `progress` may be NULL.
 */
int count_run(struct store *st, const struct count_query *q, struct count_progress *progress,
    struct count_result *r_r, struct err *err);

#endif
