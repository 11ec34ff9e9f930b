#include "api/resources.h"

#include "api/resource.h"
#include "model/audit.h"

/*
 * Who did what. Append only, newest first.
 */

static int
list(struct api_call *c, struct err *err)
{
    struct slice resource = api_query(c, "resource"), id = api_query(c, "resourceId");
    uint64_t before, next = 0;

    if ((resource.p == NULL) != (id.p == NULL))
        return err_field(err, "resource", "resource: goes together with resourceId");
    if (api_page_after(c, &before, err) != 0)
        return -1;
    api_page_begin(c);
    if (audit_list(c->env->store, resource, id, before, api_page_limit(c), c->arena, &c->w, &next,
            err) != 0)
        return -1;
    api_page_end(c, next);
    return 0;
}

static const struct api_field list_query[] = {
    {.name = "resource",
        .type = FIELD_STRING,
        .min = 1,
        .max = 64,
        .help = "broadcasts, templates, profiles, tokens, suppressions, contacts"},
    {.name = "resourceId", .type = FIELD_STRING, .min = 1, .max = 256, .help = "slug, id or hash"},
    API_PAGE_FIELDS,
    {.name = NULL},
};

static const char *const page_errors[] = {"bad_cursor", NULL};

const struct api_route api_audit_routes[] = {
    {
        .method = "GET",
        .path = "/agent/audit",
        .summary = "Who did what, newest first",
        .scope = API_READ,
        .query = list_query,
        .handler = list,
        .errors = page_errors,
    },
    {.method = NULL},
};
