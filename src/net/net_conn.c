#include "net/net_conn.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/buf.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "net/net_chain.h"
#include "net/net_tls_internal.h"

/*
 * One client connection: connecting → (handshake →) open → dead, and from open back to handshake for
 * STARTTLS. Everything happens either inside a caller's put/flush (which only ever writes) or in
 * on_ready(), the watch of the socket, where events are emitted.
 *
 * Two rules keep it small. A function called by the owner never emits an event: what it finds broken
 * is kept in `failure` and told by a timer of 0 ms. And since an event may free the connection, its
 * memory stays until the function that emits has ended: begin_events() … end_events().
 *
 * The steady state of an SMTP session costs one sendmsg and one recv per turn: a write is tried before
 * it is watched, and a short read is taken as the end of what is there, so no call returns EAGAIN.
 */

#define READ_CHUNK  4096
#define TLS_RECORD  16384
#define IOV_AT_ONCE 64

enum conn_state { CONN_CONNECTING, CONN_HANDSHAKE, CONN_OPEN, CONN_DEAD };

struct net_conn {
    struct loop *loop;
    int fd;
    struct loop_fd *watch;
    unsigned watched;
    enum conn_state state;
    SSL *ssl;
    bool is_read_blocked_on_write; /* TLS wants to write before it can read on */
    struct net_conn_events events;
    void *arg;
    bool is_emitting, is_freed; /* see end_events() */

    struct buf in;
    size_t in_off, max_input;

    struct net_chain out;
    unsigned long long written;

    struct err failure;
    struct loop_timer *failure_timer; /* tells `failure` from the loop */
    struct loop_timer *again_timer;   /* TLS holds decrypted input that no event will announce */
};

/* ---- failure ------------------------------------------------------------------------------- */

/* Stop all traffic; what was received before stays readable. */
static void
conn_die(struct net_conn *c)
{
    c->state = CONN_DEAD;
    loop_fd_del(&c->watch);
    loop_timer_cancel(&c->failure_timer);
    loop_timer_cancel(&c->again_timer);
}

static void
emit_closed(struct net_conn *c)
{
    conn_die(c);
    c->events.closed(c->failure.code != ERR_NONE ? &c->failure : NULL, c->arg);
}

static void
begin_events(struct net_conn *c)
{
    c->is_emitting = true;
}

/* True when the connection is still there. */
static bool
end_events(struct net_conn *c)
{
    c->is_emitting = false;
    if (c->is_freed)
        mem_free(c);
    else
        return true;
    return false;
}

static void on_failure(void *arg);

static void
fail_later(struct net_conn *c)
{
    if (c->failure_timer == NULL)
        c->failure_timer = loop_timer_start(c->loop, 0, on_failure, c);
}

/* ---- reading and writing ------------------------------------------------------------------- */

static void
update_watch(struct net_conn *c)
{
    unsigned want = 0;

    switch (c->state) {
    case CONN_CONNECTING: want = LOOP_WRITE; break;
    case CONN_HANDSHAKE: want = SSL_want_write(c->ssl) ? LOOP_WRITE : LOOP_READ; break;
    case CONN_OPEN:
        if (c->in.n - c->in_off < c->max_input)
            want |= LOOP_READ;
        if ((c->out.n_bytes > 0 && c->failure_timer == NULL) || c->is_read_blocked_on_write)
            want |= LOOP_WRITE;
        break;
    case CONN_DEAD: return;
    }
    if (want == c->watched)
        return;
    c->watched = want;
    loop_fd_set(c->watch, want);
}

/* Bytes taken, 0 when the kernel has no room now, -1 with c->failure. */
static ssize_t
write_plain(struct net_conn *c)
{
    struct iovec iov[IOV_AT_ONCE];
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = net_chain_iov(&c->out, iov, IOV_AT_ONCE)};
    ssize_t n;

    do
        n = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return 0;
    err_errno(&c->failure, errno, "write");
    c->failure.code = ERR_TEMP;
    return -1;
}

/* As write_plain(). Small pieces are gathered so that they share a record. A retry sees the same bytes
 * again, as OpenSSL demands, since the chain only grows at its end. */
