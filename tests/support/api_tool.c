/* Calls of the API in one process, for tests of its resources. */
#include "support/api_tool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "api/local.h"
#include "api/resources.h"
#include "base/clock.h"
#include "loop/loop.h"

void
api_tool_open(struct api_tool *t, struct engine *e, const char *name)
{
    memset(t, 0, sizeof *t);
    engine_start(e, name);
    t->engine = e;
    t->env = (struct api_env){
        .store = e->store,
        .loop = e->loop,
        .keys = e->keys,
        .sender = e->sender,
        .broadcasts = &e->b,
        .gates = e->gates,
        .public_url = "https://mail.example",
        .data_dir = e->folder,
        .sender_address = "Mailshot, Example Street 1",
        .started_at_ms = clock_now_ms(),
    };
    t->local = api_local_create(&t->env, api_all_routes);
}

void
api_tool_close(struct api_tool *t)
{
    api_local_free(&t->local);
    json_free(&t->answer);
    buf_deinit(&t->raw);
    engine_stop(t->engine);
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct job {
    struct api_tool *t;
    const char *method, *target;
    struct slice body;
    atomic_bool is_done;
};

static void *
run_job(void *arg)
{
    struct job *j = arg;

    j->t->status = api_local_run(j->t->local, j->method, j->target, j->body, &j->t->raw);
    atomic_store(&j->is_done, true);
    loop_wake(j->t->engine->loop);
    return NULL;
}

const struct json *
api_tool_raw(
    struct api_tool *t, const char *method, const char *target, struct slice body, unsigned status)
{
    struct job j = {.t = t, .method = method, .target = target, .body = body};
    struct err err = {0};
    pthread_t thread;

    json_free(&t->answer);
    buf_clear(&t->raw);
    ck_assert_int_eq(pthread_create(&thread, NULL, run_job, &j), 0);
    while (!atomic_load(&j.is_done))
        loop_turn(t->engine->loop, 10);
    pthread_join(thread, NULL);
    ck_assert_msg(t->status == status, "%s %s: %u instead of %u: %.*s", method, target, t->status,
        status, SLICE_FMT(buf_slice(&t->raw)));
    t->answer = json_parse(buf_slice(&t->raw), 0, 1000000, &err);
    return t->answer;
}

const struct json *
api_tool_call(
    struct api_tool *t, const char *method, const char *target, const char *body, unsigned status)
{
    const struct json *answer;
    char *text = strdup(body != NULL ? body : "");

    for (char *p = text; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    answer = api_tool_raw(t, method, target, slice_str(text), status);
    free(text);
    return answer;
}

/* Does the path of a route fit a target? */
static bool
fits(const char *path, const char *target)
{
    struct slice at = slice_make(target, strcspn(target, "?")), rest = slice_str(path);
    struct slice part, want;
    bool has_part, has_want;

    do {
        has_part = slice_cut(&at, '/', &part);
        has_want = slice_cut(&rest, '/', &want);
        if (has_part != has_want ||
            (has_want && !slice_starts(want, SLICE_LIT(":")) && !slice_eq(part, want)))
            return false;
    } while (has_want);
    return true;
}

/* What a route may answer beside the words that all may is part of its description. */
static bool
is_declared(const char *method, const char *target, const char *error)
{
    static const char *const common[] = {
        "validation_failed", "invalid_json", "method_not_allowed", NULL};
    const char *const *words = common;

    for (size_t i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], error) == 0)
            return true;
    for (size_t g = 0; api_all_routes[g] != NULL; g++)
        for (const struct api_route *r = api_all_routes[g]; r->method != NULL; r++)
            for (words = r->errors; words != NULL && *words != NULL; words++)
                if (strcmp(r->method, method) == 0 && fits(r->path, target) &&
                    strcmp(*words, error) == 0)
                    return true;
    return false;
}

const struct json *
api_tool_refuse(struct api_tool *t, const char *method, const char *target, const char *body,
    unsigned status, const char *error)
{
    api_tool_call(t, method, target, body, status);
    ck_assert_msg(strcmp(api_tool_str(t, "error"), error) == 0, "%s %s %s: %s instead of %s",
        method, target, body != NULL ? body : "", api_tool_str(t, "error"), error);
    ck_assert_msg(api_tool_str(t, "message")[0] != '\0', "%s says nothing", error);
    ck_assert_msg(is_declared(method, target, error), "%s %s does not say that it may answer %s",
        method, target, error);
    return t->answer;
}

void
api_tool_refuse_all(struct api_tool *t, const struct api_tool_case *cases)
{
    for (; cases->method != NULL; cases++)
        api_tool_refuse(t, cases->method, cases->target, cases->body, cases->status, cases->error);
}

/* ---- answers --------------------------------------------------------------------------------- */

const struct json *
api_tool_get(const struct api_tool *t, const char *path)
{
    const struct json *at = t->answer;
    struct slice rest = slice_str(path), part;
    uint64_t i;

    while (at != NULL && slice_cut(&rest, '.', &part)) {
        char name[64];

        snprintf(name, sizeof name, "%.*s", SLICE_FMT(part));
        at = json_is(at, JSON_ARRAY) && slice_u64(part, &i) ? json_at(at, (size_t)i)
                                                            : json_get(at, name);
    }
    ck_assert_msg(at != NULL, "no %s in %.*s", path, SLICE_FMT(buf_slice(&t->raw)));
    return at;
}

int64_t
api_tool_int(const struct api_tool *t, const char *path)
{
    int64_t v;

    ck_assert_msg(json_int(api_tool_get(t, path), &v), "%s is no integer", path);
    return v;
}

const char *
api_tool_str(const struct api_tool *t, const char *path)
{
    static char ring[4][4096];
    static unsigned turn;
    char *out = ring[turn++ % 4];
    const struct json *j = api_tool_get(t, path);

    ck_assert_msg(json_is(j, JSON_STRING) || json_is(j, JSON_NULL), "%s is no text", path);
    snprintf(out, sizeof ring[0], "%.*s", SLICE_FMT(json_str(j)));
    return out;
}

bool
api_tool_bool(const struct api_tool *t, const char *path)
{
    const struct json *j = api_tool_get(t, path);

    ck_assert_msg(json_is(j, JSON_BOOL), "%s is no boolean", path);
    return json_bool(j, false);
}
