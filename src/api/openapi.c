#include "api/resources.h"

#include <stdio.h>
#include <string.h>

#include "api/auth.h"
#include "api/route_match.h"
#include "api/schema.h"

/*
 * OpenAPI 3.1 from the route table. Operations of one path are gathered under it, as the format
 * wants; path parameters change from ":name" to "{name}".
 */

#define PARAM_NAME_MAX 64

/** "/a/:b" as "/a/{b}". */
static const char *
template_of(const char *path, struct arena *a)
{
    char *out = arena_alloc(a, 2 * strlen(path) + 1);
    size_t n = 0;
    bool in_param = false;

    for (const char *p = path;; p++) {
        if (in_param && (*p == '/' || *p == '\0')) {
            out[n++] = '}';
            in_param = false;
        }
        if (*p == '\0')
            break;
        in_param = in_param || *p == ':';
        out[n++] = *p == ':' ? '{' : *p;
    }
    out[n] = '\0';
    return out;
}

static void
write_path_params(struct json_writer *w, const char *path)
{
    for (const char *p = strchr(path, ':'); p != NULL; p = strchr(p + 1, ':')) {
        char name[PARAM_NAME_MAX];

        snprintf(name, sizeof name, "%.*s", (int)strcspn(p + 1, "/"), p + 1);
        jw_obj(w, NULL);
        jw_cstr(w, "name", name);
        jw_cstr(w, "in", "path");
        jw_bool(w, "required", true);
        jw_obj(w, "schema");
        jw_cstr(w, "type", "string");
        jw_end_obj(w);
        jw_end_obj(w);
    }
}

static void
write_params(struct json_writer *w, const struct api_route *r)
{
    jw_arr(w, "parameters");
    write_path_params(w, r->path);
    for (const struct api_field *f = r->query; f != NULL && f->name != NULL; f++) {
        jw_obj(w, NULL);
        jw_cstr(w, "name", f->name);
        jw_cstr(w, "in", "query");
        jw_bool(w, "required", f->is_required);
        if (f->help != NULL)
            jw_cstr(w, "description", f->help);
        api_schema_write_field(w, "schema", f);
        jw_end_obj(w);
    }
    if ((r->flags & API_CREATES_MAIL) != 0) {
        jw_obj(w, NULL);
        jw_cstr(w, "name", "Idempotency-Key");
        jw_cstr(w, "in", "header");
        jw_obj(w, "schema");
        jw_cstr(w, "type", "string");
        jw_int(w, "maxLength", 128);
        jw_end_obj(w);
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

static void
write_body(struct json_writer *w, const struct api_route *r)
{
    bool is_raw = (r->flags & API_RAW_BODY) != 0;

    if (r->body == NULL && !is_raw)
        return;
    jw_obj(w, "requestBody");
    jw_obj(w, "content");
    jw_obj(w, is_raw ? "application/octet-stream" : "application/json");
    if (!is_raw)
        api_schema_write(w, "schema", r->body);
    jw_end_obj(w);
    jw_end_obj(w);
    jw_end_obj(w);
}

static void
write_responses(struct json_writer *w, const struct api_route *r)
{
    jw_obj(w, "responses");
    jw_obj(w, "2XX");
    jw_cstr(w, "description", "done");
    jw_end_obj(w);
    jw_obj(w, "default");
    jw_cstr(w, "description", "an error object");
    jw_obj(w, "content");
    jw_obj(w, "application/json");
    jw_obj(w, "schema");
    jw_cstr(w, "$ref", "#/components/schemas/Error");
    jw_end_obj(w);
    jw_end_obj(w);
    jw_end_obj(w);
    jw_end_obj(w);
    jw_end_obj(w);
    jw_arr(w, "x-errors");
    for (const char *const *e = r->errors; e != NULL && *e != NULL; e++)
        jw_cstr(w, NULL, *e);
    jw_end_arr(w);
}

static void
write_operation(struct json_writer *w, const struct api_route *r)
{
    const char *scope = api_scope_name(r->scope);
    char method[16];
    size_t n = 0;

    for (; r->method[n] != '\0' && n + 1 < sizeof method; n++)
        method[n] = (char)(r->method[n] | 0x20); /* ASCII upper to lower case */
    method[n] = '\0';
    jw_obj(w, method);
    jw_cstr(w, "summary", r->summary);
    if (scope != NULL)
        jw_cstr(w, "x-scope", scope);
    if ((r->flags & API_TEST_CONTACTS) != 0)
        jw_bool(w, "x-test-contacts-only", true);
    write_params(w, r);
    write_body(w, r);
    write_responses(w, r);
    jw_end_obj(w);
}

static void
write_paths(struct json_writer *w, const struct api_table *t, struct arena *a)
{
    size_t n = api_table_count(t);

    jw_obj(w, "paths");
    for (size_t i = 0; i < n; i++) {
        const char *path = api_table_get(t, i)->path;
        bool seen = false;

        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(api_table_get(t, k)->path, path) == 0;
        if (seen)
            continue;
        jw_obj(w, template_of(path, a));
        for (size_t k = i; k < n; k++)
            if (strcmp(api_table_get(t, k)->path, path) == 0)
                write_operation(w, api_table_get(t, k));
        jw_end_obj(w);
    }
    jw_end_obj(w);
}

static void
write_components(struct json_writer *w)
{
    jw_obj(w, "components");
    jw_obj(w, "securitySchemes");
    jw_obj(w, "token");
    jw_cstr(w, "type", "http");
    jw_cstr(w, "scheme", "bearer");
    jw_end_obj(w);
    jw_end_obj(w);
    jw_obj(w, "schemas");
    jw_obj(w, "Error");
    jw_cstr(w, "type", "object");
    jw_obj(w, "properties");
    jw_obj(w, "error");
    jw_cstr(w, "type", "string");
    jw_end_obj(w);
    jw_obj(w, "message");
    jw_cstr(w, "type", "string");
    jw_end_obj(w);
    jw_end_obj(w);
    jw_arr(w, "required");
    jw_cstr(w, NULL, "error");
    jw_cstr(w, NULL, "message");
    jw_end_arr(w);
    jw_end_obj(w);
    jw_end_obj(w);
    jw_end_obj(w);
}

int
api_openapi(struct api_call *c, struct err *err)
{
    struct json_writer *w = &c->w;

    jw_obj(w, NULL);
    jw_cstr(w, "openapi", "3.1.0");
    jw_obj(w, "info");
    jw_cstr(w, "title", "Mailshot");
    jw_cstr(w, "version", MAILSHOT_VERSION);
    jw_end_obj(w);
    jw_arr(w, "security");
    jw_obj(w, NULL);
    jw_arr(w, "token");
    jw_end_arr(w);
    jw_end_obj(w);
    jw_end_arr(w);
    write_paths(w, c->env->table, c->arena);
    write_components(w);
    jw_end_obj(w);
    return 0;
}
