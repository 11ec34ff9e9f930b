#include <check.h>
#include <stdio.h>
#include <string.h>

#include "support/http_world.h"
#include "support/suite.h"

/* Requests, answers and bodies over raw sockets. */

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

SUITE_MAIN("http", echo_and_fields, head_has_no_body, pipelined_in_order, head_size_limits,
    body_limits, refused_before_the_body, expect_continue)
