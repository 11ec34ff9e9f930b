#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/auth.h"
#include "api/call.h"
#include "api/error.h"
#include "api/rate.h"
#include "api/ready.h"
#include "api/resources.h"
#include "api/route_match.h"
#include "api/schema.h"
#include "http/uri.h"
#include "support/suite.h"

/* The parts of the API that need neither a store nor a socket. */

static int
nothing(struct api_call *c, struct err *err)
{
    return 0;
}

/* ---- routes ------------------------------------------------------------------------------------- */

#define ROUTE(m, p)                                                                                \
    {                                                                                              \
        .method = m, .path = p, .summary = "t", .scope = API_READ, .handler = nothing              \
    }

static const struct api_route group_a[] = {
    ROUTE("GET", "/agent"),
    ROUTE("GET", "/agent/contacts/:id"),
    ROUTE("PATCH", "/agent/contacts/:id"),
    ROUTE("GET", "/agent/contacts/by-email/:email"),
    ROUTE("GET", "/agent/contacts/:id/:what"),
    {.method = NULL},
};
static const struct api_route group_b[] = {
    ROUTE("POST", "/agent/templates/:slug/verify"),
    ROUTE("POST", "/agent/templates/verify-all"),
    ROUTE("POST", "/agent/templates/:slug"),
    ROUTE("GET", "/"),
    ROUTE("GET", "/:a/b/:c"),
    ROUTE("GET", "/a/:b/c"),
    {.method = NULL},
};
static const struct api_route *const groups[] = {group_a, group_b, NULL};

START_TEST(routes)
{
    static const struct {
        const char *method, *target, *path; /* NULL = not found */
        const char *p0, *p1;
        const char *allow; /* of a refused method */
    } cases[] = {
        {"GET", "/", "/", NULL, NULL, NULL},
        {"GET", "/agent", "/agent", NULL, NULL, NULL},
        {"GET", "/agent/", "/agent", NULL, NULL, NULL},
        {"HEAD", "/agent", "/agent", NULL, NULL, NULL},
        {"GET", "/agent//", NULL, NULL, NULL, NULL},
        {"GET", "/Agent", NULL, NULL, NULL, NULL},
        {"GET", "/agent/contacts/u1", "/agent/contacts/:id", "u1", NULL, NULL},
        {"PATCH", "/agent/contacts/u%2F1", "/agent/contacts/:id", "u/1", NULL, NULL},
        {"GET", "/agent/contacts/by-email/a%40b.c", "/agent/contacts/by-email/:email", "a@b.c",
            NULL, NULL},
        {"GET", "/agent/contacts/other/x", "/agent/contacts/:id/:what", "other", "x", NULL},
        {"GET", "/agent/contacts/by-email", "/agent/contacts/:id", "by-email", NULL, NULL},
        {"GET", "/agent/contacts//x", NULL, NULL, NULL, NULL},
        {"POST", "/agent/templates/verify-all", "/agent/templates/verify-all", NULL, NULL, NULL},
        {"POST", "/agent/templates/spring", "/agent/templates/:slug", "spring", NULL, NULL},
        {"POST", "/agent/templates/verify-all/verify", "/agent/templates/:slug/verify",
            "verify-all", NULL, NULL},
        {"DELETE", "/agent/contacts/u1", NULL, NULL, NULL, "GET, PATCH"},
        {"GET", "/agent/templates/x", NULL, NULL, NULL, "POST"},
        {"GET", "/a/b/c", "/a/:b/c", "b", NULL, NULL}, /* leftmost fixed part wins */
        {"GET", "/x/b/c", "/:a/b/:c", "x", "c", NULL},
        {"GET", "/1/2/3/4/5/6", NULL, NULL, NULL, NULL},
    };
    struct api_table *t = api_table_create(groups);

    ck_assert_uint_eq(api_table_count(t), 11);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create(0);
        struct http_uri uri;
        const struct api_route *route = NULL;
        struct slice params[API_PARAMS] = {SLICE_NONE};
        char allow[64];
        enum api_match m;

        ck_assert_int_eq(http_uri_parse(slice_str(cases[i].target), a, &uri, NULL), 0);
        m = api_table_match(t, slice_str(cases[i].method), &uri, &route, params, allow);
        if (cases[i].path != NULL) {
            ck_assert_msg(m == API_MATCHED, "%s", cases[i].target);
            ck_assert_str_eq(route->path, cases[i].path);
            ck_assert(cases[i].p0 == NULL || slice_eq_str(params[0], cases[i].p0));
            ck_assert(cases[i].p1 == NULL || slice_eq_str(params[1], cases[i].p1));
        } else if (cases[i].allow != NULL) {
            ck_assert_msg(m == API_NO_METHOD, "%s", cases[i].target);
            ck_assert_str_eq(allow, cases[i].allow);
        } else {
            ck_assert_msg(m == API_NO_PATH, "%s", cases[i].target);
        }
        arena_free(&a);
    }
    api_table_free(&t);
}
END_TEST

