#include "store/send_moves.h"
#include "store/sqlite/typed.h"

/*
 * What happens to rows outside a session: rows of a dead owner are taken out of `sending`, and people
 * repeat or decide what failed or stayed in doubt.
 *
 * Each operation is a bounded batch: ids are collected from an index first and then moved one by one,
 * since a move takes the row out of the index that is being walked.
 */

/** Rows that one requeue looks at, whether they fit its filter or not. */
#define EXAMINE_MAX 5000

static const char sql_sending[] = "SELECT id, broadcast FROM sends WHERE state = 1 AND owner <> ?1"
                                  " AND (?2 = 0 OR profile = ?2) LIMIT ?3";
static const char sql_exceptional[] =
    "SELECT id, fail_class FROM sends WHERE broadcast = ?1 AND state IS ?2 AND state >= 4"
    " AND id > ?3 ORDER BY id LIMIT ?4";

struct key {
    uint64_t broadcast, id;
};

static int
collect_sending(struct sq_conn *c, const struct sends_recover *r, struct key *keys, size_t *n_r,
    struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_sending, err);
    int rc;

    *n_r = 0;
    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, r->live_owner);
    sq_bind_id(stmt, 2, r->only_profile);
    sqlite3_bind_int64(stmt, 3, r->limit);
    while ((rc = sq_step(c, stmt, err)) == 1)
        keys[(*n_r)++] = (struct key){sq_column_id(stmt, 1), sq_column_id(stmt, 0)};
    return rc;
}

int
sq_sends_recover(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_recover *r = op->args;
    struct sq_touches touches = {.c = c, .a = a};
    struct key *keys = arena_array(a, r->limit, sizeof(*keys));
    size_t n;

    if (collect_sending(c, r, keys, &n, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct send_row before, after;

        if (sq_row_load(c, keys[i].broadcast, keys[i].id, &before, err) < 0)
            return -1;
        after = before;
        if (!send_move_recover(&after, r))
            continue;
        if (sq_touch_move(&touches, &before, &after, err) != 0)
            return -1;
        op->sends_out.count++;
    }
    op->sends_out.matched = op->sends_out.count > 0;
    return sq_touch_flush(&touches, &op->sends_out, err);
}

/** Ids that fit the filter, at most `limit`; `next_r` is where a further call goes on, 0 = nowhere. */
static int
collect_exceptional(struct sq_conn *c, const struct sends_requeue *r, uint64_t *ids, size_t *n_r,
    uint64_t *next_r, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_exceptional, err);
    unsigned examined = 0;
    uint64_t last = 0;
    int rc = 0;

    *n_r = 0;
    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, r->broadcast);
    sqlite3_bind_int(stmt, 2, (int)r->from);
    sq_bind_id(stmt, 3, r->after_id);
    sqlite3_bind_int(stmt, 4, EXAMINE_MAX);
    while (*n_r < r->limit && (rc = sq_step(c, stmt, err)) == 1) {
        examined++;
        last = sq_column_id(stmt, 0);
        if (r->fail_class == FAIL_NONE || sqlite3_column_int(stmt, 1) == (int)r->fail_class)
            ids[(*n_r)++] = last;
    }
    sqlite3_reset(stmt);
    *next_r = *n_r == r->limit || examined == EXAMINE_MAX ? last : 0;
    return rc < 0 ? -1 : 0;
}

static int
requeue_ids(struct sq_touches *t, const struct sends_requeue *r, const uint64_t *ids, size_t n,
    uint64_t *count, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct send_row before, after;
        int rc = sq_row_load(t->c, r->broadcast, ids[i], &before, err);

        if (rc < 0)
            return -1;
        after = before;
        if (rc == 0 || !send_move_requeue(&after, r))
            continue;
        if (sq_touch_move(t, &before, &after, err) != 0)
            return -1;
        (*count)++;
    }
    return 0;
}

static bool
run_takes_rows(const struct sq_touch *touch)
{
    return touch->exists && (touch->run.state == RUN_SENDING || touch->run.state == RUN_PAUSED ||
                                touch->run.state == RUN_SENT);
}

int
sq_sends_requeue(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_requeue *r = op->args;
    struct sends_result *res = &op->sends_out;
    struct sq_touches touches = {.c = c, .a = a};
    struct sq_touch *touch = sq_touch_get(&touches, r->broadcast, err);
    const uint64_t *ids = r->ids;
    size_t n = r->n_ids;

    if (touch == NULL)
        return -1;
    res->matched = r->broadcast == 0 || run_takes_rows(touch);
    if (res->matched && n == 0) {
        uint64_t *found = arena_array(a, r->limit, sizeof(*found));

        if (collect_exceptional(c, r, found, &n, &res->next, err) != 0)
            return -1;
        ids = found;
    }
    if (res->matched && requeue_ids(&touches, r, ids, n, &res->count, err) != 0)
        return -1;
    if (res->count > 0 && touch->exists && touch->run.state == RUN_SENT) {
        touch->run.state = RUN_SENDING;
        touch->run.completed_at_ms = 0;
        touch->kind = TOUCH_WHOLE;
    }
    return sq_touch_flush(&touches, res, err);
}

int
sq_sends_resolve(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_ids_args *args = op->args;
    struct sq_touches touches = {.c = c, .a = a};

    for (size_t i = 0; i < args->n; i++) {
        struct send_row before, after;
        int rc = sq_row_load(c, args->broadcast, args->ids[i], &before, err);

        if (rc < 0)
            return -1;
        after = before;
        if (rc == 0 || !send_move_resolve(&after, args->to, args->now_ms))
            continue;
        if (sq_touch_move(&touches, &before, &after, err) != 0)
            return -1;
        op->sends_out.count++;
    }
    op->sends_out.matched = op->sends_out.count > 0;
    return sq_touch_flush(&touches, &op->sends_out, err);
}
