#include "contract/sends_model.h"

#include <string.h>

/*
 * The rules of a row, told as knowledge: what reports have proven (nothing < delivered < bounced <
 * complained) and whether somebody is at work on it. Bulk mail only.
 */

void
model_init(struct model *m)
{
    memset(m, 0, sizeof *m);
    m->run = RUN_SENDING;
    for (int i = 0; i < MODEL_CONTACTS; i++)
        m->rows[i].excluded = -1;
}

bool
model_flows(const struct model *m)
{
    return (m->run == RUN_SENDING && m->reasons == 0) ||
           (m->run == RUN_PAUSED && m->reasons == 1u << PAUSE_CAP_REACHED);
}

static bool
address_taken(const struct model *m, int address)
{
    for (int i = 1; i < MODEL_CONTACTS; i++) {
        if (m->rows[i].exists && m->rows[i].address == address)
            return true;
    }
    return false;
}

void
model_plan(struct model *m, int contact, int address, int64_t due_ms)
{
    struct model_row *r = &m->rows[contact];

    if (r->exists)
        return;
    if (address_taken(m, address)) {
        model_exclude(m, contact, EXCL_DUPLICATE_ADDRESS);
        return;
    }
    r->exists = true;
    r->address = address;
    r->state = SEND_QUEUED;
    r->generation = 1;
    r->due_ms = due_ms;
}

void
model_exclude(struct model *m, int contact, enum exclusion_reason reason)
{
    if (!m->rows[contact].exists)
        m->rows[contact].excluded = (int)reason;
}

enum sends_verdict
model_claim(
    struct model *m, int contact, uint32_t generation, uint64_t token, uint64_t owner, int64_t now)
{
    struct model_row *r = &m->rows[contact];

    if (!model_flows(m))
        return CLAIM_NOT_RUNNING;
    if (!r->exists || r->state != SEND_QUEUED || r->generation != generation)
        return CLAIM_GONE;
    if (now < r->due_ms)
        return CLAIM_NOT_DUE;
    r->state = SEND_SENDING;
    r->owner = owner;
    r->attempt++;
    memmove(r->tokens, r->tokens + 1, sizeof r->tokens - sizeof r->tokens[0]);
    r->tokens[MODEL_TOKENS - 1] = token;
    return CLAIM_GRANTED;
}

/** The state that reports have proven; SEND_QUEUED when they have proven nothing. */
static enum send_state
proven(const struct model_row *r)
{
    if (r->complained_ms > 0)
        return SEND_COMPLAINED;
    if (r->bounced_ms > 0)
        return SEND_BOUNCED;
    return r->delivered_ms > 0 ? SEND_DELIVERED : SEND_QUEUED;
}

static void
learn_bounce(struct model_row *r, bool is_hard, int64_t at)
{
    if (r->bounced_ms == 0)
        r->bounced_ms = at;
    r->is_hard = r->is_hard || is_hard;
}

bool
model_settle(struct model *m, int contact, const struct sends_settle *s)
{
    struct model_row *r = &m->rows[contact];
    bool is_late = r->state == SEND_UNKNOWN;
    enum send_state known = proven(r);

    if (!r->exists || s->token == 0 || r->tokens[MODEL_TOKENS - 1] != s->token)
        return false;
    if (r->state == SEND_QUEUED ? s->to != SEND_SENT : r->state != SEND_SENDING && !is_late)
        return false;
    if (is_late && (s->to == SEND_SUPPRESSED || s->to == SEND_UNKNOWN))
        return false;
    r->fail_class = s->fail_class;
    r->owner = 0;
    switch (s->to) {
    case SEND_BOUNCED:
        r->state = r->complained_ms > 0 ? SEND_COMPLAINED : SEND_BOUNCED;
        learn_bounce(r, s->bounce != BOUNCE_SOFT, s->at_ms);
        if (r->state == SEND_COMPLAINED && r->sent_ms == 0)
            r->sent_ms = s->at_ms;
        return true;
    case SEND_FAILED:
    case SEND_SUPPRESSED: r->state = s->to; return true;
    case SEND_QUEUED:
        r->due_ms = s->due_at_ms;
        if (s->is_uncounted_attempt)
            r->attempt -= r->attempt > 0;
        break;
    default: break;
    }
    /* sent, put back or in doubt: what is proven wins */
    r->state = known != SEND_QUEUED ? known : s->to;
    if (r->sent_ms == 0 && (s->to == SEND_SENT || known != SEND_QUEUED))
        r->sent_ms = s->at_ms;
    return true;
}

