#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "net/net_conn.h"
#include "transport/smtp_internal.h"

/*
 * One SMTP session from name look-up to IDLE, and its end: RESOLVE → CONNECT (→ TLS) → GREETING → EHLO
 * (→ STARTTLS → TLS → EHLO) (→ AUTH) → IDLE. A mail (smtp_txn.c) leads from IDLE back to IDLE.
 *
 * The server may close an idle session whenever it likes. Then a READY session is simply gone, and a
 * RESERVED one waits without a connection until its mail comes and connects anew (NO_CONN), so that no
 * mail that has been claimed is put back for it.
 */

#define INPUT_MAX 8192
#define QUIT_MS   5000
#define HASTY_MS  1000

static const char *const state_names[SMTP_STATES] = {"no-conn", "resolve", "connect", "TLS",
    "greeting", "EHLO", "HELO", "STARTTLS", "AUTH", "AUTH user", "AUTH password", "idle", "MAIL",
    "RCPT", "DATA", "lone dot", "body", "data end", "RSET", "QUIT", "dead"};

#define TO(state) (1u << SMTP_##state)
/* From every state a session may lose its connection or end; these are the other steps. */
static const unsigned steps[SMTP_STATES] = {
    [SMTP_NO_CONN] = TO(RESOLVE),
    [SMTP_RESOLVE] = TO(CONNECT),
    [SMTP_CONNECT] = TO(CONNECT) | TO(TLS) | TO(GREETING),
    [SMTP_TLS] = TO(CONNECT) | TO(GREETING) | TO(EHLO),
    [SMTP_GREETING] = TO(EHLO),
    [SMTP_EHLO] = TO(HELO) | TO(STARTTLS) | TO(AUTH) | TO(IDLE),
    [SMTP_HELO] = TO(IDLE),
    [SMTP_STARTTLS] = TO(TLS),
    [SMTP_AUTH] = TO(AUTH_USER) | TO(AUTH_PASSWORD) | TO(IDLE),
    [SMTP_AUTH_USER] = TO(AUTH_PASSWORD),
    [SMTP_AUTH_PASSWORD] = TO(IDLE),
    [SMTP_IDLE] = TO(MAIL) | TO(QUIT) | TO(IDLE),
    [SMTP_MAIL] = TO(MAIL) | TO(RCPT) | TO(IDLE) | TO(QUIT),
    [SMTP_RCPT] = TO(DATA) | TO(RSET),
    [SMTP_DATA] = TO(MAIL) | TO(LONE_DOT) | TO(BODY) | TO(RSET) | TO(IDLE) | TO(QUIT),
    [SMTP_LONE_DOT] = TO(MAIL) | TO(IDLE) | TO(QUIT),
    [SMTP_BODY] = TO(END),
    [SMTP_END] = TO(IDLE) | TO(QUIT),
    [SMTP_RSET] = TO(IDLE) | TO(QUIT),
};

const char *
smtp_state_name(enum smtp_state state)
{
    return state_names[state];
}

void
smtp_set_state(struct smtp_session *s, enum smtp_state state)
{
    assert(state == SMTP_DEAD || state == SMTP_NO_CONN || (steps[s->state] & 1u << state));
    log_debug(NULL, "smtp.state", "session=%p from=\"%s\" to=\"%s\"", (void *)s,
        state_names[s->state], state_names[state]);
    s->state = state;
}

/* ---- deadlines ----------------------------------------------------------------------------- */

static void on_timer(void *arg);

void
smtp_deadline(struct smtp_session *s, int64_t timeout_ms)
{
    int64_t now_ms = clock_mono_ms();

    s->deadline_ms = now_ms + timeout_ms;
    if (s->timer != NULL && s->timer_at_ms <= s->deadline_ms)
        return; /* on_timer() will see that it came too early */
    loop_timer_cancel(&s->timer);
    s->timer_at_ms = s->deadline_ms;
    s->timer = loop_timer_start(s->base.t->loop, timeout_ms, on_timer, s);
}

void
smtp_command(struct smtp_session *s, enum smtp_state state, struct slice line, int64_t timeout_ms)
{
    net_conn_put(s->conn, line);
    net_conn_put(s->conn, SLICE_LIT("\r\n"));
    smtp_set_state(s, state);
    smtp_deadline(s, timeout_ms);
    net_conn_flush(s->conn);
}

/* ---- the end ------------------------------------------------------------------------------- */

