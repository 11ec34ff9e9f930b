#ifndef STORE_SENDS_H
#define STORE_SENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mailshot/states.h"
#include "base/slice.h"
#include "store/runs.h"

struct store_batch;

/**
 * Rows of the send pipeline: one per recipient message, typed and lean. All that is constant for a
 * broadcast lives with the broadcast. `group` is the broadcast, or the profile for one-off mail
 * (broadcast 0), so that a paused million stands before nobody.
 *
 * Each operation below names its MongoDB form; both forms give the same results and are held to them
 * by one contract suite.
 */
struct send_row {
    uint64_t id;
    uint64_t broadcast; /* 0 for one-off mail */
    uint64_t group;
    uint64_t contact;
    struct slice address; /* as mailed; empty after erasure */
    int64_t address_hash; /* 63 bits; +1 for a true collision within the broadcast */
    uint64_t profile;
    enum send_lane lane;
    enum send_state state; /* as stored; see send_state_shown() */
    uint32_t generation;   /* 1 at first, +1 at each requeue by hand */
    uint32_t attempt;      /* claims so far in this generation */
    uint32_t page;         /* planning page that made the row */
    uint64_t claim_token;
    uint64_t owner; /* instance incarnation while sending */
    int64_t due_at_ms;
    uint32_t delay_min; /* planned retry delays so far, minutes */
    enum send_fail_class fail_class;
    int reply_code;    /* SMTP or HTTP, 0 = none */
    int enhanced_code; /* class*10000 + subject*100 + detail (5.1.1 = 50101), 0 = none */
    int64_t created_at_ms, sent_at_ms, delivered_at_ms, bounced_at_ms, complained_at_ms;
    int64_t unsubscribed_at_ms, first_open_ms, first_click_ms;
    enum bounce_type bounce;
};

/** What people see: a queued row of a paused run is held (cap_reached alone excepted), queued and
 * held rows of a cancelled run are cancelled. */
enum send_state send_state_shown(enum send_state stored, const struct run_record *run);
/** May a row go from one stored state to another? The table is docs/states.md. */
bool send_edge_allowed(enum send_state from, enum send_state to);

/* ---- plan ------------------------------------------------------------------------------------ */

struct sends_plan_row {
    uint64_t id, contact;
    struct slice address;
    int64_t address_hash;
    int64_t due_at_ms;
};

struct sends_plan_exclusion {
    uint64_t contact;
    enum exclusion_reason reason;
};

/**
 * One slice of a page: rows, exclusions, cursor and counters in one step. Conditional on the run
 * being `sending` (or paused by cap_reached) under `fence`, and on the cursor standing at
 * `cursor_before`; else nothing is written and `matched` is false.
 * A contact that has a row already keeps it and counts nowhere, whether it comes as a row or as an
 * exclusion; a contact without a row is presented once over all pages of a broadcast. An address that
 * has a row already (hash equal, and text equal or erased) makes the contact an
 * EXCL_DUPLICATE_ADDRESS; a true collision is stored under hash + 1. `count` says how many rows were
 * made, `ids` which (in the order of `rows`). At most 1000 rows and 1000 exclusions.
 * MongoDB: (1) one conditional update of the run stores the page as `pending` (< 8 KB); (2) rows with
 * the page number are inserted unordered and read back; (3) pending is confirmed on fence and cursor,
 * with the counters. A successor completes `pending` as it stands; a claim needs page ≤ confirmed.
 */
struct sends_plan {
    uint64_t broadcast, fence, profile;
    enum send_lane lane;
    uint32_t page;
    int64_t now_ms;
    const struct sends_plan_row *rows;
    size_t n_rows;
    const struct sends_plan_exclusion *excluded;
    size_t n_excluded;
    struct slice cursor_before, cursor_after;
    bool is_last; /* sets dispatchedAt */
};
unsigned sends_plan(struct store_batch *b, const struct sends_plan *p);

/** One-off rows (broadcast 0, group = profile). Taken from `row`: id, contact, address, address_hash,
 * profile, lane, due_at_ms, created_at_ms; the rest starts as for any new row. A taken id is
 * ERR_CONFLICT for the batch. `content` is the literal mail or its recipe (BSON), stored in
 * send_details. MongoDB: insert. */
unsigned sends_insert_oneoff(
    struct store_batch *b, const struct send_row *row, struct slice content);

/* ---- feeding --------------------------------------------------------------------------------- */

