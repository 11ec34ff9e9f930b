#ifndef CONTROL_RUN_CONTROL_H
#define CONTROL_RUN_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "store/runs.h"

struct store;
struct store_batch;
struct run_table;

/**
 * Changes of a run's state, each one conditional update (docs/states.md): O(1) whatever the number of
 * rows, since held and cancelled rows are a view on the run. The same operation serves people (API
 * workers, blocking) and the daemon itself (loop, by a batch of its own).
 */
struct run_reason {
    enum pause_reason code;
    const char *message;  /* for people, one line */
    const char *actor;    /* who: a token's label or "system:…" */
    struct slice details; /* JSON object, may be empty */
};

/** Add the pause to a batch: sending or paused without this reason → paused with it. */
unsigned run_pause_op(
    struct store_batch *b, uint64_t broadcast, const struct run_reason *why, int64_t now_ms);
/** paused → sending, all reasons cleared; planning goes on at the saved cursor. Does not match when a
 * reason stands that is not in `reasons_seen`: who resumes must have read why it was paused. */
unsigned run_resume_op(struct store_batch *b, uint64_t broadcast, uint32_t reasons_seen,
    int64_t confirmed_count, int64_t growth_limit, int64_t now_ms);
/** draft, scheduled, sending, paused → cancelled. */
unsigned run_cancel_op(struct store_batch *b, uint64_t broadcast, int64_t now_ms);
/** sending with planning finished and no open row → sent. */
unsigned run_close_op(struct store_batch *b, uint64_t broadcast, int64_t now_ms);
/** scheduled → sending. */
unsigned run_start_op(struct store_batch *b, uint64_t broadcast, int64_t now_ms);

/** From the loop: submit one pause and feed the answer to the table. A failure of the store is logged
 * only: the caller's own condition goes on holding the mail back, and meets the cause again. */
void run_pause_submit(
    struct store *st, struct run_table *t, uint64_t broadcast, const struct run_reason *why);

/** Names of the reasons set, as a JSON array of strings appended to `w` under `name`. */
struct json_writer;
void run_reasons_to_json(struct json_writer *w, const char *name, uint32_t reasons);

#endif
