#ifndef STORE_SEND_MOVES_H
#define STORE_SEND_MOVES_H

#include <stdbool.h>
#include <stdint.h>

#include "store/sends.h"

/**
 * How a row moves, as pure functions: a driver loads the row, lets one of these decide, writes the row
 * back and moves the counters by what the row counted before and after. False (or a verdict other than
 * granted) leaves the row as it was. Only files of store/ include this.
 */

/** Add what a row counts in its run, `sign` times (1 or -1). The counters of a run are this sum over
 * all its rows, plus the exclusions; nothing else may ever be counted. */
void send_move_count(struct run_counters *n, const struct send_row *row, int64_t sign);

/** The row as planned: queued, generation 1, never claimed. Sets everything but what a planner says. */
void send_move_start(struct send_row *row);
/** Conditions of the row alone; those of the run and of suppressions are the driver's. */
enum sends_verdict send_move_claim(
    struct send_row *row, const struct sends_claim *c, uint64_t owner, int64_t now_ms);
bool send_move_settle(struct send_row *row, const struct sends_settle *s);
bool send_move_settle_queued(struct send_row *row, const struct sends_settle *s);
bool send_move_feedback(struct send_row *row, const struct sends_feedback *f);
bool send_move_recover(struct send_row *row, const struct sends_recover *r);
bool send_move_requeue(struct send_row *row, const struct sends_requeue *r);
bool send_move_resolve(struct send_row *row, enum send_state to, int64_t now_ms);

#endif
