#include "store/send_moves.h"

#include <assert.h>

/*
 * The life of a row: its edge table and one function per kind of move.
 *
 * Invariants, after any move:
 *  - the state went along an edge of the table, or stayed;
 *  - a row that waits (queued) or is in doubt (unknown) has no fact that proves an earlier handing
 *    over, so nobody whose mail is known to have arrived is ever mailed again;
 *  - a row beyond sent has sent_at, except a recipient refused in the session (bounced, no sent_at).
 *
 * The claim token stays with the row when it leaves `sending`: it is what lets a late answer find its
 * row again, until the next claim writes a new one.
 */

#define BIT(state) (1u << (state))

/** States that a fact from outside can bring: delivered < bounced < complained. */
#define FACT_STATES (BIT(SEND_DELIVERED) | BIT(SEND_BOUNCED) | BIT(SEND_COMPLAINED))

static const unsigned send_edges[SEND_STATES] = {
    [SEND_QUEUED] = BIT(SEND_SENDING) | BIT(SEND_SENT) | FACT_STATES | BIT(SEND_SUPPRESSED) |
                    BIT(SEND_FAILED) | BIT(SEND_CANCELLED) | BIT(SEND_HELD),
    [SEND_SENDING] = BIT(SEND_QUEUED) | BIT(SEND_SENT) | FACT_STATES | BIT(SEND_SUPPRESSED) |
                     BIT(SEND_FAILED) | BIT(SEND_UNKNOWN),
    [SEND_SENT] = FACT_STATES,
    [SEND_DELIVERED] = BIT(SEND_BOUNCED) | BIT(SEND_COMPLAINED),
    [SEND_BOUNCED] = BIT(SEND_COMPLAINED),
    [SEND_COMPLAINED] = 0,
    [SEND_SUPPRESSED] = BIT(SEND_QUEUED),
    [SEND_FAILED] = BIT(SEND_QUEUED),
    [SEND_CANCELLED] = 0,
    [SEND_UNKNOWN] = BIT(SEND_QUEUED) | BIT(SEND_SENT) | FACT_STATES | BIT(SEND_FAILED),
    [SEND_HELD] = BIT(SEND_QUEUED) | BIT(SEND_SUPPRESSED) | BIT(SEND_CANCELLED),
};

bool
send_edge_allowed(enum send_state from, enum send_state to)
{
    return (send_edges[from] & BIT(to)) != 0;
}

enum send_state
send_state_shown(enum send_state stored, const struct run_record *run)
{
    if (run->state == RUN_CANCELLED && (stored == SEND_QUEUED || stored == SEND_HELD))
        return SEND_CANCELLED;
    if (run->state == RUN_PAUSED && stored == SEND_QUEUED && !run_lets_claim(run))
        return SEND_HELD;
    return stored;
}

void
send_move_count(struct run_counters *n, const struct send_row *row, int64_t sign)
{
    bool is_accepted = row->sent_at_ms != 0;

    n->by_state[row->state] += sign;
    n->accepted += is_accepted ? sign : 0;
    n->delivered += row->delivered_at_ms != 0 ? sign : 0;
    n->hard_bounced += row->bounce == BOUNCE_HARD ? sign : 0;
    n->soft_bounced += row->bounce == BOUNCE_SOFT ? sign : 0;
    n->complained += row->complained_at_ms != 0 ? sign : 0;
    n->unsubscribed += row->unsubscribed_at_ms != 0 ? sign : 0;
    n->opened += row->first_open_ms != 0 ? sign : 0;
    n->clicked += row->first_click_ms != 0 ? sign : 0;
    n->refused_in_session += row->state == SEND_BOUNCED && !is_accepted ? sign : 0;
    n->message_refused += row->state == SEND_FAILED && row->fail_class == FAIL_MESSAGE ? sign : 0;
}

static void
set_state(struct send_row *row, enum send_state to)
{
    assert(row->state == to || send_edge_allowed(row->state, to));
    row->state = to;
    if (to != SEND_SENDING)
        row->owner = 0;
}

/** Keep the first time of a fact; true when it is new. */
static bool
keep_first(int64_t *at_ms, int64_t now_ms)
{
    if (*at_ms != 0)
        return false;
    *at_ms = now_ms;
    return true;
}

