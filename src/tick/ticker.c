/*
 * Rounds of periodic jobs.
 *
 *   timer or ticker_run_now() ─► round: job 1 ─► end ─► job 2 ─► end ─► ... ─► round ends ─► timer
 *
 * The one invariant is that a turn belongs to at most one job at a time. A job may end its turn before
 * it returns; the next job is then called by the loop below it, not from inside ticker_turn_end(), so
 * the stack stays flat however many jobs there are and no job is entered from within another.
 */
#include "tick/ticker.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "loop/latch.h"
#include "loop/loop.h"

#define MAX_JOBS 16

struct job {
    const char *name;
    ticker_job_fn *fn;
    void *arg;
    struct metric *m_duration, *m_failed;
};

struct ticker_turn {
    struct ticker *ticker;
};

struct ticker {
    struct loop *loop;
    int64_t interval_ms;
    struct job jobs[MAX_JOBS];
    unsigned n_jobs;
    struct loop_timer *timer;
    bool is_started, is_stopped;

    struct ticker_turn turn;
    bool in_round, has_turn;
    unsigned at; /* the job that has its turn */
    unsigned n_failed;
    uint64_t turn_from_us;
    ticker_done_fn *done;
    void *done_arg;

    struct ticker_status status;
    struct metric *m_rounds, *m_ended;
};

/* What a blocked API worker and the round share: the worker's, or the round's once it was given up. */
struct wait {
    struct ticker *ticker;
    struct latch *latch;
    struct err err; /* of the start */
    unsigned n_failed;
    bool is_given_up, is_ended; /* loop thread, until the latch is open */
};

struct give_up {
    struct wait *wait;
    bool is_given_up;
};

struct ticker *
ticker_create(struct loop *l, int64_t interval_ms)
{
    struct ticker *t = mem_zalloc(sizeof(*t));

    t->loop = l;
    t->interval_ms = interval_ms;
    t->turn.ticker = t;
    t->m_rounds = metric_counter("mailshot_tick_rounds_total", "Rounds of periodic jobs.", NULL);
    t->m_ended = metric_gauge("mailshot_tick_last_end_timestamp_seconds",
        "When the last round of periodic jobs ended, Unix time.", NULL);
    return t;
}

void
ticker_free(struct ticker **tp)
{
    struct ticker *t = *tp;

    if (t == NULL)
        return;
    assert(!t->in_round);
    loop_timer_cancel(&t->timer);
    mem_free(t);
    *tp = NULL;
}

void
ticker_add(struct ticker *t, const char *name, ticker_job_fn *fn, void *arg)
{
    struct job *j = &t->jobs[t->n_jobs];
    char label[64];

    assert(t->n_jobs < MAX_JOBS && !t->is_started);
    t->n_jobs++;
    *j = (struct job){.name = name, .fn = fn, .arg = arg};
    snprintf(label, sizeof(label), "job=\"%s\"", name);
    j->m_duration =
        metric_histogram_us("mailshot_tick_job_seconds", "Time one periodic job took.", label);
    j->m_failed =
        metric_counter("mailshot_tick_job_failures_total", "Periodic jobs that failed.", label);
}

/* ---- a round --------------------------------------------------------------------------------- */

static void
on_timer(void *arg)
{
    struct ticker *t = arg;

    t->timer = NULL;
    (void)ticker_run_now(t, NULL, NULL, NULL);
}

static void
timer_arm(struct ticker *t)
{
    if (t->is_started && !t->is_stopped && t->timer == NULL)
        t->timer = loop_timer_start(t->loop, t->interval_ms, on_timer, t);
}

static void
round_end(struct ticker *t)
{
    ticker_done_fn *done = t->done;

    t->in_round = false;
    t->done = NULL;
    t->status.rounds++;
    t->status.last_failed = t->n_failed;
    t->status.ended_at_ms = clock_now_ms();
    metric_add(t->m_rounds, 1);
    metric_set(t->m_ended, t->status.ended_at_ms / 1000);
    timer_arm(t);
    if (done != NULL)
        done(t->n_failed, t->done_arg);
}

