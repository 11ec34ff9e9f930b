#ifndef BROADCAST_COUNT_JOBS_H
#define BROADCAST_COUNT_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "audience/count.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct broadcast_call;
struct broadcast_view;
struct count_jobs;
struct loop;
struct store;

enum count_purpose { COUNT_SCHEDULE, COUNT_RESUME };

#define COUNT_LIFETIME_MS (15 * 60 * 1000)
#define COUNT_WAIT_MS     10000

/**
 * Counts as jobs of their own. A request starts one, or joins the one under way for the same broadcast
 * and purpose, and waits a bounded time. The result is stored for 15 minutes together with all that it
 * depended on; its id is the countToken that schedule and resume ask for.
 */
struct count_outcome {
    uint64_t id; /* of the count; its text form is the token */
    uint64_t broadcast;
    bool is_done, is_failed;
    char error[160], error_sub[48];
    enum count_purpose purpose;
    struct count_result result;
    uint64_t progress; /* contacts read so far while it runs */
    int64_t expires_at_ms;
};

/** One worker thread. */
struct count_jobs *count_jobs_create(struct loop *l, struct store *st, const char *data_dir);
void count_jobs_free(struct count_jobs **cj);

/** Start or join, wait up to `wait_ms`. Blocking, API workers; without a daemon (no count_jobs) the
 * count runs in the caller. */
int count_start(const struct broadcast_call *c, const struct broadcast_view *v,
    enum count_purpose purpose, int64_t wait_ms, struct count_outcome *o_r, struct err *err);
/** A running or finished count of this broadcast by its id text. ERR_NOTFOUND "not_found". */
int count_get(const struct broadcast_call *c, uint64_t broadcast, struct slice id,
    struct count_outcome *o_r, struct err *err);
/** The finished count behind a token, if it still describes the broadcast as it is now. ERR_CONFLICT
 * "count_expired" (unknown or too old) or "count_stale" (something it depended on changed). */
int count_redeem(const struct broadcast_call *c, const struct broadcast_view *v,
    enum count_purpose purpose, struct slice token, struct count_outcome *o_r, struct err *err);

#endif
