#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "net/net_conn.h"
#include "transport/smtp_internal.h"

/*
 * One mail on an open session: MAIL, RCPT, DATA, body, final dot. With PIPELINING (RFC 2920) the three
 * commands go in one write and their replies are read one after the other whatever they say; a 354 that
 * comes although nobody was accepted is answered with a lone dot. The first refusal counts.
 *
 * The one thing that must be right is what is said about a mail whose connection broke: before the
 * final dot was handed to the kernel completely the server cannot have taken it (DEFERRED); after that
 * only its reply can tell (IN_DOUBT). And before the dot may go, now or when waiting output goes on,
 * the owner is asked whether it still may (may_commit).
 *
 * Cost of the plain steady state: one write for the envelope, one for body and dot, two reads.
 */

#define FILL_BYTES  262144
#define FILL_PIECES 200
#define STALE_MS    1000

static void send_envelope(struct smtp_session *s);

/* ---- results ------------------------------------------------------------------------------- */

static void
local_result(struct smtp_session *s, enum transport_outcome outcome, enum send_fail_class class,
    int enhanced, const char *text)
{
    struct transport_result *r = &s->txn.result;

    memset(r, 0, sizeof(*r));
    r->outcome = outcome;
    r->fail_class = class;
    r->enhanced_code = enhanced;
    snprintf(r->text, sizeof(r->text), "%s", text);
    s->txn.has_result = true;
}

/* Keep the reply just read as the mail's result, unless an earlier one says it already. */
static void
reply_result(struct smtp_session *s, enum reply_stage stage)
{
    if (s->txn.has_result)
        return;
    reply_classify(
        stage, s->reply.code, s->reply.enhanced, buf_slice(&s->reply.text), &s->txn.result);
    smtp_auth_scrub(smtp_transport_of(s), s->txn.result.text);
    s->txn.has_result = true;
}

static void
tell_done(struct smtp_session *s)
{
    s->txn.result.wire_us = clock_mono_us() - s->txn.started_us;
    s->n_mails++;
    transport_session_done(&s->base, &s->txn.result);
}

/* Tell the result and give up the connection. */
static void
finish_and_close(struct smtp_session *s)
{
    net_conn_free(&s->conn); /* its output may refer to the mail, which goes with `done` */
    tell_done(s);
    smtp_session_disconnect(s);
    smtp_set_state(s, SMTP_DEAD);
    transport_session_gone(&s->base, NULL);
}

/* The session is in order again: serve the next mail, or leave when it has served enough. */
static void
next_mail(struct smtp_session *s)
{
    unsigned limit = s->base.t->max_mails_per_session;

    if (limit > 0 && s->n_mails >= limit)
        smtp_session_quit(s);
    else
        smtp_session_ready(s);
}

static void
finish(struct smtp_session *s)
{
    tell_done(s);
    next_mail(s);
}

/* All replies to a refused envelope have been read. */
static void
envelope_refused(struct smtp_session *s)
{
    struct smtp_transport *t = smtp_transport_of(s);

    if (s->txn.is_plain_next) {
        s->no_params = true;
        send_envelope(s);
    } else if (s->txn.is_mail_ok && s->state != SMTP_LONE_DOT) {
        tell_done(s);
        smtp_command(s, SMTP_RSET, SLICE_LIT("RSET"), t->timeouts.command);
    } else {
        finish(s);
    }
}

/* ---- envelope ------------------------------------------------------------------------------ */

static void
put_mail_from(struct smtp_session *s)
{
    const struct transport_mail *mail = s->base.mail;
    struct net_conn *c = s->conn;
    char size[40];

    s->txn.has_params = false;
    net_conn_put(c, SLICE_LIT("MAIL FROM:<"));
    net_conn_put(c, mail->env_from);
    net_conn_put(c, SLICE_LIT(">"));
    if (s->no_params) {
        net_conn_put(c, SLICE_LIT("\r\n"));
        return;
    }
    if (s->caps.has_size) {
        snprintf(size, sizeof(size), " SIZE=%zu", mail->data.n);
        net_conn_put(c, slice_str(size));
    }
    if (mail->is_8bit)
        net_conn_put(c, SLICE_LIT(" BODY=8BITMIME"));
    if (mail->needs_smtputf8)
        net_conn_put(c, SLICE_LIT(" SMTPUTF8"));
    s->txn.has_params = s->caps.has_size || mail->is_8bit || mail->needs_smtputf8;
    net_conn_put(c, SLICE_LIT("\r\n"));
}