void
smtp_session_disconnect(struct smtp_session *s)
{
    net_resolver_cancel(&s->lookup);
    net_conn_free(&s->conn);
    loop_timer_cancel(&s->timer);
    loop_timer_cancel(&s->more_timer);
    smtp_reply_deinit(&s->reply);
    memset(&s->caps, 0, sizeof(s->caps));
    s->no_params = false;
    s->n_mails = 0;
    smtp_set_state(s, SMTP_NO_CONN);
}

static void
session_end(struct smtp_session *s, const struct transport_result *why)
{
    smtp_session_disconnect(s);
    smtp_set_state(s, SMTP_DEAD);
    transport_session_gone(&s->base, why);
}

void
smtp_session_fail(struct smtp_session *s, const struct transport_result *why)
{
    bool has_mail = s->base.mail != NULL;

    if (has_mail)
        transport_session_done(&s->base, why);
    session_end(s, has_mail ? NULL : why);
}

void
smtp_session_fail_text(struct smtp_session *s, enum transport_scope scope, const char *text)
{
    struct transport_result why = {.outcome = TRANSPORT_DEFERRED,
        .scope = scope,
        .fail_class = scope == TRANSPORT_SCOPE_ACCOUNT ? FAIL_ACCOUNT : FAIL_NETWORK};

    snprintf(why.text, sizeof(why.text), "%s", text);
    smtp_session_fail(s, &why);
}

void
smtp_session_fail_reply(struct smtp_session *s, enum reply_stage stage)
{
    struct transport_result why = {0};

    reply_classify(stage, s->reply.code, s->reply.enhanced, buf_slice(&s->reply.text), &why);
    smtp_auth_scrub(smtp_transport_of(s), why.text);
    smtp_session_fail(s, &why);
}

void
smtp_session_quit(struct smtp_session *s)
{
    if (s->conn == NULL) {
        session_end(s, NULL);
        return;
    }
    smtp_command(s, SMTP_QUIT, SLICE_LIT("QUIT"), QUIT_MS);
    s->base.is_leaving = true;
    transport_session_gone(&s->base, NULL);
}

static void
on_expired(void *arg)
{
    struct smtp_session *s = arg;

    s->more_timer = NULL;
    session_end(s, NULL);
}

void
smtp_session_expire(struct smtp_session *s)
{
    s->more_timer = loop_timer_start(s->base.t->loop, 0, on_expired, s);
}

static void
quit_over(struct smtp_session *s)
{
    smtp_session_disconnect(s);
    smtp_set_state(s, SMTP_DEAD);
    transport_session_left(&s->base);
}

/* The peer has closed, or is of no more use, while nothing was under way. */
static void
idle_lost(struct smtp_session *s)
{
    if (s->base.mail != NULL) {
        smtp_txn_lost(s, "the server closed the connection");
    } else if (s->base.state == SESSION_RESERVED) {
        smtp_session_disconnect(s);
    } else {
        s->base.is_hasty = clock_mono_ms() - s->idle_since_ms < HASTY_MS;
        session_end(s, NULL);
    }
}

/* ---- connecting ---------------------------------------------------------------------------- */

static void on_open(void *arg);
static void on_input(void *arg);
static void on_closed(const struct err *why, void *arg);

static void
on_drained(void *arg)
{
    smtp_txn_drained(arg);
}

static bool
on_may_write(void *arg)
{
    return smtp_txn_may_write(arg);
}

static const struct net_conn_events conn_events = {
    .open = on_open,
    .input = on_input,
    .drained = on_drained,
    .may_write = on_may_write,
    .closed = on_closed,
};

/* Try the next address; `trouble` is what the last one gave. */
static void
connect_next(struct smtp_session *s, const char *trouble)
{
    struct smtp_transport *t = smtp_transport_of(s);
    const struct net_addr *a;
    struct err err;

    net_conn_free(&s->conn);
    if (s->next_addr >= s->addrs.n) {
        smtp_session_fail_text(s, TRANSPORT_SCOPE_MAIL, trouble);
        return;
    }
    a = &s->addrs.a[s->next_addr++];
    s->is_loopback = net_addr_is_loopback(a);
    s->conn = net_conn_create(
        t->base.loop, (const struct sockaddr *)&a->sa, a->len, INPUT_MAX, &conn_events, s, &err);
    if (s->conn == NULL) {
        smtp_session_fail_text(s, TRANSPORT_SCOPE_MAIL, err.text);
        return;
    }
    smtp_set_state(s, SMTP_CONNECT);
    smtp_deadline(s, t->timeouts.connect);
}

