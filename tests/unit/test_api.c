#include <check.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/auth.h"
#include "api/local.h"
#include "api/ready.h"
#include "api/resources.h"
#include "api/route_match.h"
#include "base/clock.h"
#include "loop/loop.h"
#include "model/token_doc.h"
#include "support/api_world.h"
#include "support/suite.h"

/*
 * The API over HTTP against a real store: who may call, what is refused and how it is said, calls
 * that come twice, calls that wait, and the three ways in (HTTP, control socket, in process).
 */

static atomic_uint n_made, n_polls;
static atomic_bool poll_done;
static sem_t gate; /* POST /t/mail waits here: each with "hold", the first one with "first" */
static atomic_uint n_held;

static int
echo(struct api_call *c, struct err *err)
{
    jw_obj(&c->w, NULL);
    jw_cstr(&c->w, "actor", c->actor.label);
    jw_str(&c->w, "param", c->params[0]);
    jw_int(&c->w, "n", api_query_int(c, "n", -1));
    jw_json(&c->w, "body", c->body);
    jw_end_obj(&c->w);
    return 0;
}

static int
mail(struct api_call *c, struct err *err)
{
    struct slice fail = json_str(json_get(c->body, "fail"));

    if (json_bool(json_get(c->body, "hold"), false)) {
        atomic_fetch_add(&n_held, 1);
        sem_wait(&gate);
    }
    if (slice_eq_str(fail, "first") && atomic_fetch_add(&n_held, 1) == 0)
        sem_wait(&gate);
    atomic_fetch_add(&n_made, 1);
    if (slice_eq_str(fail, "busy"))
        return err_sub(err, ERR_TEMP, "store_busy", "busy");
    if (slice_eq_str(fail, "internal"))
        return err_set(err, ERR_INTERNAL, "the secret reason");
    if (slice_eq_str(fail, "conflict")) {
        jw_int(api_details(c), "expected", 5);
        jw_int(api_details(c), "confirmedCount", 4);
        jw_cstr(&c->w, NULL, "half an answer");
        return err_sub(err, ERR_CONFLICT, "count_mismatch", "counted 5, confirmed 4");
    }
    c->status = 201;
    jw_obj(&c->w, NULL);
    jw_int(&c->w, "number", (int64_t)atomic_load(&n_made));
    jw_cstr(&c->w, "key", c->idempotency_key);
    jw_end_obj(&c->w);
    return 0;
}

static int
wait_for(struct api_call *c, struct err *err)
{
    int64_t limit = api_query_int(c, "timeoutMs", 1000);

    atomic_fetch_add(&n_polls, 1);
    if (!atomic_load(&poll_done) && c->waited_ms < limit) {
        c->again_ms = 5;
        return 0;
    }
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "reached", atomic_load(&poll_done));
    jw_end_obj(&c->w);
    return 0;
}

static int
raw_size(struct api_call *c, struct err *err)
{
    jw_int(&c->w, NULL, (int64_t)c->raw_body.n);
    return 0;
}

static const struct api_field echo_body[] = {
    {.name = "name", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 20},
    {.name = "count", .type = FIELD_INT, .min = 1, .max = 10},
    {.name = NULL},
};
static const struct api_field echo_query[] = {
    {.name = "n", .type = FIELD_INT, .min = 0, .max = 9},
    {.name = NULL},
};
static const struct api_field mail_body[] = {
    {.name = "fail", .type = FIELD_STRING},
    {.name = "hold", .type = FIELD_BOOL},
    {.name = NULL},
};
static const struct api_field wait_query[] = {
    {.name = "timeoutMs", .type = FIELD_INT},
    {.name = NULL},
};

static const struct api_route test_routes[] = {
    {.method = "GET",
        .path = "/t/echo/:id",
        .summary = "t",
        .scope = API_READ,
        .query = echo_query,
        .handler = echo},
    {.method = "POST",
        .path = "/t/echo/:id",
        .summary = "t",
        .scope = API_BROADCASTS,
        .body = echo_body,
        .query = echo_query,
        .handler = echo,
        .max_body = 1000},
    {.method = "POST",
        .path = "/t/mail",
        .summary = "t",
        .scope = API_BROADCASTS,
        .flags = API_CREATES_MAIL,
        .body = mail_body,
        .handler = mail},
    {.method = "GET",
        .path = "/t/wait",
        .summary = "t",
        .scope = API_READ,
        .flags = API_LONG_POLL,
        .query = wait_query,
        .handler = wait_for},
    {.method = "PUT",
        .path = "/t/raw",
        .summary = "t",
        .scope = API_CONTACTS,
        .flags = API_RAW_BODY,
        .max_body = 100000,
        .handler = raw_size},
    {.method = "GET",
        .path = "/t/owner/:id",
        .summary = "t",
        .scope = API_READ,
        .flags = API_OWNER_ONLY,
        .handler = echo},
    {.method = NULL},
};
static const struct api_route *const groups[] = {
    test_routes, api_describe_routes, api_ops_routes, NULL};

