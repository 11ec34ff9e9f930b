/*
 * The periodic work of the house, in the order in which it must happen: first be alive, then honour
 * opt-outs that waited in the journal, then start and plan, then look after disk and old records.
 */
#include <string.h>

#include "api/ready.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "broadcast/dispatch.h"
#include "control/gates.h"
#include "daemon/config.h"
#include "daemon/daemon_internal.h"
#include "daemon/installation.h"
#include "feedback/engagement.h"
#include "feedback/opt_out_intake.h"
#include "loop/workers.h"
#include "model/retention.h"
#include "store/instances.h"
#include "store/store.h"
#include "tick/disk_watch.h"
#include "tick/ticker.h"

#define PURGE_STEPS  25
#define REJUDGE_PAGE 100

/* ---- beat ------------------------------------------------------------------------------------ */

struct beat {
    struct daemon *daemon;
    struct ticker_turn *turn;
    unsigned op;
    int64_t at_ms;
};

/* A full queue and a full disk are told elsewhere, and pass; other refusals mean that nothing can be
 * recorded, so nothing may be sent. */
static void
judge_store(struct daemon *d, const struct err *err)
{
    bool is_down = err->code != ERR_NONE && strcmp(err->sub, "store_busy") != 0 &&
                   strcmp(err->sub, "disk_full") != 0;

    gates_set(d->gates, GATE_SCOPE_ALL, GATE_STORE, is_down, "the last beat could not be stored");
    api_ready_set(d->ready, "store", !is_down, err->text);
}

static void
on_beat(struct store_batch *b, void *arg)
{
    struct beat *beat = arg;
    struct err err = {0};

    if (store_batch_err(b) != NULL)
        err = *store_batch_err(b);
    else if (!instances_result(b, beat->op)->matched)
        err_set(&err, ERR_INTERNAL, "the record of this instance is gone");
    else
        beat->daemon->home->instance.beat_at_ms = beat->at_ms;
    judge_store(beat->daemon, &err);
    ticker_turn_end(beat->turn, &err);
    store_batch_free(&b);
    mem_free(beat);
}

static void
job_beat(struct ticker_turn *turn, void *arg)
{
    struct daemon *d = arg;
    struct store_batch *b = store_batch_create(d->home->store, STORE_URGENT);
    struct beat *beat = mem_zalloc(sizeof(*beat));

    beat->daemon = d;
    beat->turn = turn;
    beat->at_ms = clock_now_ms();
    beat->op =
        instance_beat_op(b, &d->home->instance, beat->at_ms, d->current->tick_interval_s * 1000);
    store_submit(b, on_beat, beat);
}

/* ---- opt-outs that wait ------------------------------------------------------------------------ */

static void
on_folded(const struct err *err, void *arg)
{
    ticker_turn_end(arg, err);
}

static void
job_journal(struct ticker_turn *turn, void *arg)
{
    struct daemon *d = arg;

    opt_out_intake_fold(d->opt_outs, on_folded, turn);
}

/* ---- starting and planning ------------------------------------------------------------------- */

static void
job_start_due(struct ticker_turn *turn, void *arg)
{
    struct daemon *d = arg;

    dispatcher_start_due(d->dispatcher);
    ticker_turn_end(turn, NULL);
}

/* Plans that lost their way (a failed read, a lease that had to be waited for) take it up again. */
static void
job_plan(struct ticker_turn *turn, void *arg)
{
    struct daemon *d = arg;

    dispatcher_kick(d->dispatcher);
    ticker_turn_end(turn, NULL);
}

/* ---- housekeeping ---------------------------------------------------------------------------- */

struct purge {
    struct daemon *daemon;
    struct ticker_turn *turn;
    uint64_t deleted;
    struct err err;
};

/* Verdicts of other rules than this program's, a page per tick, once after each start. */
static int
rejudge(struct daemon *d, struct err *err)
{
    uint64_t next = 0;

    if (d->is_rejudged)
        return 0;
    if (engagements_rejudge(d->home->store, d->rejudged_to, REJUDGE_PAGE, &next, err) < 0)
        return -1;
    d->rejudged_to = next;
    d->is_rejudged = next == 0;
    return 0;
}

static void
run_purge(void *arg)
{
    struct purge *p = arg;
    bool more = true;

    if (rejudge(p->daemon, &p->err) != 0)
        return;
    for (int i = 0; i < PURGE_STEPS && more; i++)
        if (retention_purge(p->daemon->home->store, clock_now_ms(), &p->deleted, &more, &p->err) !=
            0)
            return;
}

static void
on_purged(void *arg)
{
    struct purge *p = arg;

    if (p->deleted > 0)
        log_debug(NULL, "housekeeping", "deleted=%llu", (unsigned long long)p->deleted);
    ticker_turn_end(p->turn, &p->err);
    mem_free(p);
}

static void
job_housekeeping(struct ticker_turn *turn, void *arg)
{
    struct daemon *d = arg;
    struct purge *p = mem_zalloc(sizeof(*p));

    p->daemon = d;
    p->turn = turn;
    if (workers_submit(d->cpu, run_purge, on_purged, p))
        return;
    mem_free(p); /* the workers are busy with mail; old records can wait */
    ticker_turn_end(turn, NULL);
}

void
daemon_add_jobs(struct daemon *d)
{
    ticker_add(d->ticker, "beat", job_beat, d);
    ticker_add(d->ticker, "journal", job_journal, d);
    ticker_add(d->ticker, "start_due", job_start_due, d);
    ticker_add(d->ticker, "plan", job_plan, d);
    ticker_add(d->ticker, "disk", disk_watch_job, d->disk);
    ticker_add(d->ticker, "housekeeping", job_housekeeping, d);
}