static void
address_failed(struct smtp_session *s, const char *what)
{
    char address[80], text[400];

    net_addr_text(&s->addrs.a[s->next_addr - 1], address, sizeof(address));
    snprintf(text, sizeof(text), "%s: %s", address, what);
    connect_next(s, text);
}

static void
on_resolved(const struct net_addrs *addrs, const struct err *err, void *arg)
{
    struct smtp_session *s = arg;

    s->lookup = NULL;
    if (addrs == NULL) {
        smtp_session_fail_text(s, TRANSPORT_SCOPE_MAIL, err->text);
        return;
    }
    s->addrs = *addrs;
    s->next_addr = 0;
    connect_next(s, "no address");
}

void
smtp_session_connect(struct smtp_session *s)
{
    struct smtp_transport *t = smtp_transport_of(s);

    smtp_set_state(s, SMTP_RESOLVE);
    smtp_deadline(s, t->timeouts.connect);
    s->lookup = net_resolver_start(t->resolver, t->host, t->port, on_resolved, s);
}

static void
start_tls(struct smtp_session *s)
{
    struct smtp_transport *t = smtp_transport_of(s);
    struct err err;

    smtp_set_state(s, SMTP_TLS);
    smtp_deadline(s, t->timeouts.command);
    if (net_conn_start_tls(s->conn, t->tls, t->host, &err) != 0)
        smtp_session_fail_text(s, TRANSPORT_SCOPE_MAIL, err.text);
}

static void
send_ehlo(struct smtp_session *s, enum smtp_state state)
{
    struct smtp_transport *t = smtp_transport_of(s);
    char line[300];

    snprintf(line, sizeof(line), "%s %s", state == SMTP_EHLO ? "EHLO" : "HELO", t->ehlo_name);
    smtp_command(s, state, slice_str(line), t->timeouts.command);
}

static void
on_open(void *arg)
{
    struct smtp_session *s = arg;
    struct smtp_transport *t = smtp_transport_of(s);

    if (s->state == SMTP_CONNECT && t->tls_mode == TRANSPORT_TLS_IMPLICIT) {
        start_tls(s);
    } else if (s->state == SMTP_TLS && t->tls_mode == TRANSPORT_TLS_STARTTLS) {
        send_ehlo(s, SMTP_EHLO);
    } else {
        smtp_set_state(s, SMTP_GREETING);
        smtp_deadline(s, t->timeouts.greeting);
    }
}

/* ---- the dialogue before the first mail ---------------------------------------------------- */

void
smtp_session_ready(struct smtp_session *s)
{
    if (net_conn_input(s->conn).n > 0) {
        /* A second reply to one command, or a 421 on its heels: nothing that follows could be
         * matched to what we ask. */
        if (s->base.mail != NULL)
            smtp_session_fail_text(s, TRANSPORT_SCOPE_MAIL, "the server answers unasked");
        else
            session_end(s, NULL);
        return;
    }
    smtp_set_state(s, SMTP_IDLE);
    s->idle_since_ms = clock_mono_ms();
    if (s->base.mail != NULL) {
        smtp_txn_start(s);
        return;
    }
    smtp_deadline(s, smtp_transport_of(s)->timeouts.idle);
    transport_session_up(&s->base);
}

/* The server's abilities are known: TLS first, then AUTH, then mail. */
static void
after_ehlo(struct smtp_session *s)
{
    struct smtp_transport *t = smtp_transport_of(s);

    if (t->tls_mode == TRANSPORT_TLS_STARTTLS && !net_conn_is_tls(s->conn)) {
        if (s->caps.has_starttls)
            smtp_command(s, SMTP_STARTTLS, SLICE_LIT("STARTTLS"), t->timeouts.command);
        else
            smtp_session_fail_text(
                s, TRANSPORT_SCOPE_ACCOUNT, "the server does not offer STARTTLS");
    } else if (t->username != NULL) {
        smtp_auth_start(s);
    } else {
        smtp_session_ready(s);
    }
}

