/*
 * What every driver needs to know about an operation: its name, whether its requirement was met,
 * and how to forget its results before a second run.
 */
#include <assert.h>
#include <string.h>

#include "store/driver.h"

static const char *const op_names[OP_KINDS] = {
    [OP_FIND] = "find",
    [OP_COUNT] = "count",
    [OP_DISTINCT] = "distinct",
    [OP_GROUP_COUNT] = "group_count",
    [OP_INSERT] = "insert",
    [OP_UPDATE] = "update",
    [OP_DELETE] = "delete",
    [OP_RUNS_CREATE] = "runs_create",
    [OP_RUNS_GET] = "runs_get",
    [OP_RUNS_LIST] = "runs_list",
    [OP_RUNS_DUE] = "runs_due",
    [OP_RUNS_DELETE] = "runs_delete",
    [OP_RUNS_CHANGE] = "runs_change",
    [OP_RUNS_RECOUNT] = "runs_recount",
    [OP_RUNS_CORRECT] = "runs_correct",
    [OP_SENDS_PLAN] = "sends_plan",
    [OP_SENDS_ONEOFF] = "sends_oneoff",
    [OP_SENDS_DUE] = "sends_due",
    [OP_SENDS_GROUPS] = "sends_groups",
    [OP_SENDS_GET] = "sends_get",
    [OP_SENDS_COMMIT] = "sends_commit",
    [OP_SENDS_SETTLE] = "sends_settle",
    [OP_SENDS_FEEDBACK] = "sends_feedback",
    [OP_SENDS_RECOVER] = "sends_recover",
    [OP_SENDS_REQUEUE] = "sends_requeue",
    [OP_SENDS_RESOLVE] = "sends_resolve",
    [OP_SENDS_LIST] = "sends_list",
    [OP_SENDS_EXCLUSIONS] = "sends_exclusions",
    [OP_SENDS_DETAIL] = "sends_detail",
    [OP_INSTANCES_START] = "instances_start",
    [OP_INSTANCES_BEAT] = "instances_beat",
    [OP_INSTANCES_LIST] = "instances_list",
    [OP_INSTANCES_ADOPT] = "instances_adopt",
};

const char *
store_op_name(enum store_op_kind kind)
{
    return kind < OP_KINDS && op_names[kind] != NULL ? op_names[kind] : "unknown";
}

bool
store_op_is_unmet(const struct store_op *op)
{
    switch (op->kind) {
    case OP_FIND:
    case OP_DISTINCT:
    case OP_GROUP_COUNT: return op->out.n_docs == 0;
    case OP_COUNT: return op->out.count == 0;
    case OP_INSERT: return op->out.n_dups > 0 || op->out.changed == 0;
    case OP_UPDATE: return op->out.matched == 0 && !op->out.upserted;
    case OP_DELETE: return op->out.changed == 0;
    default: break;
    }
    if (op->kind >= OP_INSTANCES_START)
        return !op->inst_out.matched;
    if (op->kind >= OP_SENDS_PLAN)
        return !op->sends_out.matched;
    return !op->run_out.matched;
}

int
store_op_fail_unmet(const struct store_op *op, struct err *err)
{
    assert(op->require_code != ERR_NONE);
    return err_sub(err, op->require_code, op->require_sub, "%s: nothing met the condition",
        op->coll != NULL ? op->coll : store_op_name(op->kind));
}

void
store_batch_rewind(struct store_batch *b)
{
    err_clear(&b->err);
    for (unsigned i = 0; i < b->n_ops; i++) {
        struct store_op *op = &b->ops[i];

        memset(&op->out, 0, sizeof(op->out));
        memset(&op->run_out, 0, sizeof(op->run_out));
        memset(&op->sends_out, 0, sizeof(op->sends_out));
        memset(&op->inst_out, 0, sizeof(op->inst_out));
    }
}
