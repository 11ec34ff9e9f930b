#include "http/internal.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "loop/loop.h"

/*
 * What the HTTP library calls: a connection opens or closes, a request line is there, headers are
 * complete, body bytes arrive, a request is over. Invariant: a request is on the list of its phase,
 * and its body handler is called exactly once, after head() accepted and the last body byte came.
 *
 * A refused body is read and dropped up to a bound before the answer goes out: closing a socket
 * with unread bytes resets it, and the client would never see why. The library may take an answer
 * only before the first body byte or after the last.
 */

#define TOO_LARGE "the body is larger than this route accepts"

static struct list *
list_of(struct http_server *s, enum http_phase phase)
{
    switch (phase) {
    case HTTP_BODY:
    case HTTP_DRAIN: return &s->sending;
    case HTTP_DECIDING:
    case HTTP_WORK: return &s->working;
    case HTTP_ANSWERING: return &s->answering;
    case HTTP_IDLE:
    case HTTP_HEAD: break;
    }
    return &s->idle;
}

static bool
is_with_handler(enum http_phase phase)
{
    return phase == HTTP_WORK || phase == HTTP_DECIDING;
}

void
http_conn_set_phase(struct http_request *r, enum http_phase phase)
{
    r->server->n_in_work -= is_with_handler(r->phase);
    r->server->n_in_work += is_with_handler(phase);
    r->phase = phase;
    r->since_ms = clock_mono_ms();
    list_del(&r->node);
    list_push_back(list_of(r->server, phase), &r->node);
}

static struct http_request *
conn_open(struct http_server *s, struct MHD_Connection *conn)
{
    struct http_request *r = mem_zalloc(sizeof *r);
    const union MHD_ConnectionInfo *info;

    r->server = s;
    r->conn = conn;
    info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
    r->fd = info != NULL ? info->connect_fd : -1;
    if (s->unix_path == NULL) {
        info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        r->has_peer = info != NULL && http_addr_from_sockaddr(info->client_addr, &r->peer);
    }
    list_init(&r->node);
    http_conn_set_phase(r, HTTP_IDLE);
    metric_set(s->connections, (int64_t)++s->n_connections);
    return r;
}

void
http_conn_notify(void *arg, struct MHD_Connection *conn, void **socket_context,
    enum MHD_ConnectionNotificationCode code)
{
    struct http_request *r;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = conn_open(arg, conn);
        return;
    }
    if ((r = *socket_context) == NULL)
        return;
    list_del(&r->node);
    /* At its connection limit the library stops listening, and only its next run starts again. */
    r->server->is_ready = true;
    metric_set(r->server->connections, (int64_t)--r->server->n_connections);
    mem_free(r);
    *socket_context = NULL;
}

/** The request line has been read, header lines have not. */
void *
http_conn_target(void *arg, const char *uri, struct MHD_Connection *conn)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_request *r = info != NULL ? info->socket_context : NULL;

    if (r == NULL)
        return NULL;
    r->arena = arena_create(1024);
    r->target = uri;
    r->target_n = strlen(uri);
    /* The library cuts the query up in place afterwards, so take it apart from a copy. */
    r->uri.path = arena_dup(r->arena, slice_make(uri, r->target_n));
    r->deadline_ms = r->server->deadline_ms;
    http_conn_set_phase(r, HTTP_HEAD);
    return r;
}

/** Answer before the body, and let the connection end with it. */
static enum MHD_Result
refuse_now(struct http_request *r, unsigned status, const char *code, const char *text)
{
    metric_add(r->server->refused, 1);
    r->must_close = true;
    http_respond_error(r, status, code, text);
    return http_response_queue(r);
}

/** The head handler has answered, or named the largest body. */
static enum MHD_Result
on_decided(struct http_request *r)
{
    if (!r->is_answered && r->declared_bytes > r->limit_bytes) {
        http_request_cancel(r);
        http_respond_error(r, 413, "body_too_large", TOO_LARGE);
    }
    if (!r->is_answered) {
        http_conn_set_phase(r, HTTP_BODY);
        return MHD_YES;
    }
    if (r->has_body && (r->expects_continue || r->declared_bytes > HTTP_DRAIN_BYTES)) {
        r->must_close = true;
        return http_response_queue(r);
    }
    http_conn_set_phase(r, HTTP_DRAIN);
    return MHD_YES;
}

