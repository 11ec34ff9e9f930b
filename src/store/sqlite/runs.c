#include <stdlib.h>
#include <string.h>

#include "store/run_moves.h"
#include "store/sqlite/typed.h"

/*
 * Run records. A run is one row of its own table; its counters are one packed blob in it, because
 * they always change together: 30 numbers cost one bind and 250 bytes, and the row is written once per
 * operation, not once per send.
 *
 * Layout of the blob: version, then the sizes of the three groups (states, exclusion reasons, facts),
 * one byte each, then the numbers as little-endian int64. A group that has grown since the blob was
 * written reads its new members as 0.
 */

#define COUNTERS_VERSION 1
#define COUNTERS_HEAD    4
#define FACT_COUNTERS    (RUN_COUNTERS - SEND_STATES - EXCL_REASONS)
#define COUNTERS_BYTES   (COUNTERS_HEAD + RUN_COUNTERS * 8)

#define RUN_COLUMNS                                                                                \
    "broadcast, state, reasons, profile, template_version, scheduled_at, confirmed_at, "           \
    "started_at, dispatched_at, completed_at, paused_at, max_lateness, confirmed_count, "          \
    "growth_limit, fence, lease_owner, lease_beat, page, cursor, counters, reason_detail"

static const char sql_load[] = "SELECT " RUN_COLUMNS " FROM runs WHERE broadcast = ?1";
static const char sql_insert[] =
    "INSERT INTO runs(" RUN_COLUMNS ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
    " ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)";
static const char sql_save[] =
    "UPDATE runs SET state = ?2, reasons = ?3, profile = ?4, template_version = ?5,"
    " scheduled_at = ?6, confirmed_at = ?7, started_at = ?8, dispatched_at = ?9,"
    " completed_at = ?10, paused_at = ?11, max_lateness = ?12, confirmed_count = ?13,"
    " growth_limit = ?14, fence = ?15, lease_owner = ?16, lease_beat = ?17, page = ?18,"
    " cursor = ?19, counters = ?20, reason_detail = ?21 WHERE broadcast = ?1";
static const char sql_save_counters[] = "UPDATE runs SET counters = ?2 WHERE broadcast = ?1";
static const char sql_by_state[] =
    "SELECT " RUN_COLUMNS " FROM runs WHERE state = ?1 AND broadcast > ?2"
    " ORDER BY broadcast LIMIT ?3";
static const char sql_due[] =
    "SELECT " RUN_COLUMNS " FROM runs INDEXED BY runs_due WHERE state = 1 AND scheduled_at <= ?1"
    " ORDER BY scheduled_at, broadcast LIMIT ?2";
static const char sql_delete[] = "DELETE FROM runs WHERE broadcast = ?1";

/* ---- packing --------------------------------------------------------------------------------- */

static void
counters_pack(const struct run_counters *n, unsigned char out[COUNTERS_BYTES])
{
    const int64_t *v = (const int64_t *)n;

    out[0] = COUNTERS_VERSION;
    out[1] = SEND_STATES;
    out[2] = EXCL_REASONS;
    out[3] = (unsigned char)FACT_COUNTERS;
    for (size_t i = 0; i < RUN_COUNTERS; i++) {
        for (int byte = 0; byte < 8; byte++)
            out[COUNTERS_HEAD + i * 8 + byte] = (unsigned char)((uint64_t)v[i] >> (8 * byte));
    }
}

static int64_t
get_i64(const unsigned char *p)
{
    uint64_t v = 0;

    for (int byte = 7; byte >= 0; byte--)
        v = v << 8 | p[byte];
    return (int64_t)v;
}

/** Read the group sizes of the blob and no further than its length. */
static int
counters_unpack(const unsigned char *p, size_t n, struct run_counters *out, struct err *err)
{
    static const size_t have[3] = {SEND_STATES, EXCL_REASONS, FACT_COUNTERS};
    int64_t *v = (int64_t *)out;
    size_t stored = 0, at = COUNTERS_HEAD;

    memset(out, 0, sizeof(*out));
    if (n >= COUNTERS_HEAD)
        stored = (size_t)p[1] + p[2] + p[3];
    if (n < COUNTERS_HEAD || p[0] != COUNTERS_VERSION || n != COUNTERS_HEAD + stored * 8)
        return err_sub(err, ERR_PERM, "store_corrupt", "counters of a run are damaged");
    for (int group = 0; group < 3; group++) {
        for (size_t i = 0; i < p[1 + group]; i++, at += 8) {
            if (i < have[group])
                v[i] = get_i64(p + at);
        }
        v += have[group];
    }
    return 0;
}

