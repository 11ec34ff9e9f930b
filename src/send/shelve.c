/*
 * Settling rows that never reach a session.
 *
 * They are still `queued`, so the update is conditional on that and on their generation; when it does
 * not go through, nothing is lost: their groups walk the due index again and find them.
 */
#include <assert.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/run_table.h"
#include "send/internal.h"
#include "store/store.h"

struct shelf {
    struct sender *sender;
    unsigned op;
    size_t n;
    struct {
        uint64_t group;
        bool is_queued;
        int64_t due_at_ms;
    } rows[SHELF_MAX];
};

/* Who waits for these rows looks again: when they are due, or at once when nothing was written. */
static void
rewind_groups(const struct shelf *sh, bool is_failed)
{
    for (size_t i = 0; i < sh->n; i++) {
        struct group *g = map_u64_get(sh->sender->groups, sh->rows[i].group);

        if (g == NULL || g->is_closed)
            continue;
        if (is_failed)
            group_rewind(g);
        else if (sh->rows[i].is_queued)
            group_rewind_at(g, sh->rows[i].due_at_ms);
    }
}

static void
on_shelved(struct store_batch *b, void *arg)
{
    struct shelf *sh = arg;
    struct sender *s = sh->sender;
    const struct err *err = store_batch_err(b);

    s->n_lent--;
    rewind_groups(sh, err != NULL);
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
shelve_submit(struct sender *s, uint64_t profile, const struct sends_settle *rows, size_t n)
{
    struct store_batch *b = store_batch_create(s->args.store, STORE_URGENT);
    struct shelf *sh = mem_zalloc(sizeof(*sh));

    assert(n <= SHELF_MAX);
    sh->sender = s;
    sh->n = n;
    for (size_t i = 0; i < n; i++) {
        sh->rows[i].group = rows[i].broadcast != 0 ? rows[i].broadcast : profile;
        sh->rows[i].is_queued = rows[i].to == SEND_QUEUED;
        sh->rows[i].due_at_ms = rows[i].due_at_ms;
    }
    sh->op = sends_settle_queued(b, rows, n);
    s->n_lent++;
    store_submit(b, on_shelved, sh);
}
