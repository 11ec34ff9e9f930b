#include "transport/transport.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/loop.h"
#include "transport/transport_internal.h"

/*
 * The part of a transport that does not care what is spoken on the wire: opens sessions up to the
 * wanted number, a few at a time, closes idle ones above it, and waits longer and longer after
 * failures. All opening and closing happens in on_adjust(), on a timer, so that no event comes from
 * inside a call of the owner.
 *
 * A failure is a session that broke before any mail got an answer on it, or was closed as soon as it was
 * ready; one probe at a time is made until a mail is answered again. A relay that refuses further sessions while others work tells
 * its own limit; it is believed for a minute and then tried by one session more.
 */

#define OPENING_AT_ONCE  4
#define BACKOFF_FIRST_MS 1000
#define BACKOFF_MAX_MS   60000
#define RELAY_LIMIT_MS   60000

static void on_adjust(void *arg);

/* Have on_adjust() called in `delay_ms`, or earlier if that is already planned. */
static void
adjust_in(struct transport *t, int64_t delay_ms)
{
    int64_t at_ms = clock_mono_ms() + delay_ms;

    if (t->adjust_timer != NULL && t->adjust_at_ms <= at_ms)
        return;
    loop_timer_cancel(&t->adjust_timer);
    t->adjust_at_ms = at_ms;
    t->adjust_timer = loop_timer_start(t->loop, delay_ms, on_adjust, t);
}

static void
reap(struct transport *t)
{
    LIST_EACH(node, next, &t->gone)
    {
        struct transport_session *s = LIST_ENTRY(node, struct transport_session, node);

        if (s->is_leaving)
            continue;
        list_del(node);
        t->ops->free_session(s);
    }
}

/* Close idle sessions above the wanted number, newest first. Restarts after each, since `down` may
 * change anything. */
static void
close_surplus(struct transport *t)
{
    while (t->n_sessions > t->want) {
        struct list *node = t->sessions.prev;

        while (node != &t->sessions &&
               LIST_ENTRY(node, struct transport_session, node)->state != SESSION_READY)
            node = node->prev;
        if (node == &t->sessions)
            return;
        t->ops->close(LIST_ENTRY(node, struct transport_session, node));
    }
}

/* Sessions that may be open now. */
static unsigned
limit_now(struct transport *t, int64_t now_ms)
{
    unsigned limit = t->want < t->max_sessions ? t->want : t->max_sessions;

    if (t->relay_limit > 0 && now_ms >= t->relay_limit_until_ms) {
        t->relay_limit++;
        t->relay_limit_until_ms = now_ms + RELAY_LIMIT_MS;
    }
    return t->relay_limit > 0 && t->relay_limit < limit ? t->relay_limit : limit;
}

static void
open_missing(struct transport *t)
{
    int64_t now_ms = clock_mono_ms();
    unsigned limit = limit_now(t, now_ms), at_once = t->failures > 0 ? 1 : OPENING_AT_ONCE;

    if (t->n_sessions < limit && now_ms < t->retry_at_ms) {
        adjust_in(t, t->retry_at_ms - now_ms);
        return;
    }
    while (t->n_sessions < limit && t->n_opening < at_once) {
        struct transport_session *s = t->ops->open(t);

        s->t = t;
        s->state = SESSION_OPENING;
        list_push_back(&t->sessions, &s->node);
        t->n_sessions++;
        t->n_opening++;
    }
    if (limit < t->want && limit == t->relay_limit)
        adjust_in(t, t->relay_limit_until_ms - now_ms);
}

static void
on_adjust(void *arg)
{
    struct transport *t = arg;

    t->adjust_timer = NULL;
    reap(t);
    close_surplus(t);
    open_missing(t);
}

/* ---- for the kinds ------------------------------------------------------------------------- */

void
transport_setup(struct transport *t, const struct transport_ops *ops, struct loop *l,
    struct workers *cpu, const struct transport_settings *settings,
    const struct transport_events *events, void *arg)
{
    t->ops = ops;
    t->loop = l;
    t->cpu = cpu;
    t->events = *events;
    t->arg = arg;
    t->max_sessions = settings->max_sessions > 0 ? settings->max_sessions : 1;
    t->max_mails_per_session = settings->max_mails_per_session;
    list_init(&t->sessions);
    list_init(&t->gone);
}

void
transport_session_up(struct transport_session *s)
{
    struct transport *t = s->t;

    if (s->state == SESSION_OPENING) {
        t->n_opening--;
        adjust_in(t, 0);
    }
    s->state = SESSION_READY;
    t->events.ready(s, t->arg);
}

void
transport_session_done(struct transport_session *s, const struct transport_result *result)
{
    const struct transport_mail *mail = s->mail;
    struct transport *t = s->t;

    s->mail = NULL;
    if (result->reply_code != 0 && result->reply_code != 421) {
        s->is_proven = true;
        if (t->failures > 0) {
            t->failures = 0;
            t->retry_at_ms = 0;
            adjust_in(t, 0);
        }
    }
    t->events.done(s, mail, result, t->arg);
}