static void
setup(struct api_world *w)
{
    atomic_store(&n_made, 0);
    atomic_store(&n_polls, 0);
    atomic_store(&n_held, 0);
    atomic_store(&poll_done, false);
    ck_assert_int_eq(sem_init(&gate, 0, 0), 0);
    api_world_open(w, groups);
}

static void
teardown(struct api_world *w)
{
    api_world_close(w);
    sem_destroy(&gate);
}

/* ---- who may call --------------------------------------------------------------------------------- */

START_TEST(tokens)
{
    struct api_world w;
    struct raw_answer a;
    const char *token, *reader;
    uint64_t id;
    struct err err = {0};

    setup(&w);
    api_world_call(&w, "GET", "/t/echo/x", NULL, "", NULL, &a);
    ck_assert(slice_eq_str(raw_header(&a, "WWW-Authenticate"), "Bearer"));
    api_world_expect(&a, 401, "unauthorized");
    api_world_call(&w, "GET", "/t/echo/x", "mst_0123456789012345678901234567890123", "", NULL, &a);
    api_world_expect(&a, 401, "unauthorized");
    api_world_call(&w, "GET", "/t/echo/x", "short", "", NULL, &a);
    api_world_expect(&a, 401, "unauthorized");

    reader = api_world_token(&w, "agent:reader", API_READ, NULL);
    token = api_world_token(&w, "agent:all", API_ALL_SCOPES, &id);
    api_world_call(&w, "GET", "/t/echo/x%20y?n=7", reader, "", NULL, &a);
    ck_assert_str_eq(
        buf_cstr(&a.body), "{\"actor\":\"agent:reader\",\"param\":\"x y\",\"n\":7,\"body\":{}}");
    ck_assert(slice_eq_str(raw_header(&a, "Cache-Control"), "no-store"));
    ck_assert_uint_eq(raw_header(&a, "X-Request-Id").n, 13);
    api_world_expect(&a, 200, NULL);
    api_world_call(&w, "POST", "/t/echo/x", reader, "", "{\"name\":\"n\"}", &a);
    api_world_expect(&a, 403, "insufficient_scope");
    api_world_call(&w, "GET", "/t/owner/x", reader, "", NULL, &a);
    api_world_expect(&a, 403, "insufficient_scope");
    api_world_call(&w, "GET", "/t/owner/x", token, "", NULL, &a);
    api_world_expect(&a, 200, NULL);

    ck_assert_int_eq(token_doc_revoke(w.store, id, SLICE_LIT("test"), clock_now_ms(), &err), 0);
    api_tokens_changed(&w.env);
    raw_turns(w.loop, 2);
    api_world_call(&w, "GET", "/t/echo/x", token, "", NULL, &a);
    api_world_expect(&a, 401, "unauthorized");
    teardown(&w);
}
END_TEST

/** Without any sign, a revoked token is refused after five seconds. */
START_TEST(revoked_elsewhere)
{
    struct api_world w;
    struct raw_answer a;
    const char *token;
    uint64_t id;
    struct err err = {0};

    setup(&w);
    token = api_world_token(&w, "agent:x", API_READ, &id);
    api_world_call(&w, "GET", "/t/echo/x", token, "", NULL, &a);
    api_world_expect(&a, 200, NULL);
    ck_assert_int_eq(token_doc_revoke(w.store, id, SLICE_LIT("test"), clock_now_ms(), &err), 0);
    clock_step(5001);
    api_world_call(&w, "GET", "/t/echo/x", token, "", NULL, &a);
    api_world_expect(&a, 401, "unauthorized");
    teardown(&w);
}
END_TEST

