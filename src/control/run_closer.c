/*
 * Closing the ledger.
 *
 * A run is `sent` when no row can move any more. The report of the commit that settled the last row is
 * what triggers the close; a report that was lost (a crash between the two) is made up for at the next
 * start, when the table is filled anew.
 */
#include "control/run_closer.h"

#include "base/mem.h"
#include "control/run_control.h"
#include "control/run_table.h"

struct run_closer {
    struct store *store;
    struct run_table *table;
};

static void
on_run(const struct run_record *before, const struct run_record *now, void *arg)
{
    struct run_closer *c = arg;
    bool is_done =
        now->state == RUN_SENDING && now->dispatched_at_ms != 0 && run_open_rows(&now->n) == 0;

    (void)before;
    if (is_done)
        run_close_submit(c->store, c->table, now->broadcast);
}

struct run_closer *
run_closer_create(struct store *st, struct run_table *t)
{
    struct run_closer *c = mem_alloc(sizeof(*c));

    c->store = st;
    c->table = t;
    run_table_listen(t, on_run, c);
    return c;
}

void
run_closer_free(struct run_closer **c)
{
    mem_free(*c);
    *c = NULL;
}
