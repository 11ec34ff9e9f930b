#ifndef STORE_SQLITE_INTERNAL_H
#define STORE_SQLITE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/driver.h"

/**
 * Shared by the files of store/sqlite. One sq_conn per thread at a time: the writer's, or one of the
 * readers'. Statements are prepared once per connection and cached by a small number (fixed SQL) or
 * by their text (generated SQL).
 */
struct sq_conn {
    sqlite3 *db;
    bool is_writer;
    struct sq_store *owner;
    const struct schema *schema;
    struct sq_stmts *stmts; /* cache */
};

/** Fixed statements: the address of the static SQL text is the cache key. Reset and unbound. */
sqlite3_stmt *sq_prepare_fixed(struct sq_conn *c, const char *static_sql, struct err *err);
/** Generated statements, cached by text (LRU 128). */
sqlite3_stmt *sq_prepare_text(struct sq_conn *c, const char *sql, struct err *err);
/** Step a statement that returns no rows; resets it. SQLITE_FULL and IOERR become ERR_TEMP
 * "disk_full", SQLITE_BUSY ERR_TEMP "store_busy", constraint ERR_CONFLICT, corruption ERR_PERM
 * "store_corrupt". */
int sq_exec(struct sq_conn *c, sqlite3_stmt *stmt, struct err *err);
/** 1 = row, 0 = done (reset), -1 = error (reset). */
int sq_step(struct sq_conn *c, sqlite3_stmt *stmt, struct err *err);
int sq_error(struct sq_conn *c, int rc, struct err *err);

/** Suppression log of the writer: append at execution, publish after commit. */
void sq_suppressed_append(struct sq_store *s, int64_t address_hash);
/** Is there a note for the hash newer than `seen_seq`? True also when the log no longer reaches back
 * that far. Writer thread only. */
bool sq_suppressed_since(struct sq_store *s, int64_t address_hash, uint64_t seen_seq);

/** Run one operation; -1 fails the batch. docs_*.c, runs.c, sends_*.c, instances.c. */
int sq_op_docs(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_op_runs(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_op_sends(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_op_instances(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);

/** Create the typed tables of schema step `name` ("sends", "runs", "instances"). */
int sq_create_typed(struct sq_conn *c, const char *name, struct err *err);

#endif