static void
keep_worst_bounce(struct send_row *row, enum bounce_type type)
{
    if (row->bounce != BOUNCE_HARD)
        row->bounce = type;
}

/** Where a row goes that is about to go to `to`, given the facts recorded while it was under way. */
static enum send_state
state_by_facts(const struct send_row *row, enum send_state to)
{
    bool is_open = to == SEND_SENT || to == SEND_QUEUED || to == SEND_UNKNOWN;

    if (row->complained_at_ms != 0 && (is_open || to == SEND_BOUNCED))
        return SEND_COMPLAINED;
    if (!is_open)
        return to;
    if (row->bounced_at_ms != 0)
        return SEND_BOUNCED;
    return row->delivered_at_ms != 0 ? SEND_DELIVERED : to;
}

/** Leave `sending` (or doubt) for `to`, or further when facts say so. */
static void
leave_session(struct send_row *row, enum send_state to, int64_t at_ms)
{
    enum send_state by_facts = state_by_facts(row, to);

    if (to == SEND_SENT || by_facts != to)
        keep_first(&row->sent_at_ms, at_ms);
    set_state(row, by_facts);
}

static void
reset_outcome(struct send_row *row)
{
    row->fail_class = FAIL_NONE;
    row->reply_code = 0;
    row->enhanced_code = 0;
}

void
send_move_start(struct send_row *row)
{
    row->state = SEND_QUEUED;
    row->generation = 1;
    row->attempt = 0;
    row->claim_token = row->owner = 0;
    row->delay_min = 0;
    reset_outcome(row);
    row->sent_at_ms = row->delivered_at_ms = row->bounced_at_ms = row->complained_at_ms = 0;
    row->unsubscribed_at_ms = row->first_open_ms = row->first_click_ms = 0;
    row->bounce = BOUNCE_NONE;
}

enum sends_verdict
send_move_claim(struct send_row *row, const struct sends_claim *c, uint64_t owner, int64_t now_ms)
{
    if (row->state != SEND_QUEUED || row->generation != c->generation)
        return CLAIM_GONE;
    if (row->due_at_ms > now_ms)
        return CLAIM_NOT_DUE;
    set_state(row, SEND_SENDING);
    row->claim_token = c->token;
    row->owner = owner;
    row->attempt++;
    return CLAIM_GRANTED;
}

/** May this answer still change the row? */
static bool
settle_applies(const struct send_row *row, const struct sends_settle *s)
{
    if (s->token == 0 || row->claim_token != s->token)
        return false;
    if (row->state == SEND_QUEUED)
        return s->to == SEND_SENT;
    return (row->state == SEND_SENDING || row->state == SEND_UNKNOWN) &&
           send_edge_allowed(row->state, s->to);
}

/** Put a row back with its last error and its next due time. */
static void
put_back(struct send_row *row, const struct sends_settle *s)
{
    row->due_at_ms = s->due_at_ms;
    row->delay_min += s->delay_add_min;
    if (s->is_uncounted_attempt && row->attempt > 0)
        row->attempt--;
}

bool
send_move_settle(struct send_row *row, const struct sends_settle *s)
{
    if (!settle_applies(row, s))
        return false;
    row->fail_class = s->fail_class;
    row->reply_code = s->reply_code;
    row->enhanced_code = s->enhanced_code;
    if (s->to == SEND_QUEUED)
        put_back(row, s);
    if (s->to == SEND_BOUNCED) {
        keep_first(&row->bounced_at_ms, s->at_ms);
        keep_worst_bounce(row, s->bounce == BOUNCE_NONE ? BOUNCE_HARD : s->bounce);
    }
    leave_session(row, s->to, s->at_ms);
    return true;
}

bool
send_move_settle_queued(struct send_row *row, const struct sends_settle *s)
{
    const unsigned targets = BIT(SEND_QUEUED) | BIT(SEND_FAILED) | BIT(SEND_SUPPRESSED) |
                             BIT(SEND_CANCELLED) | BIT(SEND_HELD);

    if (row->state != SEND_QUEUED || row->generation != s->token || (targets & BIT(s->to)) == 0)
        return false;
    row->fail_class = s->fail_class;
    row->reply_code = s->reply_code;
    row->enhanced_code = s->enhanced_code;
    if (s->to == SEND_QUEUED)
        put_back(row, s);
    set_state(row, s->to);
    return true;
}

