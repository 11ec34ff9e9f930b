#ifndef HTTP_INTERNAL_H
#define HTTP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <microhttpd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/list.h"
#include "base/slice.h"
#include "http/proxy.h"
#include "http/server.h"
#include "http/uri.h"

/* Shared by the files of http/ only. */

struct metric;

/** Request line and headers together. A good part of the connection's pool must stay free for the
 * head of the answer. */
#define HTTP_HEAD_BYTES 6144
/** A refused body is read to its end and thrown away up to here, so that the client gets to read
 * the answer; beyond, the connection is closed. */
#define HTTP_DRAIN_BYTES 1048576u

/**
 * Life of a request. A connection has one, used again for each request on it.
 *
 *   IDLE ── request line ──► HEAD ── headers ──► BODY ── last byte ──► WORK ──► ANSWERING ──► IDLE
 *                           (DECIDING) └────────► DRAIN (refused) ───────────────────┘
 */
enum http_phase {
    HTTP_IDLE,     /* nothing, or an incomplete head, has arrived */
    HTTP_HEAD,     /* request line is there */
    HTTP_DECIDING, /* the head handler will say later: suspended */
    HTTP_BODY,     /* accepted by the head handler, body arriving */
    HTTP_DRAIN,    /* answer is known, the rest of the body is read and dropped */
    HTTP_WORK,     /* with the body handler; suspended unless it answers at once */
    HTTP_ANSWERING /* the library is sending */
};

struct http_request {
    struct http_server *server;
    struct MHD_Connection *conn;
    enum http_phase phase;
    struct list node; /* on a list of the server, by phase */
    int64_t since_ms; /* monotonic: start of the phase */
    int fd;           /* owned by the library; only ever shut down */
    /* peer */
    struct http_addr peer;
    bool has_peer; /* false on a Unix socket */
    /* one request */
    const char *target; /* in the library's memory, as it came */
    size_t target_n;
    struct arena *arena;
    struct http_uri uri;
    struct slice method;
    const char *client; /* NULL until asked for */
    char id[ID_TEXT_SIZE];
    void *data;
    void (*on_cancel)(struct http_request *r, void *arg);
    void *cancel_arg;
    int64_t deadline_ms;
    struct loop_timer *timer;
    bool is_suspended;
    /* body */
    bool has_body, is_chunked, expects_continue;
    uint64_t declared_bytes; /* Content-Length */
    uint64_t seen_bytes;
    size_t limit_bytes;
    struct buf body;
    /* answer */
    bool is_answered, must_close;
    unsigned status;
    struct MHD_Response *response;    /* made for this request, or NULL */
    const struct http_shared *shared; /* or this one */
};

#define HTTP_STOPPING "the server is stopping"

struct http_server {
    struct loop *loop;
    struct MHD_Daemon *mhd;
    struct loop_fd *watch;
    int listen_fd; /* ours again after quiesce, else -1 */
    struct http_handlers handlers;
    void *arg;
    struct http_proxies *trusted;
    char *unix_path;
    unsigned port;
    int64_t idle_timeout_ms, deadline_ms;
    int64_t run_at_ms; /* the library wants to run then; -1 = when its descriptor says so */
    bool is_ready;     /* descriptor fired, or a connection was resumed */
    bool is_stopping;
    bool is_closing;     /* nothing more may wait: a suspended connection would end the process */
    struct list idle;    /* IDLE and HEAD, oldest first */
    struct list sending; /* BODY and DRAIN, oldest first */
    struct list working; /* DECIDING and WORK: with a handler */
    struct list answering;
    struct loop_timer *sweep;
    size_t n_in_work, n_connections;
    struct metric *requests, *refused, *late, *connections;
};

/* listen.c */
int http_listen_tcp(const char *host, unsigned port, unsigned *port_r, struct err *err);
int http_listen_unix(const char *path, struct err *err);

/* conn.c: what the library calls */
void http_conn_notify(void *arg, struct MHD_Connection *conn, void **socket_context,
    enum MHD_ConnectionNotificationCode code);
void *http_conn_target(void *arg, const char *uri, struct MHD_Connection *conn);
enum MHD_Result http_conn_access(void *arg, struct MHD_Connection *conn, const char *url,
    const char *method, const char *version, const char *data, size_t *data_n, void **ctx);
void http_conn_completed(
    void *arg, struct MHD_Connection *conn, void **ctx, enum MHD_RequestTerminationCode code);
/** Move to the list of the phase. */
void http_conn_set_phase(struct http_request *r, enum http_phase phase);
/** Shut down connections that trickle; called about once a second. */
void http_conn_sweep(struct http_server *s);

/* request.c */
/** Park until http_respond(): suspends the connection and arms the deadline. */
void http_request_park(struct http_request *r);
/** Undo it, if parked: the library goes on with the request in its next run. */
void http_request_unpark(struct http_request *r);
/** Tell the handler, once, that nobody waits for its answer any more. */
void http_request_cancel(struct http_request *r);

/* guard.c */
/**
 * Decide about framing before anything trusts it. `method` and `version` are the library's
 * pointers. Fills has_body, is_chunked, declared_bytes, expects_continue. Returns 0, or an HTTP
 * status with a code and text for the error body.
 */
unsigned http_guard_check(struct http_request *r, const char *method, const char *version,
    const char **code_r, const char **text_r);

/* response.c */
/** Hand the stored answer to the library; the phase becomes ANSWERING. */
enum MHD_Result http_response_queue(struct http_request *r);

#endif