static void
put_rcpt_to(struct smtp_session *s)
{
    net_conn_put(s->conn, SLICE_LIT("RCPT TO:<"));
    net_conn_put(s->conn, s->base.mail->env_to);
    net_conn_put(s->conn, SLICE_LIT(">\r\n"));
}

static void
send_envelope(struct smtp_session *s)
{
    s->txn.is_mail_ok = s->txn.is_rcpt_ok = s->txn.is_plain_next = false;
    put_mail_from(s);
    if (s->caps.has_pipelining) {
        put_rcpt_to(s);
        net_conn_put(s->conn, SLICE_LIT("DATA\r\n"));
    }
    smtp_set_state(s, SMTP_MAIL);
    smtp_deadline(s, smtp_transport_of(s)->timeouts.command);
    net_conn_flush(s->conn);
}

/* A control character would end the command and begin another. */
static bool
is_safe_path(struct slice path)
{
    for (size_t i = 0; i < path.n; i++) {
        if ((unsigned char)path.p[i] < 0x20 || path.p[i] == 0x7f)
            return false;
    }
    return path.n <= 1000;
}

/* Is there a reason not to offer this mail to this server at all? */
static bool
is_refused_here(struct smtp_session *s)
{
    const struct transport_mail *mail = s->base.mail;
    const struct smtp_caps *caps = &s->caps;

    if (!is_safe_path(mail->env_from) || !is_safe_path(mail->env_to) || mail->env_to.n == 0)
        local_result(s, TRANSPORT_REFUSED, FAIL_ADDRESS, 50103, "the address cannot be written");
    else if (mail->needs_smtputf8 && !caps->has_smtputf8)
        local_result(s, TRANSPORT_REFUSED, FAIL_ADDRESS, 50607,
            "the address needs SMTPUTF8, which the server does not offer");
    else if (mail->is_8bit && !caps->has_8bitmime)
        local_result(s, TRANSPORT_REFUSED, FAIL_MESSAGE, 50603,
            "the message needs 8BITMIME, which the server does not offer");
    else if (caps->size_max > 0 && mail->data.n > caps->size_max)
        local_result(s, TRANSPORT_REFUSED, FAIL_MESSAGE, 50304,
            "the message is larger than the server takes");
    return s->txn.has_result;
}

static void
on_refused_here(void *arg)
{
    struct smtp_session *s = arg;

    s->more_timer = NULL;
    tell_done(s);
    smtp_session_ready(s);
}

void
smtp_txn_start(struct smtp_session *s)
{
    bool is_replaced = s->txn.is_replaced;

    memset(&s->txn, 0, sizeof(s->txn));
    s->txn.is_replaced = is_replaced;
    s->txn.started_us = clock_mono_us();
    if (is_refused_here(s))
        s->more_timer = loop_timer_start(s->base.t->loop, 0, on_refused_here, s);
    else
        send_envelope(s);
}

/* ---- body ---------------------------------------------------------------------------------- */

static void body_more(struct smtp_session *s);

static void
on_more(void *arg)
{
    struct smtp_session *s = arg;

    s->more_timer = NULL;
    body_more(s);
}

/* Queue a bounded part of the message; true at its end. */
static bool
body_fill(struct smtp_session *s)
{
    size_t bytes = 0;

    for (unsigned pieces = 0; pieces < FILL_PIECES && bytes < FILL_BYTES; pieces++) {
        struct slice piece;
        bool is_dot;

        if (!smtp_dots_next(&s->txn.dots, FILL_BYTES - bytes, &piece, &is_dot))
            return true;
        if (is_dot)
            net_conn_put(s->conn, SLICE_LIT("."));
        net_conn_put_ref(s->conn, piece);
        bytes += piece.n;
    }
    return s->txn.dots.rest.n == 0;
}

