#ifndef TRANSPORT_TRANSPORT_INTERNAL_H
#define TRANSPORT_TRANSPORT_INTERNAL_H

#include "base/list.h"
#include "transport/transport.h"

struct loop_timer;

/**
 * What all kinds of transport share: the sessions, how many are wanted, backoff, and the events. A kind
 * embeds `struct transport` and `struct transport_session` as first members of its own.
 */
enum session_state {
    SESSION_OPENING,  /* not ready for its first mail yet */
    SESSION_READY,    /* the caller may reserve it or give it a mail */
    SESSION_RESERVED, /* the caller is claiming a mail for it */
    SESSION_BUSY,     /* has a mail */
    SESSION_GONE      /* `down` was told; waits to be freed */
};

struct transport_session {
    struct list node; /* on t->sessions, or on t->gone */
    struct transport *t;
    enum session_state state;
    const struct transport_mail *mail; /* SESSION_BUSY */
    bool is_proven;                    /* a mail got an answer here */
    bool is_hasty;                     /* the far side closed it as soon as it was ready */
    bool is_leaving;                   /* GONE, but still saying good-bye: not to be freed yet */
    void *data;
};

/** A kind of transport. None of these may call an event before it has returned. */
struct transport_ops {
    /** A new session that starts opening; linked in by the caller. */
    struct transport_session *(*open)(struct transport *t);
    void (*send)(struct transport_session *s);
    /** Close an idle session in order; it calls transport_session_gone(). In the loop. */
    void (*close)(struct transport_session *s);
    /** Reserved or released, or the idle time should start again. May be NULL. */
    void (*touch)(struct transport_session *s);
    /** Release at once, in whatever state. */
    void (*free_session)(struct transport_session *s);
    void (*free)(struct transport *t);
};

struct transport {
    const struct transport_ops *ops;
    struct loop *loop;
    struct workers *cpu;
    struct transport_events events;
    void *arg;
    unsigned max_sessions, max_mails_per_session;
    unsigned want;
    struct list sessions, gone;
    unsigned n_sessions, n_opening;
    /* Backoff: consecutive failures, and no attempt before that time. */
    unsigned failures;
    int64_t retry_at_ms;
    /* The relay's own limit on sessions, learnt from refusals; 0 = none known. */
    unsigned relay_limit;
    int64_t relay_limit_until_ms;
    struct loop_timer *adjust_timer;
    int64_t adjust_at_ms;
};

/** Set up the shared part. */
void transport_setup(struct transport *t, const struct transport_ops *ops, struct loop *l,
    struct workers *cpu, const struct transport_settings *settings,
    const struct transport_events *events, void *arg);

/* The following emit events and are called from loop callbacks only. */

/** The session may take a mail: READY, and `ready` is told. */
void transport_session_up(struct transport_session *s);
/** The session's mail has its result: `done` is told. Then transport_session_up() or _gone(). */
void transport_session_done(struct transport_session *s, const struct transport_result *result);
/** The session is over: `down` is told, and its memory goes at a later turn of the loop. */
void transport_session_gone(struct transport_session *s, const struct transport_result *why);
/** A session that was still saying good-bye (is_leaving) has ended. */
void transport_session_left(struct transport_session *s);
/** Does the instance fence let a mail be committed now? */
bool transport_may_commit(const struct transport *t);

struct transport *transport_capture_create(struct loop *l, struct workers *cpu,
    const struct transport_settings *settings, const struct transport_events *events, void *arg,
    struct err *err);
struct transport *transport_smtp_create(struct loop *l, struct workers *cpu,
    const struct transport_settings *settings, const struct transport_events *events, void *arg,
    struct err *err);

#endif
