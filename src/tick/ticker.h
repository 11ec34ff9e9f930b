#ifndef TICK_TICKER_H
#define TICK_TICKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct loop;
struct ticker;
struct ticker_turn;

/**
 * The scheduler of periodic work. Every interval it runs its jobs one after the other, in the order in
 * which they were added; a job that fails is logged and the rest runs all the same. One round at a
 * time: a round that is due while another runs is left out, since what it would do is being done.
 * Loop thread, but for ticker_run_blocking().
 */
struct ticker *ticker_create(struct loop *l, int64_t interval_ms);
/** No round may be running: stop first. */
void ticker_free(struct ticker **t);

/**
 * One job. It is given its turn and must end it exactly once with ticker_turn_end(), before it returns
 * or later from the loop.
 */
typedef void ticker_job_fn(struct ticker_turn *turn, void *arg);
/** Add a job at the end of the order, before ticker_start(). `name` is a constant: it names the job in
 * logs and metrics. */
void ticker_add(struct ticker *t, const char *name, ticker_job_fn *fn, void *arg);
/** The job is done; `err` is NULL, or why it failed (copied). */
void ticker_turn_end(struct ticker_turn *turn, const struct err *err);

/** Begin: the first round after one interval. */
void ticker_start(struct ticker *t);
/** Another interval, from the end of the present wait on. */
void ticker_set_interval(struct ticker *t, int64_t interval_ms);
/** No further round begins; the one that runs ends after its present job. */
void ticker_stop(struct ticker *t);
bool ticker_is_running(const struct ticker *t);

/** Called once in the loop when the round has ended: how many of its jobs failed. */
typedef void ticker_done_fn(unsigned n_failed, void *arg);
/** A round now. ERR_CONFLICT "tick_running" when one runs, ERR_TEMP "stopping" after ticker_stop(). */
int ticker_run_now(struct ticker *t, ticker_done_fn *done, void *arg, struct err *err);
/** The same for API workers: waits for the end, at most `timeout_ms` (then ERR_TEMP "tick_slow", and
 * the round goes on). `n_failed_r` may be NULL. */
int ticker_run_blocking(
    struct ticker *t, int64_t timeout_ms, unsigned *n_failed_r, struct err *err);

struct ticker_status {
    int64_t interval_ms;
    int64_t started_at_ms, ended_at_ms; /* of the last round, wall clock; 0 = none yet */
    uint64_t rounds;                    /* ended */
    unsigned last_failed;               /* jobs that failed in the last round */
    const char *running;                /* the job that has its turn, NULL between rounds */
};
void ticker_status(const struct ticker *t, struct ticker_status *st_r);

#endif
