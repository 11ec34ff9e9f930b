/*
 * From JSON to the tree, strictly. Every fault is collected with its path, so that an author sees all of
 * them at once. Operands are scalars only and no part of a field path may start with '$': nothing a
 * caller writes can become an operator of the store. Depth, nodes and values are bounded before
 * anything is allocated for them.
 */
#include "audience/segment.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/bsonx.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "base/utf8.h"
#include "audience/segment_internal.h"

#define MAX_FIELD 256
#define MAX_EXACT 9007199254740992.0 /* 2^53 */

struct parser {
    struct arena *arena;
    struct buf path;    /* where we are: "filters.0.any" */
    struct buf *issues; /* all faults, joined by "; " */
    unsigned n_issues;
    unsigned n_nodes;
};

static const char *const kind_names[SEGMENT_KINDS] = {
    [SEGMENT_FIELD_EQUALS] = "fieldEquals",
    [SEGMENT_FIELD_IN] = "fieldIn",
    [SEGMENT_FIELD_EXISTS] = "fieldExists",
    [SEGMENT_HAS_TAG] = "hasTag",
    [SEGMENT_NOT_HAS_TAG] = "notHasTag",
    [SEGMENT_STATUS] = "subscriptionStatus",
    [SEGMENT_ANY] = "any",
    [SEGMENT_NOT] = "not",
};

/* The operand of each kind beside "kind", and a second one where there is one. */
static const char *const members[SEGMENT_KINDS][2] = {
    [SEGMENT_FIELD_EQUALS] = {"field", "value"},
    [SEGMENT_FIELD_IN] = {"field", "values"},
    [SEGMENT_FIELD_EXISTS] = {"field", NULL},
    [SEGMENT_HAS_TAG] = {"tag", NULL},
    [SEGMENT_NOT_HAS_TAG] = {"tag", NULL},
    [SEGMENT_STATUS] = {"equals", NULL},
    [SEGMENT_ANY] = {"filters", NULL},
    [SEGMENT_NOT] = {"filter", NULL},
};

/* Kinds that need data this store does not keep per contact. */
static const char *const unsupported[] = {
    "firedEvent", "notFiredEvent", "subscribedAfter", "subscribedBefore", "opened", "notOpened"};

static const char *const reserved[] = {
    "externalId", "email", "timezone", "locale", "createdAt", "updatedAt", "tags"};

