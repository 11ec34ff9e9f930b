/*
 * The auditor's view of a store: do the books agree with the goods? Each broadcast is recounted in one
 * snapshot that holds counters and rows of the same instant, so a running daemon makes no difference.
 */
#include "daemon/store_audit.h"

#include "base/id.h"
#include "control/run_control.h"
#include "store/runs.h"
#include "store/store.h"

#define RUNS_PAGE 200

static int
audit_run(struct store *st, uint64_t broadcast, struct buf *report, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_BULK);
    unsigned op = runs_recount(b, broadcast);
    char id[ID_TEXT_SIZE];
    int rc = store_run(b, err);

    if (rc == 0) {
        const struct run_result *r = runs_result(b, op);

        if (r->matched && !run_counters_equal(&r->before, &r->runs[0].n))
            buf_printf(report,
                "broadcast %s: the counters say %lld rows and %lld contacts, there are %lld and "
                "%lld\n",
                id_text(broadcast, id), (long long)run_rows(&r->before),
                (long long)run_matched(&r->before), (long long)run_rows(&r->runs[0].n),
                (long long)run_matched(&r->runs[0].n));
    }
    store_batch_free(&b);
    return rc;
}

int
store_audit(struct store *st, struct buf *report, unsigned *n_runs_r, struct err *err)
{
    uint64_t after = 0;
    size_t n;
    int rc = store_check(st, report, err);

    *n_runs_r = 0;
    do {
        struct store_batch *b = store_batch_create(st, STORE_BULK);
        unsigned op = runs_list(b, (1u << RUN_STATES) - 1, after, RUNS_PAGE);

        n = 0;
        if (rc == 0 && (rc = store_run(b, err)) == 0) {
            const struct run_result *r = runs_result(b, op);

            n = r->n_runs;
            for (size_t i = 0; i < n && rc == 0; i++)
                rc = audit_run(st, r->runs[i].broadcast, report, err);
            *n_runs_r += (unsigned)n;
            if (n > 0)
                after = r->runs[n - 1].broadcast;
        }
        store_batch_free(&b);
    } while (rc == 0 && n == RUNS_PAGE);
    return rc;
}
