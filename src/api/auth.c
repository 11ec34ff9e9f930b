#include "api/auth.h"

#include <stdio.h>
#include <string.h>

#include "api/rate.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "http/server.h"
#include "loop/loop.h"
#include "model/token_doc.h"

/*
 * Authentication. A caller is known by where it comes from (the control socket, or this machine for
 * a few routes) or by a bearer token (RFC 6750 §2.1). Only the SHA-256 of a token is compared, as
 * the key of an index or of the cache: what timing could tell about it does not help to find a
 * token. A client that fails is slowed down by address: after ten failures in a minute the store is
 * not asked any more, while tokens that are known go on working.
 */

#define CACHE_MS       5000
#define CACHE_MAX      1024
#define TOKEN_MIN      24
#define TOKEN_MAX      256
#define FAILS_A_MINUTE 10
#define CALLS_A_MINUTE 1200
#define CALLS_BURST    60
#define NAMES_MAX      4096

struct cached {
    struct api_actor actor;
    int64_t until_ms;
};

struct api_auth {
    struct map_str *cache; /* hex hash → struct cached */
    struct rate_table *calls;
    struct rate_table *fails;
};

struct api_auth *
api_auth_create(void)
{
    struct api_auth *a = mem_zalloc(sizeof *a);

    a->cache = map_str_create();
    a->calls = rate_table_create(CALLS_A_MINUTE, CALLS_BURST, NAMES_MAX);
    a->fails = rate_table_create(FAILS_A_MINUTE, FAILS_A_MINUTE, NAMES_MAX);
    return a;
}

static void
cache_clear(struct api_auth *a)
{
    struct slice key;
    void *value;
    size_t it = 0;

    while (map_str_next(a->cache, &it, &key, &value))
        mem_free(value);
    map_str_free(&a->cache);
    a->cache = map_str_create();
}

void
api_auth_free(struct api_auth **a)
{
    if (*a == NULL)
        return;
    cache_clear(*a);
    map_str_free(&(*a)->cache);
    rate_table_free(&(*a)->calls);
    rate_table_free(&(*a)->fails);
    mem_free(*a);
    *a = NULL;
}

bool
api_auth_bearer(struct slice header, struct slice *token_r)
{
    struct slice token;

    if (!slice_istarts(header, SLICE_LIT("Bearer")))
        return false;
    token = slice_from(header, strlen("Bearer"));
    if (token.n == 0 || (token.p[0] != ' ' && token.p[0] != '\t'))
        return false;
    token = slice_trim(token);
    if (token.n < TOKEN_MIN || token.n > TOKEN_MAX)
        return false;
    for (size_t i = 0; i < token.n; i++)
        if (token.p[i] <= ' ' || token.p[i] >= 0x7f)
            return false;
    *token_r = token;
    return true;
}

void
api_actor_owner(struct api_actor *actor_r, enum api_via via)
{
    *actor_r = (struct api_actor){.scopes = API_ALL_SCOPES, .via = via};
    snprintf(actor_r->label, sizeof actor_r->label, "owner:local");
}

/** Callers that need no token; false for all others. */
static bool
known_by_place(const struct http_request *r, const struct api_route *route, struct api_actor *actor)
{
    if (http_request_is_local_socket(r)) {
        api_actor_owner(actor, API_VIA_SOCKET);
        return true;
    }
    if ((route->flags & API_LOOPBACK) != 0 && http_request_is_loopback(r)) {
        *actor = (struct api_actor){.scopes = 0, .via = API_VIA_LOOPBACK};
        snprintf(actor->label, sizeof actor->label, "anonymous");
        return true;
    }
    return false;
}

static int64_t
whole_seconds(int64_t ms)
{
    return (ms + 999) / 1000;
}

enum api_auth_verdict
api_auth_begin(struct api_auth *a, struct http_request *r, const struct api_route *route,
    int64_t now_ms, struct api_actor *actor_r, struct api_auth_key *key_r, int64_t *retry_after_s_r,
    struct err *err)
{
    struct slice token;
    const struct cached *c;
    int64_t wait_ms;