static int
run_read(sqlite3_stmt *stmt, struct arena *a, struct run_record *r, struct err *err)
{
    int i = 0;

    r->broadcast = sq_column_id(stmt, i++);
    r->state = (enum run_state)sqlite3_column_int(stmt, i++);
    r->reasons = (uint32_t)sqlite3_column_int64(stmt, i++);
    r->profile = sq_column_id(stmt, i++);
    r->template_version = sq_column_id(stmt, i++);
    r->scheduled_at_ms = sqlite3_column_int64(stmt, i++);
    r->confirmed_at_ms = sqlite3_column_int64(stmt, i++);
    r->started_at_ms = sqlite3_column_int64(stmt, i++);
    r->dispatched_at_ms = sqlite3_column_int64(stmt, i++);
    r->completed_at_ms = sqlite3_column_int64(stmt, i++);
    r->paused_at_ms = sqlite3_column_int64(stmt, i++);
    r->max_lateness_ms = sqlite3_column_int64(stmt, i++);
    r->confirmed_count = sqlite3_column_int64(stmt, i++);
    r->growth_limit = sqlite3_column_int64(stmt, i++);
    r->fence = sq_column_id(stmt, i++);
    r->lease_owner = sq_column_id(stmt, i++);
    r->lease_beat_ms = sqlite3_column_int64(stmt, i++);
    r->page = (uint32_t)sqlite3_column_int64(stmt, i++);
    r->cursor = sq_column_slice(stmt, i++, a);
    if (counters_unpack(
            sqlite3_column_blob(stmt, i), (size_t)sqlite3_column_bytes(stmt, i), &r->n, err) != 0)
        return -1;
    r->reason_detail = sq_column_slice(stmt, i + 1, a);
    return 0;
}

/** Run a statement of all columns. The blob of counters lives until it is done. */
static int
run_write(struct sq_conn *c, const char *sql, const struct run_record *r, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql, err);
    unsigned char counters[COUNTERS_BYTES];
    int i = 1, rc;

    if (stmt == NULL)
        return -1;
    counters_pack(&r->n, counters);
    sq_bind_id(stmt, i++, r->broadcast);
    sqlite3_bind_int(stmt, i++, (int)r->state);
    sqlite3_bind_int64(stmt, i++, r->reasons);
    sq_bind_id(stmt, i++, r->profile);
    sq_bind_id(stmt, i++, r->template_version);
    sqlite3_bind_int64(stmt, i++, r->scheduled_at_ms);
    sqlite3_bind_int64(stmt, i++, r->confirmed_at_ms);
    sqlite3_bind_int64(stmt, i++, r->started_at_ms);
    sqlite3_bind_int64(stmt, i++, r->dispatched_at_ms);
    sqlite3_bind_int64(stmt, i++, r->completed_at_ms);
    sqlite3_bind_int64(stmt, i++, r->paused_at_ms);
    sqlite3_bind_int64(stmt, i++, r->max_lateness_ms);
    sqlite3_bind_int64(stmt, i++, r->confirmed_count);
    sqlite3_bind_int64(stmt, i++, r->growth_limit);
    sq_bind_id(stmt, i++, r->fence);
    sq_bind_id(stmt, i++, r->lease_owner);
    sqlite3_bind_int64(stmt, i++, r->lease_beat_ms);
    sqlite3_bind_int64(stmt, i++, r->page);
    sq_bind_blob(stmt, i++, r->cursor);
    sq_bind_blob(stmt, i++, slice_make(counters, sizeof(counters)));
    sq_bind_text(stmt, i++, r->reason_detail);
    rc = sq_exec(c, stmt, err);
    sqlite3_clear_bindings(stmt);
    return rc;
}

/* ---- loading and saving ---------------------------------------------------------------------- */

int
sq_run_load(
    struct sq_conn *c, uint64_t broadcast, struct arena *a, struct run_record *r, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_load, err);
    int rc;

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, broadcast);
    if ((rc = sq_step(c, stmt, err)) == 1) {
        if (run_read(stmt, a, r, err) != 0)
            rc = -1;
        sqlite3_reset(stmt);
    }
    return rc;
}

int
sq_run_save(struct sq_conn *c, const struct run_record *r, struct err *err)
{
    return run_write(c, sql_save, r, err);
}

static int
save_counters(struct sq_conn *c, const struct run_record *r, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_save_counters, err);
    unsigned char counters[COUNTERS_BYTES];
    int rc;

    if (stmt == NULL)
        return -1;
    counters_pack(&r->n, counters);
    sq_bind_id(stmt, 1, r->broadcast);
    sq_bind_blob(stmt, 2, slice_make(counters, sizeof(counters)));
    rc = sq_exec(c, stmt, err);
    sqlite3_clear_bindings(stmt);
    return rc;
}

int
sq_touch_flush(struct sq_touches *t, struct sends_result *res, struct err *err)
{
    struct run_record *runs = arena_array(t->a, t->n > 0 ? t->n : 1, sizeof(*runs));

    res->n_runs = 0;
    for (size_t i = 0; i < t->n; i++) {
        struct sq_touch *touch = t->items[i];
        int rc = 0;

        if (!touch->exists)
            continue;
        if (touch->kind == TOUCH_COUNTERS)
            rc = save_counters(t->c, &touch->run, err);
        else if (touch->kind == TOUCH_WHOLE)
            rc = sq_run_save(t->c, &touch->run, err);
        if (rc != 0)
            return -1;
        runs[res->n_runs++] = touch->run;
    }
    res->runs = runs;
    return 0;
}

/* ---- operations ------------------------------------------------------------------------------ */