static void
ehlo_reply(struct smtp_session *s)
{
    struct smtp_transport *t = smtp_transport_of(s);
    int code = s->reply.code;

    if (code / 100 == 2) {
        smtp_ehlo_parse(buf_slice(&s->reply.text), &s->caps);
        after_ehlo(s);
    } else if (code / 100 == 5 && code != 530 && t->tls_mode != TRANSPORT_TLS_STARTTLS &&
               t->username == NULL) {
        send_ehlo(s, SMTP_HELO); /* RFC 5321 §3.2 */
    } else {
        smtp_session_fail_reply(s, REPLY_EHLO);
    }
}

static void
setup_reply(struct smtp_session *s)
{
    int code = s->reply.code;

    switch (s->state) {
    case SMTP_GREETING:
        if (code == 220)
            send_ehlo(s, SMTP_EHLO);
        else
            smtp_session_fail_reply(s, REPLY_GREETING);
        break;
    case SMTP_EHLO: ehlo_reply(s); break;
    case SMTP_HELO:
        if (code / 100 == 2)
            smtp_session_ready(s);
        else
            smtp_session_fail_reply(s, REPLY_EHLO);
        break;
    case SMTP_STARTTLS:
        if (code == 220)
            start_tls(s);
        else
            smtp_session_fail_reply(s, REPLY_STARTTLS);
        break;
    default: smtp_session_fail_text(s, TRANSPORT_SCOPE_MAIL, "the server answers unasked"); break;
    }
}

/* ---- events -------------------------------------------------------------------------------- */

static void
on_reply(struct smtp_session *s)
{
    switch (s->state) {
    case SMTP_AUTH:
    case SMTP_AUTH_USER:
    case SMTP_AUTH_PASSWORD: smtp_auth_reply(s); break;
    case SMTP_IDLE: idle_lost(s); break;
    case SMTP_QUIT: quit_over(s); break;
    default:
        if (s->state >= SMTP_MAIL)
            smtp_txn_reply(s);
        else
            setup_reply(s);
        break;
    }
}

/* The connection is lost, or what comes is no SMTP. */
static void
conn_lost(struct smtp_session *s, const char *what)
{
    char text[400];

    switch (s->state) {
    case SMTP_IDLE: idle_lost(s); return;
    case SMTP_QUIT: quit_over(s); return;
    default: break;
    }
    snprintf(text, sizeof(text), "%s (%s)", what, state_names[s->state]);
    if (s->state >= SMTP_MAIL)
        smtp_txn_lost(s, text);
    else
        smtp_session_fail_text(s, TRANSPORT_SCOPE_MAIL, text);
}

static void
on_input(void *arg)
{
    struct smtp_session *s = arg;

    while (s->conn != NULL && net_conn_input(s->conn).n > 0) {
        size_t used;
        enum smtp_reply_status status = smtp_reply_feed(&s->reply, net_conn_input(s->conn), &used);

        net_conn_consume(s->conn, used);
        if (status == SMTP_REPLY_MORE)
            return;
        if (status == SMTP_REPLY_BAD)
            conn_lost(s, "the server sent something that is no SMTP reply");
        else
            on_reply(s);
    }
}

static void
on_closed(const struct err *why, void *arg)
{
    struct smtp_session *s = arg;
    const char *what = why != NULL ? why->text : "the server closed the connection";

    if (s->state == SMTP_CONNECT ||
        (s->state == SMTP_TLS && smtp_transport_of(s)->tls_mode == TRANSPORT_TLS_IMPLICIT))
        address_failed(s, what);
    else
        conn_lost(s, what);
}

static void
on_timer(void *arg)
{
    struct smtp_session *s = arg;
    int64_t left_ms = s->deadline_ms - clock_mono_ms();
    char text[80];

    s->timer = NULL;
    if (left_ms > 0) {
        smtp_deadline(s, left_ms);
        return;
    }
    switch (s->state) {
    case SMTP_CONNECT: address_failed(s, "connect: time-out"); break;
    case SMTP_IDLE:
        if (s->base.state == SESSION_READY)
            smtp_session_quit(s);
        else
            smtp_deadline(s, smtp_transport_of(s)->timeouts.idle);
        break;
    case SMTP_QUIT: quit_over(s); break;
    default:
        if (s->state >= SMTP_MAIL) {
            smtp_txn_timeout(s);
            break;
        }
        snprintf(text, sizeof(text), "time-out (%s)", state_names[s->state]);
        smtp_session_fail_text(s, TRANSPORT_SCOPE_MAIL, text);
        break;
    }
}
