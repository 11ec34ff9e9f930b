#ifndef TRANSPORT_TRANSPORT_H
#define TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mailshot/states.h"
#include "base/err.h"
#include "base/slice.h"

struct loop;
struct workers;
struct transport;
struct transport_session;

/** One mail for the wire. Borrowed until its result has been delivered. */
struct transport_mail {
    uint64_t broadcast, send;
    uint32_t generation, attempt;
    struct slice env_from;  /* return path without <>; empty = null sender */
    struct slice env_to;    /* local@A-label domain */
    struct slice to_domain; /* lower-case A-label domain of env_to */
    struct slice data;      /* RFC 5322 bytes, CRLF, not dot-stuffed */
    bool needs_smtputf8;
    bool is_8bit; /* holds bytes above 127 in the body */
    void *tag;    /* the caller's */
};

enum transport_outcome {
    TRANSPORT_ACCEPTED, /* the far side took responsibility */
    TRANSPORT_DEFERRED, /* not accepted, may be tried again */
    TRANSPORT_REFUSED,  /* not accepted, for good */
    TRANSPORT_IN_DOUBT  /* everything was written, the answer was not read */
};

/** What the answer says about others than this mail. */
enum transport_scope {
    TRANSPORT_SCOPE_MAIL,    /* this mail only */
    TRANSPORT_SCOPE_DOMAIN,  /* this receiver domain: wait before the next mail to it */
    TRANSPORT_SCOPE_PROFILE, /* the whole profile: slow down */
    TRANSPORT_SCOPE_ACCOUNT  /* the account is refused: stop the profile */
};

struct transport_result {
    enum transport_outcome outcome;
    enum transport_scope scope;
    enum send_fail_class fail_class;
    enum bounce_type bounce;
    bool is_suppress;       /* the recipient is dead: suppress the address */
    int reply_code;         /* 0 = connection trouble */
    int enhanced_code;      /* as in store/sends.h */
    int64_t retry_after_ms; /* named by the server, 0 = not */
    char text[512];         /* reply text or reason, control characters replaced */
    char provider_id[128];
    uint64_t wire_us; /* from MAIL FROM to the final reply */
};

/** Plain settings of a profile's transport; no model. Strings are copied. */
struct transport_settings {
    const char *kind; /* "smtp" or "capture" */
    const char *host;
    unsigned port;
    enum transport_tls { TRANSPORT_TLS_NONE, TRANSPORT_TLS_STARTTLS, TRANSPORT_TLS_IMPLICIT } tls;
    bool tls_verify;
    const char *ca_file;             /* NULL = system */
    const char *username, *password; /* NULL = no AUTH */
    const char *ehlo_name;
    unsigned max_sessions;
    unsigned max_mails_per_session; /* 0 = no limit */
    int64_t idle_ms;                /* close an idle session after this, 0 = 30 s */
    const char *capture_dir;        /* capture: where .eml files go */
    /* RFC 5321 §4.5.3.2 time-outs, 0 = the RFC's values */
    int64_t connect_ms, greeting_ms, command_ms, data_start_ms, data_block_ms, data_end_ms;
};

/** All come in the loop, never before the call that caused them has returned. */
struct transport_events {
    /** The session is open and idle: it may take a mail. */
    void (*ready)(struct transport_session *s, void *arg);
    /** The mail given to transport_send() has its result, exactly once. Then ready or down follows. */
    void (*done)(struct transport_session *s, const struct transport_mail *mail,
        const struct transport_result *result, void *arg);
    /** The session is gone; `s` must not be used again. `why` is NULL for an orderly close (idle,
     * limit, transport_want()), else connection, TLS, greeting or AUTH trouble before any mail. */
    void (*down)(struct transport_session *s, const struct transport_result *why, void *arg);
    /** Asked just before the final dot (or a provider's request): false breaks the session off, and
     * the mail is DEFERRED. The instance fence. NULL = always. */
    bool (*may_commit)(void *arg);
};

/** ERR_INVALID names the setting at fault. `cpu` serves blocking work (file writes, name service). */
struct transport *transport_create(struct loop *l, struct workers *cpu,
    const struct transport_settings *settings, const struct transport_events *events, void *arg,
    struct err *err);
/** Close all sessions at once; no callback comes any more. Not from inside an event: defer it. Mails in flight are the caller's to put
 * in doubt. */
void transport_free(struct transport **t);
/** How many sessions are wanted now (≤ max_sessions). Opens missing ones, at most a few at a time,
 * with backoff after failures (1 s doubling to 60 s); idle ones above `n` are closed (QUIT). */
void transport_want(struct transport *t, unsigned n);
/**
 * The caller is about to claim a mail for this ready session. Until transport_send() or
 * transport_session_release() we do not close it and `down` does not come; if the far side closes it
 * meanwhile, transport_send() opens another connection under the same session.
 */
void transport_session_reserve(struct transport_session *s);
/** No mail was claimed after all: the session is idle again (`down` may follow, `ready` does not). */
void transport_session_release(struct transport_session *s);
/**
 * Give a ready session its mail. A connection that turns out to be closed before the far side has
 * answered to MAIL FROM is replaced once, unseen by the caller (RFC 5321 §3.8: a server may close an
 * idle session at any time).
 */
void transport_send(struct transport_session *s, const struct transport_mail *mail);
/** A slot for the caller's own data on a session. */
void transport_session_set_data(struct transport_session *s, void *data);
void *transport_session_data(const struct transport_session *s);
/** Sessions open (any state past connect). */
unsigned transport_sessions(const struct transport *t);
/** Milliseconds until the next connection attempt after failures, 0 = none is delayed. */
int64_t transport_backoff_ms(const struct transport *t);

#endif
