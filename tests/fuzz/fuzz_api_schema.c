/*
 * Bodies against a table of fields that has every type: whatever the bytes, the check ends, what it
 * says is bounded and clean, and a body without faults really has the members a handler relies on.
 * The part before a line feed is read as a query, the rest as a body.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/error.h"
#include "api/schema.h"
#include "base/id.h"
#include "base/timefmt.h"
#include "base/utf8.h"
#include "http/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const colours[] = {"red", "green", NULL};
static const struct api_field inner[] = {
    {.name = "field", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 8},
    {.name = "colour", .type = FIELD_STRING, .one_of = colours},
    {.name = NULL},
};
static const struct api_field fields[] = {
    {.name = "slug", .type = FIELD_SLUG, .is_required = true},
    {.name = "text", .type = FIELD_STRING, .min = 2, .max = 5},
    {.name = "email", .type = FIELD_EMAIL},
    {.name = "cap", .type = FIELD_INT, .is_nullable = true, .min = 1, .max = 100},
    {.name = "rate", .type = FIELD_NUMBER, .max = 100},
    {.name = "on", .type = FIELD_BOOL},
    {.name = "at", .type = FIELD_TIME},
    {.name = "id", .type = FIELD_ID},
    {.name = "order", .type = FIELD_OBJECT, .is_nullable = true, .items = inner},
    {.name = "free", .type = FIELD_OBJECT},
    {.name = "tags", .type = FIELD_ARRAY, .max = 3, .item_type = FIELD_SLUG},
    {.name = "orders", .type = FIELD_ARRAY, .items = inner},
    {.name = "any", .type = FIELD_ANY},
    {.name = NULL},
};

static void
require(bool ok)
{
    if (!ok)
        abort();
}

/** Members of a body that passed. */
static void
check_members(const struct json *body)
{
    const struct json *m;
    uint64_t id;
    int64_t v;

    require(json_is(json_get(body, "slug"), JSON_STRING));
    if ((m = json_get(body, "text")) != NULL)
        require(utf8_count(json_str(m)) >= 2 && utf8_count(json_str(m)) <= 5);
    if ((m = json_get(body, "cap")) != NULL && !json_is(m, JSON_NULL))
        require(json_int(m, &v) && v >= 1 && v <= 100);
    if ((m = json_get(body, "at")) != NULL)
        require(timefmt_parse(json_str(m), &v));
    if ((m = json_get(body, "id")) != NULL)
        require(id_parse(json_str(m), &id));
    if ((m = json_get(body, "tags")) != NULL)
        require(json_is(m, JSON_ARRAY) && json_count(m) <= 3);
    if ((m = json_get(body, "order")) != NULL && !json_is(m, JSON_NULL))
        require(json_str(json_get(m, "field")).n >= 1);
    for (m = json_first(body); m != NULL; m = json_next(m)) {
        bool known = false;

        for (const struct api_field *f = fields; f->name != NULL; f++)
            known = known || slice_eq_str(json_name(m), f->name);
        require(known);
    }
}

/** The error object made of the faults is JSON of a bounded size. */
static void
check_faults(struct api_faults *f)
{
    struct api_call c = {.arena = arena_create(0)};
    struct err err = {0};
    struct buf out = BUF_INIT;
    struct json *j;

    api_call_init(&c);
    require(api_faults_raise(f, &c, &err) != 0);
    require(c.message.n < 50 * 400 && utf8_valid(buf_slice(&c.message)));
    api_error_write(&err, buf_slice(&c.message), buf_slice(&c.details), "id", &out);
    j = json_parse(buf_slice(&out), 0, 0, NULL);
    require(j != NULL && json_get(j, "issues") != NULL);
    json_free(&j);
    buf_deinit(&out);
    api_call_deinit(&c);
    arena_free(&c.arena);
}

static void
check_body(struct slice text)
{
    struct json *body = json_parse(text, 0, 0, NULL);
    struct api_faults f;

    if (body == NULL)
        return;
    api_faults_init(&f);
    api_schema_body(fields, body, &f);
    if (f.n == 0)
        check_members(body);
    else
        check_faults(&f);
    api_faults_deinit(&f);
    json_free(&body);
}

static void
check_query(struct slice text)
{
    struct arena *a = arena_create(0);
    struct http_uri uri;
    struct api_faults f;
    struct buf target = BUF_INIT;

    buf_append_str(&target, "/?");
    buf_append_slice(&target, text);
    api_faults_init(&f);
    if (http_uri_parse(buf_slice(&target), a, &uri, NULL) == 0) {
        api_schema_query(fields, uri.params, uri.n_params, &f);
        if (f.n > 0)
            check_faults(&f);
    }
    api_faults_deinit(&f);
    buf_deinit(&target);
    arena_free(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = slice_make(data, size);
    ptrdiff_t cut = slice_find_char(text, '\n');

    if (cut >= 0)
        check_query(slice_make(data, (size_t)cut));
    check_body(slice_from(text, cut >= 0 ? (size_t)cut + 1 : 0));
    return 0;
}