    if (known_by_place(r, route, actor_r))
        return API_AUTH_KNOWN;
    if (!api_auth_bearer(http_request_header(r, "Authorization"), &token)) {
        err_sub(err, ERR_REFUSED, "unauthorized", "send the header Authorization: Bearer <token>");
        return API_AUTH_REFUSED;
    }
    token_doc_hash(token, key_r->hex);
    c = map_str_get(a->cache, slice_str(key_r->hex));
    if (c != NULL && now_ms < c->until_ms) {
        *actor_r = c->actor;
        return API_AUTH_KNOWN;
    }
    if ((wait_ms = rate_table_peek(a->fails, slice_str(http_request_client(r)), now_ms)) > 0) {
        *retry_after_s_r = whole_seconds(wait_ms);
        err_sub(err, ERR_LIMIT, "rate_limited", "too many failed attempts from this address");
        return API_AUTH_REFUSED;
    }
    return API_AUTH_LOOKUP;
}

int
api_auth_lookup(
    struct store *st, const struct api_auth_key *key, struct api_actor *actor_r, struct err *err)
{
    struct arena *arena = arena_create(0);
    struct token_doc t;
    int rc = token_doc_find(st, key->hex, arena, &t, err);

    if (rc != 0 && err->code == ERR_NOTFOUND)
        err_sub(err, ERR_REFUSED, "unauthorized", "unknown token");
    if (rc == 0) {
        *actor_r =
            (struct api_actor){.scopes = t.scopes | API_ANY, .via = API_VIA_TOKEN, .token = t.id};
        snprintf(actor_r->label, sizeof actor_r->label, "%.*s", SLICE_FMT(t.actor));
    }
    arena_free(&arena);
    return rc;
}

void
api_auth_remember(struct api_auth *a, const struct api_auth_key *key, const struct api_actor *actor,
    const char *client, int64_t now_ms)
{
    struct cached *c;

    if (actor == NULL) {
        rate_table_take(a->fails, slice_str(client), now_ms);
        mem_free(map_str_del(a->cache, slice_str(key->hex)));
        return;
    }
    if (map_str_count(a->cache) >= CACHE_MAX)
        cache_clear(a);
    c = mem_alloc(sizeof *c);
    *c = (struct cached){*actor, now_ms + CACHE_MS};
    mem_free(map_str_put(a->cache, slice_str(key->hex), c));
}

int
api_auth_admit(struct api_auth *a, const struct api_route *route, const struct api_actor *actor,
    int64_t now_ms, int64_t *retry_after_s_r, struct err *err)
{
    int64_t wait_ms;

    if (actor->via != API_VIA_TOKEN)
        return 0;
    if ((route->flags & API_OWNER_ONLY) != 0 && (actor->scopes & API_ADMIN) == 0)
        return err_sub(err, ERR_REFUSED, "insufficient_scope", "this needs the scope admin");
    if (!api_actor_may(actor, route->scope))
        return err_sub(err, ERR_REFUSED, "insufficient_scope", "this needs the scope %s",
            api_scope_name(route->scope) != NULL ? api_scope_name(route->scope) : "admin");
    wait_ms = rate_table_take(a->calls, slice_str(actor->label), now_ms);
    if (wait_ms > 0) {
        *retry_after_s_r = whole_seconds(wait_ms);
        return err_sub(
            err, ERR_LIMIT, "rate_limited", "more than %d calls a second", CALLS_A_MINUTE / 60);
    }
    return 0;
}

static void
forget_all(void *arg)
{
    cache_clear(arg);
}

void
api_tokens_changed(struct api_env *env)
{
    if (env->auth != NULL)
        loop_post(env->loop, forget_all, env->auth);
}

static const struct {
    uint32_t bit;
    const char *name;
} scopes[] = {
    {API_READ, "read"},
    {API_TEST, "test"},
    {API_TEMPLATES, "templates"},
    {API_BROADCASTS, "broadcasts"},
    {API_CONTACTS, "contacts"},
    {API_ADMIN, "admin"},
};

uint32_t
api_scope_parse(struct slice name)
{
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++)
        if (slice_eq_str(name, scopes[i].name))
            return scopes[i].bit;
    return 0;
}

const char *
api_scope_name(uint32_t bit)
{
    for (size_t i = 0; i < sizeof scopes / sizeof scopes[0]; i++)
        if (scopes[i].bit == bit)
            return scopes[i].name;
    return NULL;
}
