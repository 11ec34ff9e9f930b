#include "store/send_moves.h"
#include "store/sqlite/typed.h"

/*
 * Facts that come back from receivers and providers. One row each: loaded, moved forward or not at
 * all, saved. A report about a row we do not have is no error; it is counted nowhere.
 */

static int
feedback_one(struct sq_touches *t, const struct sends_feedback *f, uint64_t *count, struct err *err)
{
    struct send_row before, after;
    int rc = sq_row_load(t->c, f->broadcast, f->id, &before, err);

    if (rc <= 0)
        return rc;
    after = before;
    if (!send_move_feedback(&after, f))
        return 0;
    (*count)++;
    return sq_touch_move(t, &before, &after, err);
}

int
sq_sends_feedback(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_feedback_args *args = op->args;
    struct sq_touches touches = {.c = c, .a = a};

    for (size_t i = 0; i < args->n; i++) {
        if (feedback_one(&touches, &args->f[i], &op->sends_out.count, err) != 0)
            return -1;
    }
    op->sends_out.matched = op->sends_out.count > 0;
    return sq_touch_flush(&touches, &op->sends_out, err);
}
