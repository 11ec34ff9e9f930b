/*
 * From the wire's answer to the row's next state.
 *
 * The transport says what happened to this mail and whom else it concerns; here only the row is
 * decided, by the table in docs/states.md. Slowing the profile or its domain is the channel's part.
 */
#include <string.h>

#include "send/internal.h"
#include "send/retry.h"

/* A connection that died before the mail was taken, on the first try, is the far side's idle time-out
 * far more often than trouble: the row goes again at once and only later by the schedule. */
#define FIRST_LOSS_DELAY_MS 1000

static void
put_back(struct job *j, const struct transport_result *r, int64_t now_ms)
{
    struct sends_settle *s = &j->settle;
    bool is_lost = r->reply_code == 0 && r->fail_class == FAIL_NETWORK;
    int64_t delay_ms;

    s->to = SEND_QUEUED;
    if (r->scope == TRANSPORT_SCOPE_ACCOUNT) {
        /* The profile is paused; the row has done nothing wrong and waits with it. */
        s->due_at_ms = now_ms;
        s->is_uncounted_attempt = true;
        return;
    }
    if (is_lost && j->attempt <= 1) {
        s->due_at_ms = now_ms + FIRST_LOSS_DELAY_MS;
        return;
    }
    delay_ms = retry_delay_ms(j->attempt, r->retry_after_ms);
    s->delay_add_min = retry_delay_min(delay_ms);
    s->due_at_ms = now_ms + delay_ms;
    if (retry_is_expired(j->delay_min + s->delay_add_min)) {
        s->to = SEND_FAILED;
        s->fail_class = FAIL_EXPIRED;
    }
}

static void
refuse(struct job *j, const struct transport_result *r)
{
    struct sends_settle *s = &j->settle;

    if (r->bounce != BOUNCE_NONE) {
        s->to = SEND_BOUNCED;
        s->bounce = r->bounce;
        j->is_suppress = r->is_suppress;
    } else {
        s->to = SEND_FAILED;
    }
}

void
outcome_fill(struct job *j, const struct transport_result *r, bool repeat_in_doubt, int64_t now_ms)
{
    struct sends_settle *s = &j->settle;

    memset(s, 0, sizeof(*s));
    s->broadcast = j->broadcast;
    s->id = j->id;
    s->token = j->token;
    s->at_ms = now_ms;
    s->reply_code = r->reply_code;
    s->enhanced_code = r->enhanced_code;
    s->fail_class = r->fail_class;
    j->is_suppress = false;
    memcpy(j->reply_text, r->text, sizeof(j->reply_text));
    memcpy(j->provider_id, r->provider_id, sizeof(j->provider_id));
    switch (r->outcome) {
    case TRANSPORT_ACCEPTED:
        s->to = SEND_SENT;
        s->fail_class = FAIL_NONE;
        s->provider_id = slice_str(j->provider_id);
        break;
    case TRANSPORT_DEFERRED: put_back(j, r, now_ms); break;
    case TRANSPORT_REFUSED: refuse(j, r); break;
    case TRANSPORT_IN_DOUBT:
        s->to = SEND_UNKNOWN;
        if (repeat_in_doubt)
            put_back(j, r, now_ms);
        break;
    }
    /* The text of an ordinary acceptance tells nothing that the state does not. */
    if (r->outcome != TRANSPORT_ACCEPTED)
        s->reply_text = slice_str(j->reply_text);
}
