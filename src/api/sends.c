#include "api/resources.h"

#include "api/resource.h"
#include "api/send_view.h"
#include "broadcast/broadcasts.h"
#include "store/sends.h"
#include "store/store.h"

/*
 * One mail: read it, wait for it. A mail of a broadcast is found through its broadcast (its rows lie
 * together), so the slug goes along; without one it is one-off mail.
 */

struct found {
    struct store_batch *b; /* holds the row */
    const struct send_row *row;
};

static int
find_broadcast(struct api_call *c, uint64_t *id_r, struct err *err)
{
    struct slice slug = api_query(c, "broadcast");
    struct broadcast_doc d;

    *id_r = 0;
    if (slug.p == NULL)
        return 0;
    if (broadcast_doc_get(c->env->store, slug, c->arena, &d, NULL, err) != 0)
        return -1;
    *id_r = d.id;
    return 0;
}

/* The caller frees the batch. */
static int
find(struct api_call *c, struct found *f, struct err *err)
{
    uint64_t broadcast, id;
    const struct sends_result *r;
    unsigned op;

    if (api_id_param(c, 0, &id, err) != 0 || find_broadcast(c, &broadcast, err) != 0)
        return -1;
    f->b = store_batch_create(c->env->store, STORE_URGENT);
    op = sends_get(f->b, broadcast, &id, 1);
    if (store_run(f->b, err) != 0)
        goto fail;
    r = sends_result(f->b, op);
    if (r->n_rows != 1) {
        err_sub(err, ERR_NOTFOUND, "not_found",
            "no such mail; one of a broadcast needs ?broadcast=<slug>");
        goto fail;
    }
    f->row = &r->rows[0];
    return 0;

fail:
    store_batch_free(&f->b);
    return -1;
}

static int
get(struct api_call *c, struct err *err)
{
    struct found f;
    int rc;

    if (find(c, &f, err) != 0)
        return -1;
    jw_obj(&c->w, NULL);
    rc = send_view_write_row(c, "send", f.row, err);
    jw_end_obj(&c->w);
    store_batch_free(&f.b);
    return rc;
}

/* ---- waiting --------------------------------------------------------------------------------- */

#define WAIT_STEP_MS    200
#define WAIT_DEFAULT_MS 30000

static bool
is_terminal(const struct send_row *r)
{
    switch (r->state) {
    case SEND_DELIVERED:
    case SEND_BOUNCED:
    case SEND_COMPLAINED:
    case SEND_SUPPRESSED:
    case SEND_FAILED:
    case SEND_CANCELLED:
    case SEND_UNKNOWN: return true;
    default: return false;
    }
}

static bool
is_reached(const struct send_row *r, struct slice target)
{
    if (slice_eq_str(target, "delivered"))
        return r->delivered_at_ms != 0;
    if (slice_eq_str(target, "opened"))
        return r->first_open_ms != 0;
    if (slice_eq_str(target, "clicked"))
        return r->first_click_ms != 0;
    if (slice_eq_str(target, "terminal"))
        return is_terminal(r);
    if (slice_eq_str(target, "settled"))
        return is_terminal(r) || r->sent_at_ms != 0;
    return r->sent_at_ms != 0;
}

static int
wait_send(struct api_call *c, struct err *err)
{
    struct slice target = api_query(c, "status");
    int64_t left = api_query_int(c, "timeoutMs", WAIT_DEFAULT_MS) - c->waited_ms;
    struct found f;
    bool reached;
    int rc;

    if (target.p == NULL)
        target = SLICE_LIT("sent");
    if (find(c, &f, err) != 0)
        return -1;
    reached = is_reached(f.row, target);
    if (!reached && left > 0) {
        c->again_ms = left < WAIT_STEP_MS ? left : WAIT_STEP_MS;
        store_batch_free(&f.b);
        return 0;
    }
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "reached", reached);
    jw_str(&c->w, "target", target);
    jw_int(&c->w, "waitedMs", c->waited_ms);
    rc = send_view_write_row(c, "send", f.row, err);
    jw_end_obj(&c->w);
    store_batch_free(&f.b);
    return rc;
}

/* ---- routes ---------------------------------------------------------------------------------- */

static const char *const targets[] = {
    "sent", "delivered", "opened", "clicked", "settled", "terminal", NULL};

#define BROADCAST_FIELD                                                                            \
    {                                                                                              \
        .name = "broadcast", .type = FIELD_SLUG, .help = "that the mail belongs to"                \
    }

static const struct api_field get_query[] = {
    BROADCAST_FIELD,
    {.name = NULL},
};

static const struct api_field wait_query[] = {
    BROADCAST_FIELD,
    {.name = "status",
        .type = FIELD_STRING,
        .one_of = targets,
        .help = "sent unless given; settled: sent or given up"},
    {.name = "timeoutMs", .type = FIELD_INT, .max = 55000, .help = "30000 unless given"},
    {.name = NULL},
};

static const char *const find_errors[] = {"not_found", NULL};

const struct api_route api_send_routes[] = {
    {
        .method = "GET",
        .path = "/agent/sends/:id",
        .summary = "One mail",
        .scope = API_READ,
        .query = get_query,
        .handler = get,
        .errors = find_errors,
    },
    {
        .method = "GET",
        .path = "/agent/sends/:id/wait",
        .summary = "Wait for what becomes of one mail",
        .scope = API_READ,
        .flags = API_LONG_POLL,
        .query = wait_query,
        .handler = wait_send,
        .errors = find_errors,
    },
    {.method = NULL},
};
