#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "support/api_routes.h"
#include "support/suite.h"

/* Calls that come twice, calls that wait, and what a stop or a full queue makes of them. */

/* ---- calls that come twice ----------------------------------------------------------------------------- */

#define KEY(k) "Idempotency-Key: " k "\r\n"

START_TEST(same_key_same_answer)
{
    struct api_world w;
    struct raw_answer a;
    const char *token, *other;
    char first[256];

    setup(&w);
    token = api_world_token(&w, "agent:x", API_ALL_SCOPES, NULL);
    other = api_world_token(&w, "agent:y", API_ALL_SCOPES, NULL);
    api_world_call(&w, "POST", "/t/mail", token, KEY("k1"), "{}", &a);
    snprintf(first, sizeof first, "%s", buf_cstr(&a.body));
    ck_assert_ptr_null(raw_header(&a, "Idempotent-Replay").p);
    api_world_expect(&a, 201, NULL);
    api_world_call(&w, "POST", "/t/mail", token, KEY("k1"), "{}", &a);
    ck_assert_str_eq(buf_cstr(&a.body), first);
    ck_assert(slice_eq_str(raw_header(&a, "Idempotent-Replay"), "true"));
    api_world_expect(&a, 201, NULL);
    ck_assert_uint_eq(atomic_load(&n_made), 1);
    api_world_call(&w, "POST", "/t/mail", token, KEY("k1"), "{\"hold\":false}", &a);
    api_world_expect(&a, 422, "idempotency_mismatch");
    api_world_call(&w, "POST", "/t/mail", other, KEY("k1"), "{}", &a); /* keys are per caller */
    api_world_expect(&a, 201, NULL);
    ck_assert_uint_eq(atomic_load(&n_made), 2);
    api_world_call(&w, "POST", "/t/mail", token, "", "{}", &a); /* no key, no memory */
    api_world_expect(&a, 201, NULL);
    ck_assert_uint_eq(atomic_load(&n_made), 3);
    api_world_call(&w, "POST", "/t/mail", token, KEY("two words"), "{}", &a);
    api_world_expect(&a, 400, "validation_failed");

    /* Errors are kept too, but for those that say "try again". */
    api_world_call(&w, "POST", "/t/mail", token, KEY("k2"), "{\"fail\":\"conflict\"}", &a);
    api_world_expect(&a, 409, "count_mismatch");
    api_world_call(&w, "POST", "/t/mail", token, KEY("k2"), "{\"fail\":\"conflict\"}", &a);
    api_world_expect(&a, 409, "count_mismatch");
    ck_assert_uint_eq(atomic_load(&n_made), 4);
    api_world_call(&w, "POST", "/t/mail", token, KEY("k3"), "{\"fail\":\"busy\"}", &a);
    api_world_expect(&a, 503, "store_busy");
    api_world_call(&w, "POST", "/t/mail", token, KEY("k3"), "{\"fail\":\"busy\"}", &a);
    api_world_expect(&a, 503, "store_busy");
    ck_assert_uint_eq(atomic_load(&n_made), 6);
    clock_step(INT64_C(24) * 3600 * 1000 + 1);
    api_world_call(&w, "POST", "/t/mail", token, KEY("k1"), "{}", &a);
    api_world_expect(&a, 201, NULL);
    ck_assert_uint_eq(atomic_load(&n_made), 7);
    teardown(&w);
}
END_TEST

START_TEST(same_key_at_once)
{
    struct api_world w;
    struct raw_answer a;
    struct raw c;
    const char *token;

    setup(&w);
    token = api_world_token(&w, "agent:x", API_ALL_SCOPES, NULL);
    api_world_send(&w, &c, "POST", "/t/mail", token, KEY("k"), "{\"hold\":true}");
    turn_until_held(&w, 1);
    api_world_call(&w, "POST", "/t/mail", token, KEY("k"), "{\"hold\":true}", &a);
    api_world_expect(&a, 409, "idempotency_in_progress");
    sem_post(&gate);
    raw_read(&c, false, &a);
    api_world_expect(&a, 201, NULL);
    raw_close(&c);
    ck_assert_uint_eq(atomic_load(&n_made), 1);
    teardown(&w);
}
END_TEST

/** The process died in the middle: a repetition takes over, another request may not. */
START_TEST(key_of_a_dead_call)
{
    struct api_world w;
    struct raw_answer a;
    struct raw c;
    const char *token;

    setup(&w);
    token = api_world_token(&w, "agent:x", API_ALL_SCOPES, NULL);
    api_world_send(&w, &c, "POST", "/t/mail", token, KEY("k"), "{\"fail\":\"first\"}");
    turn_until_held(&w, 1);
    clock_step(120001);
    api_world_call(&w, "POST", "/t/mail", token, KEY("k"), "{}", &a);
    api_world_expect(&a, 422, "idempotency_mismatch");
    api_world_call(&w, "POST", "/t/mail", token, KEY("k"), "{\"fail\":\"first\"}", &a);
    ck_assert_uint_eq(atomic_load(&n_made), 1);
    api_world_expect(&a, 201, NULL);
    sem_post(&gate);
    raw_read(&c, false, &a); /* its deadline came first */
    api_world_expect(&a, 504, "timeout");
    raw_close(&c);
    for (unsigned i = 0; i < 1000 && api_in_work(w.api) > 0; i++)
        loop_turn(w.loop, 5);
    ck_assert_uint_eq(atomic_load(&n_made), 2);
    teardown(&w);
}
END_TEST

