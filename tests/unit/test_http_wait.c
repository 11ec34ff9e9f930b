#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "support/http_world.h"
#include "support/suite.h"

/*
 * Requests that wait: answers and decisions that come later, deadlines, clients that leave or
 * trickle, limits, sockets, and the orderly stop.
 */

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
    struct http_server_args cases[] = {
        {.host = "not-an-address.invalid", .deadline_ms = 1},
        {.host = "127.0.0.1", .port = 70000, .deadline_ms = 1},
        {.unix_path = "/nonexistent-folder/s.sock", .deadline_ms = 1},
        {.host = "127.0.0.1", .trusted_proxies = bad_proxy, .n_trusted_proxies = 1},
    };
    struct loop *l = loop_create();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};

        ck_assert_ptr_null(http_server_start(l, &cases[i], &fixture_handlers, NULL, &err));
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

/* A request that is read only while the server closes: nobody could answer it later. */
START_TEST(request_meets_the_end)
{
    static const char *const requests[] = {
        "GET /park HTTP/1.1\r\n" HOST "\r\n", "GET /later HTTP/1.1\r\n" HOST "\r\n"};

    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        struct raw raw;
        struct raw_answer a;
        size_t n = strlen(requests[i]);

        setup(&f, &plain);
        raw_open_tcp(&raw, f.loop, http_server_port(f.server));
        raw_turns(f.loop, 5); /* accepted */
        ck_assert_int_eq(send(raw.fd, requests[i], n, 0), (ssize_t)n);
        http_server_free(&f.server);
        ck_assert_uint_eq(f.n_body, 0);
        raw_read(&raw, false, &a);
        ck_assert(a.status == 503 || a.status == 0); /* answered, or never read */
        raw_answer_deinit(&a);
        raw_close(&raw);
        teardown(&f);
    }
}
END_TEST

SUITE_MAIN("http_wait", answer_later, decide_later, deadline_answers_504, deadline_can_move,
    client_leaves, trickled_head_is_cut, trickled_body_is_cut, connection_limit, forwarded_clients,
    unix_socket, start_failures, orderly_stop, request_meets_the_end)
