#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/server.h"
#include "http/uri.h"
#include "loop/loop.h"
#include "support/http_raw.h"
#include "support/suite.h"

/*
 * The server over raw sockets: framing byte by byte, early answers, bodies and their limits,
 * suspension, deadlines and cancellation, stop. The handler under test is a small echo whose
 * behaviour is chosen by the path.
 */

#define BODY_LIMIT 100000u

struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct http_request *parked;
    struct http_shared *pixel;
    unsigned n_head, n_body, n_cancelled;
    bool is_loopback;
    char client[64];
};

static void
on_cancel(struct http_request *r, void *arg)
{
    struct fixture *f = arg;

    ck_assert_ptr_eq(f->parked, r);
    f->parked = NULL;
    f->n_cancelled++;
}

static void
park(struct fixture *f, struct http_request *r)
{
    f->parked = r;
    http_request_on_cancel(r, on_cancel, f);
}

static size_t
head(struct http_request *r, void *arg)
{
    struct fixture *f = arg;
    struct slice path = http_request_path(r);

    f->n_head++;
    f->is_loopback = http_request_is_loopback(r);
    snprintf(f->client, sizeof f->client, "%s", http_request_client(r));
    if (slice_eq_str(path, "/refuse")) {
        http_respond_error(r, 401, "unauthorized", "no");
        return 0;
    }
    if (slice_eq_str(path, "/later")) {
        park(f, r);
        return HTTP_HEAD_LATER;
    }
    if (slice_eq_str(path, "/watch"))
        park(f, r);
    return BODY_LIMIT;
}

static void
body(struct http_request *r, void *arg)
{
    struct fixture *f = arg;
    struct slice path = http_request_path(r), query = http_request_query(r, "q");
    const struct http_field fields[] = {
        {"X-Method", arena_cstr(http_request_arena(r), http_request_method(r))},
        {"X-Query", query.n > 0 ? arena_cstr(http_request_arena(r), query) : NULL},
        {"X-Bad", slice_eq_str(path, "/inject") ? "a\r\nX-Evil: 1" : NULL},
    };

    f->n_body++;
    if (slice_eq_str(path, "/pixel"))
        http_respond_shared(r, f->pixel);
    else if (slice_eq_str(path, "/park"))
        park(f, r);
    else if (slice_eq_str(path, "/go"))
        http_respond_redirect(r, http_request_query(r, "to"));
    else
        http_respond(r, 200, "text/plain", fields, 3, http_request_body(r));
}

static void
setup(struct fixture *f, const struct http_server_args *extra)
{
    static const struct http_handlers handlers = {head, body};
    static const struct http_field gif[] = {{"Cache-Control", "no-store"}};
    struct http_server_args args = *extra;
    struct err err = {0};

    *f = (struct fixture){0};
    f->loop = loop_create();
    f->pixel = http_shared_create(200, "image/gif", gif, 1, SLICE_LIT("GIF89a"));
    if (args.host == NULL && args.unix_path == NULL)
        args.host = "127.0.0.1";
    if (args.idle_timeout_ms == 0)
        args.idle_timeout_ms = 20000;
    if (args.deadline_ms == 0)
        args.deadline_ms = 10000;
    f->server = http_server_start(f->loop, &args, &handlers, f, &err);
    ck_assert_msg(f->server != NULL, "%s", err.text);
}

static void
teardown(struct fixture *f)
{
    http_server_free(&f->server);
    http_shared_free(&f->pixel);
    loop_free(&f->loop);
}

static const struct http_server_args plain = {0};

#define HOST "Host: t\r\n"

/* ---- framing ---------------------------------------------------------------------------------- */

struct framing {
    const char *name, *bytes;
    size_t n;        /* 0 = strlen */
    unsigned status; /* 0 = closed without a word */
    bool closes;
    unsigned bodies; /* calls of the body handler */
};

#define CHUNKED  "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
#define BYTES(s) s, sizeof(s) - 1

