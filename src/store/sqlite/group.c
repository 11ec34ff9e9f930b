/*
 * Running batches. A reading batch gets one snapshot. Writing batches share a transaction: each but
 * the first runs in a savepoint of its own, so one that fails leaves the others alone, and none is
 * completed before the commit has returned.
 *
 * When the transaction as a whole is lost (no room, I/O error) its batches are run again, one by one
 * and in their order: a small urgent one may well fit where the group did not. What fails alone is
 * reported with its own error.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "store/sqlite/core.h"

static int
run_op(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    if (op->kind <= OP_DELETE)
        return sq_op_docs(c, op, a, err);
    if (op->kind < OP_SENDS_PLAN)
        return sq_op_runs(c, op, a, err);
    if (op->kind < OP_INSTANCES_START)
        return sq_op_sends(c, op, a, err);
    return sq_op_instances(c, op, a, err);
}

static uint64_t
op_rows(const struct store_op *op)
{
    return op->out.n_docs + op->out.changed + op->sends_out.n_rows + op->sends_out.count +
           op->run_out.n_runs + op->inst_out.n_records;
}

int
sq_batch_run_ops(struct sq_conn *c, struct store_batch *b)
{
    struct sq_store *s = c->owner;

    for (unsigned i = 0; i < b->n_ops; i++) {
        struct store_op *op = &b->ops[i];
        uint64_t started_us = clock_mono_us();
        int rc = run_op(c, op, b->arena, &b->err);

        metric_add(s->m.count[op->kind], 1);
        metric_add(s->m.us[op->kind], (int64_t)(clock_mono_us() - started_us));
        metric_add(s->m.rows[op->kind], (int64_t)op_rows(op));
        if (rc == 0 && op->require_code != ERR_NONE && store_op_is_unmet(op))
            rc = store_op_fail_unmet(op, &b->err);
        if (rc != 0)
            return -1;
    }
    for (size_t i = 0; i < b->n_suppressed; i++)
        sq_suppressed_append(s, b->suppressed[i]);
    return 0;
}

static int
exec_fixed(struct sq_conn *c, const char *static_sql, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, static_sql, err);

    return stmt != NULL ? sq_exec(c, stmt, err) : -1;
}

static void
end_quietly(struct sq_conn *c, const char *static_sql)
{
    struct err ignored;

    if (!sqlite3_get_autocommit(c->db))
        (void)exec_fixed(c, static_sql, &ignored);
}

void
sq_batch_read(struct sq_conn *c, struct store_batch *b)
{
    /* A typed operation may be several statements. */
    bool needs_snapshot = b->n_ops > 1 || (b->n_ops == 1 && b->ops[0].kind > OP_DELETE);

    if (needs_snapshot && exec_fixed(c, "BEGIN", &b->err) != 0)
        return;
    (void)sq_batch_run_ops(c, b);
    if (needs_snapshot)
        end_quietly(c, "COMMIT");
}

/* Run one batch in its savepoint. False when the whole transaction is gone. */
static bool
run_in_savepoint(struct sq_store *s, struct store_batch *b)
{
    struct sq_conn *c = &s->wconn;

    if (!sq_writer_has_room(s, b))
        return true; /* refused, nothing touched */
    if (exec_fixed(c, "SAVEPOINT batch", &b->err) != 0)
        return !sqlite3_get_autocommit(c->db);
    if (sq_batch_run_ops(c, b) == 0)
        return exec_fixed(c, "RELEASE batch", &b->err) == 0;
    if (sqlite3_get_autocommit(c->db)) /* SQLite undid everything by itself */
        return false;
    end_quietly(c, "ROLLBACK TO batch");
    end_quietly(c, "RELEASE batch");
    return !sqlite3_get_autocommit(c->db);
}

/* The first batch of a group needs no savepoint: to undo it is to undo the transaction, which holds
 * nothing else yet. That saves a copy of every page it changes (a seventh of the cost of planning).
 * False when the whole transaction is gone. */
static bool
run_first(struct sq_store *s, struct store_batch *b)
{
    struct sq_conn *c = &s->wconn;
    struct err err;

    if (!sq_writer_has_room(s, b) || sq_batch_run_ops(c, b) == 0)
        return true;
    if (sqlite3_get_autocommit(c->db)) /* SQLite undid everything by itself */
        return false;
    end_quietly(c, "ROLLBACK");
    return exec_fixed(c, "BEGIN IMMEDIATE", &err) == 0;
}

static bool
is_no_room(const struct err *err)
{
    return err->code == ERR_TEMP && strcmp(err->sub, "disk_full") == 0;
}

static void
complete(struct sq_store *s, struct store_batch *b)
{
    uint64_t waited_us = clock_mono_us() - b->queued_at_us;

    metric_observe_us(s->m.wait_us, waited_us);
    metric_max(s->m.longest, (int64_t)waited_us);
    store_batch_complete(b);
}

/* One batch as a transaction of its own; its result stands in b->err. */
static void
run_alone(struct sq_store *s, struct store_batch *b)
{
    struct sq_conn *c = &s->wconn;

    store_batch_rewind(b);
    if (exec_fixed(c, "BEGIN IMMEDIATE", &b->err) != 0)
        goto done;
    if (!run_in_savepoint(s, b)) {
        end_quietly(c, "ROLLBACK");
    } else if (b->err.code != ERR_NONE) {
        end_quietly(c, "ROLLBACK");
    } else if (exec_fixed(c, "COMMIT", &b->err) != 0) {
        end_quietly(c, "ROLLBACK");
    } else {
        sq_writer_note_room(s, false);
    }
done:
    if (is_no_room(&b->err))
        sq_writer_note_room(s, true);
    sq_notes_publish(s);
}

/* Run batches until the group is full or the queue is empty. False = transaction lost. */
static bool
fill_group(struct sq_store *s, struct sq_queue *group, struct err *err)
{
    struct sq_conn *c = &s->wconn;
    sqlite3_int64 rows_before = sqlite3_total_changes64(c->db);
    struct store_batch *b = group->head;
    unsigned n_ops = 0;

    for (;;) {
        n_ops += b->n_ops;
        if (b == group->head ? !run_first(s, b) : !run_in_savepoint(s, b)) {
            *err = b->err;
            return false;
        }
        if (n_ops >= SQ_GROUP_ROWS || group->n >= SQ_GROUP_BATCHES ||
            sqlite3_total_changes64(c->db) - rows_before >= SQ_GROUP_ROWS)
            return true;
        if ((b = sq_writer_next(s)) == NULL)
            return true;
        sq_queue_push(group, b);
    }
}

void
sq_group_run(struct sq_store *s, struct sq_queue *group)
{
    struct sq_conn *c = &s->wconn;
    uint64_t started_us = clock_mono_us();
    struct store_batch *b;
    struct err err;
    bool is_done;

    err_clear(&err);
    is_done = exec_fixed(c, "BEGIN IMMEDIATE", &err) == 0 && fill_group(s, group, &err) &&
              exec_fixed(c, "COMMIT", &err) == 0;
    if (is_done) {
        sq_writer_note_room(s, false);
    } else {
        end_quietly(c, "ROLLBACK");
        log_warn(NULL, "store.group_lost", "batches=%zu error=\"%s\"", group->n, err.text);
        for (b = group->head; b != NULL; b = b->next)
            run_alone(s, b);
    }
    sq_notes_publish(s);
    metric_add(s->m.groups, 1);
    metric_observe_us(s->m.group_us, clock_mono_us() - started_us);
    while ((b = sq_queue_pop(group)) != NULL)
        complete(s, b);
}
