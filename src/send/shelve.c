/*
 * Settling rows that never reach a session.
 *
 * They are still `queued`, so the update is conditional on that and on their generation; when it does
 * not go through, nothing is lost: the rows are found again by the next walk of the due index.
 */
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/run_table.h"
#include "send/internal.h"
#include "store/store.h"

struct shelf {
    struct sender *sender;
    unsigned op;
};

static void
on_shelved(struct store_batch *b, void *arg)
{
    struct shelf *sh = arg;
    struct sender *s = sh->sender;
    const struct err *err = store_batch_err(b);

    s->n_lent--;
    if (err != NULL) {
        log_warn(NULL, "send.shelve_failed", "error=\"%s\"", err->text);
    } else {
        const struct sends_result *r = sends_result(b, sh->op);

        run_table_update(s->args.runs, r->runs, r->n_runs);
    }
    mem_free(sh);
    store_batch_free(&b);
    sender_kick(s);
    sender_check_stopped(s);
}

void
shelve_submit(struct sender *s, const struct sends_settle *rows, size_t n)
{
    struct store_batch *b = store_batch_create(s->args.store, STORE_URGENT);
    struct shelf *sh = mem_zalloc(sizeof(*sh));

    sh->sender = s;
    sh->op = sends_settle_queued(b, rows, n);
    s->n_lent++;
    store_submit(b, on_shelved, sh);
}
