#include "api/schema.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "base/timefmt.h"
#include "base/utf8.h"
#include "http/uri.h"
#include "message/address.h"
#include "model/slug.h"

/*
 * Checks of bodies and queries against tables of fields. All faults of a request are listed, each
 * with the path of the member, so that a caller repairs a request in one go. Unknown members are
 * faults: a misspelt option that is silently ignored would be worse. Paths and problems never
 * repeat values, which may be addresses; names of unknown members are shortened and cleaned.
 */

#define FAULTS_MAX 50
#define PATH_MAX_N 160
#define DEPTH_MAX  16

void
api_faults_init(struct api_faults *f)
{
    f->n = 0;
    buf_init(&f->text);
    buf_init(&f->issues);
    jw_init(&f->issues_w, &f->issues);
    jw_arr(&f->issues_w, NULL);
}

void
api_faults_deinit(struct api_faults *f)
{
    buf_deinit(&f->text);
    buf_deinit(&f->issues);
}

void
api_faults_add(struct api_faults *f, const char *path, const char *fmt, ...)
{
    char problem[200];
    va_list ap;

    if (f->n++ >= FAULTS_MAX)
        return;
    if (path[0] == '\0')
        path = "body";
    va_start(ap, fmt);
    vsnprintf(problem, sizeof problem, fmt, ap);
    va_end(ap);
    buf_printf(&f->text, "%s%s: %s", f->text.n > 0 ? "; " : "", path, problem);
    jw_obj(&f->issues_w, NULL);
    jw_cstr(&f->issues_w, "path", path);
    jw_cstr(&f->issues_w, "problem", problem);
    jw_end_obj(&f->issues_w);
}

int
api_faults_raise(struct api_faults *f, struct api_call *c, struct err *err)
{
    if (f->n == 0)
        return 0;
    if (f->n > FAULTS_MAX)
        buf_printf(&f->text, "; and %u more", f->n - FAULTS_MAX);
    jw_end_arr(&f->issues_w);
    buf_clear(&c->message);
    buf_append_slice(&c->message, buf_slice(&f->text));
    jw_raw(api_details(c), "issues", buf_slice(&f->issues));
    return err_sub(err, ERR_INVALID, "validation_failed", "%u faults", f->n);
}

const char *
api_field_type_name(enum api_field_type type)
{
    static const char *const names[] = {
        [FIELD_STRING] = "string",
        [FIELD_SLUG] = "slug",
        [FIELD_EMAIL] = "e-mail address",
        [FIELD_INT] = "integer",
        [FIELD_NUMBER] = "number",
        [FIELD_BOOL] = "boolean",
        [FIELD_TIME] = "time (ISO 8601 with offset)",
        [FIELD_ID] = "id",
        [FIELD_OBJECT] = "object",
        [FIELD_ARRAY] = "array",
        [FIELD_ANY] = "any value",
    };

    return names[type];
}

static void
wrong_type(const struct api_field *f, enum api_field_type type, const char *path,
    struct api_faults *faults)
{
    bool is_number = type == FIELD_INT || type == FIELD_NUMBER;
    char bounds[64] = "";

    if (is_number && f->max != 0)
        snprintf(bounds, sizeof bounds, " between %" PRId64 " and %" PRId64, f->min, f->max);
    api_faults_add(faults, path, "must be a%s %s%s%s",
        strchr("aeio", api_field_type_name(type)[0]) != NULL ? "n" : "", api_field_type_name(type),
        bounds, f->is_nullable ? " or null" : "");
}

/* ---- texts, which bodies and queries share ---------------------------------------------------- */

static bool
is_one_of(const char *const *list, struct slice s)
{
    for (; *list != NULL; list++)
        if (slice_eq_str(s, *list))
            return true;
    return false;
}

static void
list_choices(const struct api_field *f, const char *path, struct api_faults *faults)
{
    char text[160];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; f->one_of[i] != NULL && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i > 0 ? ", " : "", f->one_of[i]);
    api_faults_add(faults, path, "must be one of %s", text);
}

static void
check_length(const struct api_field *f, struct slice s, const char *path, struct api_faults *faults)
{
    int64_t n = (int64_t)utf8_count(s), max = f->max > 0 ? f->max : API_STRING_MAX;

    if (n < f->min && f->min == 1)
        api_faults_add(faults, path, "must not be empty");
    else if (n < f->min)
        api_faults_add(faults, path, "must have at least %" PRId64 " characters", f->min);
    else if (n > max)
        api_faults_add(faults, path, "must have at most %" PRId64 " characters", max);
}