/** A delivery, bounce or complaint: the mail was accepted once, whatever the row says. */
static void
move_by_fact(struct send_row *row, enum send_state to, int64_t at_ms)
{
    if (row->state == SEND_SENDING)
        return;
    if (!(row->state == SEND_BOUNCED && to == SEND_BOUNCED))
        keep_first(&row->sent_at_ms, at_ms);
    if (send_edge_allowed(row->state, to))
        set_state(row, to);
}

static bool
add_bounce(struct send_row *row, enum bounce_type type, int64_t at_ms)
{
    bool is_worse = row->bounce == BOUNCE_SOFT && type == BOUNCE_HARD;

    if (!keep_first(&row->bounced_at_ms, at_ms) && !is_worse)
        return false;
    keep_worst_bounce(row, type);
    move_by_fact(row, SEND_BOUNCED, at_ms);
    return true;
}

bool
send_move_feedback(struct send_row *row, const struct sends_feedback *f)
{
    if (f->generation > row->generation || f->at_ms <= 0)
        return false;
    if (row->attempt == 0 && row->generation <= 1)
        return false; /* never handed over: the report is forged or misled */
    switch (f->fact) {
    case FACT_DELIVERED:
        if (!keep_first(&row->delivered_at_ms, f->at_ms))
            return false;
        move_by_fact(row, SEND_DELIVERED, f->at_ms);
        return true;
    case FACT_BOUNCED_HARD: return add_bounce(row, BOUNCE_HARD, f->at_ms);
    case FACT_BOUNCED_SOFT: return add_bounce(row, BOUNCE_SOFT, f->at_ms);
    case FACT_COMPLAINED:
        if (!keep_first(&row->complained_at_ms, f->at_ms))
            return false;
        move_by_fact(row, SEND_COMPLAINED, f->at_ms);
        return true;
    case FACT_UNSUBSCRIBED: return keep_first(&row->unsubscribed_at_ms, f->at_ms);
    case FACT_OPENED: return keep_first(&row->first_open_ms, f->at_ms);
    case FACT_CLICKED: return keep_first(&row->first_click_ms, f->at_ms);
    }
    return false;
}

bool
send_move_recover(struct send_row *row, const struct sends_recover *r)
{
    bool is_bulk = row->lane == LANE_BULK;
    bool is_repeated = is_bulk ? r->repeat_bulk : !r->leave_immediate;

    if (row->state != SEND_SENDING || row->owner == r->live_owner)
        return false;
    if (r->only_profile != 0 && row->profile != r->only_profile)
        return false;
    reset_outcome(row);
    if (is_repeated) {
        row->fail_class = FAIL_NETWORK;
        row->due_at_ms = r->now_ms;
    }
    leave_session(row, is_repeated ? SEND_QUEUED : SEND_UNKNOWN, r->now_ms);
    return true;
}

bool
send_move_requeue(struct send_row *row, const struct sends_requeue *r)
{
    bool is_proven = row->sent_at_ms != 0 || row->delivered_at_ms != 0 || row->bounced_at_ms != 0 ||
                     row->complained_at_ms != 0;

    if (row->state != r->from || is_proven)
        return false;
    if (r->fail_class != FAIL_NONE && row->fail_class != r->fail_class)
        return false;
    set_state(row, SEND_QUEUED);
    row->generation++;
    row->attempt = 0;
    row->delay_min = 0;
    row->due_at_ms = r->now_ms;
    reset_outcome(row);
    return true;
}

bool
send_move_resolve(struct send_row *row, enum send_state to, int64_t now_ms)
{
    if (row->state != SEND_UNKNOWN || (to != SEND_SENT && to != SEND_FAILED))
        return false;
    reset_outcome(row);
    if (to == SEND_SENT)
        keep_first(&row->sent_at_ms, now_ms);
    else
        row->fail_class = FAIL_NETWORK;
    set_state(row, to);
    return true;
}
