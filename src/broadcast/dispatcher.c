/*
 * Which runs are planned and started, and when.
 *
 * Planning follows the run table: a run that may be planned gets a plan, one that may not loses it.
 * Scheduled runs are started by the tick, and by a timer set to the next scheduled time, so that "now"
 * means now; each start looks for the next time anew. A start that comes later than the run tolerates is parked as missed instead.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "broadcast/dispatch_internal.h"
#include "control/gates.h"
#include "control/run_control.h"
#include "control/run_table.h"
#include "loop/loop.h"
#include "store/store.h"

#define RETRY_MS  1000
#define DUE_BATCH 50
/* Scheduled runs looked at for the next start. */
#define SCHEDULED_MAX 200

struct started {
    struct dispatcher *d;
    uint64_t broadcast;
    unsigned op;
};

struct wake {
    struct dispatcher *d;
    int64_t at_ms;
};

/* ---- planning -------------------------------------------------------------------------------- */

static void
on_kick(void *arg)
{
    struct dispatcher *d = arg;
    const struct run_record *r;
    size_t it = 0;

    d->is_kicked = false;
    dispatch_plans_sweep(d);
    while ((r = run_table_next(d->args.runs, &it)) != NULL)
        if (run_may_plan(r) && gates_closed(d->args.gates, r->broadcast) == 0)
            dispatch_plan_kick(d, r->broadcast);
}

void
dispatcher_kick(struct dispatcher *d)
{
    if (d->is_kicked)
        return;
    d->is_kicked = true;
    loop_defer(d->args.loop, on_kick, d);
}

static void
on_retry(void *arg)
{
    struct dispatcher *d = arg;

    d->retry_timer = NULL;
    dispatcher_kick(d);
}

void
dispatcher_retry_later(struct dispatcher *d)
{
    if (d->retry_timer == NULL)
        d->retry_timer = loop_timer_start(d->args.loop, RETRY_MS, on_retry, d);
}

/* Reports of ordinary progress need nothing: the plan itself goes on. */
static void
on_run(const struct run_record *before, const struct run_record *now, void *arg)
{
    struct dispatcher *d = arg;
    bool could = before != NULL && run_may_plan(before);

    if (run_may_plan(now) != could || before == NULL)
        dispatcher_kick(d);
    if (!run_may_plan(now) && could)
        dispatch_plan_stop(d, now->broadcast);
}

static void
on_gate(void *arg)
{
    dispatcher_kick(arg);
}

/* ---- starting -------------------------------------------------------------------------------- */

static void
on_started(struct store_batch *b, void *arg)
{
    struct started *s = arg;
    const struct err *err = store_batch_err(b);
    struct log_ctx ctx = {.broadcast = s->broadcast};

    s->d->n_busy--;
    if (err != NULL) {
        log_error(&ctx, "broadcast.start_failed", "error=\"%s\"", err->text);
    } else {
        const struct run_result *r = runs_result(b, s->op);

        if (r->matched)
            log_info(&ctx, "broadcast.started", "state=%s", run_state_name((int)r->runs[0].state));
        run_table_update(s->d->args.runs, r->runs, r->n_runs);
    }
    mem_free(s);
    store_batch_free(&b);
}

static void
start_run(struct dispatcher *d, const struct run_record *r, int64_t now)
{
    struct store_batch *b = store_batch_create(d->args.store, STORE_URGENT);
    struct started *s = mem_zalloc(sizeof(*s));
    int64_t from =
        r->scheduled_at_ms > r->confirmed_at_ms ? r->scheduled_at_ms : r->confirmed_at_ms;

    s->d = d;
    s->broadcast = r->broadcast;
    s->op = run_start_op(b, r->broadcast, now);
    if (now - from > r->max_lateness_ms)
        s->op = run_pause_op(b, r->broadcast,
            &(struct run_reason){.code = PAUSE_MISSED_START,
                .message = "the start was missed: it came later than this broadcast tolerates",
                .actor = "system:schedule"},
            now);
    d->n_busy++;
    store_submit(b, on_started, s);
}