/** Types whose JSON form is a string. `type` is the field's, or that of its elements. */
static void
check_text(const struct api_field *f, enum api_field_type type, struct slice s, const char *path,
    struct api_faults *faults)
{
    struct address addr;
    struct err err = {0};
    int64_t ms;
    uint64_t id;

    if (type == FIELD_STRING && f->one_of != NULL) {
        if (!is_one_of(f->one_of, s))
            list_choices(f, path, faults);
    } else if (type == FIELD_STRING) {
        if (f->type == FIELD_STRING)
            check_length(f, s, path, faults);
        else if (utf8_count(s) > API_STRING_MAX)
            api_faults_add(faults, path, "must have at most %d characters", API_STRING_MAX);
    } else if (type == FIELD_SLUG && !slug_valid(s)) {
        api_faults_add(
            faults, path, "must be 1 to 128 lower-case letters, digits and inner hyphens");
    } else if (type == FIELD_EMAIL && address_parse(s, &addr, &err) != 0) {
        api_faults_add(faults, path, "%s", err.text);
    } else if ((type == FIELD_TIME && !timefmt_parse(s, &ms)) ||
               (type == FIELD_ID && !id_parse(s, &id))) {
        wrong_type(f, type, path, faults);
    }
}

static void
check_range(const struct api_field *f, double v, const char *path, struct api_faults *faults)
{
    if (f->max != 0 && (v < (double)f->min || v > (double)f->max))
        api_faults_add(faults, path, "must be between %" PRId64 " and %" PRId64, f->min, f->max);
    else if (f->max == 0 && f->min != 0 && v < (double)f->min)
        api_faults_add(faults, path, "must be at least %" PRId64, f->min);
}

/* ---- bodies ------------------------------------------------------------------------------------ */

struct path {
    char text[PATH_MAX_N];
    size_t n;
    unsigned depth;
};

/** Append to the path; returns its former length for path_cut(). */
static size_t
path_add(struct path *p, const char *dot, struct slice name)
{
    size_t before = p->n;
    char clean[48];
    size_t n = 0;

    for (size_t i = 0; i < name.n && n + 1 < sizeof clean; i++) {
        unsigned char c = (unsigned char)name.p[i];

        clean[n++] = c > ' ' && c < 0x7f && c != ';' && c != ':' ? (char)c : '_';
    }
    clean[n] = '\0';
    n = (size_t)snprintf(p->text + p->n, sizeof p->text - p->n, "%s%s", p->n > 0 ? dot : "", clean);
    p->n = p->n + n < sizeof p->text ? p->n + n : sizeof p->text - 1;
    return before;
}

static void
path_cut(struct path *p, size_t n)
{
    p->n = n;
    p->text[n] = '\0';
}

static void check_value(const struct api_field *f, enum api_field_type type, const struct json *v,
    struct path *p, struct api_faults *faults);

static const struct api_field *
field_named(const struct api_field *fields, struct slice name)
{
    for (; fields != NULL && fields->name != NULL; fields++)
        if (slice_eq_str(name, fields->name))
            return fields;
    return NULL;
}

static void
check_members(const struct api_field *fields, const struct json *obj, struct path *p,
    struct api_faults *faults)
{
    size_t before;

    for (const struct json *m = json_first(obj); m != NULL; m = json_next(m)) {
        const struct api_field *f = field_named(fields, json_name(m));

        before = path_add(p, ".", json_name(m));
        if (f == NULL)
            api_faults_add(faults, p->text, "unknown member");
        else if (json_is(m, JSON_NULL)) {
            if (!f->is_nullable)
                api_faults_add(faults, p->text, "must not be null");
        } else {
            check_value(f, f->type, m, p, faults);
        }
        path_cut(p, before);
    }
    for (const struct api_field *f = fields; f != NULL && f->name != NULL; f++) {
        if (!f->is_required || json_get(obj, f->name) != NULL)
            continue;
        before = path_add(p, ".", slice_str(f->name));
        api_faults_add(faults, p->text, "is required");
        path_cut(p, before);
    }
}

