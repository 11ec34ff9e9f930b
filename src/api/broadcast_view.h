#ifndef API_BROADCAST_VIEW_H
#define API_BROADCAST_VIEW_H

#include <stdbool.h>

#include "base/json.h"
#include "broadcast/broadcasts.h"

/* A broadcast as people see it. Pure writers over its document and run record. */

/** BroadcastSummary as a member (or element, name NULL): definition, status, reasons and times. */
void broadcast_write(struct json_writer *w, const char *name, const struct broadcast_view *v);

/** The two equations: {matched, eligible, excluded: {reason: n}, states: {state: n}, closes}. All
 * reasons and all states are present; states are the shown ones. `recount` (NULL = none) is the record
 * with figures counted anew: it is written as `recounted` and the books close only if it agrees. */
void broadcast_write_ledger(struct json_writer *w, const char *name, const struct run_record *run,
    const struct run_record *recount);
/** Rows by shown state, absent ones left out. */
void broadcast_write_breakdown(
    struct json_writer *w, const char *name, const struct run_record *run);
/** BroadcastStats with rates in percent, two decimals. */
void broadcast_write_stats(struct json_writer *w, const char *name, const struct run_record *run);
/** {done, total, open, perSecond, etaSeconds}: mean speed since the start. */
void broadcast_write_progress(
    struct json_writer *w, const char *name, const struct run_record *run, int64_t now_ms);
/** {state: rows} by shown state, filled in: SEND_STATES numbers. */
void broadcast_shown_states(const struct run_record *run, int64_t out[SEND_STATES]);

#endif
