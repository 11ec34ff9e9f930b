/*
 * The blocking HTTP client against scripted servers: what it sends, what it takes, what it refuses.
 */
#include <string.h>

#include "../support/suite.h"
#include "net/http_client.h"
#include "peer.h"

static const struct peer_step simple[] = {PEER_EXPECT("GET /a?b=c HTTP/1.1"), PEER_PREFIX("Host: "),
    PEER_PREFIX("Accept: "), PEER_EXPECT("Authorization: Bearer x"), PEER_EXPECT(""),
    PEER_SEND("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"),
    PEER_END};
static const struct peer_step posted[] = {PEER_EXPECT("POST /p HTTP/1.1"), PEER_PREFIX("Host: "),
    PEER_PREFIX("Accept: "), PEER_EXPECT("Content-Type: application/json"),
    PEER_EXPECT("Content-Length: 7"), PEER_EXPECT(""), PEER_READ(7),
    PEER_SEND("HTTP/1.1 409 Conflict\r\nConnection: close\r\n\r\nno"), PEER_CLOSE, PEER_END};
static const struct peer_step large[] = {PEER_PREFIX("GET / "),
    PEER_SEND(
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789012345678901234567890123456789"),
    PEER_DRAIN, PEER_END};
static const struct peer_step silent[] = {PEER_PREFIX("GET / "), PEER_DRAIN, PEER_END};
static const struct peer_step redirect[] = {PEER_PREFIX("GET / "),
    PEER_SEND("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"),
    PEER_DRAIN, PEER_END};

static const struct http_case {
    const char *name;
    const struct peer_step *steps; /* NULL = nobody listens */
    const char *method, *path, *header, *body;
    size_t max_body_bytes;
    int64_t timeout_ms;
    int rc, status;
    enum err_code code;
    const char *answer;
} cases[] = {
    {"GET", simple, "GET", "/a?b=c", "Authorization: Bearer x", NULL, 0, 0, 0, 200, ERR_NONE, "{}"},
    {"POST", posted, "POST", "/p", "Content-Type: application/json", "{\"a\":1}", 0, 0, 0, 409,
        ERR_NONE, "no"},
    {"too large", large, "GET", "/", NULL, NULL, 30, 0, -1, 200, ERR_LIMIT, NULL},
    {"time-out", silent, "GET", "/", NULL, NULL, 0, 200, -1, 0, ERR_TEMP, NULL},
    {"redirect is not followed", redirect, "GET", "/", NULL, NULL, 0, 0, 0, 302, ERR_NONE, ""},
    {"nobody listens", NULL, "GET", "/", NULL, NULL, 0, 0, -1, 0, ERR_TEMP, NULL},
};

START_TEST(test_cases)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct http_case *c = &cases[i];
        struct peer *peer = c->steps != NULL ? peer_start("127.0.0.1", c->steps) : NULL;
        struct http_client_request req = {.method = c->method,
            .headers = &c->header,
            .n_headers = c->header != NULL,
            .body = slice_str(c->body),
            .timeout_ms = c->timeout_ms,
            .max_body_bytes = c->max_body_bytes};
        struct http_client_response res;
        struct err err = {0};
        const char *failure = NULL;
        char url[200];

        snprintf(
            url, sizeof(url), "http://127.0.0.1:%u%s", peer != NULL ? peer_port(peer) : 1, c->path);
        req.url = url;
        ck_assert_msg(http_client_perform(&req, &res, &err) == c->rc, "%s: %s", c->name, err.text);
        ck_assert_msg(res.status == c->status, "%s: %d", c->name, res.status);
        ck_assert_int_eq(err.code, c->code);
        if (c->answer != NULL)
            ck_assert_str_eq(res.body.n > 0 ? buf_cstr(&res.body) : "", c->answer);
        if (peer != NULL)
            failure = peer_finish(&peer);
        ck_assert_msg(failure == NULL, "%s: %s", c->name, failure);
        http_client_response_deinit(&res);
    }
}
END_TEST

START_TEST(test_no_request)
{
    static const char *const urls[] = {"file:///etc/passwd", "gopher://127.0.0.1/", "http://", ""};
    struct http_client_request req = {.method = "GET"};
    struct http_client_response res;
    struct err err;

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        req.url = urls[i];
        ck_assert_int_eq(http_client_perform(&req, &res, &err), -1);
        ck_assert_msg(err.code == ERR_INVALID, "%s: %s", urls[i], err.text);
        http_client_response_deinit(&res);
    }
    req.url = "http://localhost/x";
    req.unix_socket = "/nonexistent/control.sock";
    ck_assert_int_eq(http_client_perform(&req, &res, &err), -1);
    ck_assert_int_eq(err.code, ERR_TEMP);
    http_client_response_deinit(&res);
}
END_TEST

SUITE_MAIN("http_client", test_cases, test_no_request)
