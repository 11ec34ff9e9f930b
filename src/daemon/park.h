#ifndef DAEMON_PARK_H
#define DAEMON_PARK_H

#include <stdint.h>

#include "base/err.h"

struct run_reason;
struct store;

/**
 * Pause every broadcast that would send by itself: those in `sending` and, with `gap_ms` 0, the
 * scheduled ones, too. With a gap only those that tolerate less than it; `default_lateness_ms` is for
 * broadcasts that say nothing themselves. Blocking; any thread but the loop's. `n_r`: how many it were.
 */
int park_runs(struct store *st, int64_t gap_ms, int64_t default_lateness_ms,
    const struct run_reason *why, unsigned *n_r, struct err *err);

#endif