static void
check_array(
    const struct api_field *f, const struct json *v, struct path *p, struct api_faults *faults)
{
    size_t n = json_count(v), i = 0, max = f->max > 0 ? (size_t)f->max : API_ITEMS_MAX;

    if (n < (size_t)f->min)
        api_faults_add(faults, p->text, "must have at least %" PRId64 " items", f->min);
    if (n > max) {
        api_faults_add(faults, p->text, "must have at most %zu items", max);
        return;
    }
    for (const struct json *e = json_first(v); e != NULL; e = json_next(e), i++) {
        char index[32];
        size_t before;

        snprintf(index, sizeof index, "[%zu]", i);
        before = path_add(p, "", slice_str(index));
        if (f->items == NULL)
            check_value(f, f->item_type, e, p, faults);
        else if (json_is(e, JSON_OBJECT))
            check_members(f->items, e, p, faults);
        else
            api_faults_add(faults, p->text, "must be an object");
        path_cut(p, before);
    }
}

static void
check_number(const struct api_field *f, enum api_field_type type, const struct json *v,
    const char *path, struct api_faults *faults)
{
    int64_t i;

    if (!json_is(v, JSON_NUMBER) || (type == FIELD_INT && !json_int(v, &i)))
        wrong_type(f, type, path, faults);
    else if (type == f->type)
        check_range(f, json_num(v, 0), path, faults);
}

static void
check_value(const struct api_field *f, enum api_field_type type, const struct json *v,
    struct path *p, struct api_faults *faults)
{
    if (++p->depth > DEPTH_MAX) {
        api_faults_add(faults, p->text, "is nested too deeply");
        p->depth--;
        return;
    }
    switch (type) {
    case FIELD_ANY: break;
    case FIELD_INT:
    case FIELD_NUMBER: check_number(f, type, v, p->text, faults); break;
    case FIELD_BOOL:
        if (!json_is(v, JSON_BOOL))
            wrong_type(f, type, p->text, faults);
        break;
    case FIELD_OBJECT:
        if (!json_is(v, JSON_OBJECT))
            wrong_type(f, type, p->text, faults);
        else if (f->type == FIELD_OBJECT && f->items != NULL)
            check_members(f->items, v, p, faults);
        break;
    case FIELD_ARRAY:
        if (!json_is(v, JSON_ARRAY))
            wrong_type(f, type, p->text, faults);
        else if (f->type == FIELD_ARRAY && type == f->type)
            check_array(f, v, p, faults);
        break;
    case FIELD_STRING:
    case FIELD_SLUG:
    case FIELD_EMAIL:
    case FIELD_TIME:
    case FIELD_ID:
        if (!json_is(v, JSON_STRING))
            wrong_type(f, type, p->text, faults);
        else
            check_text(f, type, json_str(v), p->text, faults);
        break;
    }
    p->depth--;
}

void
api_schema_body(const struct api_field *fields, const struct json *body, struct api_faults *f)
{
    struct path p = {{0}, 0, 0};

    if (!json_is(body, JSON_OBJECT))
        api_faults_add(f, "", "must be an object");
    else
        check_members(fields, body, &p, f);
}

/* ---- queries ------------------------------------------------------------------------------------ */

static void
check_param(const struct api_field *f, struct slice v, struct api_faults *faults)
{
    int64_t i;

    switch (f->type) {
    case FIELD_INT:
        if (!slice_i64(v, &i))
            wrong_type(f, f->type, f->name, faults);
        else
            check_range(f, (double)i, f->name, faults);
        break;
    case FIELD_BOOL:
        if (!slice_eq_str(v, "true") && !slice_eq_str(v, "false") && !slice_eq_str(v, "1") &&
            !slice_eq_str(v, "0"))
            wrong_type(f, f->type, f->name, faults);
        break;
    default: check_text(f, f->type, v, f->name, faults); break;
    }
}

void
api_schema_query(
    const struct api_field *fields, const struct http_param *params, size_t n, struct api_faults *f)
{
    for (size_t i = 0; i < n; i++) {
        const struct api_field *field = field_named(fields, params[i].name);

        if (field == NULL) {
            struct path p = {{0}, 0, 0};

            path_add(&p, "", params[i].name);
            api_faults_add(f, p.n > 0 ? p.text : "query", "unknown parameter");
        } else {
            check_param(field, params[i].value, f);
        }
        for (size_t k = 0; k < i; k++)
            if (field != NULL && slice_eq(params[k].name, params[i].name))
                api_faults_add(f, field->name, "is given twice");
    }
    for (const struct api_field *field = fields; field != NULL && field->name != NULL; field++) {
        bool found = false;

        for (size_t i = 0; i < n; i++)
            found = found || slice_eq_str(params[i].name, field->name);
        if (field->is_required && !found)
            api_faults_add(f, field->name, "is required");
    }
}