/**
 * Up to `n` queued rows of a group with due_at <= now, after the position (due_at, id), in that order.
 * The result also has the earliest later due time. MongoDB: index range on the partial due index.
 */
unsigned sends_due(struct store_batch *b, uint64_t group, int64_t after_due_ms, uint64_t after_id,
    int64_t now_ms, unsigned n);
/** Groups other than broadcasts that have queued rows (profiles with one-off mail). */
unsigned sends_oneoff_groups(struct store_batch *b);
/** Rows by ids (any state), at most 1000. MongoDB: find by (broadcast, id). */
unsigned sends_get(struct store_batch *b, uint64_t broadcast, const uint64_t *ids, size_t n);

/* ---- the durable step ------------------------------------------------------------------------ */

/**
 * Outcome of a claimed mail. Applied only when the row is `sending` under this token, or `unknown` by
 * recovery under the same token (a late answer: sent, bounced, failed, queued), or put back by
 * recovery under the same token and the late answer is `sent`, which takes the waiting repeat out.
 * Facts that came before the answer win: a row whose delivery, bounce or complaint is recorded goes
 * to that state instead of sent, unknown or queued.
 */
struct sends_settle {
    uint64_t broadcast, id, token;
    enum send_state to; /* sent, bounced, failed, suppressed, unknown, or queued (put back) */
    enum send_fail_class fail_class;
    int reply_code, enhanced_code;
    enum bounce_type bounce;
    int64_t at_ms;          /* time of the outcome */
    int64_t due_at_ms;      /* when put back */
    uint32_t delay_add_min; /* planned delay that counts towards the 24 h */
    bool
        is_uncounted_attempt; /* put back without using up an attempt (claimed, never on the wire) */
    struct slice reply_text;  /* ≤ 1 KiB, to send_details; empty = none */
    struct slice provider_id; /* ≤ 256 bytes */
};

enum sends_verdict {
    CLAIM_GRANTED = 0,
    CLAIM_GONE,        /* no such row, other generation, or not queued */
    CLAIM_NOT_RUNNING, /* its run is not sending (paused, cancelled) */
    CLAIM_SUPPRESSED,  /* an opt-out newer than `seen_seq` names the address: prepare again */
    CLAIM_NOT_DUE
};

/**
 * queued → sending. Checks in the same step: row queued and generation equal, run of the broadcast
 * `sending` without reasons (or paused by cap_reached alone), and no suppression newer than
 * `seen_seq` (store_suppression_seq() read before preparing) for this address. The hash is that of
 * the address or the row's own (which may stand some steps above it after collisions): both are
 * looked up. The token is not 0 and never used twice.
 */
struct sends_claim {
    uint64_t broadcast, id, token;
    uint32_t generation;
    int64_t address_hash;
    uint64_t seen_seq;
};

/**
 * Settles and claims of several sessions in one commit, settles first; counters of the runs move with
 * the rows. MongoDB: bulk of conditional updates with majority; `find` by token returns granted and
 * settled rows, from which the counter deltas come (with a per-instance sequence, so that a repeat is
 * refused); suppressions and run state are read after the claim and hits are released; an unclear
 * answer is re-read from the primary before the wire.
 */
struct sends_commit {
    uint64_t owner; /* instance incarnation */
    int64_t now_ms;
    const struct sends_settle *settles;
    size_t n_settles;
    const struct sends_claim *claims;
    size_t n_claims;
};
unsigned sends_commit(struct store_batch *b, const struct sends_commit *c);

/** Settle queued rows that never reach a session: failed (render error, no address, expired),
 * suppressed at prepare, cancelled, held, or queued (a new due time). Conditional on queued and
 * generation. Same settle struct; token is the generation. */
unsigned sends_settle_queued(struct store_batch *b, const struct sends_settle *s, size_t n);

/* ---- facts ----------------------------------------------------------------------------------- */

enum send_fact {
    FACT_DELIVERED,
    FACT_BOUNCED_HARD,
    FACT_BOUNCED_SOFT,
    FACT_COMPLAINED,
    FACT_UNSUBSCRIBED,
    FACT_OPENED,
    FACT_CLICKED
};
struct sends_feedback {
    uint64_t broadcast, id;
    uint32_t generation; /* 0 = any */
    enum send_fact fact;
    int64_t at_ms;
};
/**
 * Record facts (first time kept, a hard bounce overrides a soft one) and move states forward only
 * (sent < delivered < bounced < complained); unknown moves to delivered, bounced, complained. These
 * three prove that an earlier handing over was accepted: they set sent_at where it is missing, and a
 * row that waits for a repeat leaves the queue. A row in `sending` keeps its state until it is
 * settled. Facts about a row that was never claimed, or of a generation it never had, are ignored.
 * Opens, clicks and opt-outs never move a state. MongoDB: find-and-update each.
 */
