#ifndef STORE_DRIVER_H
#define STORE_DRIVER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/instances.h"
#include "store/runs.h"
#include "store/sends.h"
#include "store/store.h"

struct filter;
struct schema;
struct update;

/**
 * Between the batch and a backend. Only files of store/ include this. A batch is an array of
 * store_op; the driver runs them in order on one connection and fills `out`, allocating from the
 * batch's arena.
 */
enum store_op_kind {
    OP_FIND,
    OP_COUNT,
    OP_DISTINCT,
    OP_GROUP_COUNT,
    OP_INSERT,
    OP_UPDATE,
    OP_DELETE,
    OP_RUNS_CREATE,
    OP_RUNS_GET,
    OP_RUNS_LIST,
    OP_RUNS_DUE,
    OP_RUNS_DELETE,
    OP_RUNS_CHANGE,
    OP_RUNS_RECOUNT,
    OP_RUNS_CORRECT,
    OP_SENDS_PLAN,
    OP_SENDS_ONEOFF,
    OP_SENDS_DUE,
    OP_SENDS_GROUPS,
    OP_SENDS_GET,
    OP_SENDS_COMMIT,
    OP_SENDS_SETTLE,
    OP_SENDS_FEEDBACK,
    OP_SENDS_RECOVER,
    OP_SENDS_REQUEUE,
    OP_SENDS_RESOLVE,
    OP_SENDS_LIST,
    OP_SENDS_EXCLUSIONS,
    OP_SENDS_DETAIL,
    OP_INSTANCES_START,
    OP_INSTANCES_BEAT,
    OP_INSTANCES_LIST,
    OP_INSTANCES_ADOPT,
    OP_KINDS
};

struct store_op {
    enum store_op_kind kind;
    bool is_write;
    /* documents */
    const char *coll;
    enum store_access access;
    const bson_t *filter, *update;
    const struct filter *match;  /* compiled `filter`; NULL when the op goes by ids */
    const struct update *change; /* compiled `update` */
    struct store_find find;
    const char *path;
    const uint64_t *ids;
    size_t n_ids;
    const bson_t *const *docs;
    size_t n_docs;
    unsigned flags;
    uint32_t limit;
    /* requirement */
    enum err_code require_code; /* ERR_NONE = none */
    const char *require_sub;
    /* typed operands, copied into the arena */
    const void *args;
    struct store_result out;
    struct run_result run_out;
    struct sends_result sends_out;
    struct instances_result inst_out;
};

/* Operands of typed operations with loose arguments. */
struct runs_list_args {
    uint32_t state_mask;
    uint64_t after;
    unsigned limit;
};
struct runs_key_args {
    uint64_t broadcast;
    uint32_t state_mask;
    int64_t now_ms;
    unsigned limit;
};
struct runs_correct_args {
    uint64_t broadcast;
    struct run_counters delta;
};
struct sends_due_args {
    uint64_t group;
    int64_t after_due_ms;
    uint64_t after_id;
    int64_t now_ms;
    unsigned n;
};
struct sends_ids_args {
    uint64_t broadcast;
    const uint64_t *ids;
    size_t n;
    enum send_state to;
    int64_t now_ms;
};
struct sends_oneoff_args {
    struct send_row row;
    struct slice content;
};
struct sends_settle_args {
    const struct sends_settle *s;
    size_t n;
};
struct sends_feedback_args {
    const struct sends_feedback *f;
    size_t n;
};
struct sends_excl_args {
    uint64_t broadcast;
    enum exclusion_reason reason;
    uint64_t after;
    unsigned limit;
};
struct instances_adopt_args {
    unsigned number;
    uint64_t incarnation;
};

struct store_batch {
    struct store *st;
    enum store_prio prio;
    bool is_write;
    struct arena *arena;
    struct store_op *ops;
    unsigned n_ops, cap_ops;
    const int64_t *suppressed; /* notes of store_note_suppressed() */
    size_t n_suppressed;
    struct err err;
    /* in flight */
    store_done_fn *done;
    void *arg;
    sem_t *waiter; /* of a blocking run: posted instead of calling `done` */
    struct store_batch *next;
    uint64_t queued_at_us;
};

/** One open store: a driver's handle and the way back into the loop. */
struct store {
    const struct store_driver *driver;
    void *impl;
    struct loop *loop;           /* NULL for tools: store_run() only */
    const struct schema *schema; /* collections and indexes of the embedded migrations */
    struct arena *schema_arena;
    pthread_mutex_t done_lock;
    struct store_batch *done_head, *done_tail; /* finished, not yet delivered */
    size_t n_in_flight;                        /* loop thread only */
};

/** A new op of a kind at the end of the batch, zeroed. */
struct store_op *store_batch_add(struct store_batch *b, enum store_op_kind kind, bool is_write);

struct store_driver {
    const char *name;
    int (*open)(
        struct store *st, const struct store_open_args *args, void **impl_r, struct err *err);
    void (*close)(void **impl);
    /** Look whether open() would accept what is there; changes nothing. */
    int (*probe)(const struct schema *schema, const struct store_open_args *args, struct err *err);
    /** Queue or run; must lead to store_batch_complete() exactly once, on any thread. */
    void (*submit)(void *impl, struct store_batch *b);
    /** Blocking form for the calling thread. */
    void (*run)(void *impl, struct store_batch *b);
    uint64_t (*suppression_seq)(const void *impl);
    bool (*is_full)(const void *impl);
    int (*check)(void *impl, struct buf *report, struct err *err);
    int (*backup)(void *impl, const char *path, struct err *err);
};

/** Forget results and error before a batch is run a second time. */
void store_batch_rewind(struct store_batch *b);
/** Is the requirement of this op, already run, unmet? Typed operations go by their `matched`. */
bool store_op_is_unmet(const struct store_op *op);
/** Fill `err` with the code and sub of the requirement; returns -1. */
int store_op_fail_unmet(const struct store_op *op, struct err *err);
/** "find", "sends_commit", ...: for metrics and logs. */
const char *store_op_name(enum store_op_kind kind);

/** Deliver a finished batch to its submitter (posts to the loop). Any thread. */
void store_batch_complete(struct store_batch *b);

#endif