/* What the end of a session teaches about opening the next. True when it was the relay's limit on
 * sessions that ended it, which is no reason for those that work to slow down. */
static bool
learn(struct transport *t, const struct transport_session *s, const struct transport_result *why,
    bool is_trouble)
{
    int64_t now_ms = clock_mono_ms(), delay_ms = BACKOFF_FIRST_MS;

    if (s->is_proven || !is_trouble)
        return false;
    if (why != NULL && why->reply_code == 421 && t->n_sessions > t->n_opening) {
        t->relay_limit = t->n_sessions;
        t->relay_limit_until_ms = now_ms + RELAY_LIMIT_MS;
        return true;
    }
    for (unsigned i = 0; i < t->failures && delay_ms < BACKOFF_MAX_MS; i++)
        delay_ms *= 2;
    t->failures++;
    t->retry_at_ms = now_ms + (delay_ms < BACKOFF_MAX_MS ? delay_ms : BACKOFF_MAX_MS);
    return false;
}

void
transport_session_gone(struct transport_session *s, const struct transport_result *why)
{
    struct transport *t = s->t;
    bool is_trouble = why != NULL || s->state == SESSION_BUSY || s->is_hasty;
    struct transport_result told;

    assert(s->state != SESSION_GONE && s->mail == NULL);
    list_del(&s->node);
    t->n_sessions--;
    if (s->state == SESSION_OPENING)
        t->n_opening--;
    if (why != NULL)
        told = *why;
    if (learn(t, s, why, is_trouble))
        told.scope = TRANSPORT_SCOPE_MAIL;
    s->state = SESSION_GONE;
    list_push_back(&t->gone, &s->node);
    adjust_in(t, 0);
    if (why != NULL)
        log_info(NULL, "transport.down", "code=%d text=\"%s\" failures=%u", told.reply_code,
            told.text, t->failures);
    t->events.down(s, why != NULL ? &told : NULL, t->arg);
}

void
transport_session_left(struct transport_session *s)
{
    s->is_leaving = false;
    adjust_in(s->t, 0);
}

bool
transport_may_commit(const struct transport *t)
{
    return t->events.may_commit == NULL || t->events.may_commit(t->arg);
}

/* ---- public -------------------------------------------------------------------------------- */

struct transport *
transport_create(struct loop *l, struct workers *cpu, const struct transport_settings *settings,
    const struct transport_events *events, void *arg, struct err *err)
{
    if (settings->kind != NULL && strcmp(settings->kind, "smtp") == 0)
        return transport_smtp_create(l, cpu, settings, events, arg, err);
    if (settings->kind != NULL && strcmp(settings->kind, "capture") == 0)
        return transport_capture_create(l, cpu, settings, events, arg, err);
    err_field(err, "kind", "must be smtp or capture");
    return NULL;
}

void
transport_free(struct transport **tp)
{
    struct transport *t = *tp;
    struct list *node;

    if (t == NULL)
        return;
    *tp = NULL;
    loop_timer_cancel(&t->adjust_timer);
    while ((node = list_pop_front(&t->sessions)) != NULL)
        t->ops->free_session(LIST_ENTRY(node, struct transport_session, node));
    while ((node = list_pop_front(&t->gone)) != NULL)
        t->ops->free_session(LIST_ENTRY(node, struct transport_session, node));
    t->ops->free(t);
}

void
transport_want(struct transport *t, unsigned n)
{
    t->want = n;
    if (t->n_sessions != limit_now(t, clock_mono_ms()))
        adjust_in(t, 0);
}

void
transport_session_reserve(struct transport_session *s)
{
    assert(s->state == SESSION_READY);
    s->state = SESSION_RESERVED;
    if (s->t->ops->touch != NULL)
        s->t->ops->touch(s);
}

void
transport_session_release(struct transport_session *s)
{
    assert(s->state == SESSION_RESERVED);
    s->state = SESSION_READY;
    if (s->t->ops->touch != NULL)
        s->t->ops->touch(s);
    if (s->t->n_sessions > s->t->want)
        adjust_in(s->t, 0);
}

void
transport_send(struct transport_session *s, const struct transport_mail *mail)
{
    assert(s->state == SESSION_READY || s->state == SESSION_RESERVED);
    s->state = SESSION_BUSY;
    s->mail = mail;
    s->t->ops->send(s);
}

void
transport_session_set_data(struct transport_session *s, void *data)
{
    s->data = data;
}

void *
transport_session_data(const struct transport_session *s)
{
    return s->data;
}

unsigned
transport_sessions(const struct transport *t)
{
    return t->n_sessions - t->n_opening;
}

int64_t
transport_backoff_ms(const struct transport *t)
{
    int64_t left_ms = t->retry_at_ms - clock_mono_ms();

    return t->n_sessions == 0 && left_ms > 0 ? left_ms : 0;
}