/* ---- calls that wait ------------------------------------------------------------------------------------- */

START_TEST(long_polls)
{
    struct api_world w;
    struct raw_answer a;
    struct raw c[11];
    const char *token, *other;

    setup(&w);
    token = api_world_token(&w, "agent:x", API_READ, NULL);
    other = api_world_token(&w, "agent:y", API_READ, NULL);
    api_world_call(&w, "GET", "/t/wait?timeoutMs=0", token, "", NULL, &a);
    ck_assert_str_eq(buf_cstr(&a.body), "{\"reached\":false}");
    api_world_expect(&a, 200, NULL);
    for (unsigned i = 0; i < 10; i++)
        api_world_send(&w, &c[i], "GET", "/t/wait?timeoutMs=60000", token, "", NULL);
    for (unsigned i = 0; i < 1000 && atomic_load(&n_polls) < 30; i++)
        loop_turn(w.loop, 5);
    api_world_call(&w, "GET", "/t/wait?timeoutMs=60000", token, "", NULL, &a);
    api_world_expect(&a, 429, "too_many_waits");
    api_world_call(&w, "GET", "/t/wait?timeoutMs=1", other, "", NULL, &a);
    api_world_expect(&a, 200, NULL);
    raw_close(&c[0]); /* one leaves; the loop learns it when it answers */
    atomic_store(&poll_done, true);
    for (unsigned i = 1; i < 10; i++) {
        raw_read(&c[i], false, &a);
        ck_assert_str_eq(buf_cstr(&a.body), "{\"reached\":true}");
        api_world_expect(&a, 200, NULL);
        raw_close(&c[i]);
    }
    for (unsigned i = 0; i < 1000 && api_in_work(w.api) > 0; i++)
        loop_turn(w.loop, 5);
    ck_assert_uint_eq(api_in_work(w.api), 0);
    api_world_call(&w, "GET", "/t/wait", token, "", NULL, &a); /* the places are free again */
    api_world_expect(&a, 200, NULL);
    teardown(&w);
}
END_TEST

/** A stop does not wait for those who wait. */
START_TEST(polls_end_at_stop)
{
    struct api_world w;
    struct raw_answer a;
    struct raw c;
    const char *token;

    setup(&w);
    token = api_world_token(&w, "agent:x", API_READ, NULL);
    api_world_send(&w, &c, "GET", "/t/wait?timeoutMs=60000", token, "", NULL);
    for (unsigned i = 0; i < 1000 && atomic_load(&n_polls) < 2; i++)
        loop_turn(w.loop, 5);
    api_quiesce(w.api);
    raw_read(&c, false, &a);
    api_world_expect(&a, 503, "stopping");
    raw_close(&c);
    api_world_call(&w, "GET", "/t/wait?timeoutMs=60000", token, "", NULL, &a);
    api_world_expect(&a, 503, "stopping");
    teardown(&w);
}
END_TEST

/** Stopping with calls on workers and in polls leaves nothing behind and crashes nothing. */
START_TEST(stop_with_calls_waiting)
{
    struct api_world w;
    struct raw held, polling;
    const char *token;

    setup(&w);
    token = api_world_token(&w, "agent:x", API_ALL_SCOPES, NULL);
    api_world_send(&w, &held, "POST", "/t/mail", token, "", "{\"hold\":true}");
    api_world_send(&w, &polling, "GET", "/t/wait?timeoutMs=60000", token, "", NULL);
    turn_until_held(&w, 1);
    for (unsigned i = 0; i < 1000 && atomic_load(&n_polls) < 2; i++)
        loop_turn(w.loop, 5);
    http_server_free(&w.tcp);
    sem_post(&gate);
    http_server_free(&w.control);
    api_free(&w.api);
    ck_assert_uint_eq(atomic_load(&n_made), 1);
    raw_close(&held);
    raw_close(&polling);
    teardown(&w);
}
END_TEST

/** All workers busy and the queue full: the next call is told to come back. */
START_TEST(queue_full)
{
    struct api_world w;
    struct raw_answer a;
    struct raw c[300];
    unsigned n = 0, refused = 0;

    setup(&w);
    for (; n < 300; n++) {
        raw_open_unix(&c[n], w.loop, suite_path("api.sock"));
        ck_assert(raw_send_str(&c[n], "POST /t/mail HTTP/1.1\r\nHost: t\r\nContent-Length: 13\r\n"
                                      "\r\n{\"hold\":true}"));
    }
    for (unsigned i = 0; i < 1000 && api_in_work(w.api) < 260; i++)
        loop_turn(w.loop, 5);
    turn_until_held(&w, 4);
    for (unsigned i = 0; i < 300; i++)
        sem_post(&gate);
    for (unsigned i = 0; i < n; i++) {
        raw_read(&c[i], false, &a);
        refused += a.status == 503;
        ck_assert(a.status == 201 || (a.status == 503 && raw_header(&a, "Retry-After").p != NULL));
        raw_answer_deinit(&a);
        raw_close(&c[i]);
    }
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_eq(refused + atomic_load(&n_made), 300);
    teardown(&w);
}
END_TEST

SUITE_MAIN("api_calls", same_key_same_answer, same_key_at_once, key_of_a_dead_call, long_polls,
    polls_end_at_stop, stop_with_calls_waiting, queue_full)
