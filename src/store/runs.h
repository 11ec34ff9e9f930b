#ifndef STORE_RUNS_H
#define STORE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mailshot/states.h"
#include "base/slice.h"

struct store_batch;

/**
 * The live record of one broadcast: everything that changes while it runs, as one typed row beside the
 * broadcast's document, so no document is rewritten per commit. It exists from creation (draft) on and
 * is the only place where the state of a broadcast is kept.
 */
struct run_counters {
    int64_t by_state[SEND_STATES];     /* rows by stored state */
    int64_t excluded[EXCL_REASONS];    /* contacts by verdict; a row removes the exclusion */
    int64_t accepted;                  /* rows with sentAt */
    int64_t delivered, hard_bounced, soft_bounced, complained, unsubscribed;
    int64_t opened, clicked;           /* rows with a first open / click */
    int64_t refused_in_session;        /* recipients refused by the relay's reply */
    int64_t message_refused;           /* rows refused for the message's sake */
};

struct run_record {
    uint64_t broadcast;
    enum run_state state;
    uint32_t reasons;            /* bits of enum pause_reason; not 0 only while paused */
    uint64_t profile;            /* sending profile */
    uint64_t template_version;   /* pinned at schedule, 0 before */
    int64_t scheduled_at_ms, confirmed_at_ms, started_at_ms, dispatched_at_ms, completed_at_ms;
    int64_t paused_at_ms;
    int64_t max_lateness_ms;
    int64_t confirmed_count;
    int64_t growth_limit;        /* planning more than this pauses audience_grew; <0 = none */
    uint64_t fence;              /* +1 at each lease taken; planning is conditional on it */
    uint64_t lease_owner;        /* instance incarnation that plans; 0 = none */
    int64_t lease_beat_ms;
    uint32_t page;               /* last planned page */
    struct slice cursor;         /* keyset position of planning; opaque, ≤ 1 KiB */
    struct slice reason_detail;  /* JSON array of {code,message,at,details}, ≤ 4 KiB */
    struct run_counters n;
};

/** Rows that may still move: queued, held (stored), sending. */
int64_t run_open_rows(const struct run_counters *n);
/** matched = rows + Σ excluded. */
int64_t run_rows(const struct run_counters *n);

/** Insert; the record's counters start at zero. A duplicate fails the batch (ERR_CONFLICT). */
unsigned runs_create(struct store_batch *b, const struct run_record *r);
unsigned runs_get(struct store_batch *b, uint64_t broadcast);
/** Runs in any of the states (bit per enum run_state), by broadcast id ascending after `after`, at
 * most `limit`. */
unsigned runs_list(struct store_batch *b, uint32_t state_mask, uint64_t after, unsigned limit);
/** Scheduled runs with scheduledAt <= now, at most `limit`. */
unsigned runs_due(struct store_batch *b, int64_t now_ms, unsigned limit);
unsigned runs_delete(struct store_batch *b, uint64_t broadcast, uint32_t state_mask);

/** One conditional update. Members named set_* are written only when their bit is in `set`. */
#define RUN_SET_STATE     (1u << 0)
#define RUN_SET_SCHEDULE  (1u << 1) /* scheduled_at, confirmed_*, template_version, profile, max_lateness, growth_limit */
#define RUN_SET_STARTED   (1u << 2)
#define RUN_SET_DISPATCHED (1u << 3)
#define RUN_SET_COMPLETED (1u << 4)
#define RUN_SET_PAUSED_AT (1u << 5)
#define RUN_SET_DETAIL    (1u << 6)
#define RUN_SET_CURSOR    (1u << 7)
#define RUN_SET_CONFIRMED (1u << 12) /* confirmed_count, confirmed_at, growth_limit */
#define RUN_TAKE_LEASE    (1u << 8) /* fence + 1, lease_owner and lease_beat; condition: none, own, or beat older than stale_before_ms */
#define RUN_BEAT          (1u << 9) /* lease_beat; condition: lease_owner and fence equal */
#define RUN_DROP_LEASE    (1u << 10)
#define RUN_ADD_DETAIL    (1u << 11) /* append the JSON object in to.reason_detail to the stored array, in the same
                                        conditional update; when the array would pass 4 KiB it is left as it is */

struct run_change {
    uint64_t broadcast;
    uint32_t if_states;         /* bit per state; must hold */
    uint32_t if_reasons_absent; /* none of these bits may be set */
    bool if_no_open_rows;       /* dispatched_at set and run_open_rows() == 0: closing */
    int64_t stale_before_ms;
    uint32_t set;
    uint32_t reasons_add, reasons_clear;
    struct run_record to;       /* values for `set` */
};
unsigned runs_change(struct store_batch *b, const struct run_change *c);
/** Count the rows anew and write the counters when they differ; returns the recounted record. One
 * index walk per call: a bulk operation, never on a hot path. */
unsigned runs_recount(struct store_batch *b, uint64_t broadcast);

struct run_result {
    bool matched;                  /* runs_change: the condition held; runs_get: exists */
    const struct run_record *runs; /* after the operation */
    size_t n_runs;
    struct run_counters before;    /* runs_recount: what the counters said */
};
const struct run_result *runs_result(const struct store_batch *b, unsigned op);

#endif
