#ifndef STORE_SQLITE_CORE_H
#define STORE_SQLITE_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/schema.h"
#include "store/sqlite/internal.h"

struct metric;

/**
 * The open store as its own files see it: one writer (queue, thread, connection), a pool of readers,
 * the suppression notes. Operations see sq_conn only.
 */

/* ---- suppression notes: ring of the newest hashes, written by the writer thread ---------------- */

#define SQ_NOTES_MAX 4096u

struct sq_notes {
    int64_t ring[SQ_NOTES_MAX];
    uint64_t head;              /* notes appended so far; writer thread */
    _Atomic uint64_t published; /* those whose group has ended; any thread */
};

/* ---- writer ---------------------------------------------------------------------------------- */

/** Queue limits per priority; one more is ERR_TEMP "store_busy". */
#define SQ_QUEUE_MAX 4096u
/** A group commits when so many rows or operations are in. */
#define SQ_GROUP_ROWS 100
/** Batches of one group at most: bounds what a failed commit has to run again. */
#define SQ_GROUP_BATCHES 256u

struct sq_queue {
    struct store_batch *head, *tail;
    size_t n;
};

struct sq_writer {
    pthread_t thread;
    bool is_started;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct sq_queue queue[2]; /* by enum store_prio */
    unsigned passed_over;     /* groups in a row that left bulk waiting */
    bool is_stopping;
    /* writer thread only */
    int64_t min_free_bytes;
    int64_t space_checked_ms;
    bool is_low, had_no_room;
    int wal_pages; /* frames in the WAL after the last commit */
    int64_t restart_tried_ms;
    atomic_bool is_full; /* is_low or had_no_room, for any thread */
};

/* ---- readers --------------------------------------------------------------------------------- */

#define SQ_READERS_MAX 16u

struct sq_readers {
    pthread_mutex_t lock;
    pthread_cond_t conn_free, work;
    struct sq_conn conns[SQ_READERS_MAX];
    struct sq_conn *free[SQ_READERS_MAX];
    unsigned n_conns, n_free;
    pthread_t threads[SQ_READERS_MAX];
    unsigned n_threads;
    struct sq_queue queue[2];
    bool is_stopping;
};

/* ---- checkpointer ---------------------------------------------------------------------------- */

struct sq_checkpointer {
    pthread_t thread;
    bool is_started;
    struct sq_conn conn;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_wanted, is_stopping;
    atomic_bool is_busy;     /* set by the writer when it asks, cleared when the pass has ended */
    atomic_bool had_no_room; /* a pass found none; the writer takes note */
    atomic_int done_pages;   /* frames of the present WAL that are in the database */
};

struct sq_store {
    struct store *st;
    char *folder, *file; /* NULL = memory */
    bool is_memory;      /* private database: the writer's connection serves reads too */
    struct sq_conn wconn;
    struct sq_writer writer;
    struct sq_readers readers;
    struct sq_checkpointer checkpointer;
    struct sq_notes notes;
    struct {
        struct metric *count[OP_KINDS], *us[OP_KINDS], *rows[OP_KINDS];
        struct metric *groups, *group_us, *wait_us, *longest, *busy, *full, *wal_pages;
    } m;
};

/* conn.c: connections */

/** Open a connection of the store: pragmas of its role, our SQL functions, empty cache. */
int sq_conn_open(
    struct sq_store *s, struct sq_conn *c, bool is_writer, bool create, struct err *err);
void sq_conn_close(struct sq_conn *c);
/** Run SQL text without results. */
int sq_conn_sql(struct sq_conn *c, const char *sql, struct err *err);

/* stmts.c */
struct sq_stmts *sq_stmts_create(void);
void sq_stmts_free(struct sq_stmts **s);

/* bson_sql.c */
int sq_functions_add(sqlite3 *db);

/* group.c: running batches on a connection */

/** Run the operations of a batch in order inside the transaction or savepoint of the caller. On failure
 * b->err is set and -1 returned; undoing is the caller's. */
int sq_batch_run_ops(struct sq_conn *c, struct store_batch *b);
/** Run a reading batch against one snapshot, without completing it. */
void sq_batch_read(struct sq_conn *c, struct store_batch *b);
/** Writer thread: run a list of batches as one transaction, complete each. */
void sq_group_run(struct sq_store *s, struct sq_queue *group);

/* checkpointer.c */
int sq_checkpointer_start(struct sq_store *s, struct err *err);
void sq_checkpointer_stop(struct sq_store *s);
/** Writer thread, while it is not busy: ask for a pass. */
void sq_checkpointer_wake(struct sq_store *s);

/* writer.c */
/** Empty the WAL when nobody else uses the store any more. */
void sq_writer_truncate(struct sq_store *s);
int sq_writer_start(struct sq_store *s, struct err *err);
void sq_writer_stop(struct sq_store *s);
void sq_writer_add(struct sq_store *s, struct store_batch *b);
/** Next batch for the group that is running, or NULL: urgent first, and bulk when there is room. */
struct store_batch *sq_writer_next(struct sq_store *s);
/** Writer thread: refuse a bulk batch while the disk is low. False = b->err is set. */
bool sq_writer_has_room(struct sq_store *s, struct store_batch *b);
/** Writer thread: note how a commit ended. */
void sq_writer_note_room(struct sq_store *s, bool had_no_room);

/* readers.c */
int sq_readers_start(struct sq_store *s, unsigned n, struct err *err);
void sq_readers_stop(struct sq_store *s);
void sq_readers_add(struct sq_store *s, struct store_batch *b);
/** Run on the caller's thread, with a connection of the pool. */
void sq_readers_run(struct sq_store *s, struct store_batch *b);

/* queues: linked through store_batch.next; the caller holds the lock */
void sq_queue_push(struct sq_queue *q, struct store_batch *b);
struct store_batch *sq_queue_pop(struct sq_queue *q);

/* notes.c */
void sq_notes_publish(struct sq_store *s);

/* schema_apply.c */

/** Before anything is changed: ERR_PERM "newer_store" or "keys_differ". A database without our tables
 * passes. */
int sq_schema_check(
    struct sq_conn *c, const struct schema *schema, const char *fingerprint, struct err *err);
/** Apply the migrations that are missing, in one transaction under the database lock. */
int sq_schema_apply(
    struct sq_conn *c, const struct schema *schema, const char *fingerprint, struct err *err);

/* care.c */
int sq_probe(const struct schema *schema, const struct store_open_args *args, struct err *err);
int sq_check(void *impl, struct buf *report, struct err *err);
int sq_backup(void *impl, const char *path, struct err *err);

#endif
