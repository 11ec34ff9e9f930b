#ifndef CONTROL_RUN_TABLE_H
#define CONTROL_RUN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/runs.h"

struct run_table;
struct loop;

/**
 * The runs this process works with (sending or paused), as the store last reported them. The store
 * decides; this is what it said. Every result that carries run records is fed in here, and whoever
 * must act on a change listens. Loop thread only.
 */
struct run_table *run_table_create(struct loop *l);
void run_table_free(struct run_table **t);

/** Called with the record after each accepted update, with what stood before (NULL = new). `now` is in
 * a final state only once: then it leaves the table. A listener must not update the table itself; it
 * notes or defers what it does. At most eight listeners. */
typedef void run_table_fn(const struct run_record *before, const struct run_record *now, void *arg);
void run_table_listen(struct run_table *t, run_table_fn *fn, void *arg);

/** Feed records from a result. Slices are copied. */
void run_table_update(struct run_table *t, const struct run_record *recs, size_t n);
/** As run_table_update() from an API worker: posts to the loop. Copies. */
void run_table_post(struct run_table *t, const struct run_record *rec);

/** Borrowed until the next update of the same run; NULL when it is not in work. */
const struct run_record *run_table_get(const struct run_table *t, uint64_t broadcast);
/** Walk; start with *it = 0. */
const struct run_record *run_table_next(const struct run_table *t, size_t *it);

/** A batch whose answer will be fed in is with the store; it has come back. The table must outlive it:
 * run_table_busy() says how many there are. */
void run_table_hold(struct run_table *t);
void run_table_release(struct run_table *t);
unsigned run_table_busy(const struct run_table *t);

/** May rows of this run be claimed: sending without reasons, or paused by cap_reached alone. */
bool run_may_claim(const struct run_record *r);
/** May this run be planned: sending, no reason, planning not finished. */
bool run_may_plan(const struct run_record *r);

#endif
