#include "api/resources.h"

#include <string.h>

#include "api/auth.h"
#include "api/route_match.h"
#include "api/schema.h"

/*
 * The API describes itself, from the table that routes the requests: GET /agent as a short list for
 * programs and people, with schemas on request. Nothing here is written twice, so nothing can
 * drift.
 */

/** The path with its query parameters behind it: "/agent/runs?status=&limit=". */
static void
write_path(struct json_writer *w, const struct api_route *r, struct arena *a)
{
    const char *path = r->path;

    for (const struct api_field *f = r->query; f != NULL && f->name != NULL; f++)
        path = arena_printf(a, "%s%c%s=", path, f == r->query ? '?' : '&', f->name);
    jw_cstr(w, "path", path);
}

static void
write_schemas(struct json_writer *w, const struct api_route *r)
{
    if (r->body != NULL)
        api_schema_write(w, "body", r->body);
    if (r->query != NULL)
        api_schema_write(w, "query", r->query);
    jw_obj(w, "limits");
    jw_int(w, "bodyBytes", r->max_body > 0 ? (int64_t)r->max_body : 1048576);
    jw_end_obj(w);
    jw_arr(w, "errors");
    for (const char *const *e = r->errors; e != NULL && *e != NULL; e++)
        jw_cstr(w, NULL, *e);
    jw_end_arr(w);
}

static void
write_endpoint(struct api_call *c, const struct api_route *r, bool schemas)
{
    struct json_writer *w = &c->w;
    const char *scope = api_scope_name(r->scope);

    jw_obj(w, NULL);
    jw_cstr(w, "method", r->method);
    write_path(w, r, c->arena);
    jw_cstr(w, "summary", r->summary);
    if (scope != NULL)
        jw_cstr(w, "scope", scope);
    if ((r->flags & API_TEST_CONTACTS) != 0)
        jw_bool(w, "testContactsOnly", true);
    if ((r->flags & API_CREATES_MAIL) != 0)
        jw_bool(w, "idempotencyKey", true);
    if (schemas)
        write_schemas(w, r);
    jw_end_obj(w);
}

static int
describe(struct api_call *c, struct err *err)
{
    bool schemas = api_query_bool(c, "schemas", false);
    struct json_writer *w = &c->w;

    jw_obj(w, NULL);
    jw_cstr(w, "service", "mailshot");
    jw_cstr(w, "version", MAILSHOT_VERSION);
    jw_cstr(w, "actor", c->actor.label);
    jw_arr(w, "scopes");
    for (uint32_t bit = 1; bit < API_ANY; bit <<= 1)
        if ((c->actor.scopes & bit) != 0 && api_scope_name(bit) != NULL)
            jw_cstr(w, NULL, api_scope_name(bit));
    jw_end_arr(w);
    jw_bool(w, "testContactsConfigured", c->env->n_test_contacts > 0);
    jw_cstr(w, "docs", "/openapi.json");
    jw_arr(w, "endpoints");
    for (size_t i = 0; i < api_table_count(c->env->table); i++)
        write_endpoint(c, api_table_get(c->env->table, i), schemas);
    jw_end_arr(w);
    jw_end_obj(w);
    return 0;
}

static const struct api_field describe_query[] = {
    {.name = "schemas", .type = FIELD_BOOL, .help = "add body and query schemas, limits, errors"},
    {.name = NULL},
};

const struct api_route api_describe_routes[] = {
    {
        .method = "GET",
        .path = "/agent",
        .summary = "This list: every operation there is",
        .scope = API_ANY,
        .query = describe_query,
        .handler = describe,
    },
    {
        .method = "GET",
        .path = "/openapi.json",
        .summary = "The same as an OpenAPI 3.1 document",
        .scope = API_ANY,
        .handler = api_openapi,
    },
    {.method = NULL},
};
