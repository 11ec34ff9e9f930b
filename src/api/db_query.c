#include "api/resources.h"

#include <bson/bson.h>

#include "api/resource.h"
#include "base/bsonx.h"
#include "store/store.h"

/*
 * A look at stored documents, for the owner at the control socket. The filter is the store's own
 * language in MongoDB's extended JSON ({"_id": {"$numberLong": "..."}}); nothing can be changed here.
 */

#define QUERY_DEFAULT 20

static int
read_filter(struct api_call *c, bson_t *filter, struct err *err)
{
    const struct json *j = json_get(c->body, "filter");
    struct buf text = BUF_INIT;
    struct json_writer w;
    bson_error_t why;
    bool ok = true;

    if (j == NULL) {
        bson_init(filter);
        return 0;
    }
    jw_init(&w, &text);
    jw_json(&w, NULL, j);
    ok = bson_init_from_json(filter, text.p, (ssize_t)text.n, &why);
    buf_deinit(&text);
    if (ok)
        return 0;
    return err_field(err, "filter", "filter: %.200s", why.message);
}

static int
query(struct api_call *c, struct err *err)
{
    const char *coll = arena_cstr(c->arena, api_body_str(c, "collection"));
    int64_t limit = QUERY_DEFAULT;
    struct store_batch *b;
    bson_t filter;
    unsigned op;
    int rc;

    if (read_filter(c, &filter, err) != 0)
        return -1;
    json_int(json_get(c->body, "limit"), &limit);
    b = store_batch_create(c->env->store, STORE_BULK);
    op = store_find(b, coll, STORE_SCAN, &filter, &(struct store_find){.limit = (uint32_t)limit});
    if ((rc = store_run(b, err)) == 0) {
        const struct store_result *r = store_batch_result(b, op);

        api_page_begin(c);
        for (size_t i = 0; i < r->n_docs; i++)
            bsonx_to_json(&c->w, NULL, &r->docs[i]);
        api_page_end(c, 0);
    }
    store_batch_free(&b);
    bson_destroy(&filter);
    return rc;
}

static const struct api_field query_fields[] = {
    {.name = "collection", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 64},
    {.name = "filter", .type = FIELD_OBJECT},
    {.name = "limit", .type = FIELD_INT, .min = 1, .max = API_PAGE_MAX, .help = "20 unless given"},
    {.name = NULL},
};

static const char *const query_errors[] = {"unknown_collection", "unsupported_filter", NULL};

const struct api_route api_query_routes[] = {
    {
        .method = "POST",
        .path = "/admin/db/query",
        .summary = "Stored documents that meet a filter",
        .scope = API_ADMIN,
        .flags = API_OWNER_ONLY,
        .body = query_fields,
        .handler = query,
        .errors = query_errors,
    },
    {.method = NULL},
};