unsigned sends_feedback(struct store_batch *b, const struct sends_feedback *f, size_t n);

/* ---- recovery and hands ---------------------------------------------------------------------- */

/** `sending` rows of other owners than `live_owner` (0 = all): bulk becomes unknown, immediate is put
 * back, or the other way by the policy in the arguments (a profile with a policy of its own is named
 * by `only_profile` first). At most `limit` per call; result.count says how many were moved. */
struct sends_recover {
    uint64_t live_owner;
    int64_t now_ms;
    bool repeat_bulk;      /* policy `repeat` for bulk */
    bool leave_immediate;  /* policy `leave` for immediate */
    uint64_t only_profile; /* 0 = all */
    unsigned limit;
};
unsigned sends_recover(struct store_batch *b, const struct sends_recover *r);

/**
 * failed or unknown (or suppressed when `from` says so) → queued, generation + 1, delays reset. By ids
 * or, with n_ids 0, all rows of the broadcast in `from` (and `fail_class` unless FAIL_NONE), at most
 * `limit`, id ascending after `after_id`; result.next continues (0 = done). Takes a sent run back to
 * sending; any other run but a sending or paused one is refused (`matched` false). A row whose
 * acceptance is proven by a fact stays.
 */
struct sends_requeue {
    uint64_t broadcast;
    enum send_state from;
    enum send_fail_class fail_class;
    const uint64_t *ids;
    size_t n_ids;
    uint64_t after_id;
    unsigned limit;
    int64_t now_ms;
};
unsigned sends_requeue(struct store_batch *b, const struct sends_requeue *r);
/** unknown → sent or failed by hand; count says how many. */
unsigned sends_resolve(struct store_batch *b, uint64_t broadcast, const uint64_t *ids, size_t n,
    enum send_state to, int64_t now_ms);

/* ---- reading --------------------------------------------------------------------------------- */

struct sends_list {
    uint64_t broadcast; /* or 0 with contact, or 0 with an exceptional state: one-off mail */
    uint64_t contact;   /* 0 = any */
    int state;          /* stored state, -1 = any */
    int fail_class;     /* -1 = any */
    uint64_t after;     /* result.next of the page before, 0 = from the start */
    unsigned limit;     /* ≤ 500 */
};
/**
 * A page of rows. Rows of a contact, and rows in an exceptional state (bounced, complained, suppressed,
 * failed, cancelled, unknown, held), come by id; other lists of a broadcast by contact, which never
 * changes, so a walk meets every row that keeps its state exactly once. One call looks at a bounded
 * number of rows: a page may be short, even empty, and still have a `next`; only next = 0 is the end.
 * MongoDB: find on the same two orders.
 */
unsigned sends_list(struct store_batch *b, const struct sends_list *l);
/** Contacts excluded for a reason, by (page, position); one record per page and reason. Result:
 * `ids`. `after` is the position in the whole list (page << 32 | index). */
unsigned sends_exclusions(struct store_batch *b, uint64_t broadcast, enum exclusion_reason reason,
    uint64_t after, unsigned limit);
/** Detail of one row: reply text, provider id, content. */
unsigned sends_detail(struct store_batch *b, uint64_t broadcast, uint64_t id);

struct send_detail {
    struct slice reply_text, provider_id, content;
};

struct sends_result {
    bool matched; /* plan, requeue: condition held; detail: exists */
    const struct send_row *rows;
    size_t n_rows;
    uint64_t count;                     /* plan: rows made; feedback: facts new; recover, requeue,
                                           resolve: rows moved */
    uint64_t next;                      /* list, requeue: position of the next page, 0 = end */
    int64_t next_due_ms;                /* due: earliest later due time, 0 = none */
    const enum sends_verdict *verdicts; /* commit: one per claim */
    const bool *applied;                /* commit, settle_queued: one per settle */
    const uint64_t *ids;                /* exclusions: contacts; oneoff_groups; plan: rows made */
    const uint64_t *positions;          /* exclusions: position of each */
    size_t n_ids;
    const struct run_record *runs; /* operations that move rows: the runs touched, after it */
    size_t n_runs;
    struct send_detail detail;
};
const struct sends_result *sends_result(const struct store_batch *b, unsigned op);

#endif