START_TEST(failures_are_slowed)
{
    struct api_world w;
    struct raw_answer a;
    const char *token;
    char guess[64];

    setup(&w);
    token = api_world_token(&w, "agent:x", API_READ, NULL);
    api_world_call(&w, "GET", "/t/echo/x", token, "", NULL, &a);
    api_world_expect(&a, 200, NULL);
    for (unsigned i = 0; i < 10; i++) {
        snprintf(guess, sizeof guess, "mst_guess_guess_guess_guess_%02u", i);
        api_world_call(&w, "GET", "/t/echo/x", guess, "", NULL, &a);
        api_world_expect(&a, 401, "unauthorized");
    }
    api_world_call(&w, "GET", "/t/echo/x", "mst_guess_guess_guess_guess_xx", "", NULL, &a);
    ck_assert_ptr_nonnull(raw_header(&a, "Retry-After").p);
    api_world_expect(&a, 429, "rate_limited");
    api_world_call(&w, "GET", "/t/echo/x", token, "", NULL, &a); /* known: not punished */
    api_world_expect(&a, 200, NULL);
    clock_step(7000);
    api_world_call(&w, "GET", "/t/echo/x", "mst_guess_guess_guess_guess_xx", "", NULL, &a);
    api_world_expect(&a, 401, "unauthorized");
    teardown(&w);
}
END_TEST

START_TEST(calls_are_limited)
{
    struct api_world w;
    struct raw_answer a;
    const char *one, *two;

    clock_set_fake(INT64_C(1790000000000));
    setup(&w);
    one = api_world_token(&w, "agent:one", API_READ, NULL);
    two = api_world_token(&w, "agent:two", API_READ, NULL);
    for (unsigned i = 0; i < 60; i++) {
        api_world_call(&w, "GET", "/t/echo/x", one, "", NULL, &a);
        api_world_expect(&a, 200, NULL);
    }
    api_world_call(&w, "GET", "/t/echo/x", one, "", NULL, &a);
    ck_assert(slice_eq_str(raw_header(&a, "Retry-After"), "1"));
    api_world_expect(&a, 429, "rate_limited");
    api_world_call(&w, "GET", "/t/echo/x", two, "", NULL, &a);
    api_world_expect(&a, 200, NULL);
    clock_step(50);
    api_world_call(&w, "GET", "/t/echo/x", one, "", NULL, &a);
    api_world_expect(&a, 200, NULL);
    teardown(&w);
    clock_set_fake(0);
}
END_TEST

/* ---- what is refused -------------------------------------------------------------------------------- */

START_TEST(bad_requests)
{
    static const struct {
        const char *method, *target, *body;
        unsigned status;
        const char *error;
    } cases[] = {
        {"GET", "/t/nowhere", NULL, 404, "not_found"},
        {"DELETE", "/t/echo/x", NULL, 405, "method_not_allowed"},
        {"POST", "/t/echo/x", "{", 400, "invalid_json"},
        {"POST", "/t/echo/x", "{} x", 400, "invalid_json"},
        {"POST", "/t/echo/x", "{\"name\":\"a\",\"name\":\"b\"}", 400, "invalid_json"},
        {"POST", "/t/echo/x", "[]", 400, "validation_failed"},
        {"POST", "/t/echo/x", NULL, 400, "validation_failed"},
        {"POST", "/t/echo/x?n=10", "{\"name\":\"a\"}", 400, "validation_failed"},
        {"POST", "/t/echo/x?m=1", "{\"name\":\"a\"}", 400, "validation_failed"},
        {"POST", "/t/echo/x", "{\"name\":\"a\",\"count\":2}", 200, NULL},
        {"GET", "/t/echo/x", "{\"extra\":1}", 400, "validation_failed"},
        {"POST", "/t/mail", "{\"fail\":\"internal\"}", 500, "internal"},
        {"POST", "/t/mail", "{\"fail\":\"busy\"}", 503, "store_busy"},
        {"POST", "/t/mail", "{\"fail\":\"conflict\"}", 409, "count_mismatch"},
    };
    struct api_world w;
    struct raw_answer a;
    const char *token;

    setup(&w);
    token = api_world_token(&w, "agent:x", API_ALL_SCOPES, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        api_world_call(&w, cases[i].method, cases[i].target, token, "", cases[i].body, &a);
        ck_assert_int_lt(slice_find(buf_slice(&a.body), SLICE_LIT("secret")), 0);
        if (a.status == 405)
            ck_assert(slice_eq_str(raw_header(&a, "Allow"), "GET, POST"));
        if (a.status == 503)
            ck_assert(slice_eq_str(raw_header(&a, "Retry-After"), "1"));
        if (a.status == 409)
            ck_assert_str_eq(buf_cstr(&a.body), "{\"error\":\"count_mismatch\",\"message\":"
                                                "\"counted 5, confirmed 4\",\"expected\":5,"
                                                "\"confirmedCount\":4}");
        api_world_expect(&a, cases[i].status, cases[i].error);
    }
    api_world_call(&w, "POST", "/t/echo/x?n=x", token, "", "{\"count\":0,\"nmae\":\"a\"}", &a);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&a.body),
        "n: must be an integer; count: must be between 1 and 10; nmae: unknown member; name: is "
        "required"));
    api_world_expect(&a, 400, "validation_failed");
    teardown(&w);
}
END_TEST

