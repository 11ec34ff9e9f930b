#ifndef SUPPORT_HTTP_WORLD_H
#define SUPPORT_HTTP_WORLD_H

#include <stdbool.h>

#include "http/server.h"
#include "support/http_raw.h"

#define BODY_LIMIT 100000u
#define HOST       "Host: t\r\n"
#define CHUNKED    "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"

/**
 * A server with a handler whose behaviour is chosen by the path: /refuse answers 401 before the
 * body, /later decides later, /watch asks to hear when the client leaves, /park answers later,
 * /pixel gives a shared answer, /go redirects, /inject tries to smuggle a header; everything else is
 * an echo. What waits is in `parked`.
 */
struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct http_request *parked;
    struct http_shared *pixel;
    unsigned n_head, n_body, n_cancelled;
    bool is_loopback;
    char client[64];
};

/** Members of `extra` that are 0 get defaults: any free port on loopback, long limits. */
void setup(struct fixture *f, const struct http_server_args *extra);
void teardown(struct fixture *f);
/** One request on a connection of its own. */
void fetch(struct fixture *f, const char *request, bool is_head, struct raw_answer *a_r);
/** Turn the loop until a request waits. */
void turn_until_parked(struct fixture *f);
extern const struct http_handlers fixture_handlers;
extern const struct http_server_args plain;

#endif
