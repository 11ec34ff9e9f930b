#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct loop;
struct store;
struct store_batch;
struct store_driver;

/**
 * Documents and typed records behind one interface. The unit of work is a batch: an ordered list of
 * operations. On SQLite a batch is one atomic transaction; on MongoDB it is an ordered set of
 * idempotent steps, each conditional, so a batch broken off in the middle may be submitted again.
 * The language of filters and updates, index rules and value order are in docs/store.md.
 *
 * A batch whose operations only read runs on a reader against one snapshot; a batch with any write
 * runs on the writer, where waiting batches share a transaction (each in a savepoint of its own).
 */
enum store_prio {
    STORE_URGENT, /* opt-outs, claims, people's requests */
    STORE_BULK    /* planning, import, recounts */
};

/** How an operation finds its documents; anything that is neither is refused on a hot path. */
enum store_access {
    STORE_INDEXED, /* the filter is served by an index or by _id */
    STORE_BOUNDED, /* the collection is small by nature (templates, profiles, tokens) */
    STORE_SCAN     /* an unbounded walk that its caller pages or an operator asked for */
};

struct store_open_args {
    const char *path;        /* SQLite: data folder; the file is mailshot.db in it. NULL = memory */
    int64_t min_free_bytes;  /* below this, bulk writes are refused with ERR_TEMP "disk_full" */
    unsigned n_readers;      /* reader connections, 0 = 4 */
    bool create;             /* make the database when it is missing */
    const char *fingerprint; /* of the installation's keys: stored when new, compared when not */
};

/** Open, check version and key fingerprint, apply migrations, start the writer. ERR_PERM "keys_differ"
 * or "newer_store" leave everything untouched. */
struct store *store_open(const struct store_driver *driver, const struct store_open_args *args,
    struct loop *loop, struct err *err);
/** Finish what is queued, checkpoint, close. Done-callbacks that are still due are delivered. */
void store_close(struct store **st);

/** Smallest key last returned by store_suppression_seq(); see sends.h. */
uint64_t store_suppression_seq(const struct store *st);

/** A store that cannot write now (disk under its limit, or the last commit failed for lack of room).
 * Any thread. Reads and urgent batches are still tried. */
bool store_is_full(const struct store *st);

/* ---- building a batch ------------------------------------------------------------------------ */

/** An empty batch with its own arena. Not shared between threads. */
struct store_batch *store_batch_create(struct store *st, enum store_prio prio);
void store_batch_free(struct store_batch **b);
/** Arena of the batch: operands and results live in it. */
struct arena *store_batch_arena(struct store_batch *b);

struct store_find {
    const bson_t *sort;       /* {"field": 1 or -1, ...}; _id ascending is added as last key */
    const bson_t *projection; /* {"field": 1, ...}; NULL = whole document */
    const bson_t *after;      /* keyset page: the sort keys and _id of the last document seen */
    uint32_t limit;           /* 1..1000; 0 = 1000 */
};

/* Each adds one operation and returns its number. Operands are copied. */
unsigned store_find(struct store_batch *b, const char *coll, enum store_access access,
    const bson_t *filter, const struct store_find *opts);
unsigned store_find_id(struct store_batch *b, const char *coll, uint64_t id);
/** Documents by ids, in no particular order; at most 1000. */
unsigned store_find_ids(struct store_batch *b, const char *coll, const uint64_t *ids, size_t n,
    const bson_t *projection);
unsigned store_count(
    struct store_batch *b, const char *coll, enum store_access access, const bson_t *filter);
/** Different values of `path`, at most `limit`, as documents {"v": value}. */
unsigned store_distinct(struct store_batch *b, const char *coll, enum store_access access,
    const char *path, const bson_t *filter, uint32_t limit);
/** Number of documents per value of `path`, as documents {"v": value, "n": count}. */
unsigned store_group_count(struct store_batch *b, const char *coll, enum store_access access,
    const char *path, const bson_t *filter, uint32_t limit);
/** Unordered insert. Documents whose unique key is taken are reported as duplicates and the others
 * go in. Every document carries `_id` (int64). */
unsigned store_insert(struct store_batch *b, const char *coll, const bson_t *const *docs, size_t n);

/* Flags of updates and deletes. STORE_UPSERT inserts when nothing matches: the equality conditions of
 * the filter, $set and the other operators, $setOnInsert. STORE_RETURN gives the document after the
 * change (find-and-update). */
#define STORE_MANY   1u /* all that match; else the first in _id order */
#define STORE_UPSERT 2u
#define STORE_RETURN 4u
unsigned store_update(struct store_batch *b, const char *coll, enum store_access access,
    const bson_t *filter, const bson_t *update, unsigned flags);
/** Deletes the first match, or all with STORE_MANY. */
unsigned store_delete(struct store_batch *b, const char *coll, enum store_access access,
    const bson_t *filter, unsigned flags);

/** The batch fails as a whole (nothing written on SQLite, later steps left out on MongoDB) with
 * `code` and `sub` when operation `op` changed or found nothing, or met a duplicate. */
void store_require(struct store_batch *b, unsigned op, enum err_code code, const char *sub);

/** Tell claims that this address (63-bit hash) was suppressed by this batch; see sends.h. */
void store_note_suppressed(struct store_batch *b, int64_t address_hash);

/* ---- running it ------------------------------------------------------------------------------ */

/** Called in the loop when the batch is durable or has failed. The callee owns the batch again. */
typedef void store_done_fn(struct store_batch *b, void *arg);

/** Queue the batch. Loop thread. When the queue is full the callback comes with ERR_TEMP
 * "store_busy". */
void store_submit(struct store_batch *b, store_done_fn *done, void *arg);
/** Run and wait: for workers and tools, never the loop thread. Returns 0, or -1 with the batch's
 * error in `err`. */
int store_run(struct store_batch *b, struct err *err);

/* ---- results --------------------------------------------------------------------------------- */

struct store_dup {
    size_t position;   /* of the document in the insert */
    const char *index; /* name of the unique index, "_id" for the primary key */
};

struct store_result {
    const bson_t *docs; /* find, distinct, group count, STORE_RETURN */
    size_t n_docs;
    uint64_t matched; /* update and delete: documents that met the filter */
    uint64_t changed; /* update: really different; delete: removed; insert: inserted */
    uint64_t count;   /* count */
    bool upserted;
    const struct store_dup *dups;
    size_t n_dups;
};

/** NULL when the batch succeeded. */
const struct err *store_batch_err(const struct store_batch *b);
/** Result of operation `op`; valid until store_batch_free(). */
const struct store_result *store_batch_result(const struct store_batch *b, unsigned op);

/* ---- care ------------------------------------------------------------------------------------ */

/** Would store_open() accept the database at args->path? ERR_NOTFOUND "no_store" when there is none.
 * Changes nothing and may run beside an open store; for tools. */
int store_probe(
    const struct store_driver *driver, const struct store_open_args *args, struct err *err);
/** Check the database (integrity, indexes). Blocking; tools only. Problems are appended as lines. */
int store_check(struct store *st, struct buf *report, struct err *err);
/** A consistent copy of the running database at `path`. Blocking. */
int store_backup(struct store *st, const char *path, struct err *err);

#endif