static void
hold_back(struct smtp_session *s)
{
    local_result(s, TRANSPORT_DEFERRED, FAIL_NETWORK, 0,
        "held back before the final dot: this instance may not send now");
    finish_and_close(s);
}

static void
body_more(struct smtp_session *s)
{
    struct smtp_transport *t = smtp_transport_of(s);
    bool is_end = body_fill(s);

    if (is_end) {
        if (!transport_may_commit(&t->base)) {
            hold_back(s);
            return;
        }
        if (!slice_ends(s->base.mail->data, SLICE_LIT("\r\n")))
            net_conn_put(s->conn, SLICE_LIT("\r\n"));
        net_conn_put(s->conn, SLICE_LIT(".\r\n"));
        smtp_set_state(s, SMTP_END);
    }
    net_conn_flush(s->conn);
    s->progress = net_conn_written(s->conn);
    if (net_conn_pending(s->conn) > 0) {
        smtp_deadline(s, t->timeouts.data_block);
    } else if (is_end) {
        smtp_deadline(s, t->timeouts.data_end);
    } else {
        smtp_deadline(s, t->timeouts.data_block);
        s->more_timer = loop_timer_start(t->base.loop, 0, on_more, s);
    }
}

void
smtp_txn_drained(struct smtp_session *s)
{
    if (s->state == SMTP_BODY)
        body_more(s);
    else if (s->state == SMTP_END)
        smtp_deadline(s, smtp_transport_of(s)->timeouts.data_end);
}

bool
smtp_txn_may_write(struct smtp_session *s)
{
    if (s->state != SMTP_END || transport_may_commit(s->base.t))
        return true;
    hold_back(s);
    return false;
}

/* ---- replies ------------------------------------------------------------------------------- */

/* May parameters be left off after this refusal? (Servers that know no extension say 501, 504, 555.) */
static bool
may_go_plain(const struct smtp_session *s)
{
    const struct transport_mail *mail = s->base.mail;
    int code = s->reply.code;

    return s->txn.has_params && !mail->is_8bit && !mail->needs_smtputf8 &&
           (code == 501 || code == 504 || code == 555);
}

static void
mail_reply(struct smtp_session *s)
{
    struct smtp_transport *t = smtp_transport_of(s);

    s->txn.is_answered = true;
    s->txn.is_mail_ok = s->reply.code / 100 == 2;
    if (!s->txn.is_mail_ok && may_go_plain(s))
        s->txn.is_plain_next = true;
    else if (!s->txn.is_mail_ok)
        reply_result(s, REPLY_MAIL);
    if (s->caps.has_pipelining) {
        smtp_set_state(s, SMTP_RCPT);
        smtp_deadline(s, t->timeouts.command);
    } else if (s->txn.is_mail_ok) {
        put_rcpt_to(s);
        smtp_set_state(s, SMTP_RCPT);
        smtp_deadline(s, t->timeouts.command);
        net_conn_flush(s->conn);
    } else {
        envelope_refused(s);
    }
}

static void
rcpt_reply(struct smtp_session *s)
{
    struct smtp_transport *t = smtp_transport_of(s);

    s->txn.is_rcpt_ok = s->txn.is_mail_ok && s->reply.code / 100 == 2;
    if (s->txn.is_mail_ok && !s->txn.is_rcpt_ok)
        reply_result(s, REPLY_RCPT);
    if (s->caps.has_pipelining) {
        smtp_set_state(s, SMTP_DATA);
        smtp_deadline(s, t->timeouts.data_start);
    } else if (s->txn.is_rcpt_ok) {
        smtp_command(s, SMTP_DATA, SLICE_LIT("DATA"), t->timeouts.data_start);
    } else {
        envelope_refused(s);
    }
}