static void
on_due_timer(void *arg)
{
    struct dispatcher *d = arg;

    d->due_timer = NULL;
    dispatcher_start_due(d);
}

static void
arm_at(struct dispatcher *d, int64_t at_ms)
{
    int64_t delay_ms = at_ms - clock_now_ms();

    if (d->due_timer != NULL && d->due_at_ms <= at_ms)
        return;
    loop_timer_cancel(&d->due_timer);
    d->due_at_ms = at_ms;
    d->due_timer = loop_timer_start(d->args.loop, delay_ms > 0 ? delay_ms : 0, on_due_timer, d);
}

/* The earliest scheduled run that is not due yet; with more than a batch of them the tick helps out. */
static void
arm_next(struct dispatcher *d, const struct run_result *scheduled, int64_t now)
{
    int64_t next = 0;

    for (size_t i = 0; i < scheduled->n_runs; i++) {
        int64_t at_ms = scheduled->runs[i].scheduled_at_ms;

        if (at_ms > now && (next == 0 || at_ms < next))
            next = at_ms;
    }
    if (next != 0)
        arm_at(d, next);
}

static void
on_due(struct store_batch *b, void *arg)
{
    struct dispatcher *d = arg;
    const struct err *err = store_batch_err(b);
    int64_t now = clock_now_ms();

    d->is_starting = false;
    d->n_busy--;
    if (err != NULL) {
        log_warn(NULL, "broadcast.due_failed", "error=\"%s\"", err->text);
    } else {
        const struct run_result *r = runs_result(b, d->op);

        for (size_t i = 0; i < r->n_runs; i++)
            start_run(d, &r->runs[i], now);
        arm_next(d, runs_result(b, d->next_op), now);
        if (r->n_runs == DUE_BATCH)
            arm_at(d, now + RETRY_MS);
    }
    store_batch_free(&b);
    if (d->is_due_again)
        arm_at(d, now);
}

void
dispatcher_start_due(struct dispatcher *d)
{
    struct store_batch *b;

    if ((gates_closed(d->args.gates, GATE_SCOPE_ALL) & (1u << GATE_STOP)) != 0)
        return;
    d->is_due_again = d->is_starting;
    if (d->is_starting)
        return;
    b = store_batch_create(d->args.store, STORE_URGENT);
    d->op = runs_due(b, clock_now_ms(), DUE_BATCH);
    d->next_op = runs_list(b, 1u << RUN_SCHEDULED, 0, SCHEDULED_MAX);
    d->is_starting = true;
    d->n_busy++;
    store_submit(b, on_due, d);
}

static void
on_wake(void *arg)
{
    struct wake *w = arg;

    arm_at(w->d, w->at_ms);
    mem_free(w);
}

void
dispatcher_wake_at(struct dispatcher *d, int64_t at_ms)
{
    struct wake *w = mem_alloc(sizeof(*w));

    w->d = d;
    w->at_ms = at_ms;
    loop_post(d->args.loop, on_wake, w);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct dispatcher *
dispatcher_create(const struct dispatcher_args *args)
{
    struct dispatcher *d = mem_zalloc(sizeof(*d));

    d->args = *args;
    d->plans = map_u64_create();
    run_table_listen(args->runs, on_run, d);
    gates_listen(args->gates, on_gate, d);
    return d;
}

void
dispatcher_free(struct dispatcher **dp)
{
    struct dispatcher *d = *dp;

    if (d == NULL)
        return;
    loop_timer_cancel(&d->retry_timer);
    loop_timer_cancel(&d->due_timer);
    dispatch_plans_free(d);
    mem_free(d);
    *dp = NULL;
}

unsigned
dispatcher_busy(const struct dispatcher *d)
{
    return d->n_busy;
}