/* ---- schemas ------------------------------------------------------------------------------------ */

static const char *const directions[] = {"asc", "desc", NULL};
static const struct api_field order_fields[] = {
    {.name = "field", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 8},
    {.name = "direction", .type = FIELD_STRING, .one_of = directions},
    {.name = NULL},
};
static const struct api_field fields[] = {
    {.name = "slug", .type = FIELD_SLUG, .is_required = true, .help = "its name"},
    {.name = "text", .type = FIELD_STRING, .min = 2, .max = 5},
    {.name = "long", .type = FIELD_STRING},
    {.name = "email", .type = FIELD_EMAIL},
    {.name = "cap", .type = FIELD_INT, .is_nullable = true, .min = 1, .max = 100},
    {.name = "least", .type = FIELD_INT, .min = 3},
    {.name = "rate", .type = FIELD_NUMBER, .min = 0, .max = 100},
    {.name = "on", .type = FIELD_BOOL},
    {.name = "at", .type = FIELD_TIME},
    {.name = "id", .type = FIELD_ID},
    {.name = "order", .type = FIELD_OBJECT, .is_nullable = true, .items = order_fields},
    {.name = "free", .type = FIELD_OBJECT},
    {.name = "tags", .type = FIELD_ARRAY, .min = 1, .max = 3, .item_type = FIELD_STRING},
    {.name = "orders", .type = FIELD_ARRAY, .items = order_fields},
    {.name = "any", .type = FIELD_ANY},
    {.name = NULL},
};