static enum MHD_Result
on_head(struct http_request *r, const char *method, const char *version)
{
    const char *code, *text;
    struct err err = {0};
    unsigned status;

    metric_add(r->server->requests, 1);
    r->method = slice_str(method);
    if (r->server->is_closing)
        return refuse_now(r, 503, "stopping", HTTP_STOPPING);
    if ((status = http_guard_check(r, method, version, &code, &text)) != 0)
        return refuse_now(r, status, code, text);
    if (http_uri_parse(r->uri.path, r->arena, &r->uri, &err) != 0)
        return refuse_now(r, 400, "bad_request", err.text);
    r->limit_bytes = r->server->handlers.head(r, r->server->arg);
    if (r->limit_bytes == HTTP_HEAD_LATER && !r->is_answered) {
        http_conn_set_phase(r, HTTP_DECIDING);
        http_request_park(r);
        return MHD_YES;
    }
    return on_decided(r);
}

static enum MHD_Result
on_data(struct http_request *r, const char *data, size_t *data_n)
{
    r->seen_bytes += *data_n;
    if (r->phase == HTTP_BODY && r->seen_bytes > r->limit_bytes) {
        http_request_cancel(r);
        http_respond_error(r, 413, "body_too_large", TOO_LARGE);
        buf_deinit(&r->body);
        r->seen_bytes = 0;
        http_conn_set_phase(r, HTTP_DRAIN);
    }
    if (r->phase == HTTP_BODY)
        buf_append(&r->body, data, *data_n);
    else if (r->seen_bytes > HTTP_DRAIN_BYTES)
        return MHD_NO;
    *data_n = 0;
    return MHD_YES;
}

static enum MHD_Result
on_end(struct http_request *r)
{
    if (r->phase == HTTP_DRAIN)
        return http_response_queue(r);
    http_conn_set_phase(r, HTTP_WORK);
    if (r->server->is_closing) {
        http_request_cancel(r);
        http_respond_error(r, 503, "stopping", HTTP_STOPPING);
    } else {
        r->server->handlers.body(r, r->server->arg);
    }
    if (r->is_answered)
        return http_response_queue(r);
    http_request_park(r);
    return MHD_YES;
}

enum MHD_Result
http_conn_access(void *arg, struct MHD_Connection *conn, const char *url, const char *method,
    const char *version, const char *data, size_t *data_n, void **ctx)
{
    struct http_request *r = *ctx;

    if (r == NULL)
        return MHD_NO;
    switch (r->phase) {
    case HTTP_HEAD: return on_head(r, method, version);
    case HTTP_DECIDING: return r->is_suspended ? MHD_YES : on_decided(r);
    case HTTP_BODY:
    case HTTP_DRAIN: return *data_n > 0 ? on_data(r, data, data_n) : on_end(r);
    case HTTP_WORK: return r->is_answered ? http_response_queue(r) : MHD_YES;
    case HTTP_IDLE:
    case HTTP_ANSWERING: break;
    }
    return MHD_NO;
}

/** Back to the state of a connection without a request. */
static void
forget_request(struct http_request *r)
{
    if (!r->is_answered)
        http_request_cancel(r);
    loop_timer_cancel(&r->timer);
    if (r->response != NULL)
        MHD_destroy_response(r->response);
    buf_deinit(&r->body);
    arena_free(&r->arena);
    http_conn_set_phase(r, HTTP_IDLE);
    memset((char *)r + offsetof(struct http_request, target), 0,
        sizeof *r - offsetof(struct http_request, target));
}

void
http_conn_completed(
    void *arg, struct MHD_Connection *conn, void **ctx, enum MHD_RequestTerminationCode code)
{
    struct http_request *r = *ctx;

    if (r == NULL)
        return;
    if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        log_debug(NULL, "http.broken", "code=%d phase=%d", (int)code, (int)r->phase);
    forget_request(r);
    *ctx = NULL;
}

/** The library's own time-out restarts with every byte; these bounds do not. */
void
http_conn_sweep(struct http_server *s)
{
    int64_t now = clock_mono_ms();

    LIST_EACH(node, tmp, &s->idle)
    {
        struct http_request *r = LIST_ENTRY(node, struct http_request, node);

        if (now - r->since_ms <= s->idle_timeout_ms)
            break; /* the list is in order of age */
        shutdown(r->fd, SHUT_RDWR);
    }
    LIST_EACH(node, tmp, &s->sending)
    {
        struct http_request *r = LIST_ENTRY(node, struct http_request, node);

        if (now - r->since_ms > r->deadline_ms) {
            metric_add(s->late, 1);
            shutdown(r->fd, SHUT_RDWR);
        }
    }
}