START_TEST(body_sizes)
{
    struct api_world w;
    struct raw_answer a;
    const char *token;
    char big[2000];

    setup(&w);
    token = api_world_token(&w, "agent:x", API_ALL_SCOPES, NULL);
    memset(big, ' ', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    api_world_call(&w, "POST", "/t/echo/x", token, "", big, &a);
    api_world_expect(&a, 413, "body_too_large");
    api_world_call(&w, "PUT", "/t/raw", token, "", big, &a);
    ck_assert_str_eq(buf_cstr(&a.body), "1999");
    api_world_expect(&a, 200, NULL);
    /* Without a token the size does not matter: nothing but the refusal is learnt. */
    api_world_call(&w, "POST", "/t/echo/x", NULL, "", big, &a);
    api_world_expect(&a, 401, "unauthorized");
    teardown(&w);
}
END_TEST

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

static void
turn_until_held(struct api_world *w, unsigned n)
{
    for (unsigned i = 0; i < 1000 && atomic_load(&n_held) < n; i++)
        loop_turn(w->loop, 5);
    ck_assert_uint_eq(atomic_load(&n_held), n);
}

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

/* ---- three ways in ------------------------------------------------------------------------------------------ */

START_TEST(control_socket_is_owner)
{
    struct api_world w;
    struct raw_answer a;

    setup(&w);
    api_world_control(&w, "GET", "/t/owner/x", NULL, &a);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&a.body), "\"actor\":\"owner:local\""));
    api_world_expect(&a, 200, NULL);
    api_world_control(&w, "POST", "/t/echo/x", "{\"name\":\"a\"}", &a);
    api_world_expect(&a, 200, NULL);
    teardown(&w);
}
END_TEST

START_TEST(in_process)
{
    static const struct {
        const char *method, *target, *body;
        unsigned status;
        const char *part;
    } cases[] = {
        {"GET", "/t/echo/a%2Fb?n=3", "", 200, "\"param\":\"a/b\",\"n\":3"},
        {"GET", "/t/owner/x", "", 200, "owner:local"},
        {"POST", "/t/mail", "{\"fail\":\"conflict\"}", 409, "\"expected\":5"},
        {"POST", "/t/echo/x", "{}", 400, "name: is required"},
        {"PUT", "/t/echo/x", "{}", 405, "method_not_allowed"},
        {"GET", "/t/none", "", 404, "not_found"},
        {"GET", "no path", "", 400, "validation_failed"},
        {"GET", "/t/wait?timeoutMs=20", "", 200, "\"reached\":false"},
    };
    struct store *store;
    struct api_world w;
    struct api_local *l;
    struct api_env env;

    setup(&w);
    store = w.store;
    env = (struct api_env){.store = store};
    l = api_local_create(&env, groups);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = BUF_INIT;
        unsigned status =
            api_local_run(l, cases[i].method, cases[i].target, slice_str(cases[i].body), &out);

        ck_assert_msg(
            status == cases[i].status, "%s: %u %s", cases[i].target, status, buf_cstr(&out));
        ck_assert_msg(strstr(buf_cstr(&out), cases[i].part) != NULL, "%s", buf_cstr(&out));
        buf_deinit(&out);
    }
    api_local_free(&l);
    teardown(&w);
}
END_TEST