static void
advance(void *arg)
{
    struct ticker *t = arg;
    struct job *j;

    if (t->at == t->n_jobs || t->is_stopped) {
        round_end(t);
        return;
    }
    j = &t->jobs[t->at];
    t->has_turn = true;
    t->turn_from_us = clock_mono_us();
    j->fn(&t->turn, j->arg);
}

void
ticker_turn_end(struct ticker_turn *turn, const struct err *err)
{
    struct ticker *t = turn->ticker;
    struct job *j = &t->jobs[t->at];

    assert(t->in_round && t->has_turn);
    t->has_turn = false;
    metric_observe_us(j->m_duration, clock_mono_us() - t->turn_from_us);
    if (err != NULL && err->code != ERR_NONE) {
        t->n_failed++;
        metric_add(j->m_failed, 1);
        log_error(NULL, "tick.job_failed", "job=%s code=%s error=\"%s\"", j->name,
            err_code_name(err->code), err->text);
    }
    t->at++;
    loop_defer(t->loop, advance, t);
}

int
ticker_run_now(struct ticker *t, ticker_done_fn *done, void *arg, struct err *err)
{
    if (t->is_stopped)
        return err_sub(err, ERR_TEMP, "stopping", "the daemon is stopping");
    if (t->in_round)
        return err_sub(err, ERR_CONFLICT, "tick_running", "a tick is running already");
    loop_timer_cancel(&t->timer);
    t->in_round = true;
    t->at = 0;
    t->n_failed = 0;
    t->done = done;
    t->done_arg = arg;
    t->status.started_at_ms = clock_now_ms();
    loop_defer(t->loop, advance, t);
    return 0;
}

void
ticker_start(struct ticker *t)
{
    t->is_started = true;
    timer_arm(t);
}

void
ticker_set_interval(struct ticker *t, int64_t interval_ms)
{
    t->interval_ms = interval_ms;
}

void
ticker_stop(struct ticker *t)
{
    t->is_stopped = true;
    loop_timer_cancel(&t->timer);
}

bool
ticker_is_running(const struct ticker *t)
{
    return t->in_round;
}

void
ticker_status(const struct ticker *t, struct ticker_status *st_r)
{
    *st_r = t->status;
    st_r->interval_ms = t->interval_ms;
    st_r->running = t->in_round && t->at < t->n_jobs ? t->jobs[t->at].name : NULL;
}

/* ---- for threads that wait ------------------------------------------------------------------- */

static void
wait_free(struct wait *w)
{
    latch_unref(&w->latch);
    mem_free(w);
}

static void
on_wait_done(unsigned n_failed, void *arg)
{
    struct wait *w = arg;
    struct latch *latch;

    if (w->is_given_up) {
        wait_free(w);
        return;
    }
    latch = latch_ref(w->latch); /* the waiter may be gone before latch_open() returns */
    w->n_failed = n_failed;
    w->is_ended = true;
    latch_open(latch);
    latch_unref(&latch);
}

static void
wait_begin(void *arg)
{
    struct wait *w = arg;

    (void)ticker_run_now(w->ticker, on_wait_done, w, &w->err);
}

/* In the loop, so that the round cannot end while this is decided. */
static void
wait_give_up(void *arg)
{
    struct give_up *g = arg;

    g->is_given_up = g->wait->is_given_up = !g->wait->is_ended;
}

int
ticker_run_blocking(struct ticker *t, int64_t timeout_ms, unsigned *n_failed_r, struct err *err)
{
    struct wait *w = mem_zalloc(sizeof(*w));
    struct give_up g = {.wait = w};

    w->ticker = t;
    w->latch = latch_create();
    loop_call(t->loop, wait_begin, w);
    if (w->err.code != ERR_NONE) {
        if (err != NULL)
            *err = w->err;
        wait_free(w);
        return -1;
    }
    if (!latch_wait(w->latch, timeout_ms)) {
        loop_call(t->loop, wait_give_up, &g);
        if (g.is_given_up) /* the round owns `w` now */
            return err_sub(err, ERR_TEMP, "tick_slow", "the tick has not ended yet; it goes on");
    }
    if (n_failed_r != NULL)
        *n_failed_r = w->n_failed;
    wait_free(w);
    return 0;
}