const char *
segment_kind_name(enum segment_kind kind)
{
    return kind_names[kind];
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void issue(struct parser *p, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void
issue(struct parser *p, const char *name, const char *fmt, ...)
{
    va_list ap;

    if (p->n_issues++ > 0)
        buf_append_str(p->issues, "; ");
    buf_append_slice(p->issues, buf_slice(&p->path));
    if (p->path.n == 0)
        buf_append_str(p->issues, name != NULL ? name : "segment");
    else if (name != NULL)
        buf_printf(p->issues, ".%s", name);
    buf_append_str(p->issues, ": ");
    va_start(ap, fmt);
    buf_vprintf(p->issues, fmt, ap);
    va_end(ap);
}

/* Enter a member; the length before it leads back. */
static size_t
enter(struct parser *p, const char *name)
{
    size_t before = p->path.n;

    buf_printf(&p->path, "%s%s", before > 0 ? "." : "", name);
    return before;
}

static size_t
enter_index(struct parser *p, size_t i)
{
    size_t before = p->path.n;

    buf_printf(&p->path, ".%zu", i);
    return before;
}

static void
leave(struct parser *p, size_t before)
{
    p->path.n = before;
}

/* ---- operands -------------------------------------------------------------------------------- */

static bool
is_text(struct parser *p, const struct json *j, const char *name)
{
    struct slice s = json_str(j);

    /* The canonical form puts this before a path, and must not be too long for it. */
    if (slice_starts(s, SLICE_LIT("fields.")))
        s = slice_from(s, strlen("fields."));

    if (!json_is(j, JSON_STRING) || s.n == 0 || utf8_count(s) > MAX_FIELD) {
        issue(p, name, "must be a string of 1 to %d characters", MAX_FIELD);
        return false;
    }
    return true;
}

static bool
is_reserved(struct slice field)
{
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        if (slice_eq_str(field, reserved[i]))
            return true;
    }
    return false;
}

static void
parse_field(struct parser *p, const struct json *j, struct segment_node *n)
{
    struct slice field = json_str(j), rest, part;

    if (!is_text(p, j, "field"))
        return;
    if (memchr(field.p, '\0', field.n) != NULL) {
        issue(p, "field", "must not contain NUL");
        return;
    }
    if (is_reserved(field) || slice_starts(field, SLICE_LIT("fields.")))
        n->path = arena_cstr(p->arena, field);
    else
        n->path = arena_printf(p->arena, "fields.%.*s", SLICE_FMT(field));
    rest = slice_str(n->path);
    while (slice_cut(&rest, '.', &part)) {
        if (part.n == 0 || part.p[0] == '$') {
            issue(p, "field", "has an empty part, or one that starts with '$'");
            return;
        }
        if (n->n_parts == SEGMENT_PATH_PARTS) {
            issue(p, "field", "has more than %d parts", SEGMENT_PATH_PARTS - 1);
            return;
        }
        n->parts[n->n_parts++] = part;
    }
}

static void
parse_value(struct parser *p, const struct json *j, const char *name, struct segment_value *v)
{
    double d;

    memset(v, 0, sizeof(*v));
    if (j == NULL) {
        issue(p, name, "is required");
        return;
    }
    switch (json_type(j)) {
    case JSON_NULL: v->type = SEGMENT_NULL; return;
    case JSON_BOOL:
        v->type = SEGMENT_BOOL;
        v->b = json_bool(j, false);
        return;
    case JSON_NUMBER:
        v->type = SEGMENT_INT;
        if (json_int(j, &v->i))
            return;
        d = json_num(j, 0);
        if (!isfinite(d) || (d == trunc(d) && fabs(d) >= MAX_EXACT))
            issue(p, name, "is a number that cannot be kept exactly");
        v->type = SEGMENT_DOUBLE;
        v->d = d;
        return;
    case JSON_STRING:
        v->type = SEGMENT_STRING;
        v->s = arena_dup(p->arena, json_str(j));
        v->is_time = timefmt_parse(v->s, &v->time_ms);
        if (v->s.n > 4096)
            issue(p, name, "must have at most 4096 bytes");
        return;
    case JSON_ARRAY:
    case JSON_OBJECT: issue(p, name, "must be a string, number, boolean or null"); return;
    }
}

static void
parse_values(struct parser *p, const struct json *j, struct segment_node *n)
{
    struct segment_value *values;
    size_t before, i = 0;

    if (!json_is(j, JSON_ARRAY) || json_count(j) > SEGMENT_MAX_VALUES) {
        issue(p, "values", "must be a list of at most %d values", SEGMENT_MAX_VALUES);
        return;
    }
    values = arena_array(p->arena, json_count(j), sizeof(*values));
    before = enter(p, "values");
    for (const struct json *e = json_first(j); e != NULL; e = json_next(e), i++) {
        size_t here = enter_index(p, i);

        parse_value(p, e, NULL, &values[i]);
        leave(p, here);
    }
    leave(p, before);
    n->values = values;
    n->n_values = i;
}

static void
parse_tag(struct parser *p, const struct json *j, struct segment_node *n)
{
    struct segment_value *v = arena_zalloc(p->arena, sizeof(*v));

    if (!is_text(p, j, "tag"))
        return;
    v->type = SEGMENT_STRING;
    v->s = arena_dup(p->arena, json_str(j));
    n->path = "tags";
    n->parts[0] = SLICE_LIT("tags");
    n->n_parts = 1;
    n->values = v;
    n->n_values = 1;
}

/* ---- filters --------------------------------------------------------------------------------- */

static void parse_filter(
    struct parser *p, const struct json *j, unsigned depth, struct segment_node *n);

static void
parse_list(struct parser *p, const struct json *j, unsigned depth, size_t min,
    struct segment_node **kids_r, size_t *n_r)
{
    struct segment_node *kids;
    size_t before, i = 0;

    if (!json_is(j, JSON_ARRAY) || json_count(j) < min || json_count(j) > SEGMENT_MAX_FILTERS) {
        issue(p, "filters", "must be a list of %zu to %d filters", min, SEGMENT_MAX_FILTERS);
        return;
    }
    kids = arena_zalloc(p->arena, (json_count(j) + 1) * sizeof(*kids));
    before = enter(p, "filters");
    for (const struct json *e = json_first(j); e != NULL; e = json_next(e), i++) {
        size_t here = enter_index(p, i);

        parse_filter(p, e, depth, &kids[i]);
        leave(p, here);
    }
    leave(p, before);
    *kids_r = kids;
    *n_r = i;
}

static bool
parse_kind(struct parser *p, const struct json *j, struct segment_node *n)
{
    struct slice name = json_str(json_get(j, "kind"));

    for (int k = 0; k < SEGMENT_KINDS; k++) {
        if (slice_eq_str(name, kind_names[k])) {
            n->kind = (enum segment_kind)k;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++) {
        if (slice_eq_str(name, unsupported[i])) {
            issue(p, "kind", "%s is not supported", unsupported[i]);
            return false;
        }
    }
    issue(p, "kind", "is no filter kind");
    return false;
}

static void
refuse_unknown(struct parser *p, const struct json *j, enum segment_kind kind)
{
    for (const struct json *m = json_first(j); m != NULL; m = json_next(m)) {
        struct slice name = json_name(m);

        if (slice_eq_str(name, "kind") || slice_eq_str(name, members[kind][0]) ||
            (members[kind][1] != NULL && slice_eq_str(name, members[kind][1])))
            continue;
        issue(p, NULL, "unknown member \"%.*s\"", (int)(name.n < 40 ? name.n : 40), name.p);
    }
}

static void
parse_operands(struct parser *p, const struct json *j, unsigned depth, struct segment_node *n)
{
    const struct json *first = json_get(j, members[n->kind][0]);
    struct segment_value *v;
    size_t before;
    int status;

    switch (n->kind) {
    case SEGMENT_FIELD_EQUALS:
        v = arena_alloc(p->arena, sizeof(*v));
        parse_field(p, first, n);
        parse_value(p, json_get(j, "value"), "value", v);
        n->values = v;
        n->n_values = 1;
        return;
    case SEGMENT_FIELD_IN:
        parse_field(p, first, n);
        parse_values(p, json_get(j, "values"), n);
        return;
    case SEGMENT_FIELD_EXISTS: parse_field(p, first, n); return;
    case SEGMENT_HAS_TAG:
    case SEGMENT_NOT_HAS_TAG: parse_tag(p, first, n); return;
    case SEGMENT_STATUS:
        if ((status = subscription_status_parse(json_str(first))) < 0)
            issue(p, "equals", "is no subscription status");
        else
            n->status = (enum subscription_status)status;
        return;
    case SEGMENT_ANY: parse_list(p, first, depth + 1, 1, &n->kids, &n->n_kids); return;
    case SEGMENT_NOT:
        n->kids = arena_zalloc(p->arena, sizeof(*n->kids));
        n->n_kids = 1;
        before = enter(p, "filter");
        parse_filter(p, first, depth + 1, n->kids);
        leave(p, before);
        return;
    case SEGMENT_KINDS: return;
    }
}

static void
parse_filter(struct parser *p, const struct json *j, unsigned depth, struct segment_node *n)
{
    if (!json_is(j, JSON_OBJECT)) {
        issue(p, NULL, "must be a filter");
        return;
    }
    if (depth > SEGMENT_MAX_DEPTH) {
        issue(p, NULL, "nests deeper than %d", SEGMENT_MAX_DEPTH);
        return;
    }
    if (++p->n_nodes > SEGMENT_MAX_NODES) {
        if (p->n_nodes == SEGMENT_MAX_NODES + 1)
            issue(p, NULL, "more than %d filters in all", SEGMENT_MAX_NODES);
        return;
    }
    if (!parse_kind(p, j, n))
        return;
    refuse_unknown(p, j, n->kind);
    parse_operands(p, j, depth, n);
}

static void
parse_root(struct parser *p, const struct json *j, struct segment *s)
{
    if (!json_is(j, JSON_OBJECT)) {
        issue(p, "segment", "must be an object");
        return;
    }
    for (const struct json *m = json_first(j); m != NULL; m = json_next(m)) {
        if (!slice_eq_str(json_name(m), "filters"))
            issue(p, NULL, "unknown member \"%.*s\"",
                (int)(json_name(m).n < 40 ? json_name(m).n : 40), json_name(m).p);
    }
    parse_list(p, json_get(j, "filters"), 1, 0, &s->filters, &s->n_filters);
}

struct segment *
segment_parse(const struct json *j, struct buf *issues, struct err *err)
{
    struct buf own = BUF_INIT;
    struct parser p = {.issues = issues != NULL ? issues : &own};
    struct segment *s = mem_zalloc(sizeof(*s));
    size_t start = p.issues->n;

    s->arena = p.arena = arena_create(0);
    s->filter = bson_new();
    parse_root(&p, j, s);
    if (p.n_issues > 0) {
        struct slice text = slice_from(buf_slice(p.issues), start);

        err_sub(err, ERR_INVALID, "invalid_segment", "%.*s", SLICE_FMT(text));
        segment_free(&s);
    } else {
        segment_compile(s);
    }
    buf_deinit(&p.path);
    buf_deinit(&own);
    return s;
}

struct segment *
segment_parse_text(struct slice json, struct buf *issues, struct err *err)
{
    struct json *j = json_parse(json, 0, 0, err);
    struct segment *s;

    if (j == NULL)
        return NULL;
    s = segment_parse(j, issues, err);
    json_free(&j);
    return s;
}

struct segment *
segment_from_bson(struct slice bytes, struct err *err)
{
    struct buf text = BUF_INIT;
    struct json_writer w;
    struct segment *s;
    bson_t view;

    if (!bsonx_view(bytes, &view)) {
        err_sub(err, ERR_INVALID, "invalid_segment", "the stored segment cannot be read");
        return NULL;
    }
    jw_init(&w, &text);
    bsonx_to_json(&w, NULL, &view);
    s = segment_parse_text(buf_slice(&text), NULL, err);
    buf_deinit(&text);
    return s;
}
