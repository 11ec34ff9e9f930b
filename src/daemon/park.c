/*
 * Parking: what the daemon does with broadcasts when it cannot know whether going on is right, after a
 * long silence or in a copied folder. Each gets a reason that a person must clear.
 */
#include "daemon/park.h"

#include "base/clock.h"
#include "control/run_control.h"
#include "store/runs.h"
#include "store/store.h"

#define PAGE 100

static int
park_page(struct store *st, const struct run_record *runs, size_t n, int64_t gap_ms,
    int64_t default_lateness_ms, const struct run_reason *why, unsigned *n_r, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    int64_t now = clock_now_ms();
    unsigned n_parked = 0;
    int rc = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t tolerated =
            runs[i].max_lateness_ms > 0 ? runs[i].max_lateness_ms : default_lateness_ms;

        if (gap_ms > 0 && gap_ms <= tolerated)
            continue;
        if (runs[i].state == RUN_SCHEDULED) /* pausing asks for a run that has begun */
            run_start_op(b, runs[i].broadcast, now);
        run_pause_op(b, runs[i].broadcast, why, now);
        n_parked++;
    }
    if (n_parked > 0)
        rc = store_run(b, err);
    if (rc == 0)
        *n_r += n_parked;
    store_batch_free(&b);
    return rc;
}

int
park_runs(struct store *st, int64_t gap_ms, int64_t default_lateness_ms,
    const struct run_reason *why, unsigned *n_r, struct err *err)
{
    uint32_t states = 1u << RUN_SENDING | (gap_ms == 0 ? 1u << RUN_SCHEDULED : 0);
    uint64_t after = 0;
    size_t n;
    int rc;

    *n_r = 0;
    do {
        struct store_batch *b = store_batch_create(st, STORE_URGENT);
        unsigned op = runs_list(b, states, after, PAGE);
        const struct run_result *r;

        n = 0;
        if ((rc = store_run(b, err)) == 0) {
            r = runs_result(b, op);
            n = r->n_runs;
            rc = park_page(st, r->runs, n, gap_ms, default_lateness_ms, why, n_r, err);
            if (n > 0)
                after = r->runs[n - 1].broadcast;
        }
        store_batch_free(&b);
    } while (rc == 0 && n == PAGE);
    return rc;
}
