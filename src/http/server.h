#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct loop;
struct http_server;
struct http_request;
struct http_uri;

/**
 * HTTP/1.1 on libmicrohttpd inside our loop; the only place that knows it. All calls and callbacks are
 * in the loop thread. Ambiguous framing (two Content-Length, Content-Length with Transfer-Encoding,
 * obsolete folding, bad chunks) is answered 400 and the connection closed before any handler sees it.
 */
#define HTTP_HEAD_LATER SIZE_MAX
struct http_handlers {
    /** Request line and headers are there, the body is not. Return the largest body accepted (bytes);
     * or answer at once with http_respond() and return 0; or return HTTP_HEAD_LATER and decide with
     * http_request_accept() or http_respond(): until then no byte of the body is read. */
    size_t (*head)(struct http_request *r, void *arg);
    /** The body is complete (maybe empty). Must lead to http_respond() exactly once, now or later. */
    void (*body)(struct http_request *r, void *arg);
};

struct http_server_args {
    const char *host;      /* address to bind; NULL with unix_path */
    unsigned port;         /* 0 = any free port, see http_server_port() */
    const char *unix_path; /* a Unix socket instead, mode 0600 */
    unsigned max_connections;
    int64_t idle_timeout_ms; /* without a byte, and for a whole request head */
    int64_t deadline_ms;     /* for the body to arrive, then for the answer (else 504) */
    const char *const
        *trusted_proxies; /* addresses or CIDR blocks whose X-Forwarded-For is believed */
    size_t n_trusted_proxies;
};

/** NULL with `err` when the address is taken or wrong. Handlers are copied; `arg` is theirs. */
struct http_server *http_server_start(struct loop *l, const struct http_server_args *args,
    const struct http_handlers *handlers, void *arg, struct err *err);
unsigned http_server_port(const struct http_server *s);
/** Stop accepting; requests in work may still be answered until http_server_free(). */
void http_server_quiesce(struct http_server *s);
/** Requests whose handler has not answered yet. */
size_t http_server_in_work(const struct http_server *s);
/** Answers what is left with 503 and stops. */
void http_server_free(struct http_server **s);

/* ---- request (borrowed until the answer has been given) --------------------------------------- */
struct slice http_request_method(const struct http_request *r);
/** Percent-decoded path without query; refused earlier: NUL, invalid escapes, "..", > 8 KiB. */
struct slice http_request_path(const struct http_request *r);
/** The target taken apart: the parts of the path are decoded one by one. */
const struct http_uri *http_request_uri(const struct http_request *r);
/** Decoded value of a query parameter; p NULL when absent. A repeated one gives the first. */
struct slice http_request_query(const struct http_request *r, const char *name);
/** Walk the query: false at the end. */
bool http_request_query_next(
    const struct http_request *r, size_t *it, struct slice *name_r, struct slice *value_r);
/** Value without blanks around it; p NULL when absent. A repeated header gives the first. */
struct slice http_request_header(const struct http_request *r, const char *name);
struct slice http_request_body(const struct http_request *r);
/** Move the body out (what `out` held is freed); http_request_body() is empty afterwards. */
void http_request_take_body(struct http_request *r, struct buf *out);
struct arena *http_request_arena(struct http_request *r);
/** Client address text, from X-Forwarded-For when the peer is a trusted proxy; "local" on a Unix
 * socket. */
const char *http_request_client(struct http_request *r);
/** The client is on this machine. False when a proxy that nobody trusts speaks for somebody. */
bool http_request_is_loopback(const struct http_request *r);
bool http_request_is_local_socket(const struct http_request *r);
/** Random id of the request, 13 characters. */
const char *http_request_id(struct http_request *r);
void http_request_set_data(struct http_request *r, void *data);
void *http_request_data(const struct http_request *r);
/** After HTTP_HEAD_LATER: read the body, up to `limit_bytes`. Not from inside head(). */
void http_request_accept(struct http_request *r, size_t limit_bytes);
/** Called at most once when nobody waits any more: before the deadline answers 504, when the server
 * stops, or when the client left before its body was complete. The request must not be touched
 * afterwards. An answer, or NULL, clears it. May be set from head() on. */
void http_request_on_cancel(
    struct http_request *r, void (*fn)(struct http_request *r, void *arg), void *arg);
/** Another deadline for this request (long polls, uploads); counts from now when it waits already. */
void http_request_set_deadline(struct http_request *r, int64_t deadline_ms);

/* ---- answer ----------------------------------------------------------------------------------- */
struct http_field {
    const char *name;
    const char *value; /* no CR, LF, NUL: such a field is dropped and logged */
};

/** Answer with a copy of `body`. HEAD gets the headers only. A second answer is ignored. */
void http_respond(struct http_request *r, unsigned status, const char *content_type,
    const struct http_field *fields, size_t n_fields, struct slice body);

/** The error object every part of the daemon answers with: {"error": code, "message": text}. */
void http_respond_error(
    struct http_request *r, unsigned status, const char *code, const char *message);

/** A prebuilt answer shared by many requests (pixel, empty 404): no copy, no allocation. */
struct http_shared;
struct http_shared *http_shared_create(unsigned status, const char *content_type,
    const struct http_field *fields, size_t n_fields, struct slice body);
void http_shared_free(struct http_shared **s);
void http_respond_shared(struct http_request *r, const struct http_shared *s);
/** 302 with Location and fixed headers: the click path. */
void http_respond_redirect(struct http_request *r, struct slice location);

#endif