START_TEST(operators)
{
    struct api_world w;
    struct raw_answer a;
    struct api_ready *ready = api_ready_create();
    const char *reader, *admin;

    setup(&w);
    w.env.ready = ready;
    reader = api_world_token(&w, "agent:r", API_READ, NULL);
    admin = api_world_token(&w, "agent:a", API_ADMIN, NULL);
    api_world_call(&w, "GET", "/healthz", NULL, "", NULL, &a);
    api_world_expect(&a, 200, NULL);
    api_ready_set(ready, "store", false, "opening");
    api_world_call(&w, "GET", "/readyz", NULL, "", NULL, &a);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&a.body), "opening"));
    api_world_expect(&a, 503, NULL);
    api_ready_set(ready, "store", true, NULL);
    api_world_call(&w, "GET", "/readyz", NULL, "", NULL, &a);
    api_world_expect(&a, 200, NULL);
    api_world_call(&w, "GET", "/metrics", NULL, "", NULL, &a);
    ck_assert(slice_starts(raw_header(&a, "Content-Type"), SLICE_LIT("text/plain")));
    ck_assert_ptr_nonnull(strstr(buf_cstr(&a.body), "mailshot_api_seconds"));
    ck_assert_uint_eq(a.status, 200);
    raw_answer_deinit(&a);
    /* From elsewhere, here behind a proxy that speaks for somebody, a token is needed. */
    api_world_call(&w, "GET", "/metrics", NULL, "X-Forwarded-For: 203.0.113.1\r\n", NULL, &a);
    api_world_expect(&a, 401, "unauthorized");
    api_world_call(&w, "GET", "/metrics", reader, "X-Forwarded-For: 203.0.113.1\r\n", NULL, &a);
    api_world_expect(&a, 403, "insufficient_scope");
    api_world_call(&w, "GET", "/healthz", admin, "X-Forwarded-For: 203.0.113.1\r\n", NULL, &a);
    api_world_expect(&a, 200, NULL);
    teardown(&w);
    api_ready_free(&ready);
}
END_TEST

/** What is described is what is routed, row by row. */
START_TEST(description_equals_table)
{
    struct api_world w;
    struct raw_answer a;
    struct json *j;
    const struct json *list, *e, *paths;
    const char *token;
    size_t i = 0, operations = 0;

    setup(&w);
    token = api_world_token(&w, "agent:x", API_READ, NULL);
    api_world_call(&w, "GET", "/agent?schemas=1", token, "", NULL, &a);
    j = json_parse(buf_slice(&a.body), 0, 0, NULL);
    ck_assert_ptr_nonnull(j);
    ck_assert(slice_eq_str(json_str(json_get(j, "actor")), "agent:x"));
    list = json_get(j, "endpoints");
    ck_assert_uint_eq(json_count(list), api_table_count(w.env.table));
    for (e = json_first(list); e != NULL; e = json_next(e), i++) {
        const struct api_route *r = api_table_get(w.env.table, i);

        ck_assert(slice_eq_str(json_str(json_get(e, "method")), r->method));
        ck_assert(slice_starts(json_str(json_get(e, "path")), slice_str(r->path)));
        ck_assert((json_get(e, "body") != NULL) == (r->body != NULL));
        ck_assert((json_get(e, "query") != NULL) == (r->query != NULL));
    }
    json_free(&j);
    api_world_expect(&a, 200, NULL);

    api_world_call(&w, "GET", "/openapi.json", token, "", NULL, &a);
    j = json_parse(buf_slice(&a.body), 0, 0, NULL);
    ck_assert_ptr_nonnull(j);
    ck_assert(slice_eq_str(json_str(json_get(j, "openapi")), "3.1.0"));
    paths = json_get(j, "paths");
    ck_assert_ptr_nonnull(json_get(json_get(paths, "/t/echo/{id}"), "post"));
    for (e = json_first(paths); e != NULL; e = json_next(e))
        operations += json_count(e);
    ck_assert_uint_eq(operations, api_table_count(w.env.table));
    json_free(&j);
    api_world_expect(&a, 200, NULL);
    teardown(&w);
}
END_TEST

SUITE_MAIN("api", tokens, revoked_elsewhere, failures_are_slowed, calls_are_limited, bad_requests,
    body_sizes, same_key_same_answer, same_key_at_once, key_of_a_dead_call, long_polls,
    polls_end_at_stop, stop_with_calls_waiting, queue_full, control_socket_is_owner, in_process,
    operators, description_equals_table)
