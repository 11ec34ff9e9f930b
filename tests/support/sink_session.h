#ifndef SUPPORT_SINK_SESSION_H
#define SUPPORT_SINK_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/heap.h"
#include "base/list.h"
#include "sink_rules.h"

/** What all sessions share. */
struct sink {
    int epoll_fd, log_fd; /* log_fd -1 = no log */
    const char *store_dir;
    int64_t delay_ms, rt_delay_ms;
    bool has_extensions;
    const char *auth; /* base64 of NUL user NUL password; NULL = no AUTH */
    struct sink_rules *rules;
    struct heap timers;
    struct list sessions;
    /* counters */
    uint64_t n_mails, n_recipients, n_bytes, n_refused, n_dropped, n_connections;
    unsigned n_sessions, max_sessions;
    uint64_t n_stored;
};

struct sink_session;

/** Milliseconds of the wall clock, and of the monotonic clock that timers use. */
int64_t sink_wall_ms(void);
int64_t sink_mono_ms(void);

/** Take over a connected, non-blocking socket and greet. */
void sink_session_start(struct sink *sink, int fd);
/** The socket is ready (events of epoll_wait). */
void sink_session_ready(struct sink_session *s, unsigned events);
/** Run what is due; returns milliseconds until the next timer, -1 = none. */
int sink_sessions_tick(struct sink *sink);
/** Close every session as a dying server would. */
void sink_sessions_kill(struct sink *sink);

#endif
