#ifndef NET_NET_CONN_H
#define NET_NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/slice.h"

struct loop;
struct net_conn;
struct net_tls;

/** All come in the loop, never from inside a function of this module but net_conn's own events. Any of
 * them may free the connection. */
struct net_conn_events {
    /** TCP is connected, and TLS is set up if it was asked for (again after net_conn_start_tls()). */
    void (*open)(void *arg);
    /** New bytes are in net_conn_input(). */
    void (*input)(void *arg);
    /** The output that had to wait has gone to the kernel. Not called for output that needed no
     * waiting: ask net_conn_pending(). */
    void (*drained)(void *arg);
    /** Asked before waiting output is tried again; false keeps it back, and the caller is expected to
     * free the connection. NULL = always. */
    bool (*may_write)(void *arg);
    /** The connection is over; comes once, and input that came before it can still be read. `why` is
     * NULL when the peer closed in order, else what broke. */
    void (*closed)(const struct err *why, void *arg);
};

/**
 * A buffered, non-blocking stream connection as a client, plain or TLS. Output is a chain of slices
 * given to the kernel with writev: small pieces are copied, large ones borrowed. Input is bounded by
 * `max_input_bytes`: nothing more is read until the caller has consumed. The caller keeps time-outs.
 * Starts connecting to `addr` at once. ERR_TEMP when no socket can be had.
 */
struct net_conn *net_conn_create(struct loop *l, const struct sockaddr *addr, socklen_t addr_len,
    size_t max_input_bytes, const struct net_conn_events *events, void *arg, struct err *err);
/** Close at once; no event comes any more. NULL inside is accepted. */
void net_conn_free(struct net_conn **c);

/**
 * Begin TLS as the client of `host`; `open` or `closed` follows. Plain input that is still unread is
 * ERR_INVALID: it was sent before the handshake and cannot be trusted (RFC 3207 §6). Waiting output is
 * a programming mistake.
 */
int net_conn_start_tls(struct net_conn *c, struct net_tls *tls, const char *host, struct err *err);
bool net_conn_is_tls(const struct net_conn *c);

/** Bytes received and not consumed; valid until the next event or net_conn_consume(). */
struct slice net_conn_input(const struct net_conn *c);
void net_conn_consume(struct net_conn *c, size_t n);

/** Add to the output, by copy or by reference (the bytes must stay until net_conn_pending() is 0).
 * Nothing is written before net_conn_flush(). */
void net_conn_put(struct net_conn *c, struct slice bytes);
void net_conn_put_ref(struct net_conn *c, struct slice bytes);
/** Write what the kernel takes; the rest follows as it drains. Errors come as `closed`. */
void net_conn_flush(struct net_conn *c);
/** Bytes put and not yet taken by the kernel. With TLS a record counts until all of it is taken. */
size_t net_conn_pending(const struct net_conn *c);
/** Total bytes taken by the kernel so far, as a sign of progress. */
unsigned long long net_conn_written(const struct net_conn *c);

#endif