static void
data_reply(struct smtp_session *s)
{
    struct smtp_transport *t = smtp_transport_of(s);

    if (s->reply.code == 354 && s->txn.is_rcpt_ok) {
        smtp_set_state(s, SMTP_BODY);
        smtp_dots_init(&s->txn.dots, s->base.mail->data);
        body_more(s);
    } else if (s->reply.code == 354) {
        smtp_command(s, SMTP_LONE_DOT, SLICE_LIT("."), t->timeouts.data_end);
    } else if (s->reply.code < 400) {
        smtp_txn_lost(s, "the server answered DATA with neither 354 nor a refusal");
    } else {
        if (!s->txn.is_plain_next)
            reply_result(s, REPLY_DATA);
        envelope_refused(s);
    }
}

/* A reply while the message is on its way, or after it. */
static void
end_reply(struct smtp_session *s)
{
    bool is_early = s->state == SMTP_BODY || net_conn_pending(s->conn) > 0;
    int class = s->reply.code / 100;

    if (class == 3 || (is_early && class == 2)) {
        smtp_txn_lost(s, "the server answered the message with a reply that makes no sense");
        return;
    }
    reply_result(s, REPLY_DATA_END);
    if (is_early)
        finish_and_close(s); /* the rest of the message is not wanted, and cannot be unsent */
    else
        finish(s);
}

static bool
is_stale(const struct smtp_session *s)
{
    return s->state == SMTP_MAIL && !s->txn.is_answered && !s->txn.is_replaced &&
           (s->n_mails > 0 || clock_mono_ms() - s->idle_since_ms >= STALE_MS);
}

/* The connection had been closed before our MAIL FROM arrived: begin again on another. */
static void
replace_connection(struct smtp_session *s)
{
    smtp_session_disconnect(s);
    s->txn.is_replaced = true;
    smtp_session_connect(s);
}

void
smtp_txn_reply(struct smtp_session *s)
{
    if (s->reply.code == 421 && s->state != SMTP_RSET) {
        enum reply_stage stage = s->state == SMTP_MAIL   ? REPLY_MAIL
                                 : s->state == SMTP_RCPT ? REPLY_RCPT
                                 : s->state == SMTP_DATA ? REPLY_DATA
                                                         : REPLY_DATA_END;

        if (is_stale(s) && clock_mono_ms() - s->idle_since_ms >= STALE_MS) {
            replace_connection(s);
            return;
        }
        reply_result(s, stage);
        finish_and_close(s);
        return;
    }
    switch (s->state) {
    case SMTP_MAIL: mail_reply(s); break;
    case SMTP_RCPT: rcpt_reply(s); break;
    case SMTP_DATA: data_reply(s); break;
    case SMTP_LONE_DOT: envelope_refused(s); break;
    case SMTP_BODY:
    case SMTP_END: end_reply(s); break;
    default: /* SMTP_RSET */
        if (s->reply.code / 100 == 2)
            next_mail(s);
        else
            smtp_txn_lost(s, "RSET refused");
        break;
    }
}

/* ---- trouble ------------------------------------------------------------------------------- */

void
smtp_txn_lost(struct smtp_session *s, const char *text)
{
    bool is_dot_out = s->state == SMTP_END && net_conn_pending(s->conn) == 0;

    if (s->state == SMTP_RSET) {
        smtp_session_disconnect(s);
        smtp_set_state(s, SMTP_DEAD);
        transport_session_gone(&s->base, NULL);
        return;
    }
    if (is_stale(s)) {
        replace_connection(s);
        return;
    }
    if (is_dot_out)
        local_result(s, TRANSPORT_IN_DOUBT, FAIL_NETWORK, 0, text);
    else if (!s->txn.has_result)
        local_result(s, TRANSPORT_DEFERRED, FAIL_NETWORK, 0, text);
    finish_and_close(s);
}

void
smtp_txn_timeout(struct smtp_session *s)
{
    bool is_writing = net_conn_pending(s->conn) > 0;
    char text[80];

    if (is_writing && net_conn_written(s->conn) > s->progress) {
        s->progress = net_conn_written(s->conn);
        smtp_deadline(s, smtp_transport_of(s)->timeouts.data_block);
        return;
    }
    snprintf(text, sizeof(text), "time-out: the server %s (%s)",
        is_writing ? "takes no more data" : "does not answer", smtp_state_name(s->state));
    smtp_txn_lost(s, text);
}