static ssize_t
write_tls(struct net_conn *c)
{
    char record[TLS_RECORD];
    struct slice s = net_chain_head(&c->out);
    size_t done;

    if (s.n < TLS_RECORD && c->out.n_bytes > s.n)
        s = slice_make(record, net_chain_gather(&c->out, record, TLS_RECORD));
    ERR_clear_error();
    if (SSL_write_ex(c->ssl, s.p, s.n < TLS_RECORD ? s.n : TLS_RECORD, &done) == 1)
        return (ssize_t)done;
    switch (SSL_get_error(c->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return 0;
    default: return net_tls_error(c->ssl, "write", &c->failure);
    }
}

/* Write until all is gone or the kernel is full. -1 with c->failure. */
static int
write_some(struct net_conn *c)
{
    while (c->out.n_bytes > 0) {
        ssize_t n = c->ssl != NULL ? write_tls(c) : write_plain(c);

        if (n < 0)
            return -1;
        if (n == 0)
            break;
        net_chain_advance(&c->out, (size_t)n);
        c->written += (size_t)n;
    }
    return 0;
}

enum read_result { READ_NOTHING, READ_SOME, READ_END };

static enum read_result
read_plain(struct net_conn *c, size_t room)
{
    ssize_t n;

    do
        n = recv(c->fd, buf_reserve(&c->in, room), room, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        c->in.n += (size_t)n;
        return READ_SOME;
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return READ_NOTHING;
    if (n < 0 && c->failure.code == ERR_NONE) {
        err_errno(&c->failure, errno, "read");
        c->failure.code = ERR_TEMP;
    }
    return READ_END;
}

/* Reads on until OpenSSL has nothing buffered: what it read ahead no longer wakes the loop. */
static enum read_result
read_tls(struct net_conn *c)
{
    enum read_result r = READ_NOTHING;

    c->is_read_blocked_on_write = false;
    ERR_clear_error();
    while (c->in.n - c->in_off < c->max_input) {
        size_t room = c->max_input - (c->in.n - c->in_off), n;

        if (room > READ_CHUNK)
            room = READ_CHUNK;
        if (SSL_read_ex(c->ssl, buf_reserve(&c->in, room), room, &n) == 1) {
            c->in.n += n;
            r = READ_SOME;
            continue;
        }
        switch (SSL_get_error(c->ssl, 0)) {
        case SSL_ERROR_WANT_WRITE: c->is_read_blocked_on_write = true; return r;
        case SSL_ERROR_WANT_READ: return r;
        case SSL_ERROR_ZERO_RETURN: return r == READ_SOME ? r : READ_END;
        default:
            if (c->failure.code == ERR_NONE)
                net_tls_error(c->ssl, "read", &c->failure);
            if (r == READ_NOTHING)
                return READ_END;
            fail_later(c);
            return r;
        }
    }
    return r;
}

static enum read_result
read_some(struct net_conn *c)
{
    size_t unread = c->in.n - c->in_off;

    if (unread >= c->max_input)
        return READ_NOTHING;
    if (c->in_off > 0) {
        buf_consume(&c->in, c->in_off);
        c->in_off = 0;
    }
    if (c->ssl != NULL)
        return read_tls(c);
    return read_plain(c, c->max_input - unread < READ_CHUNK ? c->max_input - unread : READ_CHUNK);
}

/* ---- events -------------------------------------------------------------------------------- */

/* A write failed inside net_conn_flush(). The peer may have said why before it closed (a 421, a 552
 * in the middle of the data), so what is there is read first. */
static void
on_failure(void *arg)
{
    struct net_conn *c = arg;

    c->failure_timer = NULL;
    begin_events(c);
    while (c->state == CONN_OPEN && read_some(c) == READ_SOME)
        c->events.input(c->arg);
    if (c->state != CONN_DEAD)
        emit_closed(c);
    (void)end_events(c);
}

static void
become_open(struct net_conn *c)
{
    c->state = CONN_OPEN;
    update_watch(c);
    c->events.open(c->arg);
}

static void
ready_connecting(struct net_conn *c)
{
    int error = 0;
    socklen_t len = sizeof(error);

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error != 0) {
        err_errno(&c->failure, error, "connect");
        c->failure.code = ERR_TEMP;
        emit_closed(c);
        return;
    }
    become_open(c);
}

/* 1 = done, 0 = goes on, -1 = failed with c->failure. */
static int
handshake_step(struct net_conn *c)
{
    int rc;

    ERR_clear_error();
    rc = SSL_do_handshake(c->ssl);
    if (rc == 1)
        return 1;
    switch (SSL_get_error(c->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return 0;
    default: return net_tls_error(c->ssl, "TLS", &c->failure);
    }
}

static void
ready_handshake(struct net_conn *c)
{
    int rc = handshake_step(c);

    if (rc < 0)
        emit_closed(c);
    else if (rc == 1)
        become_open(c);
    else
        update_watch(c);
}

/* Go on with waiting output. */
static void
ready_write(struct net_conn *c)
{
    bool may = c->events.may_write == NULL || c->events.may_write(c->arg);

    if (!may || c->state == CONN_DEAD)
        return;
    if (write_some(c) != 0)
        fail_later(c);
    else if (c->out.n_bytes == 0)
        c->events.drained(c->arg);
}

static void
ready_read(struct net_conn *c)
{
    switch (read_some(c)) {
    case READ_NOTHING: break;
    case READ_SOME: c->events.input(c->arg); break;
    case READ_END: emit_closed(c); break;
    }
}

static void
on_again(void *arg)
{
    struct net_conn *c = arg;

    c->again_timer = NULL;
    if (c->state != CONN_OPEN)
        return;
    begin_events(c);
    ready_read(c);
    if (end_events(c))
        update_watch(c);
}

/* The socket of an open connection is ready. */
static void
ready_open(struct net_conn *c, unsigned events)
{
    if (c->out.n_bytes > 0 && c->failure_timer == NULL && (events & LOOP_WRITE || c->ssl != NULL))
        ready_write(c);
    if (c->state != CONN_OPEN)
        return;
    if ((events & LOOP_ERROR) && !(c->watched & LOOP_READ)) {
        err_set(&c->failure, ERR_TEMP, "connection lost");
        emit_closed(c);
    } else if (events & (LOOP_READ | LOOP_ERROR) || c->is_read_blocked_on_write) {
        ready_read(c);
    }
}

static void
on_ready(unsigned events, void *arg)
{
    struct net_conn *c = arg;

    begin_events(c);
    switch (c->state) {
    case CONN_CONNECTING: ready_connecting(c); break;
    case CONN_HANDSHAKE: ready_handshake(c); break;
    case CONN_OPEN: ready_open(c, events); break;
    case CONN_DEAD: break;
    }
    if (end_events(c))
        update_watch(c);
}

/* ---- public -------------------------------------------------------------------------------- */

struct net_conn *
net_conn_create(struct loop *l, const struct sockaddr *addr, socklen_t addr_len,
    size_t max_input_bytes, const struct net_conn_events *events, void *arg, struct err *err)
{
    int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    struct net_conn *c;

    if (fd < 0) {
        err_errno(err, errno, "socket");
        if (err != NULL)
            err->code = ERR_TEMP;
        return NULL;
    }
    c = mem_zalloc(sizeof(*c));
    c->loop = l;
    c->fd = fd;
    c->events = *events;
    c->arg = arg;
    c->max_input = max_input_bytes;
    if (addr->sa_family != AF_UNIX)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    c->watched = LOOP_WRITE;
    c->watch = loop_fd_add(l, fd, LOOP_WRITE, on_ready, c);
    if (connect(fd, addr, addr_len) != 0 && errno != EINPROGRESS) {
        err_errno(&c->failure, errno, "connect");
        c->failure.code = ERR_TEMP;
        loop_fd_del(&c->watch);
        fail_later(c);
    }
    return c;
}

void
net_conn_free(struct net_conn **cp)
{
    struct net_conn *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    conn_die(c);
    if (c->ssl != NULL) {
        ERR_clear_error();
        if (c->failure.code == ERR_NONE && SSL_is_init_finished(c->ssl))
            SSL_shutdown(c->ssl);
        SSL_free(c->ssl);
    }
    close(c->fd);
    buf_deinit(&c->in);
    net_chain_deinit(&c->out);
    if (c->is_emitting)
        c->is_freed = true;
    else
        mem_free(c);
}

int
net_conn_start_tls(struct net_conn *c, struct net_tls *tls, const char *host, struct err *err)
{
    assert(c->state == CONN_OPEN && c->out.n_bytes == 0 && c->ssl == NULL);
    if (c->in.n != c->in_off)
        return err_set(err, ERR_INVALID, "the server sent data before the TLS handshake");
    if ((c->ssl = net_tls_session(tls, c->fd, host, err)) == NULL)
        return -1;
    c->state = CONN_HANDSHAKE;
    if (handshake_step(c) < 0)
        fail_later(c);
    else
        update_watch(c);
    return 0;
}

bool
net_conn_is_tls(const struct net_conn *c)
{
    return c->ssl != NULL;
}

struct slice
net_conn_input(const struct net_conn *c)
{
    return slice_from(buf_slice(&c->in), c->in_off);
}

void
net_conn_consume(struct net_conn *c, size_t n)
{
    assert(n <= c->in.n - c->in_off);
    if (c->ssl != NULL && c->state == CONN_OPEN && c->again_timer == NULL &&
        c->in.n - c->in_off >= c->max_input && SSL_has_pending(c->ssl))
        c->again_timer = loop_timer_start(c->loop, 0, on_again, c);
    c->in_off += n;
    if (c->in_off == c->in.n) {
        buf_clear(&c->in);
        c->in_off = 0;
    }
    update_watch(c);
}

void
net_conn_put(struct net_conn *c, struct slice bytes)
{
    net_chain_copy(&c->out, bytes);
}

void
net_conn_put_ref(struct net_conn *c, struct slice bytes)
{
    net_chain_ref(&c->out, bytes);
}

void
net_conn_flush(struct net_conn *c)
{
    if (c->state != CONN_OPEN || c->failure_timer != NULL)
        return;
    if (write_some(c) != 0)
        fail_later(c);
    update_watch(c);
}

size_t
net_conn_pending(const struct net_conn *c)
{
    return c->out.n_bytes;
}

unsigned long long
net_conn_written(const struct net_conn *c)
{
    return c->written;
}
