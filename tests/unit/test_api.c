#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/auth.h"
#include "api/local.h"
#include "api/ready.h"
#include "api/route_match.h"
#include "base/clock.h"
#include "loop/loop.h"
#include "model/token_doc.h"
#include "support/api_routes.h"
#include "support/suite.h"

/*
 * The API over HTTP against a real store: who may call, what is refused and how it is said, and the
 * three ways in (HTTP, control socket, in process).
 */

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
    ck_assert_ptr_nonnull(
        strstr(buf_cstr(&a.body), "n: must be an integer between 0 and 9; count: must be between 1 "
                                  "and 10; nmae: unknown member; name: is "
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
    body_sizes, control_socket_is_owner, in_process, operators, description_equals_table)
