#include "api/local.h"

#include <stdio.h>
#include <time.h>

#include "api/auth.h"
#include "api/call.h"
#include "api/route_match.h"
#include "api/run.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/rand.h"
#include "http/uri.h"

/*
 * Calls in process. What HTTP does around a call (authentication, rates, deadlines) has no meaning
 * here: whoever can open the data folder owns it. Everything inside the call is api_run().
 */

struct api_local {
    struct api_env *env;
    struct api_table *table;
};

struct api_local *
api_local_create(struct api_env *env, const struct api_route *const *groups)
{
    struct api_local *l = mem_zalloc(sizeof *l);

    l->env = env;
    l->table = api_table_create(groups);
    env->table = l->table;
    return l;
}

void
api_local_free(struct api_local **l)
{
    if (*l == NULL)
        return;
    (*l)->env->table = NULL;
    api_table_free(&(*l)->table);
    mem_free(*l);
    *l = NULL;
}

/** Fill route, parameters and query from the target. */
static int
find_route(struct api_local *l, const char *method, const char *target, struct api_call *c,
    struct err *err)
{
    struct http_uri *uri = arena_zalloc(c->arena, sizeof *uri);
    char allow[64];

    if (http_uri_parse(slice_str(target), c->arena, uri, err) != 0)
        return -1;
    c->query = uri->params;
    c->n_query = uri->n_params;
    switch (api_table_match(l->table, slice_str(method), uri, &c->route, c->params, allow)) {
    case API_MATCHED: return 0;
    case API_NO_METHOD:
        return err_sub(err, ERR_INVALID, "method_not_allowed", "this path is served for %s", allow);
    case API_NO_PATH: break;
    }
    return err_sub(err, ERR_NOTFOUND, "not_found", "no such path");
}

static void
sleep_ms(int64_t ms)
{
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&ts, NULL);
}

static void
run_to_end(struct api_call *c, struct slice body)
{
    for (;;) {
        int64_t wait_ms;

        api_run(c, body);
        if ((wait_ms = c->again_ms) <= 0)
            return;
        sleep_ms(wait_ms);
        c->waited_ms += wait_ms;
    }
}

unsigned
api_local_run(
    struct api_local *l, const char *method, const char *target, struct slice body, struct buf *out)
{
    struct api_call c = {.env = l->env, .arena = arena_create(0)};
    char id[ID_TEXT_SIZE];
    struct err err = {0};
    unsigned status;

    api_call_init(&c);
    api_actor_owner(&c.actor, API_VIA_LOCAL);
    c.request_id = id_text(rand_below(UINT64_MAX >> 1) + 1, id);
    if (find_route(l, method, target, &c, &err) != 0)
        api_run_fail(&c, &err);
    else
        run_to_end(&c, body);
    buf_append_slice(out, buf_slice(&c.out));
    status = c.status;
    api_call_deinit(&c);
    arena_free(&c.arena);
    return status;
}
