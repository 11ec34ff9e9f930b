#include "support/http_world.h"

#include <check.h>
#include <stdio.h>

#include "loop/loop.h"

/* The server under test and its handler, shared by the suites on HTTP. */

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

const struct http_handlers fixture_handlers = {head, body};
const struct http_server_args plain = {0};

void
setup(struct fixture *f, const struct http_server_args *extra)
{
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
    f->server = http_server_start(f->loop, &args, &fixture_handlers, f, &err);
    ck_assert_msg(f->server != NULL, "%s", err.text);
}

void
teardown(struct fixture *f)
{
    http_server_free(&f->server);
    http_shared_free(&f->pixel);
    loop_free(&f->loop);
}

void
fetch(struct fixture *f, const char *request, bool is_head, struct raw_answer *a_r)
{
    struct raw raw;

    raw_open_tcp(&raw, f->loop, http_server_port(f->server));
    ck_assert(raw_send_str(&raw, request));
    raw_read(&raw, is_head, a_r);
    raw_close(&raw);
}

void
turn_until_parked(struct fixture *f)
{
    for (unsigned i = 0; i < 500 && f->parked == NULL; i++)
        loop_turn(f->loop, 5);
    ck_assert_ptr_nonnull(f->parked);
}