START_TEST(schema_bodies)
{
    static const struct {
        const char *body, *faults;
    } cases[] = {
        {"{\"slug\":\"a\"}", ""},
        {"[]", "body: must be an object"},
        {"{}", "slug: is required"},
        {"{\"slug\":null}", "slug: must not be null"},
        {"{\"slug\":\"A\"}", "slug: must be 1 to 128 lower-case letters, digits and inner hyphens"},
        {"{\"slug\":5}", "slug: must be a slug"},
        {"{\"slug\":\"a\",\"tExt\":\"abc\"}", "tExt: unknown member"},
        {"{\"slug\":\"a\",\"text\":\"a\"}", "text: must have at least 2 characters"},
        {"{\"slug\":\"a\",\"text\":\"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\"}", ""},
        {"{\"slug\":\"a\",\"text\":\"abcdef\"}", "text: must have at most 5 characters"},
        {"{\"slug\":\"a\",\"email\":\"a@example.com\",\"cap\":null,\"rate\":0.1,\"on\":true}", ""},
        {"{\"slug\":\"a\",\"cap\":0,\"least\":2}",
            "cap: must be between 1 and 100; least: must be at least 3"},
        {"{\"slug\":\"a\",\"cap\":1.5,\"rate\":\"1\",\"on\":1}",
            "cap: must be an integer between 1 and 100 or null; rate: must be a number between 0 "
            "and 100; on: must be a boolean"},
        {"{\"slug\":\"a\",\"at\":\"2026-01-01T00:00:00Z\",\"id\":\"0000000000001\"}", ""},
        {"{\"slug\":\"a\",\"at\":\"2026-01-01\",\"id\":\"x\"}",
            "at: must be a time (ISO 8601 with offset); id: must be an id"},
        {"{\"slug\":\"a\",\"order\":null,\"free\":{\"x\":[1,{}]},\"any\":[null]}", ""},
        {"{\"slug\":\"a\",\"order\":{\"direction\":\"up\",\"x\":1}}",
            "order.direction: must be one of asc, desc; order.x: unknown member; order.field: is "
            "required"},
        {"{\"slug\":\"a\",\"tags\":[]}", "tags: must have at least 1 items"},
        {"{\"slug\":\"a\",\"tags\":[\"a\",7,null]}",
            "tags[1]: must be a string; tags[2]: must be a string"},
        {"{\"slug\":\"a\",\"tags\":[\"a\",\"b\",\"c\",\"d\"]}", "tags: must have at most 3 items"},
        {"{\"slug\":\"a\",\"orders\":[{\"field\":\"x\"},{},7]}",
            "orders[1].field: is required; orders[2]: must be an object"},
        {"{\"slug\":\"a\",\"a;b: c\\n\":1}", "a_b__c_: unknown member"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json *j = json_parse(slice_str(cases[i].body), 0, 0, NULL);
        struct api_faults f;

        ck_assert_ptr_nonnull(j);
        api_faults_init(&f);
        api_schema_body(fields, j, &f);
        ck_assert_str_eq(buf_cstr(&f.text), cases[i].faults);
        api_faults_deinit(&f);
        json_free(&j);
    }
}
END_TEST

START_TEST(schema_lists_many_faults)
{
    struct buf body = BUF_INIT;
    struct api_call c = {.arena = arena_create(0)};
    struct api_faults f;
    struct err err = {0};
    struct json *j;

    buf_append_str(&body, "{\"slug\":\"a\"");
    for (unsigned i = 0; i < 500; i++)
        buf_printf(&body, ",\"x%u\":1", i);
    buf_append_char(&body, '}');
    j = json_parse(buf_slice(&body), 0, 0, NULL);
    api_call_init(&c);
    api_faults_init(&f);
    api_schema_body(fields, j, &f);
    ck_assert_uint_eq(f.n, 500);
    ck_assert_int_eq(api_faults_raise(&f, &c, &err), -1);
    ck_assert_str_eq(err.sub, "validation_failed");
    ck_assert_uint_lt(c.message.n, 4096);
    ck_assert(slice_ends(buf_slice(&c.message), SLICE_LIT("; and 450 more")));
    api_faults_deinit(&f);
    api_call_deinit(&c);
    arena_free(&c.arena);
    json_free(&j);
    buf_deinit(&body);
}
END_TEST

START_TEST(schema_queries)
{
    static const struct {
        const char *target, *faults;
    } cases[] = {
        {"/?slug=a&cap=5&on=true&email=a%40example.com", ""},
        {"/?cap=5", "slug: is required"},
        {"/?slug=a&cap=x", "cap: must be an integer between 1 and 100 or null"},
        {"/?slug=a&cap=101&on=yes", "cap: must be between 1 and 100; on: must be a boolean"},
        {"/?slug=a&slug=b", "slug: is given twice"},
        {"/?slug=a&nope=1", "nope: unknown parameter"},
        {"/?slug=a&=1", "query: unknown parameter"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_create(0);
        struct http_uri uri;
        struct api_faults f;

        ck_assert_int_eq(http_uri_parse(slice_str(cases[i].target), a, &uri, NULL), 0);
        api_faults_init(&f);
        api_schema_query(fields, uri.params, uri.n_params, &f);
        ck_assert_str_eq(buf_cstr(&f.text), cases[i].faults);
        api_faults_deinit(&f);
        arena_free(&a);
    }
}
END_TEST

START_TEST(schema_described)
{
    struct buf out = BUF_INIT;
    struct json_writer w;
    struct json *j;
    const struct json *props, *p;

    jw_init(&w, &out);
    api_schema_write(&w, NULL, fields);
    j = json_parse(buf_slice(&out), 0, 0, NULL);
    ck_assert_ptr_nonnull(j);
    ck_assert(!json_bool(json_get(j, "additionalProperties"), true));
    ck_assert_uint_eq(json_count(json_get(j, "required")), 1);
    props = json_get(j, "properties");
    for (const struct api_field *f = fields; f->name != NULL; f++)
        ck_assert_msg(json_get(props, f->name) != NULL, "%s", f->name);
    p = json_get(props, "cap");
    ck_assert_uint_eq(json_count(json_get(p, "type")), 2);
    ck_assert(json_num(json_get(p, "maximum"), 0) == 100);
    p = json_get(json_get(json_get(props, "order"), "properties"), "direction");
    ck_assert_uint_eq(json_count(json_get(p, "enum")), 2);
    json_free(&j);
    buf_deinit(&out);
}
END_TEST

/* ---- errors, rates, tokens ------------------------------------------------------------------------ */

START_TEST(errors)
{
    static const struct {
        enum err_code code;
        const char *sub;
        unsigned status;
        const char *word;
    } cases[] = {
        {ERR_INVALID, "", 400, "validation_failed"},
        {ERR_INVALID, "invalid_json", 400, "invalid_json"},
        {ERR_REFUSED, "unauthorized", 401, "unauthorized"},
        {ERR_REFUSED, "not_a_test_contact", 403, "not_a_test_contact"},
        {ERR_REFUSED, "segment_requires_subscribed", 422, "segment_requires_subscribed"},
        {ERR_NOTFOUND, "", 404, "not_found"},
        {ERR_NOTFOUND, "template_not_found", 404, "template_not_found"},
        {ERR_CONFLICT, "template_not_found", 409, "template_not_found"},
        {ERR_CONFLICT, "count_mismatch", 409, "count_mismatch"},
        {ERR_LIMIT, "", 429, "rate_limited"},
        {ERR_LIMIT, "body_too_large", 413, "body_too_large"},
        {ERR_TEMP, "store_busy", 503, "store_busy"},
        {ERR_TEMP, "", 503, "unavailable"},
        {ERR_PERM, "keys_differ", 500, "internal"},
        {ERR_INTERNAL, "boom", 500, "internal"},
        {ERR_NONE, "", 500, "internal"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {.code = cases[i].code};
        struct buf out = BUF_INIT;
        struct json *j;

        snprintf(err.sub, sizeof err.sub, "%s", cases[i].sub);
        snprintf(err.text, sizeof err.text, "secret path");
        ck_assert_uint_eq(api_error_status(&err), cases[i].status);
        ck_assert_str_eq(api_error_word(&err), cases[i].word);
        api_error_write(&err, SLICE_NONE, SLICE_LIT("{\"expected\":5"), "RID", &out);
        j = json_parse(buf_slice(&out), 0, 0, NULL);
        ck_assert_ptr_nonnull(j);
        ck_assert(slice_eq_str(json_str(json_get(j, "error")), cases[i].word));
        if (cases[i].status == 500) {
            ck_assert_int_lt(slice_find(buf_slice(&out), SLICE_LIT("secret")), 0);
            ck_assert_ptr_null(json_get(j, "expected"));
            ck_assert(slice_eq_str(json_str(json_get(j, "requestId")), "RID"));
        } else {
            ck_assert(json_num(json_get(j, "expected"), 0) == 5);
        }
        json_free(&j);
        buf_deinit(&out);
    }
}
END_TEST

START_TEST(rates)
{
    struct rate_table *t = rate_table_create(1200, 60, 2);
    struct slice a = SLICE_LIT("a"), b = SLICE_LIT("b"), c = SLICE_LIT("c");
    int64_t now = 1000000;

    for (unsigned i = 0; i < 60; i++)
        ck_assert_int_eq(rate_table_take(t, a, now), 0);
    ck_assert_int_eq(rate_table_take(t, a, now), 50);
    ck_assert_int_eq(rate_table_peek(t, a, now), 50);
    ck_assert_int_eq(rate_table_peek(t, b, now), 0);
    ck_assert_int_eq(rate_table_take(t, a, now + 49), 1);
    ck_assert_int_eq(rate_table_take(t, a, now + 50), 0);
    ck_assert_int_ne(rate_table_take(t, a, now + 50), 0);
    ck_assert_int_ne(
        rate_table_take(t, a, now - 5000), 0); /* a clock that steps back gives nothing */
    ck_assert_int_eq(rate_table_take(t, b, now), 0);
    ck_assert_int_ne(rate_table_take(t, c, now), 0); /* full, and nobody can be forgotten */
    ck_assert_int_eq(rate_table_take(t, c, now + 10000), 0);
    for (unsigned i = 0; i < 60; i++)
        rate_table_take(t, c, now + 10000);
    ck_assert_int_ne(rate_table_take(t, c, now + 10000), 0);
    rate_table_free(&t);
}
END_TEST

START_TEST(bearer_headers)
{
    static const struct {
        const char *header, *token; /* NULL = refused */
    } cases[] = {
        {"Bearer abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"},
        {"bearer \t abcdefghijklmnopqrstuvwx  ", "abcdefghijklmnopqrstuvwx"},
        {"Bearer abcdefghijklmnopqrstuvw", NULL},
        {"Bearerabcdefghijklmnopqrstuvwxyz", NULL},
        {"Bearer abcdefghijkl mnopqrstuvwxyz", NULL},
        {"Bearer abcdefghijklmnopqrstuvw\x80", NULL},
        {"Basic abcdefghijklmnopqrstuvwxyz", NULL},
        {"Bearer", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct slice token;
        bool ok = api_auth_bearer(slice_str(cases[i].header), &token);

        ck_assert_msg(ok == (cases[i].token != NULL), "%s", cases[i].header);
        ck_assert(!ok || slice_eq_str(token, cases[i].token));
    }
}
END_TEST

START_TEST(scopes)
{
    struct api_actor reader = {.scopes = API_READ}, admin = {.scopes = API_ADMIN};

    for (uint32_t bit = 1; bit < API_ANY; bit <<= 1)
        ck_assert_uint_eq(api_scope_parse(slice_str(api_scope_name(bit))), bit);
    ck_assert_uint_eq(api_scope_parse(SLICE_LIT("root")), 0);
    ck_assert(api_actor_may(&reader, API_READ) && !api_actor_may(&reader, API_BROADCASTS));
    ck_assert(api_actor_may(&admin, API_BROADCASTS) && api_actor_may(&admin, API_ANY));
}
END_TEST

START_TEST(readiness)
{
    struct api_ready *r = api_ready_create();
    struct buf out = BUF_INIT;
    struct json_writer w;

    ck_assert(api_ready_all(r));
    api_ready_set(r, "store", true, NULL);
    api_ready_set(r, "recovery", false, "recounting");
    ck_assert(!api_ready_all(r));
    jw_init(&w, &out);
    api_ready_write(r, &w, NULL);
    ck_assert_str_eq(buf_cstr(&out),
        "{\"store\":{\"ok\":true},\"recovery\":{\"ok\":false,\"reason\":\"recounting\"}}");
    api_ready_set(r, "recovery", true, NULL);
    ck_assert(api_ready_all(r));
    api_ready_note(r, "disk", false, "no room");
    ck_assert(api_ready_all(r));
    buf_clear(&out);
    jw_init(&w, &out);
    api_ready_write(r, &w, NULL);
    ck_assert_ptr_nonnull(strstr(buf_cstr(&out), "\"disk\":{\"ok\":false,\"reason\":\"no room\"}"));
    buf_deinit(&out);
    api_ready_free(&r);
}
END_TEST

/** Every row of the daemon's own table is complete, and is described by itself. */
START_TEST(table_is_sound)
{
    struct api_table *t = api_table_create(api_all_routes);

    for (size_t i = 0; i < api_table_count(t); i++) {
        const struct api_route *r = api_table_get(t, i);

        ck_assert_msg(r->summary != NULL && r->handler != NULL, "%s", r->path);
        ck_assert_msg(r->scope != 0 && (r->scope & (r->scope - 1)) == 0, "%s: one scope", r->path);
        ck_assert_msg((r->flags & API_RAW_BODY) == 0 || r->max_body > 0, "%s: body limit", r->path);
        ck_assert_msg((r->flags & API_CREATES_MAIL) == 0 || strcmp(r->method, "POST") == 0,
            "%s: only a POST creates mail", r->path);
        for (const struct api_field *f = r->query; f != NULL && f->name != NULL; f++)
            ck_assert_msg(
                f->type != FIELD_OBJECT && f->type != FIELD_ARRAY, "%s: %s", r->path, f->name);
    }
    api_table_free(&t);
}
END_TEST

SUITE_MAIN("api_pure", routes, schema_bodies, schema_lists_many_faults, schema_queries,
    schema_described, errors, rates, bearer_headers, scopes, readiness, table_is_sound)