bool
model_settle_queued(struct model *m, int contact, const struct sends_settle *s)
{
    struct model_row *r = &m->rows[contact];

    if (!r->exists || r->state != SEND_QUEUED || r->generation != s->token)
        return false;
    switch (s->to) {
    case SEND_QUEUED: r->due_ms = s->due_at_ms; break;
    case SEND_FAILED:
    case SEND_SUPPRESSED:
    case SEND_CANCELLED:
    case SEND_HELD: r->state = s->to; break;
    default: return false;
    }
    r->fail_class = s->fail_class;
    return true;
}

/** Proof that the mail was accepted once reaches a row that nobody is working on. A bounce proves
 * nothing about a row that is known as bounced: that one may have been refused in the session. */
static void
use_proof(struct model_row *r, bool is_bounce, int64_t at)
{
    if (r->state == SEND_SENDING)
        return;
    if (r->sent_ms == 0 && !(is_bounce && r->state == SEND_BOUNCED))
        r->sent_ms = at;
    if (r->state == SEND_FAILED || r->state == SEND_SUPPRESSED || r->state == SEND_CANCELLED ||
        r->state == SEND_HELD)
        return;
    r->state = proven(r);
}

bool
model_fact(struct model *m, int contact, const struct sends_feedback *f)
{
    struct model_row *r = &m->rows[contact];
    int64_t *at = f->fact == FACT_DELIVERED      ? &r->delivered_ms
                  : f->fact == FACT_COMPLAINED   ? &r->complained_ms
                  : f->fact == FACT_UNSUBSCRIBED ? &r->unsubscribed_ms
                  : f->fact == FACT_OPENED       ? &r->open_ms
                  : f->fact == FACT_CLICKED      ? &r->click_ms
                                                 : &r->bounced_ms;

    if (!r->exists || f->generation > r->generation || (r->attempt == 0 && r->generation == 1))
        return false;
    if (*at != 0 && !(f->fact == FACT_BOUNCED_HARD && !r->is_hard))
        return false;
    if (at == &r->bounced_ms)
        learn_bounce(r, f->fact == FACT_BOUNCED_HARD, f->at_ms);
    else
        *at = f->at_ms;
    if (f->fact == FACT_DELIVERED || f->fact == FACT_COMPLAINED || at == &r->bounced_ms)
        use_proof(r, at == &r->bounced_ms, f->at_ms);
    return true;
}

bool
model_recover(struct model *m, int contact, const struct sends_recover *rec)
{
    struct model_row *r = &m->rows[contact];

    if (!r->exists || r->state != SEND_SENDING || r->owner == rec->live_owner)
        return false;
    r->owner = 0;
    r->fail_class = FAIL_NONE;
    if (rec->repeat_bulk) {
        r->fail_class = FAIL_NETWORK;
        r->due_ms = rec->now_ms;
    }
    r->state = rec->repeat_bulk ? SEND_QUEUED : SEND_UNKNOWN;
    if (proven(r) != SEND_QUEUED) {
        r->state = proven(r);
        if (r->sent_ms == 0)
            r->sent_ms = rec->now_ms;
    }
    return true;
}

bool
model_requeue(struct model *m, int contact, enum send_state from, int64_t now)
{
    struct model_row *r = &m->rows[contact];

    if (!r->exists || r->state != from || r->sent_ms != 0 || proven(r) != SEND_QUEUED)
        return false;
    r->state = SEND_QUEUED;
    r->generation++;
    r->attempt = 0;
    r->due_ms = now;
    r->fail_class = FAIL_NONE;
    return true;
}

bool
model_resolve(struct model *m, int contact, enum send_state to, int64_t now)
{
    struct model_row *r = &m->rows[contact];

    if (!r->exists || r->state != SEND_UNKNOWN)
        return false;
    r->state = to;
    r->fail_class = to == SEND_FAILED ? FAIL_NETWORK : FAIL_NONE;
    if (to == SEND_SENT)
        r->sent_ms = now;
    return true;
}

struct run_counters
model_count(const struct model *m)
{
    struct run_counters n = {0};

    for (int i = 1; i < MODEL_CONTACTS; i++) {
        const struct model_row *r = &m->rows[i];

        if (!r->exists) {
            if (r->excluded >= 0)
                n.excluded[r->excluded]++;
            continue;
        }
        n.by_state[r->state]++;
        n.accepted += r->sent_ms != 0;
        n.delivered += r->delivered_ms != 0;
        n.hard_bounced += r->bounced_ms != 0 && r->is_hard;
        n.soft_bounced += r->bounced_ms != 0 && !r->is_hard;
        n.complained += r->complained_ms != 0;
        n.unsubscribed += r->unsubscribed_ms != 0;
        n.opened += r->open_ms != 0;
        n.clicked += r->click_ms != 0;
        n.refused_in_session += r->state == SEND_BOUNCED && r->sent_ms == 0;
        n.message_refused += r->state == SEND_FAILED && r->fail_class == FAIL_MESSAGE;
    }
    return n;
}
