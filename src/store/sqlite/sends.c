#include "store/sqlite/typed.h"

/* Which file runs which operation on send rows. */

int
sq_op_sends(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    switch (op->kind) {
    case OP_SENDS_PLAN: return sq_sends_plan(c, op, a, err);
    case OP_SENDS_ONEOFF: return sq_sends_oneoff(c, op, a, err);
    case OP_SENDS_DUE: return sq_sends_due(c, op, a, err);
    case OP_SENDS_GROUPS: return sq_sends_groups(c, op, a, err);
    case OP_SENDS_GET: return sq_sends_get(c, op, a, err);
    case OP_SENDS_COMMIT: return sq_sends_commit(c, op, a, err);
    case OP_SENDS_SETTLE: return sq_sends_settle_queued(c, op, a, err);
    case OP_SENDS_FEEDBACK: return sq_sends_feedback(c, op, a, err);
    case OP_SENDS_RECOVER: return sq_sends_recover(c, op, a, err);
    case OP_SENDS_REQUEUE: return sq_sends_requeue(c, op, a, err);
    case OP_SENDS_RESOLVE: return sq_sends_resolve(c, op, a, err);
    case OP_SENDS_LIST: return sq_sends_list(c, op, a, err);
    case OP_SENDS_EXCLUSIONS: return sq_sends_exclusions(c, op, a, err);
    case OP_SENDS_DETAIL: return sq_sends_detail(c, op, a, err);
    default: return err_set(err, ERR_INTERNAL, "operation %d is not one on sends", (int)op->kind);
    }
}
