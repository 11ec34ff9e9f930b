#ifndef STORE_SQLITE_TYPED_H
#define STORE_SQLITE_TYPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/sqlite/internal.h"

/**
 * Shared by the files of the typed records: loading and saving a row or a run, and the runs that one
 * operation touches. All ids, tokens and incarnations are stored as the signed integer of the same
 * 64 bits; times as milliseconds, 0 = none.
 */

/* ---- one run --------------------------------------------------------------------------------- */

/** 1 = found (slices in `a`), 0 = no such run, -1 = error. */
int sq_run_load(
    struct sq_conn *c, uint64_t broadcast, struct arena *a, struct run_record *r, struct err *err);
int sq_run_save(struct sq_conn *c, const struct run_record *r, struct err *err);

/* ---- one row --------------------------------------------------------------------------------- */

/** Columns in the order that sq_row_read() expects. */
#define SQ_ROW_COLUMNS                                                                             \
    "id, broadcast, state, grp, contact, address, address_hash, profile, lane, generation, "       \
    "attempt, page, claim_token, owner, due_at, delay_min, fail_class, reply_code, "               \
    "enhanced_code, created_at, sent_at, delivered_at, bounced_at, complained_at, "                \
    "unsubscribed_at, first_open, first_click, bounce"
#define SQ_ROW_COL_ID         0
#define SQ_ROW_COL_BROADCAST  1
#define SQ_ROW_COL_STATE      2
#define SQ_ROW_COL_CONTACT    4
#define SQ_ROW_COL_FAIL_CLASS 16

/** The row a statement stands on. The address is copied into `a`; with NULL it is left empty. */
void sq_row_read(sqlite3_stmt *stmt, struct arena *a, struct send_row *row);
/** All members but the address. 1 = found, 0 = no such row in this broadcast, -1 = error. */
int sq_row_load(
    struct sq_conn *c, uint64_t broadcast, uint64_t id, struct send_row *row, struct err *err);
/** Write the members that a move can change. */
int sq_row_save(struct sq_conn *c, const struct send_row *row, struct err *err);
/** Insert a row. 1 = inserted, 0 = a unique key is taken, -1 = error. */
int sq_row_insert(struct sq_conn *c, const struct send_row *row, struct err *err);

/* ---- the runs that one operation touches ----------------------------------------------------- */

enum sq_touch_kind {
    TOUCH_READ,     /* nothing to write */
    TOUCH_COUNTERS, /* counters only */
    TOUCH_WHOLE     /* any member */
};

struct sq_touch {
    struct run_record run;
    bool exists;
    enum sq_touch_kind kind;
};

/** Each run is loaded once per operation, its counters move in memory with the rows, and it is
 * written once at the end, whatever the number of rows. */
struct sq_touches {
    struct sq_conn *c;
    struct arena *a;
    struct sq_touch **items;
    size_t n, cap, last;
};

/** The run of a broadcast, loaded on first use; NULL = error. `exists` false: there is none (also for
 * broadcast 0, one-off mail). */
struct sq_touch *sq_touch_get(struct sq_touches *t, uint64_t broadcast, struct err *err);
/** Move the counters by what a row counted before and after. */
void sq_touch_count(
    struct sq_touch *touch, const struct send_row *before, const struct send_row *after);
/** Save a row that was moved and move the counters of its run by the difference. */
int sq_touch_move(struct sq_touches *t, const struct send_row *before, const struct send_row *after,
    struct err *err);
/** Write what changed; the result names every run that was touched. */
int sq_touch_flush(struct sq_touches *t, struct sends_result *res, struct err *err);

/* ---- operations by file ---------------------------------------------------------------------- */

int sq_sends_plan(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_commit(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_settle_queued(
    struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_feedback(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_recover(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_requeue(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_resolve(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_oneoff(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_due(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_groups(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_get(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_list(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_exclusions(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_sends_detail(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
/** Recount rows and exclusions of a broadcast into `n`. */
int sq_sends_recount(
    struct sq_conn *c, uint64_t broadcast, struct run_counters *n, struct err *err);

/** Remember reply text, provider id or content of a row; empty slices keep what is there. */
int sq_detail_put(struct sq_conn *c, uint64_t broadcast, uint64_t id, const struct send_detail *d,
    struct err *err);

/* ---- binding --------------------------------------------------------------------------------- */

static inline void
sq_bind_id(sqlite3_stmt *stmt, int i, uint64_t id)
{
    sqlite3_bind_int64(stmt, i, (int64_t)id);
}

/** Bytes as TEXT that outlive the statement's next reset (they live in the batch's arena). */
static inline void
sq_bind_text(sqlite3_stmt *stmt, int i, struct slice s)
{
    sqlite3_bind_text(stmt, i, s.p != NULL ? s.p : "", (int)s.n, SQLITE_STATIC);
}

static inline void
sq_bind_blob(sqlite3_stmt *stmt, int i, struct slice s)
{
    sqlite3_bind_blob(stmt, i, s.p != NULL ? s.p : "", (int)s.n, SQLITE_STATIC);
}

static inline uint64_t
sq_column_id(sqlite3_stmt *stmt, int i)
{
    return (uint64_t)sqlite3_column_int64(stmt, i);
}

/** Bytes of a TEXT or BLOB column, copied into `a`; NULL gives an empty slice. */
struct slice sq_column_slice(sqlite3_stmt *stmt, int i, struct arena *a);

#endif
