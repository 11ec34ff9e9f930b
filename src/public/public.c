/*
 * Routing under "/m/". The table is small and fixed; what is not in it is an empty 404, so probing
 * teaches nothing. Answers that never differ are built once and shared.
 */
#include "public/public.h"

#include "base/mem.h"
#include "http/uri.h"
#include "feedback/click_cache.h"
#include "public/public_internal.h"

#define PREFIX     "/m/"
#define BODY_LIMIT 65536 /* the body of a one-click POST says nothing we need */

typedef void public_fn(struct public_site *p, struct http_request *r, struct slice name);

struct public_route {
    const char *name;
    public_fn *get, *post; /* post NULL = not allowed */
};

static const struct public_route routes[] = {
    {"open", public_open, NULL},
    {"click", public_click, NULL},
    {"unsub", public_unsubscribe_page, public_unsubscribe},
};

static const struct http_field plain_fields[] = {
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
};

static struct http_shared *
empty_answer(unsigned status, const char *name, const char *value)
{
    const struct http_field fields[] = {plain_fields[0], plain_fields[1], {name, value}};

    return http_shared_create(status, NULL, fields, 3, SLICE_NONE);
}

struct public_site *
public_create(const struct public_args *args)
{
    struct public_site *p = mem_zalloc(sizeof(*p));

    p->args = *args;
    p->clicks = click_cache_create(args->store, args->cpu);
    p->pixel = public_pixel_create();
    p->not_found = empty_answer(404, NULL, NULL);
    p->no_method = empty_answer(405, "Allow", "GET, HEAD");
    p->busy = empty_answer(503, "Retry-After", "60");
    p->nothing = empty_answer(200, NULL, NULL);
    return p;
}

void
public_free(struct public_site **pp)
{
    struct public_site *p = *pp;

    *pp = NULL;
    if (p == NULL)
        return;
    click_cache_free(&p->clicks);
    http_shared_free(&p->pixel);
    http_shared_free(&p->not_found);
    http_shared_free(&p->no_method);
    http_shared_free(&p->busy);
    http_shared_free(&p->nothing);
    buf_deinit(&p->scratch);
    mem_free(p);
}

bool
public_owns(const struct http_request *r)
{
    return slice_starts(http_request_path(r), SLICE_LIT(PREFIX));
}

bool
public_is_head(const struct http_request *r)
{
    return slice_eq_str(http_request_method(r), "HEAD");
}

size_t
public_head(struct http_request *r, void *arg)
{
    return BODY_LIMIT;
}

static const struct public_route *
route_of(const struct http_uri *uri)
{
    if (uri->n_segments != 3 || !slice_eq_str(uri->segments[0], "m"))
        return NULL;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        if (slice_eq_str(uri->segments[1], routes[i].name))
            return &routes[i];
    return NULL;
}

void
public_body(struct http_request *r, void *arg)
{
    struct public_site *p = arg;
    const struct http_uri *uri = http_request_uri(r);
    const struct public_route *route = route_of(uri);
    struct slice method = http_request_method(r);

    if (route == NULL)
        http_respond_shared(r, p->not_found);
    else if (slice_eq_str(method, "GET") || slice_eq_str(method, "HEAD"))
        route->get(p, r, uri->segments[2]);
    else if (route->post != NULL && slice_eq_str(method, "POST"))
        route->post(p, r, uri->segments[2]);
    else
        http_respond_shared(r, p->no_method);
}
