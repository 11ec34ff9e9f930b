/*
 * What a start does about the past, before the first claim of the new process:
 *
 *   opt-outs in the journal ─► the store; a long silence ─► pause what was running; a dead owner's
 *   mails ─► in doubt; runs ─► the table
 *
 * All of it costs the same with one row and with a million: nothing here walks the sends.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/gates.h"
#include "control/run_control.h"
#include "control/run_table.h"
#include "daemon/config.h"
#include "daemon/daemon_internal.h"
#include "daemon/installation.h"
#include "daemon/park.h"
#include "feedback/opt_out_intake.h"
#include "send/recover.h"
#include "send/sender.h"
#include "store/sends.h"
#include "store/store.h"

#define RUNS_PAGE 200

/* Beats are a tick apart, so a younger one than that proves nothing. */
static int
park_after_gap(struct daemon *d, struct err *err)
{
    static const struct run_reason why = {.code = PAUSE_MISSED_START,
        .message = "the daemon was down for longer than this broadcast tolerates",
        .actor = "system:start"};
    int64_t beat = d->home->instance.previous_beat_at_ms;
    int64_t gap_ms = clock_now_ms() - beat - d->boot->tick_interval_s * 1000;
    unsigned n;

    if (beat == 0 || gap_ms <= 0)
        return 0;
    if (park_runs(d->home->store, gap_ms, d->boot->max_lateness_min * 60000, &why, &n, err) != 0)
        return -1;
    if (n > 0)
        log_warn(NULL, "daemon.parked", "broadcasts=%u down_minutes=%lld", n,
            (long long)(gap_ms / 60000));
    return 0;
}

int
daemon_settle_past(struct daemon *d, struct err *err)
{
    uint64_t moved = 0;

    if (!d->home->instance.is_adopted)
        gates_set(d->gates, GATE_SCOPE_ALL, GATE_COPY, true,
            "this data folder is a copy; \"mailshotd adopt\" makes it the installation");
    opt_out_intake_settle(d->opt_outs);
    if (park_after_gap(d, err) != 0)
        return -1;
    return recover_sends(d->home->store, d->home->instance.incarnation, &moved, err);
}

int
daemon_load_runs(struct daemon *d, struct err *err)
{
    uint64_t after = 0;
    size_t n;
    int rc;

    do {
        struct store_batch *b = store_batch_create(d->home->store, STORE_URGENT);
        unsigned op = runs_list(b, 1u << RUN_SENDING | 1u << RUN_PAUSED, after, RUNS_PAGE);

        n = 0;
        if ((rc = store_run(b, err)) == 0) {
            const struct run_result *r = runs_result(b, op);

            n = r->n_runs;
            run_table_update(d->runs, r->runs, n);
            if (n > 0)
                after = r->runs[n - 1].broadcast;
        }
        store_batch_free(&b);
    } while (rc == 0 && n == RUNS_PAGE);
    return rc;
}

int
daemon_load_oneoffs(struct daemon *d, struct err *err)
{
    struct store_batch *b = store_batch_create(d->home->store, STORE_URGENT);
    unsigned op = sends_oneoff_groups(b);
    int rc = store_run(b, err);

    if (rc == 0) {
        const struct sends_result *r = sends_result(b, op);

        for (size_t i = 0; i < r->n_ids; i++)
            sender_oneoff_added(d->sender, r->ids[i]);
    }
    store_batch_free(&b);
    return rc;
}
