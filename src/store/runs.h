#ifndef STORE_RUNS_H
#define STORE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mailshot/states.h"
#include "base/slice.h"

struct store_batch;

#define RUN_CURSOR_MAX 1024u /* bytes */
#define RUN_DETAIL_MAX 4096u

/**
 * The live record of one broadcast: everything that changes while it runs, as one typed row beside the
 * broadcast's document, so no document is rewritten per commit. It exists from creation (draft) on and
 * is the only place where the state of a broadcast is kept.
 */
struct run_counters {
    int64_t by_state[SEND_STATES];  /* rows by stored state */
    int64_t excluded[EXCL_REASONS]; /* contacts by verdict; a row removes the exclusion */
    int64_t accepted;               /* rows with sentAt */
    int64_t delivered, hard_bounced, soft_bounced, complained, unsubscribed;
    int64_t opened, clicked;    /* rows with a first open / click */
    int64_t refused_in_session; /* recipients refused by the relay's reply */
    int64_t message_refused;    /* rows refused for the message's sake */
};

struct run_record {
    uint64_t broadcast;
    enum run_state state;
    uint32_t reasons;          /* bits of enum pause_reason; not 0 only while paused */
    uint64_t profile;          /* sending profile */
    uint64_t template_version; /* pinned at schedule, 0 before */
    int64_t scheduled_at_ms, confirmed_at_ms, started_at_ms, dispatched_at_ms, completed_at_ms;
    int64_t paused_at_ms;
    int64_t max_lateness_ms;
    int64_t confirmed_count;
    int64_t growth_limit; /* planning more than this pauses audience_grew; <0 = none */
    uint64_t fence;       /* +1 at each lease taken or dropped; planning is conditional on it */
    uint64_t lease_owner; /* instance incarnation that plans; 0 = none */
    int64_t lease_beat_ms;
    uint32_t page;              /* last planned page */
    struct slice cursor;        /* keyset position of planning; opaque, ≤ 1 KiB */
    struct slice reason_detail; /* JSON array of {code,message,at,details}, ≤ 4 KiB */
    struct run_counters n;
};

/** Rows that may still move: queued, held (stored), sending. */
int64_t run_open_rows(const struct run_counters *n);
/** All rows, whatever their state. */
int64_t run_rows(const struct run_counters *n);
/** Contacts the segment matched: rows + Σ excluded. */
int64_t run_matched(const struct run_counters *n);
/** May rows be claimed and planned: `sending` without reasons, or paused by cap_reached alone. */
bool run_lets_claim(const struct run_record *r);
/** May a run go from one state to another? The table is in docs/states.md. Staying is always allowed. */
bool run_edge_allowed(enum run_state from, enum run_state to);

/** Insert; the record's counters start at zero. A duplicate fails the batch (ERR_CONFLICT). */
unsigned runs_create(struct store_batch *b, const struct run_record *r);
unsigned runs_get(struct store_batch *b, uint64_t broadcast);
/** Runs in any of the states (bit per enum run_state), by broadcast id ascending after `after`, at
 * most `limit`. */
unsigned runs_list(struct store_batch *b, uint32_t state_mask, uint64_t after, unsigned limit);
/** Scheduled runs with scheduledAt <= now, at most `limit`. */
unsigned runs_due(struct store_batch *b, int64_t now_ms, unsigned limit);
/** Delete a run in one of the states that has neither rows nor exclusions (those leave by archiving
 * only); `matched` says whether it went. */
unsigned runs_delete(struct store_batch *b, uint64_t broadcast, uint32_t state_mask);

/*
 * Bits of run_change.set: which members of `to` are written, and what is done with the lease.
 *
 * SCHEDULE     scheduled_at, template_version, profile, max_lateness, and what CONFIRMED writes
 * CONFIRMED    confirmed_count, confirmed_at, growth_limit
 * ADD_DETAIL   append the JSON object in to.reason_detail to the stored array; when the array would
 *              pass RUN_DETAIL_MAX it is left as it is
 * TAKE_LEASE   fence + 1, lease_owner and lease_beat; condition: no owner, own, or beat before
 *              stale_before_ms
 * BEAT         lease_beat; condition: lease_owner and fence equal
 * DROP_LEASE   fence + 1 and no owner: whoever held it is fenced off. Every change of the state of a
 *              run in work drops it, so of two records the one with the higher fence is the later
 */
#define RUN_SET_STATE      (1u << 0)
#define RUN_SET_SCHEDULE   (1u << 1)
#define RUN_SET_STARTED    (1u << 2)
#define RUN_SET_DISPATCHED (1u << 3)
#define RUN_SET_COMPLETED  (1u << 4)
#define RUN_SET_PAUSED_AT  (1u << 5)
#define RUN_SET_DETAIL     (1u << 6)
#define RUN_SET_CURSOR     (1u << 7)
#define RUN_TAKE_LEASE     (1u << 8)
#define RUN_BEAT           (1u << 9)
#define RUN_DROP_LEASE     (1u << 10)
#define RUN_ADD_DETAIL     (1u << 11)
#define RUN_SET_CONFIRMED  (1u << 12)

/**
 * One conditional update: nothing is written unless every condition holds. Reasons stand only while
 * the run is paused: a change to any other state drops them. `failed` is reached only without rows.
 */
struct run_change {
    uint64_t broadcast;
    uint32_t if_states;         /* bit per state; must hold; 0 = any */
    uint32_t if_reasons_absent; /* none of these bits may be set */
    bool if_no_open_rows;       /* dispatched_at set and run_open_rows() == 0: closing */
    int64_t stale_before_ms;
    uint32_t set;
    uint32_t reasons_add, reasons_clear;
    struct run_record to; /* values for `set` */
};
/** With RUN_SET_STATE every state in `if_states` (not 0) must have an edge to the new one: asserted. */
unsigned runs_change(struct store_batch *b, const struct run_change *c);
/**
 * Count the rows and exclusions anew. Reads only: on SQLite it walks all rows of the broadcast in a
 * reader's snapshot, which holds rows and counters of the same instant, so the writer never waits for
 * it. Result: the record with the recounted figures, and in `before` what the counters said. When they
 * differ, runs_correct() writes the difference. MongoDB: aggregation, valid only when no instance
 * sequence of the run moved meanwhile.
 */
unsigned runs_recount(struct store_batch *b, uint64_t broadcast);
/** Add `delta` (recounted − counted) to the counters: right also when rows have moved since the
 * recount, because each move changed counters and rows alike. */
unsigned runs_correct(struct store_batch *b, uint64_t broadcast, const struct run_counters *delta);
/** to −= what; for the difference of two figures. */
void run_counters_sub(struct run_counters *to, const struct run_counters *what);
bool run_counters_equal(const struct run_counters *a, const struct run_counters *b);

struct run_result {
    bool matched;                  /* runs_change, runs_delete: the condition held; else: exists */
    const struct run_record *runs; /* after the operation */
    size_t n_runs;
    struct run_counters before; /* runs_recount: what the counters said */
};
const struct run_result *runs_result(const struct store_batch *b, unsigned op);

#endif