static const struct framing framings[] = {
    {"plain", BYTES("GET / HTTP/1.1\r\n" HOST "\r\n"), 200, false, 1},
    {"no blank behind colon", BYTES("GET / HTTP/1.1\r\nHost:t\r\nX-A:1\r\n\r\n"), 200, false, 1},
    {"many blanks", BYTES("GET / HTTP/1.1\r\nHost: \t t \t\r\nX-A:\r\nX-B: \r\n\r\n"), 200, false,
        1},
    {"empty lines first", BYTES("\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n"), 200, false, 1},
    {"http/1.0", BYTES("GET / HTTP/1.0\r\n\r\n"), 200, true, 1},
    {"absolute form", BYTES("GET http://t/x?q=1 HTTP/1.1\r\n" HOST "\r\n"), 200, false, 1},
    {"length", BYTES("POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc"), 200, false, 1},
    {"body of a GET", BYTES("GET / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc"), 200, false,
        1},
    {"chunks", BYTES(CHUNKED "3\r\nabc\r\n0\r\n\r\n"), 200, true, 1},
    {"chunk extension", BYTES(CHUNKED "3;a=b\r\nabc\r\n0\r\n\r\n"), 200, true, 1},
    {"trailer", BYTES(CHUNKED "3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n"), 200, true, 1},

    {"two lengths",
        BYTES("POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde"),
        400, true, 0},
    {"two equal lengths",
        BYTES("POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\ncontent-length: 3\r\n\r\nabc"), 400,
        true, 0},
    {"length list", BYTES("POST / HTTP/1.1\r\n" HOST "Content-Length: 3, 3\r\n\r\nabc"), 400, true,
        0},
    {"signed length", BYTES("POST / HTTP/1.1\r\n" HOST "Content-Length: +3\r\n\r\nabc"), 400, true,
        0},
    {"negative length", BYTES("POST / HTTP/1.1\r\n" HOST "Content-Length: -3\r\n\r\nabc"), 400,
        true, 0},
    {"hex length", BYTES("POST / HTTP/1.1\r\n" HOST "Content-Length: 0x3\r\n\r\nabc"), 400, true,
        0},
    {"empty length", BYTES("POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\nabc"), 400, true, 0},
    {"length beyond 64 bits",
        BYTES("POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\na"), 413,
        true, 0},
    {"length and chunked",
        BYTES("POST / HTTP/1.1\r\n" HOST
              "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        400, true, 0},
    {"chunked and length",
        BYTES("POST / HTTP/1.1\r\n" HOST
              "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"),
        400, true, 0},
    {"two encodings",
        BYTES("POST / HTTP/1.1\r\n" HOST
              "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        400, true, 0},
    {"encoding list",
        BYTES("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), 400,
        true, 0},
    {"unknown encoding",
        BYTES("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), 400, true,
        0},
    {"chunked in 1.0", BYTES("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400,
        true, 0},
    {"folded header", BYTES("GET / HTTP/1.1\r\n" HOST "X-A: 1\r\n 2\r\nX-B: 3\r\n\r\n"), 400, true,
        0},
    {"folded last header", BYTES("GET / HTTP/1.1\r\n" HOST "X-A: 1\r\n\t2\r\n\r\n"), 400, true, 0},
    {"folded encoding",
        BYTES("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"), 400,
        true, 0},
    {"fold before any header", BYTES("GET / HTTP/1.1\r\n X-A: 1\r\n" HOST "\r\n"), 400, true, 0},
    {"fold and bare LF that cancel out", BYTES("GET / HTTP/1.1\nHost: t\nA: 1\r\n 2\nB: 3\r\n\r\n"),
        400, true, 0},
    {"bare LF everywhere", BYTES("GET / HTTP/1.1\nHost: t\n\n"), 400, true, 0},
    {"bare LF in one line", BYTES("GET / HTTP/1.1\r\nHost: t\nX: y\r\n\r\n"), 400, true, 0},
    {"bare LF at the end", BYTES("GET / HTTP/1.1\r\nHost: t\r\n\n"), 400, true, 0},
    {"bare CR in a value", BYTES("GET / HTTP/1.1\r\nHost: t\rX: y\r\n\r\n"), 400, true, 0},
    {"NUL in a value", BYTES("GET / HTTP/1.1\r\nHost: t\0u\r\nX: y\r\n\r\n"), 400, true, 0},
    {"NUL in a name", BYTES("GET / HTTP/1.1\r\n" HOST "X\0Y: y\r\n\r\n"), 400, true, 0},
    {"control character in a value", BYTES("GET / HTTP/1.1\r\n" HOST "X: a\x01\r\n\r\n"), 400, true,
        0},
    {"blank before the colon", BYTES("GET / HTTP/1.1\r\n" HOST "X-A : 1\r\n\r\n"), 400, true, 0},
    {"name that is no token", BYTES("GET / HTTP/1.1\r\n" HOST "X(A): 1\r\n\r\n"), 400, true, 0},
    {"line without colon", BYTES("GET / HTTP/1.1\r\n" HOST "nonsense\r\n\r\n"), 400, true, 0},
    {"empty name", BYTES("GET / HTTP/1.1\r\n" HOST ": 1\r\n\r\n"), 400, true, 0},
    {"two blanks in the request line", BYTES("GET  / HTTP/1.1\r\n" HOST "\r\n"), 400, true, 0},
    {"blank in the target", BYTES("GET /a b HTTP/1.1\r\n" HOST "\r\n"), 0, true, 0},
    {"tab in the request line", BYTES("GET\t/\tHTTP/1.1\r\n" HOST "\r\n"), 0, true, 0},
    {"no host", BYTES("GET / HTTP/1.1\r\nX: y\r\n\r\n"), 400, true, 0},
    {"two hosts", BYTES("GET / HTTP/1.1\r\n" HOST "Host: u\r\n\r\n"), 400, true, 0},
    {"http/2.0", BYTES("GET / HTTP/2.0\r\n" HOST "\r\n"), 505, true, 0},
    {"bad escape", BYTES("GET /%zz HTTP/1.1\r\n" HOST "\r\n"), 400, true, 0},
    {"NUL escape", BYTES("GET /%00 HTTP/1.1\r\n" HOST "\r\n"), 400, true, 0},
    {"dot dot", BYTES("GET /a/%2e%2e/b HTTP/1.1\r\n" HOST "\r\n"), 400, true, 0},
    {"TRACE", BYTES("TRACE / HTTP/1.1\r\n" HOST "\r\n"), 405, true, 0},
    {"CONNECT", BYTES("CONNECT t:80 HTTP/1.1\r\n" HOST "\r\n"), 405, true, 0},
    {"unknown method", BYTES("BREW / HTTP/1.1\r\n" HOST "\r\n"), 501, true, 0},
    {"lower-case method", BYTES("get / HTTP/1.1\r\n" HOST "\r\n"), 501, true, 0},
    {"unknown expectation",
        BYTES("POST / HTTP/1.1\r\n" HOST "Expect: magic\r\nContent-Length: 1\r\n\r\n"), 417, true,
        0},

    {"chunk size 0x3", BYTES(CHUNKED "0x3\r\nabc\r\n0\r\n\r\n"), 400, true, 0},
    {"chunk size +3", BYTES(CHUNKED "+3\r\nabc\r\n0\r\n\r\n"), 400, true, 0},
    {"chunk size -3", BYTES(CHUNKED "-3\r\nabc\r\n0\r\n\r\n"), 400, true, 0},
    {"blank before chunk size", BYTES(CHUNKED " 3\r\nabc\r\n0\r\n\r\n"), 400, true, 0},
    {"no chunk size", BYTES(CHUNKED "\r\nabc\r\n0\r\n\r\n"), 400, true, 0},
    {"chunk size zz", BYTES(CHUNKED "zz\r\nabc\r\n0\r\n\r\n"), 400, true, 0},
    {"chunk longer than its size", BYTES(CHUNKED "3\r\nabcX\r\n0\r\n\r\n"), 400, true, 0},
    {"chunk size beyond 64 bits", BYTES(CHUNKED "fffffffffffffffff\r\nabc\r\n0\r\n\r\n"), 413, true,
        0},
    {"bare CR behind chunk size", BYTES(CHUNKED "3\rXabc\r\n0\r\n\r\n"), 400, true, 0},
};

static void
check_framing(const struct framing *c, bool trickle)
{
    struct fixture f;
    struct raw raw;
    struct raw_answer a;

    setup(&f, &plain);
    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    for (size_t i = 0; i < c->n; i += trickle ? 1 : c->n)
        if (!raw_send(&raw, slice_make(c->bytes + i, trickle ? 1 : c->n)))
            break; /* refused before the end: the answer says so */
    raw_read(&raw, false, &a);
    ck_assert_msg(a.status == c->status, "%s: got %u", c->name, a.status);
    ck_assert_msg(f.n_body == c->bodies, "%s: %u bodies", c->name, f.n_body);
    raw_answer_deinit(&a);
    if (c->closes) {
        ck_assert_msg(raw_wait_eof(&raw), "%s: still open", c->name);
        ck_assert_msg(
            slice_find(buf_slice(&raw.in), SLICE_LIT(" 200 ")) < 0, "%s: goes on", c->name);
    } else {
        ck_assert(raw_send_str(&raw, "GET /again HTTP/1.1\r\n" HOST "\r\n"));
        raw_read(&raw, false, &a);
        ck_assert_msg(a.status == 200, "%s: second request got %u", c->name, a.status);
        raw_answer_deinit(&a);
    }
    raw_close(&raw);
    teardown(&f);
}

START_TEST(framing_whole)
{
    for (size_t i = 0; i < sizeof framings / sizeof framings[0]; i++)
        check_framing(&framings[i], false);
}
END_TEST

START_TEST(framing_byte_by_byte)
{
    for (size_t i = 0; i < sizeof framings / sizeof framings[0]; i++)
        check_framing(&framings[i], true);
}
END_TEST

/** Whatever follows a chunked request on its connection is never a request. */
START_TEST(chunked_is_last)
{
    struct fixture f;
    struct raw raw;
    struct raw_answer a;

    setup(&f, &plain);
    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    ck_assert(raw_send_str(&raw, CHUNKED "3\nabc\n0\n\nGET /smuggled HTTP/1.1\r\n" HOST "\r\n"));
    raw_read(&raw, false, &a);
    ck_assert(raw_wait_eof(&raw));
    ck_assert_uint_eq(raw.in.n, 0);
    ck_assert_uint_le(f.n_body, 1);
    raw_answer_deinit(&a);
    raw_close(&raw);
    teardown(&f);
}
END_TEST

/* ---- requests and answers ---------------------------------------------------------------------- */

/** One request on a connection of its own. */
static void
fetch(struct fixture *f, const char *request, bool is_head, struct raw_answer *a_r)
{
    struct raw raw;

    raw_open_tcp(&raw, f->loop, http_server_port(f->server));
    ck_assert(raw_send_str(&raw, request));
    raw_read(&raw, is_head, a_r);
    raw_close(&raw);
}

START_TEST(echo_and_fields)
{
    struct fixture f;
    struct raw_answer a;

    setup(&f, &plain);
    fetch(&f, "PUT /x?q=a%20b+c HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", false, &a);
    ck_assert_uint_eq(a.status, 200);
    ck_assert(slice_eq_str(buf_slice(&a.body), "hello"));
    ck_assert(slice_eq_str(raw_header(&a, "X-Method"), "PUT"));
    ck_assert(slice_eq_str(raw_header(&a, "X-Query"), "a b c"));
    ck_assert(slice_eq_str(raw_header(&a, "Content-Type"), "text/plain"));
    raw_answer_deinit(&a);
    fetch(&f, "GET /inject HTTP/1.1\r\n" HOST "\r\n", false, &a);
    ck_assert_uint_eq(a.status, 200);
    ck_assert_ptr_null(raw_header(&a, "X-Evil").p);
    ck_assert_ptr_null(raw_header(&a, "X-Bad").p);
    raw_answer_deinit(&a);
    fetch(&f, "GET /go?to=https://example.com/%0d%0aX-Evil:1 HTTP/1.1\r\n" HOST "\r\n", false, &a);
    ck_assert_uint_eq(a.status, 302);
    ck_assert_ptr_null(raw_header(&a, "Location").p);
    ck_assert_ptr_null(raw_header(&a, "X-Evil").p);
    raw_answer_deinit(&a);
    fetch(&f, "GET /go?to=https://example.com/a HTTP/1.1\r\n" HOST "\r\n", false, &a);
    ck_assert(slice_eq_str(raw_header(&a, "Location"), "https://example.com/a"));
    raw_answer_deinit(&a);
    teardown(&f);
}
END_TEST

START_TEST(head_has_no_body)
{
    struct fixture f;
    struct raw raw;
    struct raw_answer a;

    setup(&f, &plain);
    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    ck_assert(raw_send_str(
        &raw, "HEAD /pixel HTTP/1.1\r\n" HOST "\r\nGET /pixel HTTP/1.1\r\n" HOST "\r\n"));
    raw_read(&raw, true, &a);
    ck_assert_uint_eq(a.status, 200);
    ck_assert(slice_eq_str(raw_header(&a, "Content-Length"), "6"));
    raw_answer_deinit(&a);
    raw_read(&raw, false, &a);
    ck_assert(slice_eq_str(buf_slice(&a.body), "GIF89a"));
    raw_answer_deinit(&a);
    raw_close(&raw);
    teardown(&f);
}
END_TEST

START_TEST(pipelined_in_order)
{
    struct fixture f;
    struct raw raw;
    struct raw_answer a;
    struct buf many = BUF_INIT;

    setup(&f, &plain);
    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    for (unsigned i = 0; i < 200; i++)
        buf_printf(&many, "POST /?q=%u HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\n%04u", i, i);
    ck_assert(raw_send(&raw, buf_slice(&many)));
    for (unsigned i = 0; i < 200; i++) {
        char want[8];

        raw_read(&raw, false, &a);
        snprintf(want, sizeof want, "%04u", i);
        ck_assert_uint_eq(a.status, 200);
        ck_assert(slice_eq_str(buf_slice(&a.body), want));
        raw_answer_deinit(&a);
    }
    ck_assert_uint_eq(f.n_body, 200);
    buf_deinit(&many);
    raw_close(&raw);
    teardown(&f);
}
END_TEST

START_TEST(head_size_limits)
{
    static const struct {
        size_t target_n, header_n;
        unsigned status;
    } cases[] = {{2000, 2000, 200}, {5900, 0, 200}, {6200, 0, 431}, {0, 6200, 431}, {9000, 0, 414},
        {0, 9000, 431}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        struct raw raw;
        struct raw_answer a;
        struct buf b = BUF_INIT;

        setup(&f, &plain);
        buf_append_str(&b, "GET /");
        for (size_t n = 0; n < cases[i].target_n; n++)
            buf_append_char(&b, 'a');
        buf_append_str(&b, " HTTP/1.1\r\n" HOST "X: ");
        for (size_t n = 0; n < cases[i].header_n; n++)
            buf_append_char(&b, 'b');
        buf_append_str(&b, "\r\n\r\n");
        raw_open_tcp(&raw, f.loop, http_server_port(f.server));
        raw_send(&raw, buf_slice(&b));
        raw_read(&raw, false, &a);
        ck_assert_msg(a.status == cases[i].status, "case %zu: %u", i, a.status);
        raw_answer_deinit(&a);
        buf_deinit(&b);
        raw_close(&raw);
        teardown(&f);
    }
}
END_TEST

/* ---- bodies ------------------------------------------------------------------------------------ */

static void
append_body(struct buf *b, size_t n, bool chunked)
{
    for (size_t i = 0; i < n; i += 1000) {
        if (chunked)
            buf_append_str(b, "3e8\r\n");
        for (unsigned k = 0; k < 1000; k++)
            buf_append_char(b, (char)('a' + k % 26));
        if (chunked)
            buf_append_str(b, "\r\n");
    }
    if (chunked)
        buf_append_str(b, "0\r\n\r\n");
}

START_TEST(body_limits)
{
    static const struct {
        size_t n;
        bool chunked;
        unsigned status;
        bool goes_on;
    } cases[] = {
        {BODY_LIMIT, false, 200, true},
        {BODY_LIMIT + 1000, false, 413, true}, /* dropped, then answered */
        {BODY_LIMIT, true, 200, false}, {BODY_LIMIT + 1000, true, 413, false},
        {3000000, false, 413, false}, /* answered at once */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        struct raw raw;
        struct raw_answer a;
        struct buf b = BUF_INIT;

        setup(&f, &plain);
        raw_open_tcp(&raw, f.loop, http_server_port(f.server));
        if (cases[i].chunked)
            buf_append_str(&b, CHUNKED);
        else
            buf_printf(&b, "POST / HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n", cases[i].n);
        if (cases[i].goes_on || cases[i].chunked)
            append_body(&b, cases[i].n, cases[i].chunked);
        ck_assert(raw_send(&raw, buf_slice(&b)));
        raw_read(&raw, false, &a);
        ck_assert_msg(a.status == cases[i].status, "case %zu: %u", i, a.status);
        ck_assert_uint_eq(f.n_body, a.status == 200);
        if (a.status == 200)
            ck_assert_uint_eq(a.body.n, cases[i].n);
        raw_answer_deinit(&a);
        if (!cases[i].goes_on)
            ck_assert(raw_wait_eof(&raw));
        buf_deinit(&b);
        raw_close(&raw);
        teardown(&f);
    }
}
END_TEST

START_TEST(refused_before_the_body)
{
    struct fixture f;
    struct raw raw;
    struct raw_answer a;

    setup(&f, &plain);
    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    /* PATCH and DELETE as well: their bodies must not be read as the next request. */
    ck_assert(raw_send_str(&raw, "PATCH /refuse HTTP/1.1\r\n" HOST
                                 "Content-Length: 34\r\n\r\nGET /inner HTTP/1.1\r\nHost: inner\r\n"
                                 "DELETE /refuse HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nxy"
                                 "GET /refuse HTTP/1.1\r\n" HOST "\r\n"
                                 "GET /fine HTTP/1.1\r\n" HOST "\r\n"));
    for (unsigned i = 0; i < 4; i++) {
        raw_read(&raw, false, &a);
        ck_assert_uint_eq(a.status, i < 3 ? 401 : 200);
        raw_answer_deinit(&a);
    }
    ck_assert_uint_eq(f.n_head, 4);
    ck_assert_uint_eq(f.n_body, 1);
    raw_close(&raw);
    teardown(&f);
}
END_TEST

START_TEST(expect_continue)
{
    struct fixture f;
    struct raw raw;
    struct raw_answer a;

    setup(&f, &plain);
    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    ck_assert(raw_send_str(
        &raw, "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n"));
    raw_turns(f.loop, 10);
    ck_assert_uint_eq(f.n_body, 0);
    ck_assert(raw_send_str(&raw, "abc"));
    raw_read(&raw, false, &a);
    ck_assert_uint_eq(a.status, 200);
    raw_answer_deinit(&a);
    /* Refused: the client keeps its body, and no 100 tempts it to send one. */
    ck_assert(raw_send_str(&raw,
        "POST /refuse HTTP/1.1\r\n" HOST "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n"));
    raw_read(&raw, false, &a);
    ck_assert_uint_eq(a.status, 401);
    ck_assert(raw_wait_eof(&raw));
    raw_answer_deinit(&a);
    raw_close(&raw);
    teardown(&f);
}
END_TEST

/* ---- waiting ------------------------------------------------------------------------------------ */

static void
turn_until_parked(struct fixture *f)
{
    for (unsigned i = 0; i < 500 && f->parked == NULL; i++)
        loop_turn(f->loop, 5);
    ck_assert_ptr_nonnull(f->parked);
}

START_TEST(answer_later)
{
    struct fixture f;
    struct raw raw;
    struct raw_answer a;

    setup(&f, &plain);
    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    ck_assert(
        raw_send_str(&raw, "GET /park HTTP/1.1\r\n" HOST "\r\nGET /next HTTP/1.1\r\n" HOST "\r\n"));
    turn_until_parked(&f);
    ck_assert_uint_eq(http_server_in_work(f.server), 1);
    raw_turns(f.loop, 5);
    ck_assert_uint_eq(f.n_body, 1); /* the next one waits its turn */
    http_respond(f.parked, 201, "text/plain", NULL, 0, SLICE_LIT("late"));
    raw_read(&raw, false, &a);
    ck_assert_uint_eq(a.status, 201);
    raw_answer_deinit(&a);
    raw_read(&raw, false, &a);
    ck_assert_uint_eq(a.status, 200);
    raw_answer_deinit(&a);
    ck_assert_uint_eq(http_server_in_work(f.server), 0);
    ck_assert_uint_eq(f.n_cancelled, 0);
    raw_close(&raw);
    teardown(&f);
}
END_TEST

START_TEST(decide_later)
{
    static const struct {
        size_t accept; /* 0 = refuse */
        unsigned status;
    } cases[] = {{10, 200}, {2, 413}, {0, 401}};

    for (size_t i = 0; i < 3; i++) {
        struct fixture f;
        struct raw raw;
        struct raw_answer a;

        setup(&f, &plain);
        raw_open_tcp(&raw, f.loop, http_server_port(f.server));
        ck_assert(
            raw_send_str(&raw, "POST /later HTTP/1.1\r\n" HOST
                               "Content-Length: 3\r\n\r\nabcGET /n HTTP/1.1\r\n" HOST "\r\n"));
        turn_until_parked(&f);
        raw_turns(f.loop, 5);
        ck_assert_uint_eq(f.n_body, 0);
        if (cases[i].accept > 0)
            http_request_accept(f.parked, cases[i].accept);
        else
            http_respond_error(f.parked, 401, "unauthorized", "no");
        raw_read(&raw, false, &a);
        ck_assert_msg(a.status == cases[i].status, "case %zu: %u", i, a.status);
        raw_answer_deinit(&a);
        raw_read(&raw, false, &a);
        ck_assert_uint_eq(a.status, 200);
        raw_answer_deinit(&a);
        raw_close(&raw);
        teardown(&f);
    }
}
END_TEST

START_TEST(deadline_answers_504)
{
    static const char *const paths[] = {"park", "later"};

    for (unsigned i = 0; i < 2; i++) {
        struct fixture f;
        struct raw raw;
        struct raw_answer a;
        char request[64];

        setup(&f, &(struct http_server_args){.deadline_ms = 30});
        raw_open_tcp(&raw, f.loop, http_server_port(f.server));
        snprintf(request, sizeof request, "GET /%s HTTP/1.1\r\n" HOST "\r\n", paths[i]);
        ck_assert(raw_send_str(&raw, request));
        turn_until_parked(&f);
        raw_read(&raw, false, &a);
        ck_assert_uint_eq(a.status, 504);
        ck_assert_ptr_null(f.parked);
        ck_assert_uint_eq(f.n_cancelled, 1);
        raw_answer_deinit(&a);
        raw_close(&raw);
        teardown(&f);
    }
}
END_TEST

START_TEST(deadline_can_move)
{
    struct fixture f;
    struct raw raw;
    struct raw_answer a;
    int64_t start = clock_mono_ms();

    setup(&f, &(struct http_server_args){.deadline_ms = 60000});
    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    ck_assert(raw_send_str(&raw, "GET /park HTTP/1.1\r\n" HOST "\r\n"));
    turn_until_parked(&f);
    http_request_set_deadline(f.parked, 10);
    raw_read(&raw, false, &a);
    ck_assert_uint_eq(a.status, 504);
    ck_assert_int_lt(clock_mono_ms() - start, 30000);
    raw_answer_deinit(&a);
    raw_close(&raw);
    teardown(&f);
}
END_TEST

/** A client that leaves while its body arrives, and one that leaves while it waits. */
START_TEST(client_leaves)
{
    struct fixture f;
    struct raw raw;

    setup(&f, &plain);
    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    ck_assert(raw_send_str(&raw, "POST /watch HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\nabc"));
    turn_until_parked(&f);
    raw_close(&raw);
    for (unsigned i = 0; i < 500 && f.n_cancelled == 0; i++)
        loop_turn(f.loop, 5);
    ck_assert_uint_eq(f.n_cancelled, 1);
    ck_assert_uint_eq(f.n_body, 0);

    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    ck_assert(raw_send_str(&raw, "GET /park HTTP/1.1\r\n" HOST "\r\n"));
    turn_until_parked(&f);
    raw_close(&raw);
    raw_turns(f.loop, 5);
    http_respond(f.parked, 200, NULL, NULL, 0, SLICE_NONE); /* goes nowhere, harms nobody */
    raw_turns(f.loop, 5);
    teardown(&f);
}
END_TEST

START_TEST(trickled_head_is_cut)
{
    struct fixture f;
    struct raw raw;
    bool cut = false;

    setup(&f, &(struct http_server_args){.idle_timeout_ms = 5000});
    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    ck_assert(raw_send_str(&raw, "GET / HTTP/1.1\r\n" HOST "X: "));
    for (unsigned i = 0; i < 10 && !cut; i++) {
        clock_step(2000); /* the library's clock stands still, so only our bound can act */
        cut = !raw_send_str(&raw, "b");
        raw_turns(f.loop, 3);
    }
    ck_assert(raw_wait_eof(&raw));
    raw_close(&raw);
    teardown(&f);
}
END_TEST

START_TEST(trickled_body_is_cut)
{
    struct fixture f;
    struct raw raw;

    setup(&f, &(struct http_server_args){.deadline_ms = 5000});
    raw_open_tcp(&raw, f.loop, http_server_port(f.server));
    ck_assert(raw_send_str(&raw, "POST / HTTP/1.1\r\n" HOST "Content-Length: 1000\r\n\r\n"));
    for (unsigned i = 0; i < 10; i++) {
        raw_send_str(&raw, "b");
        clock_step(1000);
        raw_turns(f.loop, 3);
    }
    ck_assert(raw_wait_eof(&raw));
    ck_assert_uint_eq(f.n_body, 0);
    raw_close(&raw);
    teardown(&f);
}
END_TEST

START_TEST(connection_limit)
{
    struct fixture f;
    struct raw raw[3];
    struct raw_answer a;

    setup(&f, &(struct http_server_args){.max_connections = 2});
    for (unsigned i = 0; i < 3; i++) {
        raw_open_tcp(&raw[i], f.loop, http_server_port(f.server));
        ck_assert(raw_send_str(&raw[i], "GET /pixel HTTP/1.1\r\n" HOST "\r\n"));
    }
    for (unsigned i = 0; i < 2; i++) {
        raw_read(&raw[i], false, &a);
        ck_assert_uint_eq(a.status, 200);
        raw_answer_deinit(&a);
    }
    raw_turns(f.loop, 20);
    ck_assert_uint_eq(f.n_body, 2);
    raw_close(&raw[0]);
    raw_read(&raw[2], false, &a);
    ck_assert_uint_eq(a.status, 200); /* served once there is room */
    raw_answer_deinit(&a);
    raw_close(&raw[1]);
    raw_close(&raw[2]);
    teardown(&f);
}
END_TEST

/* ---- clients, sockets, stop ---------------------------------------------------------------------- */

START_TEST(forwarded_clients)
{
    static const char *const trusted[] = {"127.0.0.1"};
    static const struct {
        bool is_trusted;
        const char *headers, *client;
        bool is_loopback;
    } cases[] = {
        {false, "", "127.0.0.1", true},
        {false, "X-Forwarded-For: 203.0.113.7\r\n", "127.0.0.1", false},
        {false, "Forwarded: for=203.0.113.7\r\n", "127.0.0.1", false},
        {true, "X-Forwarded-For: 203.0.113.7\r\n", "203.0.113.7", false},
        {true, "X-Forwarded-For: 127.0.0.9\r\n", "127.0.0.9", true},
        {true, "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 203.0.113.7\r\n", "203.0.113.7",
            false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        struct raw_answer a;
        char request[256];

        setup(&f, &(struct http_server_args){
                      .trusted_proxies = trusted, .n_trusted_proxies = cases[i].is_trusted});
        snprintf(request, sizeof request, "GET / HTTP/1.1\r\n" HOST "%s\r\n", cases[i].headers);
        fetch(&f, request, false, &a);
        ck_assert_uint_eq(a.status, 200);
        ck_assert_str_eq(f.client, cases[i].client);
        ck_assert_msg(f.is_loopback == cases[i].is_loopback, "case %zu", i);
        raw_answer_deinit(&a);
        teardown(&f);
    }
}
END_TEST

START_TEST(unix_socket)
{
    const char *path = suite_path("http.sock");
    struct fixture f;
    struct raw raw;
    struct raw_answer a;
    struct stat st;

    for (unsigned round = 0; round < 2; round++) {
        setup(&f, &(struct http_server_args){.unix_path = path});
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_uint_eq(st.st_mode & 0777, 0600);
        raw_open_unix(&raw, f.loop, path);
        ck_assert(raw_send_str(&raw, "POST / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nok"));
        raw_read(&raw, false, &a);
        ck_assert_uint_eq(a.status, 200);
        ck_assert_str_eq(f.client, "local");
        ck_assert(!f.is_loopback);
        raw_answer_deinit(&a);
        raw_close(&raw);
        teardown(&f);
        ck_assert_int_ne(stat(path, &st), 0);
    }
}
END_TEST

START_TEST(start_failures)
{
    static const char *const bad_proxy[] = {"nonsense"};
    static const struct http_handlers handlers = {head, body};
    struct http_server_args cases[] = {
        {.host = "not-an-address.invalid", .deadline_ms = 1},
        {.host = "127.0.0.1", .port = 70000, .deadline_ms = 1},
        {.unix_path = "/nonexistent-folder/s.sock", .deadline_ms = 1},
        {.host = "127.0.0.1", .trusted_proxies = bad_proxy, .n_trusted_proxies = 1},
    };
    struct loop *l = loop_create();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};

        ck_assert_ptr_null(http_server_start(l, &cases[i], &handlers, NULL, &err));
        ck_assert_int_ne(err.code, ERR_NONE);
    }
    loop_free(&l);
}
END_TEST

START_TEST(orderly_stop)
{
    struct fixture f;
    struct raw parked, idle, late;
    struct raw_answer a;
    unsigned port;

    setup(&f, &plain);
    port = http_server_port(f.server);
    raw_open_tcp(&parked, f.loop, port);
    raw_open_tcp(&idle, f.loop, port);
    ck_assert(raw_send_str(&parked, "GET /park HTTP/1.1\r\n" HOST "\r\n"));
    turn_until_parked(&f);
    http_server_quiesce(f.server);
    raw_open_tcp(&late, f.loop, port); /* refused: nobody listens */
    ck_assert(raw_wait_eof(&late));
    ck_assert_uint_eq(http_server_in_work(f.server), 1);
    http_server_free(&f.server); /* would abort if a suspended connection were left */
    ck_assert_uint_eq(f.n_cancelled, 1);
    raw_read(&parked, false, &a);
    ck_assert_uint_eq(a.status, 503);
    ck_assert(slice_eq_str(raw_header(&a, "Connection"), "close"));
    raw_answer_deinit(&a);
    ck_assert(raw_wait_eof(&parked));
    ck_assert(raw_wait_eof(&idle));
    raw_close(&parked);
    raw_close(&idle);
    raw_close(&late);
    teardown(&f);
}
END_TEST

SUITE_MAIN("http", framing_whole, framing_byte_by_byte, chunked_is_last, echo_and_fields,
    head_has_no_body, pipelined_in_order, head_size_limits, body_limits, refused_before_the_body,
    expect_continue, answer_later, decide_later, deadline_answers_504, deadline_can_move,
    client_leaves, trickled_head_is_cut, trickled_body_is_cut, connection_limit, forwarded_clients,
    unix_socket, start_failures, orderly_stop)
