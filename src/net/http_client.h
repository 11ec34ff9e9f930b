#ifndef NET_HTTP_CLIENT_H
#define NET_HTTP_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/** One HTTP request. Strings are borrowed for the call. */
struct http_client_request {
    const char *method;      /* "GET", "POST", ... */
    const char *url;         /* http or https; with a Unix socket only its path and query count */
    const char *unix_socket; /* NULL = TCP to the host of the URL */
    const char *const *headers; /* "Name: value" each */
    size_t n_headers;
    struct slice body;     /* p NULL = no body */
    int64_t timeout_ms;    /* for the whole exchange, 0 = 30 s */
    size_t max_body_bytes; /* of the answer, 0 = 16 MiB */
};

struct http_client_response {
    int status;
    char content_type[128];
    struct buf body;
};

/**
 * Perform one request and wait for the whole answer. Blocks: for command-line tools and worker
 * threads, never in the loop. Any status is success; redirects are not followed. ERR_TEMP: no
 * connection, time-out; ERR_LIMIT: the answer is too large; ERR_INVALID: the request makes no sense.
 * The response is filled in both cases; free it with http_client_response_deinit().
 */
int http_client_perform(
    const struct http_client_request *req, struct http_client_response *res, struct err *err);
void http_client_response_deinit(struct http_client_response *res);

#endif
