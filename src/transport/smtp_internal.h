#ifndef TRANSPORT_SMTP_INTERNAL_H
#define TRANSPORT_SMTP_INTERNAL_H

#include "base/err.h"
#include "net/net_resolver.h"
#include "transport/reply_class.h"
#include "transport/smtp_dots.h"
#include "transport/smtp_ehlo.h"
#include "transport/smtp_reply.h"
#include "transport/transport_internal.h"

struct net_conn;
struct net_tls;

/** Where a session stands. The states from SMTP_MAIL on belong to a mail (smtp_txn.c), those before to
 * setting up (smtp_session.c, smtp_auth.c). */
enum smtp_state {
    SMTP_NO_CONN, /* not connected: before the first attempt, or closed by the peer while reserved */
    SMTP_RESOLVE,
    SMTP_CONNECT,
    SMTP_TLS,
    SMTP_GREETING,
    SMTP_EHLO,
    SMTP_HELO,
    SMTP_STARTTLS,
    SMTP_AUTH,
    SMTP_AUTH_USER,
    SMTP_AUTH_PASSWORD,
    SMTP_IDLE,
    SMTP_MAIL,
    SMTP_RCPT,
    SMTP_DATA,
    SMTP_LONE_DOT,
    SMTP_BODY,
    SMTP_END,
    SMTP_RSET,
    SMTP_QUIT,
    SMTP_DEAD,
    SMTP_STATES
};

/** Time-outs in milliseconds, never 0. */
struct smtp_timeouts {
    int64_t connect, greeting, command, data_start, data_block, data_end, idle;
};

struct smtp_transport {
    struct transport base;
    struct net_resolver *resolver;
    struct net_tls *tls; /* NULL without TLS */
    enum transport_tls tls_mode;
    struct smtp_timeouts timeouts;
    char *host, *ehlo_name;
    unsigned port;
    char *username, *password;       /* NULL = no AUTH */
    char *auth_plain;                /* base64 of NUL user NUL password */
    char *auth_user, *auth_password; /* base64 */
};

/** The mail under way. */
struct smtp_txn {
    struct smtp_dots dots;
    struct transport_result result; /* the first refusal, once has_result */
    bool has_result;
    bool is_mail_ok, is_rcpt_ok;
    bool has_params;    /* MAIL FROM carried parameters */
    bool is_plain_next; /* they were refused: try once without */
    bool is_replaced;   /* a stale connection was replaced already */
    bool is_answered;   /* the server has replied to this mail */
    uint64_t started_us;
};

struct smtp_session {
    struct transport_session base;
    enum smtp_state state;
    struct net_lookup *lookup;
    struct net_addrs addrs;
    size_t next_addr;
    bool is_loopback;
    struct net_conn *conn;
    struct smtp_reply reply;
    struct smtp_caps caps;
    bool no_params;   /* the server refuses parameters to MAIL FROM */
    unsigned n_mails; /* answered on this connection */
    int64_t idle_since_ms;
    struct smtp_txn txn;
    /* One timer serves all deadlines: moving one later costs nothing, see smtp_deadline(). */
    struct loop_timer *timer;
    int64_t timer_at_ms, deadline_ms;
    unsigned long long progress; /* bytes written when the deadline was set */
    struct loop_timer *more_timer;
};

static inline struct smtp_transport *
smtp_transport_of(const struct smtp_session *s)
{
    return (struct smtp_transport *)(void *)s->base.t;
}

const char *smtp_state_name(enum smtp_state state);
/** The only place that changes the state; checks that the step is one we know. */
void smtp_set_state(struct smtp_session *s, enum smtp_state state);
/** Something must happen within `timeout_ms`. */
void smtp_deadline(struct smtp_session *s, int64_t timeout_ms);
/** Send one command line (without CRLF), enter `state` and wait for its reply. */
void smtp_command(
    struct smtp_session *s, enum smtp_state state, struct slice line, int64_t timeout_ms);

/* ---- smtp_session.c ---- */
/** Resolve and connect; ends in IDLE or in smtp_session_fail(). */
void smtp_session_connect(struct smtp_session *s);
/** Setting up has failed: the session ends, and its waiting mail is deferred. */
void smtp_session_fail(struct smtp_session *s, const struct transport_result *why);
/** As above with a local reason. */
void smtp_session_fail_text(struct smtp_session *s, enum transport_scope scope, const char *text);
/** As above with the reply just read. */
void smtp_session_fail_reply(struct smtp_session *s, enum reply_stage stage);
/** The greeting dialogue is over: take the waiting mail, or be ready for one. */
void smtp_session_ready(struct smtp_session *s);
/** Drop the connection and what hangs on it. */
void smtp_session_disconnect(struct smtp_session *s);
/** Without a connection and without a mail: end at the next turn of the loop. */
void smtp_session_expire(struct smtp_session *s);
/** Say QUIT, tell `down`, and linger until the reply. */
void smtp_session_quit(struct smtp_session *s);

/* ---- smtp_auth.c ---- */
/** Encode the credentials once; wiped by smtp_auth_deinit(). */
void smtp_auth_init(struct smtp_transport *t, const char *username, const char *password);
void smtp_auth_deinit(struct smtp_transport *t);
/** Begin AUTH, or fail the session when no permitted mechanism is offered. */
void smtp_auth_start(struct smtp_session *s);
/** A reply in one of the AUTH states. */
void smtp_auth_reply(struct smtp_session *s);
/** Blot out the credentials, plain or base64, in a text that a server sent. */
void smtp_auth_scrub(const struct smtp_transport *t, char *text);

/* ---- smtp_txn.c ---- */
/** Send the session's mail; in state IDLE. No event comes before the loop turns. */
void smtp_txn_start(struct smtp_session *s);
/** A reply in one of the mail states. */
void smtp_txn_reply(struct smtp_session *s);
/** Output that had to wait is gone. */
void smtp_txn_drained(struct smtp_session *s);
/** May waiting output go on? False has broken the session off. */
bool smtp_txn_may_write(struct smtp_session *s);
/** The connection is lost or of no more use in the middle of a mail, for the reason in `text`. */
void smtp_txn_lost(struct smtp_session *s, const char *text);
/** The deadline has passed in a mail state. */
void smtp_txn_timeout(struct smtp_session *s);

#endif
