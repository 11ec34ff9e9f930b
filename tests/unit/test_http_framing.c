#include <check.h>
#include <stdio.h>
#include <string.h>

#include "support/http_world.h"
#include "support/suite.h"

/*
 * Framing, byte by byte: requests over raw sockets that a server and a proxy might read differently,
 * each sent whole and once more one byte per write.
 */

struct framing {
    const char *name, *bytes;
    size_t n;        /* 0 = strlen */
    unsigned status; /* 0 = closed without a word */
    bool closes;
    unsigned bodies; /* calls of the body handler */
};

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
    {"colon and bare LF that cancel out", BYTES("GET / HTTP/1.1\r\nHost: t\n:x\nB: 3\r\n\r\n"), 400,
        true, 0},
    {"NUL and bare LF that cancel out", BYTES("GET / HTTP/1.1\r\nHost: t\n\0x\nB: 3\r\n\r\n"), 400,
        true, 0},
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
    {"expectation without a body", BYTES("POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n\r\n"),
        417, true, 0},
    {"expectation for an empty body, and more",
        BYTES("POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n"
              "GET / HTTP/1.1\r\n" HOST "\r\n"),
        417, true, 0},

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

SUITE_MAIN("http_framing", framing_whole, framing_byte_by_byte, chunked_is_last)
