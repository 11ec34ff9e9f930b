#include "api/call.h"

#include "http/uri.h"

/*
 * One call of a handler: small readers for what came in, and the two writers for what goes out, the
 * answer and the details of an error.
 */

void
api_call_init(struct api_call *c)
{
    buf_init(&c->out);
    buf_init(&c->details);
    buf_init(&c->message);
    api_call_reset(c);
}

void
api_call_deinit(struct api_call *c)
{
    buf_deinit(&c->out);
    buf_deinit(&c->details);
    buf_deinit(&c->message);
}

void
api_call_reset(struct api_call *c)
{
    buf_clear(&c->out);
    buf_clear(&c->details);
    buf_clear(&c->message);
    jw_init(&c->w, &c->out);
    c->status = 200;
    c->content_type = "application/json";
    c->retry_after_s = 0;
    c->again_ms = 0;
}

struct slice
api_query(const struct api_call *c, const char *name)
{
    for (size_t i = 0; i < c->n_query; i++)
        if (slice_eq_str(c->query[i].name, name))
            return c->query[i].value;
    return SLICE_NONE;
}

int64_t
api_query_int(const struct api_call *c, const char *name, int64_t fallback)
{
    int64_t v;

    return slice_i64(api_query(c, name), &v) ? v : fallback;
}

bool
api_query_bool(const struct api_call *c, const char *name, bool fallback)
{
    struct slice v = api_query(c, name);

    if (v.p == NULL)
        return fallback;
    return slice_eq_str(v, "true") || slice_eq_str(v, "1");
}

struct json_writer *
api_details(struct api_call *c)
{
    if (c->details.n == 0) {
        jw_init(&c->details_w, &c->details);
        jw_obj(&c->details_w, NULL);
    }
    return &c->details_w;
}

bool
api_actor_may(const struct api_actor *a, uint32_t scope)
{
    return (a->scopes & API_ADMIN) != 0 || (a->scopes & scope) != 0;
}
