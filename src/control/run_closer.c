/*
 * Closing the ledger.
 *
 * A run is `sent` when no row can move any more. The report of the commit that settled the last row is
 * what triggers the close. No further report comes of a run that has nothing left to do, so a close that
 * the store could not write is tried again; one that was lost with the process is made up for at the
 * next start, when the table is filled anew.
 */
#include "control/run_closer.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/run_control.h"
#include "control/run_table.h"
#include "loop/loop.h"
#include "store/store.h"

#define RETRY_MS 1000

struct run_closer {
    struct loop *loop;
    struct store *store;
    struct run_table *table;
    struct loop_timer *retry;
};

struct closing {
    struct run_closer *closer;
    uint64_t broadcast;
    unsigned op;
};

static void on_retry(void *arg);

static bool
is_done(const struct run_record *r)
{
    return r->state == RUN_SENDING && r->dispatched_at_ms != 0 && run_open_rows(&r->n) == 0;
}

static void
on_closed(struct store_batch *b, void *arg)
{
    struct closing *cl = arg;
    struct run_closer *c = cl->closer;
    struct log_ctx ctx = {.broadcast = cl->broadcast};
    const struct err *err = store_batch_err(b);

    if (err != NULL) {
        log_error(&ctx, "run.close_failed", "error=\"%s\"", err->text);
        if (c->retry == NULL)
            c->retry = loop_timer_start(c->loop, RETRY_MS, on_retry, c);
    } else {
        const struct run_result *r = runs_result(b, cl->op);

        if (r->matched)
            log_info(&ctx, "run.closed", "state=%s", run_state_name((int)r->runs[0].state));
        run_table_update(c->table, r->runs, r->n_runs);
    }
    run_table_release(c->table);
    mem_free(cl);
    store_batch_free(&b);
}

static void
submit_close(struct run_closer *c, uint64_t broadcast)
{
    struct store_batch *b = store_batch_create(c->store, STORE_URGENT);
    struct closing *cl = mem_zalloc(sizeof(*cl));

    cl->closer = c;
    cl->broadcast = broadcast;
    cl->op = run_close_op(b, broadcast, clock_now_ms());
    run_table_hold(c->table);
    store_submit(b, on_closed, cl);
}

static void
on_retry(void *arg)
{
    struct run_closer *c = arg;
    const struct run_record *r;
    size_t it = 0;

    c->retry = NULL;
    while ((r = run_table_next(c->table, &it)) != NULL)
        if (is_done(r))
            submit_close(c, r->broadcast);
}

static void
on_run(const struct run_record *before, const struct run_record *now, void *arg)
{
    (void)before;
    if (is_done(now))
        submit_close(arg, now->broadcast);
}

struct run_closer *
run_closer_create(struct loop *l, struct store *st, struct run_table *t)
{
    struct run_closer *c = mem_zalloc(sizeof(*c));

    c->loop = l;
    c->store = st;
    c->table = t;
    run_table_listen(t, on_run, c);
    return c;
}

void
run_closer_free(struct run_closer **cp)
{
    if (*cp == NULL)
        return;
    loop_timer_cancel(&(*cp)->retry);
    mem_free(*cp);
    *cp = NULL;
}
