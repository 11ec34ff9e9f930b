#include "support/api_routes.h"

#include <check.h>

#include "api/resources.h"
#include "loop/loop.h"

/* Routes for the suites on the API: an echo, one that makes mail, one that waits, one that takes raw
 * bytes, one for the owner. */

atomic_uint n_made, n_polls, n_held;
atomic_bool poll_done;
sem_t gate;

static int
echo(struct api_call *c, struct err *err)
{
    jw_obj(&c->w, NULL);
    jw_cstr(&c->w, "actor", c->actor.label);
    jw_str(&c->w, "param", c->params[0]);
    jw_int(&c->w, "n", api_query_int(c, "n", -1));
    jw_json(&c->w, "body", c->body);
    jw_end_obj(&c->w);
    return 0;
}

static int
mail(struct api_call *c, struct err *err)
{
    struct slice fail = json_str(json_get(c->body, "fail"));

    if (json_bool(json_get(c->body, "hold"), false)) {
        atomic_fetch_add(&n_held, 1);
        sem_wait(&gate);
    }
    if (slice_eq_str(fail, "first") && atomic_fetch_add(&n_held, 1) == 0)
        sem_wait(&gate);
    atomic_fetch_add(&n_made, 1);
    if (slice_eq_str(fail, "busy"))
        return err_sub(err, ERR_TEMP, "store_busy", "busy");
    if (slice_eq_str(fail, "internal"))
        return err_set(err, ERR_INTERNAL, "the secret reason");
    if (slice_eq_str(fail, "conflict")) {
        jw_int(api_details(c), "expected", 5);
        jw_int(api_details(c), "confirmedCount", 4);
        jw_cstr(&c->w, NULL, "half an answer");
        return err_sub(err, ERR_CONFLICT, "count_mismatch", "counted 5, confirmed 4");
    }
    c->status = 201;
    jw_obj(&c->w, NULL);
    jw_int(&c->w, "number", (int64_t)atomic_load(&n_made));
    jw_cstr(&c->w, "key", c->idempotency_key);
    jw_end_obj(&c->w);
    return 0;
}

static int
wait_for(struct api_call *c, struct err *err)
{
    int64_t limit = api_query_int(c, "timeoutMs", 1000);

    atomic_fetch_add(&n_polls, 1);
    if (!atomic_load(&poll_done) && c->waited_ms < limit) {
        c->again_ms = 5;
        return 0;
    }
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "reached", atomic_load(&poll_done));
    jw_end_obj(&c->w);
    return 0;
}

static int
raw_size(struct api_call *c, struct err *err)
{
    jw_int(&c->w, NULL, (int64_t)c->raw_body.n);
    return 0;
}

static const struct api_field echo_body[] = {
    {.name = "name", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 20},
    {.name = "count", .type = FIELD_INT, .min = 1, .max = 10},
    {.name = NULL},
};
static const struct api_field echo_query[] = {
    {.name = "n", .type = FIELD_INT, .min = 0, .max = 9},
    {.name = NULL},
};
static const struct api_field mail_body[] = {
    {.name = "fail", .type = FIELD_STRING},
    {.name = "hold", .type = FIELD_BOOL},
    {.name = NULL},
};
static const struct api_field wait_query[] = {
    {.name = "timeoutMs", .type = FIELD_INT},
    {.name = NULL},
};

static const struct api_route test_routes[] = {
    {.method = "GET",
        .path = "/t/echo/:id",
        .summary = "t",
        .scope = API_READ,
        .query = echo_query,
        .handler = echo},
    {.method = "POST",
        .path = "/t/echo/:id",
        .summary = "t",
        .scope = API_BROADCASTS,
        .body = echo_body,
        .query = echo_query,
        .handler = echo,
        .max_body = 1000},
    {.method = "POST",
        .path = "/t/mail",
        .summary = "t",
        .scope = API_BROADCASTS,
        .flags = API_CREATES_MAIL,
        .body = mail_body,
        .handler = mail},
    {.method = "GET",
        .path = "/t/wait",
        .summary = "t",
        .scope = API_READ,
        .flags = API_LONG_POLL,
        .query = wait_query,
        .handler = wait_for},
    {.method = "PUT",
        .path = "/t/raw",
        .summary = "t",
        .scope = API_CONTACTS,
        .flags = API_RAW_BODY,
        .max_body = 100000,
        .handler = raw_size},
    {.method = "GET",
        .path = "/t/owner/:id",
        .summary = "t",
        .scope = API_READ,
        .flags = API_OWNER_ONLY,
        .handler = echo},
    {.method = NULL},
};
const struct api_route *const groups[] = {test_routes, api_describe_routes, api_ops_routes, NULL};

void
setup(struct api_world *w)
{
    atomic_store(&n_made, 0);
    atomic_store(&n_polls, 0);
    atomic_store(&n_held, 0);
    atomic_store(&poll_done, false);
    ck_assert_int_eq(sem_init(&gate, 0, 0), 0);
    api_world_open(w, groups);
}

void
teardown(struct api_world *w)
{
    api_world_close(w);
    sem_destroy(&gate);
}

void
turn_until_held(struct api_world *w, unsigned n)
{
    for (unsigned i = 0; i < 1000 && atomic_load(&n_held) < n; i++)
        loop_turn(w->loop, 5);
    ck_assert_uint_eq(atomic_load(&n_held), n);
}
