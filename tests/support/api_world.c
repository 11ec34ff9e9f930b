#include "support/api_world.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "contract/drivers.h"
#include "loop/loop.h"
#include "model/token_doc.h"
#include "support/suite.h"

/*
 * The API as the daemon runs it, but for the store, which has no loop here: handlers use its
 * blocking form on the workers of the API anyway.
 */

static struct http_server *
start(struct api_world *w, const char *unix_path)
{
    static const struct http_handlers handlers = {api_http_head, api_http_body};
    struct http_server_args args = {.host = unix_path == NULL ? "127.0.0.1" : NULL,
        .unix_path = unix_path,
        .idle_timeout_ms = 60000,
        .deadline_ms = 30000};
    struct err err = {0};
    struct http_server *s = http_server_start(w->loop, &args, &handlers, w->api, &err);

    ck_assert_msg(s != NULL, "%s", err.text);
    return s;
}

void
api_world_open(struct api_world *w, const struct api_route *const *groups)
{
    *w = (struct api_world){0};
    w->store = contract_open(&contract_drivers[0]);
    w->loop = loop_create();
    w->env = (struct api_env){.store = w->store,
        .loop = w->loop,
        .public_url = "",
        .data_dir = "",
        .sender_address = "",
        .started_at_ms = clock_now_ms()};
    w->api = api_create(w->loop, &w->env, groups);
    w->tcp = start(w, NULL);
    w->control = start(w, suite_path("api.sock"));
}

void
api_world_close(struct api_world *w)
{
    http_server_free(&w->tcp);
    http_server_free(&w->control);
    api_free(&w->api);
    loop_free(&w->loop);
    contract_close(&w->store);
}

const char *
api_world_token(struct api_world *w, const char *actor, uint32_t scopes, uint64_t *id_r)
{
    static char ring[4][96];
    static unsigned turn;
    char *out = ring[turn++ % 4];
    struct buf token = BUF_INIT;
    struct err err = {0};
    uint64_t id;

    ck_assert_msg(token_doc_create(w->store, slice_str(actor), scopes, SLICE_LIT("test"),
                      clock_now_ms(), &token, &id, &err) == 0,
        "%s", err.text);
    snprintf(out, sizeof ring[0], "%.*s", SLICE_FMT(buf_slice(&token)));
    buf_deinit(&token);
    if (id_r != NULL)
        *id_r = id;
    return out;
}

static void
send_request(struct raw *c, const char *method, const char *target, const char *token,
    const char *headers, const char *body)
{
    struct buf b = BUF_INIT;

    buf_printf(&b, "%s %s HTTP/1.1\r\nHost: t\r\n%s", method, target, headers);
    if (token != NULL)
        buf_printf(&b, "Authorization: Bearer %s\r\n", token);
    if (body != NULL)
        buf_printf(&b, "Content-Length: %zu\r\n", strlen(body));
    buf_printf(&b, "\r\n%s", body != NULL ? body : "");
    ck_assert(raw_send(c, buf_slice(&b)));
    buf_deinit(&b);
}

void
api_world_send(struct api_world *w, struct raw *c, const char *method, const char *target,
    const char *token, const char *headers, const char *body)
{
    raw_open_tcp(c, w->loop, http_server_port(w->tcp));
    send_request(c, method, target, token, headers, body);
}

void
api_world_call(struct api_world *w, const char *method, const char *target, const char *token,
    const char *headers, const char *body, struct raw_answer *a_r)
{
    struct raw c;

    api_world_send(w, &c, method, target, token, headers, body);
    raw_read(&c, false, a_r);
    raw_close(&c);
}

void
api_world_control(struct api_world *w, const char *method, const char *target, const char *body,
    struct raw_answer *a_r)
{
    struct raw c;

    raw_open_unix(&c, w->loop, suite_path("api.sock"));
    send_request(&c, method, target, NULL, "", body);
    raw_read(&c, false, a_r);
    raw_close(&c);
}

void
api_world_expect(struct raw_answer *a, unsigned status, const char *error)
{
    struct json *j = json_parse(buf_slice(&a->body), 0, 0, NULL);
    struct slice word = json_str(json_get(j, "error"));

    ck_assert_msg(a->status == status, "%u: %s", a->status, buf_cstr(&a->body));
    ck_assert_msg(error == NULL ? word.p == NULL : slice_eq_str(word, error), "%s: %s",
        error != NULL ? error : "no error", buf_cstr(&a->body));
    json_free(&j);
    raw_answer_deinit(a);
}
