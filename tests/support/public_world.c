#include "support/public_world.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "crypto/crypto.h"
#include "feedback/engagement.h"
#include "feedback/opt_out_intake.h"
#include "http/server.h"
#include "loop/loop.h"
#include "model/suppression.h"
#include "public/public.h"
#include "store/sends.h"
#include "store/store.h"

static const struct http_handlers handlers = {.head = public_head, .body = public_body};

void
public_world_open(struct public_world *w, const char *name)
{
    struct engine *e = &w->engine;
    struct err err = {0};

    engine_start(e, name);
    snprintf(w->journal, sizeof(w->journal), "%s/journal", e->folder);
    ck_assert_int_eq(mkdir(w->journal, 0700), 0);
    w->opt_outs = opt_out_intake_create(&(struct opt_out_intake_args){.loop = e->loop,
        .store = e->store,
        .gates = e->gates,
        .runs = e->runs,
        .cpu = e->cpu,
        .journal_folder = w->journal});
    opt_out_intake_settle(w->opt_outs);
    w->engagements = engagements_create(
        &(struct engagements_args){.loop = e->loop, .store = e->store, .runs = e->runs});
    w->site = public_create(&(struct public_args){.loop = e->loop,
        .store = e->store,
        .cpu = e->cpu,
        .keys = e->keys,
        .opt_outs = w->opt_outs,
        .engagements = w->engagements,
        .legacy_secret = PUBLIC_LEGACY_SECRET});
    w->server = http_server_start(e->loop,
        &(struct http_server_args){.host = "127.0.0.1",
            .max_connections = 200,
            .idle_timeout_ms = 20000,
            .deadline_ms = 10000},
        &handlers, w->site, &err);
    ck_assert_msg(w->server != NULL, "%s", err.text);
}

void
public_world_close(struct public_world *w)
{
    engagements_stop(w->engagements);
    public_world_rest(w);
    http_server_free(&w->server);
    public_free(&w->site);
    engagements_free(&w->engagements);
    opt_out_intake_free(&w->opt_outs);
    engine_stop(&w->engine);
}

void
public_world_rest(struct public_world *w)
{
    int64_t end = clock_mono_ms() + 30000;

    while (opt_out_intake_busy(w->opt_outs) > 0 || engagements_busy(w->engagements) > 0) {
        ck_assert(clock_mono_ms() < end);
        loop_turn(w->engine.loop, 20);
    }
}

uint64_t
public_world_send(struct public_world *w, unsigned n)
{
    engine_add_profile(&w->engine);
    engine_add_contacts(&w->engine, 0, n);
    engine_add_template(&w->engine);
    ck_assert_uint_eq(engine_start_broadcast(&w->engine, "spring"), n);
    return engine_wait(&w->engine, "spring", 1u << RUN_SENT).broadcast;
}

struct token_send
public_world_row(struct public_world *w, uint64_t broadcast, unsigned i)
{
    struct sends_list list = {.broadcast = broadcast, .state = -1, .fail_class = -1, .limit = 500};
    struct store_batch *b = store_batch_create(w->engine.store, STORE_URGENT);
    unsigned op = sends_list(b, &list);
    struct token_send ref = {.broadcast = broadcast};
    struct err err = {0};
    char want[64];

    snprintf(want, sizeof(want), "user%u@r%u.example.org", i, i % 7);
    ck_assert_int_eq(store_run(b, &err), 0);
    for (size_t k = 0; k < sends_result(b, op)->n_rows; k++)
        if (slice_eq_str(sends_result(b, op)->rows[k].address, want))
            ref.send = sends_result(b, op)->rows[k].id;
    store_batch_free(&b);
    ck_assert_uint_ne(ref.send, 0);
    return ref;
}

void
public_world_ask(struct public_world *w, const char *method, const char *path, const char *agent,
    const char *body, struct raw_answer *a_r)
{
    struct buf text = BUF_INIT;
    struct raw raw;

    buf_printf(&text, "%s %s HTTP/1.1\r\nHost: m.example\r\n", method, path);
    if (agent != NULL)
        buf_printf(&text, "User-Agent: %s\r\n", agent);
    if (body != NULL)
        buf_printf(&text,
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n",
            strlen(body));
    buf_append_str(&text, "\r\n");
    buf_append_str(&text, body != NULL ? body : "");
    raw_open_tcp(&raw, w->engine.loop, http_server_port(w->server));
    ck_assert(raw_send(&raw, buf_slice(&text)));
    raw_read(&raw, strcmp(method, "HEAD") == 0, a_r);
    raw_close(&raw);
    buf_deinit(&text);
}

unsigned
public_world_status(struct public_world *w, const char *method, const char *path, const char *agent)
{
    struct raw_answer a;
    unsigned status;

    public_world_ask(w, method, path, agent, NULL, &a);
    status = a.status;
    raw_answer_deinit(&a);
    return status;
}

/* Path texts live in the engine's arena. */
static const char *
keep(struct public_world *w, struct buf *path)
{
    const char *kept = arena_cstr(w->engine.arena, buf_slice(path));

    buf_deinit(path);
    return kept;
}

const char *
public_world_unsub(struct public_world *w, const char *address_key, const struct token_send *ref,
    enum token_scope scope, int64_t expires_ms)
{
    struct token_unsub t = {
        .scope = scope, .expires_ms = expires_ms, .address_key = slice_str(address_key)};
    struct buf path = BUF_INIT;

    if (ref != NULL)
        t.send = *ref;
    buf_append_str(&path, "/m/unsub/");
    token_unsub_make(w->engine.keys, &t, &path);
    return keep(w, &path);
}

const char *
public_world_open_path(struct public_world *w, const struct token_send *ref)
{
    struct buf path = BUF_INIT;

    token_open_make(w->engine.keys, ref, &path);
    return keep(w, &path);
}

const char *
public_world_click_path(
    struct public_world *w, const struct token_send *ref, uint32_t ordinal, const char *target)
{
    struct buf path = BUF_INIT;

    if (target != NULL)
        token_click_dynamic_make(w->engine.keys, ref, ordinal, slice_str(target), &path);
    else
        token_click_make(w->engine.keys, ref, ordinal, &path);
    return keep(w, &path);
}

unsigned
public_world_suppressions(struct public_world *w, const char *address_key)
{
    const struct suppression *rows;
    struct err err = {0};
    size_t n;

    ck_assert_int_eq(suppression_list_address(w->engine.store,
                         crypto_address_hash(w->engine.keys, slice_str(address_key)),
                         w->engine.arena, &rows, &n, &err),
        0);
    return (unsigned)n;
}
