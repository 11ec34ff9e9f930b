#include "driver.h"

#include <stdio.h>
#include <string.h>

#include <check.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "loop/workers.h"

/*
 * Drives the real transport in the real loop against a scripted server: opens one session, gives it the
 * mails of the scenario one after the other, then asks for no session and waits for the end of all.
 * After trouble before the first mail no second attempt is awaited.
 */

#define LIMIT_MS 60000

struct driver {
    const struct scenario *s;
    struct loop *loop;
    struct transport *t;
    struct transport_session *session;
    struct transport_mail mail;
    unsigned n_sent, n_done, n_down;
    bool is_in_call; /* no event may come from inside a call */
    struct transport_result results[DRIVER_MAILS_MAX], why;
    bool has_why;
    struct loop_timer *timer;
};

static unsigned
n_mails(const struct driver *d)
{
    return d->s->n_mails > 0 ? d->s->n_mails : 1;
}

static void
want(struct driver *d, unsigned n)
{
    d->is_in_call = true;
    transport_want(d->t, n);
    d->is_in_call = false;
}

static void
send_next(void *arg)
{
    struct driver *d = arg;
    const struct scenario *s = d->s;
    const char *data = s->data[d->n_sent];

    d->timer = NULL;
    if (data == NULL)
        data = "Subject: x\r\n\r\nhello\r\n";
    d->mail = (struct transport_mail){
        .send = d->n_sent + 1,
        .generation = 1,
        .env_from = SLICE_LIT("b+1@ex.org"),
        .env_to = s->needs_smtputf8 ? SLICE_LIT("jos\xc3\xa9@ex.net") : SLICE_LIT("u@ex.net"),
        .to_domain = SLICE_LIT("ex.net"),
        .data = s->data_n > 0 ? slice_make(data, s->data_n) : slice_str(data),
        .needs_smtputf8 = s->needs_smtputf8,
        .is_8bit = s->is_8bit,
    };
    d->n_sent++;
    d->is_in_call = true;
    transport_send(d->session, &d->mail);
    d->is_in_call = false;
}

static void
on_ready(struct transport_session *session, void *arg)
{
    struct driver *d = arg;

    ck_assert(!d->is_in_call);
    if (d->n_done == n_mails(d)) {
        want(d, 0);
        return;
    }
    if (d->s->is_late && d->n_down == 0)
        return;
    d->session = session;
    if (!d->s->is_reserved) {
        send_next(d);
        return;
    }
    transport_session_reserve(session);
    d->timer = loop_timer_start(d->loop, 50, send_next, d);
}

static void
on_done(struct transport_session *session, const struct transport_mail *mail,
    const struct transport_result *result, void *arg)
{
    struct driver *d = arg;

    ck_assert(!d->is_in_call);
    ck_assert_ptr_eq(mail, &d->mail);
    ck_assert_uint_eq(d->n_done + 1, d->n_sent);
    d->results[d->n_done++] = *result;
}

static void
on_down(struct transport_session *session, const struct transport_result *why, void *arg)
{
    struct driver *d = arg;

    ck_assert(!d->is_in_call);
    d->n_down++;
    if (why != NULL) {
        d->has_why = true;
        d->why = *why;
        want(d, 0);
    }
    if (d->n_done == n_mails(d))
        want(d, 0);
}

static bool
may_commit(void *arg)
{
    const struct driver *d = arg;

    return !d->s->is_fence_shut;
}

static void
check_result(const char *name, const struct expected *e, const struct transport_result *r)
{
    ck_assert_msg(
        r->outcome == e->outcome, "%s: outcome %d, text \"%s\"", name, r->outcome, r->text);
    ck_assert_msg(r->scope == e->scope, "%s: scope %d, text \"%s\"", name, r->scope, r->text);
    ck_assert_msg(r->fail_class == e->fail_class, "%s: class %s, text \"%s\"", name,
        send_fail_class_name(r->fail_class), r->text);
    ck_assert_msg(r->bounce == e->bounce, "%s: bounce %d", name, r->bounce);
    ck_assert_msg(r->is_suppress == e->is_suppress, "%s: suppress %d", name, r->is_suppress);
    ck_assert_msg(
        r->reply_code == e->code, "%s: code %d, text \"%s\"", name, r->reply_code, r->text);
    ck_assert_msg(e->enhanced == 0 || r->enhanced_code == e->enhanced, "%s: enhanced %d", name,
        r->enhanced_code);
    ck_assert_msg(r->retry_after_ms == e->retry_after_ms, "%s: retry after %lld ms", name,
        (long long)r->retry_after_ms);
    ck_assert_msg(
        e->text == NULL || strstr(r->text, e->text) != NULL, "%s: text \"%s\"", name, r->text);
}

/* Turn the loop until all mails have their results and all sessions are gone. */
static void
turn_to_the_end(struct driver *d)
{
    int64_t limit_ms = clock_mono_ms() + LIMIT_MS;
    bool is_over = false;

    while (!is_over) {
        loop_turn(d->loop, 100);
        ck_assert_msg(clock_mono_ms() < limit_ms, "%s: no end", d->s->name);
        is_over = d->n_down > (d->s->is_late ? 1 : 0) && transport_sessions(d->t) == 0 &&
                  (d->has_why || d->n_done == n_mails(d));
    }
    /* QUIT may still be answered. */
    for (int i = 0; i < 20; i++)
        loop_turn(d->loop, 5);
}

void
driver_run(const struct scenario *s)
{
    static const struct transport_events events = {on_ready, on_done, on_down, may_commit};
    struct driver d = {.s = s, .loop = loop_create()};
    struct workers *workers = workers_create(d.loop, "peer", 1, 16);
    const char *address = s->address != NULL ? s->address : "127.0.0.1";
    struct peer *peer = s->steps != NULL ? peer_start(address, s->steps) : NULL;
    struct transport_settings settings = s->settings;
    const char *failure = NULL;
    struct err err;

    settings.kind = "smtp";
    settings.host = s->is_host_named ? "localhost" : address;
    settings.port = peer != NULL ? peer_port(peer) : 1;
    settings.ehlo_name = "client.example";
    settings.max_sessions = 1;
    d.t = transport_create(d.loop, workers, &settings, &events, &d, &err);
    ck_assert_msg(d.t != NULL, "%s: %s", s->name, err.text);
    want(&d, 1);
    turn_to_the_end(&d);
    transport_free(&d.t);
    if (peer != NULL)
        failure = peer_finish(&peer);
    workers_free(&workers);
    loop_free(&d.loop);
    ck_assert_msg(failure == NULL, "%s: server: %s (client: %s)", s->name, failure,
        d.has_why ? d.why.text : d.results[0].text);
    ck_assert_msg(d.has_why == s->down.is_set, "%s: down: %s", s->name, d.why.text);
    if (d.has_why)
        check_result(s->name, &s->down, &d.why);
    for (unsigned i = 0; i < DRIVER_MAILS_MAX; i++) {
        ck_assert_msg(s->mails[i].is_set == (i < d.n_done), "%s: %u results", s->name, d.n_done);
        if (i < d.n_done)
            check_result(s->name, &s->mails[i], &d.results[i]);
    }
}

void
driver_run_all(const struct scenario *table, size_t n)
{
    for (size_t i = 0; i < n; i++)
        driver_run(&table[i]);
}