/** Append what `stmt` yields to `runs`, which has room for `cap`. */
static int
collect(struct sq_conn *c, sqlite3_stmt *stmt, struct arena *a, struct run_record *runs, size_t cap,
    size_t *n_r, struct err *err)
{
    int rc = 0;

    while (*n_r < cap && (rc = sq_step(c, stmt, err)) == 1) {
        if (run_read(stmt, a, &runs[*n_r], err) != 0) {
            rc = -1;
            break;
        }
        (*n_r)++;
    }
    sqlite3_reset(stmt);
    return rc < 0 ? -1 : 0;
}

static int
compare_broadcast(const void *x, const void *y)
{
    const struct run_record *a = x, *b = y;

    return (a->broadcast > b->broadcast) - (a->broadcast < b->broadcast);
}

static void
set_runs(struct store_op *op, struct run_record *runs, size_t n)
{
    op->run_out.runs = runs;
    op->run_out.n_runs = n;
    op->run_out.matched = n > 0;
}

/** One index range per state, merged: each is in order, and the limit holds for each. */
static int
op_list(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct runs_list_args *args = op->args;
    size_t n_states = (size_t)__builtin_popcount(args->state_mask), n = 0;
    struct run_record *runs;

    runs = arena_array(a, (size_t)args->limit * n_states + 1, sizeof(*runs));
    for (int state = 0; state < RUN_STATES; state++) {
        sqlite3_stmt *stmt;

        if ((args->state_mask & (1u << state)) == 0)
            continue;
        if ((stmt = sq_prepare_fixed(c, sql_by_state, err)) == NULL)
            return -1;
        sqlite3_bind_int(stmt, 1, state);
        sq_bind_id(stmt, 2, args->after);
        sqlite3_bind_int64(stmt, 3, args->limit);
        if (collect(c, stmt, a, runs, n + args->limit, &n, err) != 0)
            return -1;
    }
    qsort(runs, n, sizeof(*runs), compare_broadcast);
    set_runs(op, runs, n < args->limit ? n : args->limit);
    return 0;
}

static int
op_due(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct runs_key_args *args = op->args;
    struct run_record *runs = arena_array(a, args->limit, sizeof(*runs));
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_due, err);
    size_t n = 0;

    if (stmt == NULL)
        return -1;
    sqlite3_bind_int64(stmt, 1, args->now_ms);
    sqlite3_bind_int64(stmt, 2, args->limit);
    if (collect(c, stmt, a, runs, args->limit, &n, err) != 0)
        return -1;
    set_runs(op, runs, n);
    return 0;
}

static int
op_create(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    struct run_record *r = arena_zalloc(a, sizeof(*r));

    *r = *(const struct run_record *)op->args;
    if (run_write(c, sql_insert, r, err) != 0)
        return -1;
    set_runs(op, r, 1);
    return 0;
}

static int
delete_run(struct sq_conn *c, uint64_t broadcast, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_delete, err);

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, broadcast);
    return sq_exec(c, stmt, err);
}

/** The operations on one loaded run. */
static int
apply_to_run(
    struct sq_conn *c, struct store_op *op, struct run_record *r, struct arena *a, struct err *err)
{
    struct run_result *res = &op->run_out;

    switch (op->kind) {
    case OP_RUNS_DELETE:
        res->matched =
            (((const struct runs_key_args *)op->args)->state_mask & (1u << r->state)) != 0 &&
            run_matched(&r->n) == 0;
        return res->matched ? delete_run(c, r->broadcast, err) : 0;
    case OP_RUNS_CHANGE:
        res->matched = run_move_change(r, op->args, a);
        return res->matched ? sq_run_save(c, r, err) : 0;
    case OP_RUNS_CORRECT:
        run_counters_add(&r->n, &((const struct runs_correct_args *)op->args)->delta);
        return save_counters(c, r, err);
    case OP_RUNS_RECOUNT: res->before = r->n; return sq_sends_recount(c, r->broadcast, &r->n, err);
    default: return 0; /* OP_RUNS_GET: loading was all */
    }
}

static uint64_t
broadcast_of(const struct store_op *op)
{
    switch (op->kind) {
    case OP_RUNS_CHANGE: return ((const struct run_change *)op->args)->broadcast;
    case OP_RUNS_CORRECT: return ((const struct runs_correct_args *)op->args)->broadcast;
    default: return ((const struct runs_key_args *)op->args)->broadcast;
    }
}

int
sq_op_runs(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    struct run_record *r;
    int rc;

    if (op->kind == OP_RUNS_CREATE)
        return op_create(c, op, a, err);
    if (op->kind == OP_RUNS_LIST)
        return op_list(c, op, a, err);
    if (op->kind == OP_RUNS_DUE)
        return op_due(c, op, a, err);
    r = arena_zalloc(a, sizeof(*r));
    if ((rc = sq_run_load(c, broadcast_of(op), a, r, err)) < 0)
        return -1;
    set_runs(op, r, rc == 1 ? 1 : 0);
    return rc == 1 ? apply_to_run(c, op, r, a, err) : 0;
}
