#ifndef STORE_RUN_MOVES_H
#define STORE_RUN_MOVES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "store/runs.h"

/**
 * How the record of a run changes, as pure functions: a driver loads the record, lets these decide,
 * and writes what they left. Only files of store/ include this.
 */

/** Number of int64 counters in struct run_counters, which holds nothing else. */
#define RUN_COUNTERS (sizeof(struct run_counters) / sizeof(int64_t))

/** Apply `c` to `r` when all its conditions hold; false leaves `r` as it was. Slices are borrowed
 * from `c`, or made in `a`. */
bool run_move_change(struct run_record *r, const struct run_change *c, struct arena *a);

/** to += what. */
void run_counters_add(struct run_counters *to, const struct run_counters *what);
bool run_counters_is_zero(const struct run_counters *n);

#endif
