/*
 * Compiling filters: one walk over the document, strict about everything it does not know. What comes
 * out is a tree of and/or/nor/not over comparisons (filter.h); matching is in filter_match.c, turning
 * parts of it into SQL in the SQLite driver.
 *
 * Also here: the checks of all other input that names fields (paths, sorts, projections, documents).
 */
#include "store/filter.h"

#include <stdlib.h>
#include <string.h>

#include "store/store.h"

#define PATH_MAX_BYTES   512u
#define NODES_MAX        4096u
#define IN_VALUES_MAX    10000u
#define SORT_KEYS_MAX    4u
#define PROJECTION_MAX   64u
#define FILTER_DEPTH_MAX 32u

struct compiler {
    struct arena *arena;
    struct err *err;
    unsigned n_nodes;
};

int
filter_path_parse(const char *text, struct filter_path *path_r, struct err *err)
{
    struct slice rest = slice_str(text), part;

    memset(path_r, 0, sizeof(*path_r));
    path_r->text = text;
    if (rest.n == 0 || rest.n > PATH_MAX_BYTES)
        return err_sub(
            err, ERR_INVALID, "invalid_path", "a path has 1 to %u bytes", PATH_MAX_BYTES);
    while (slice_cut(&rest, '.', &part)) {
        if (part.n == 0 || part.p[0] == '$')
            return err_sub(
                err, ERR_INVALID, "invalid_path", "path \"%.100s\" has a bad part", text);
        if (path_r->n_parts == FILTER_PATH_PARTS_MAX)
            return err_sub(err, ERR_INVALID, "invalid_path", "path \"%.100s\" is too deep", text);
        path_r->parts[path_r->n_parts++] = part;
    }
    return 0;
}

int
filter_check_path(const char *path, struct err *err)
{
    struct filter_path parsed;

    return filter_path_parse(path, &parsed, err);
}

int
filter_check_plain_path(const char *path, struct err *err)
{
    struct filter_path parsed;
    uint64_t number;

    if (filter_path_parse(path, &parsed, err) != 0)
        return -1;
    for (unsigned i = 0; i < parsed.n_parts; i++) {
        if (slice_u64(parsed.parts[i], &number))
            return err_sub(
                err, ERR_INVALID, "invalid_path", "path \"%.100s\" holds a number", path);
    }
    return 0;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static struct filter *
new_node(struct compiler *c, enum filter_op op)
{
    struct filter *f;

    if (++c->n_nodes > NODES_MAX) {
        err_sub(c->err, ERR_LIMIT, "invalid_filter", "more than %u conditions", NODES_MAX);
        return NULL;
    }
    f = value_alloc(c->arena, 1, sizeof(*f));
    f->op = op;
    return f;
}

static struct filter *
wrap_not(struct compiler *c, const struct filter *kid)
{
    struct filter *f;

    if (kid == NULL || (f = new_node(c, FILTER_NOT)) == NULL)
        return NULL;
    f->kids = arena_alloc(c->arena, sizeof(*f->kids));
    f->kids[0] = kid;
    f->n_kids = 1;
    return f;
}

static void
refuse(struct compiler *c, const char *sub, const char *what, const char *name)
{
    err_sub(c->err, ERR_INVALID, sub, "%s: \"%.60s\"", what, name);
}

static size_t
count_fields(const bson_iter_t *container)
{
    bson_iter_t it;
    size_t n = 0;

    if (bson_iter_recurse(container, &it)) {
        while (bson_iter_next(&it))
            n++;
    }
    return n;
}

static int
cmp_values(const void *a, const void *b)
{
    const struct filter_value *x = a, *y = b;

    return value_cmp(&x->it, &y->it);
}

static struct filter *
compile_in(struct compiler *c, const struct filter_path *path, const bson_iter_t *v)
{
    size_t n = count_fields(v), i = 0;
    struct filter_value *values;
    struct filter *f;
    bson_iter_t it;

    if (!BSON_ITER_HOLDS_ARRAY(v)) {
        refuse(c, "invalid_filter", "$in and $nin take an array", path->text);
        return NULL;
    }
    if (n > IN_VALUES_MAX) {
        err_sub(c->err, ERR_LIMIT, "invalid_filter", "more than %u values", IN_VALUES_MAX);
        return NULL;
    }
    if ((f = new_node(c, FILTER_IN)) == NULL)
        return NULL;
    values = value_alloc(c->arena, n > 0 ? n : 1, sizeof(*values));
    for (bson_iter_recurse(v, &it); bson_iter_next(&it) && i < n; i++) {
        if (value_check(&it, c->err) != 0)
            return NULL;
        values[i].it = it;
    }
    qsort(values, n, sizeof(*values), cmp_values); /* for the search when matching */
    f->path = path;
    f->values = values;
    f->n_values = n;
    return f;
}

static struct filter *
compile_comparison(
    struct compiler *c, enum filter_op op, const struct filter_path *path, const bson_iter_t *v)
{
    struct filter *f;

    if (value_check(v, c->err) != 0 || (f = new_node(c, op)) == NULL)
        return NULL;
    f->path = path;
    f->value = *v;
    return f;
}

static const struct filter *compile_ops(
    struct compiler *c, const struct filter_path *path, const bson_iter_t *doc, unsigned depth);

static const struct filter *
compile_exists(struct compiler *c, const struct filter_path *path, const bson_iter_t *v)
{
    struct filter *f;

    if (!BSON_ITER_HOLDS_BOOL(v)) {
        refuse(c, "invalid_filter", "$exists takes true or false", path->text);
        return NULL;
    }
    if ((f = new_node(c, FILTER_EXISTS)) == NULL)
        return NULL;
    f->path = path;
    return bson_iter_bool(v) ? f : wrap_not(c, f);
}

/* One operator of {path: {$op: value}}; `v` stands on it. */
static const struct filter *
compile_op(struct compiler *c, const struct filter_path *path, const bson_iter_t *v, unsigned depth)
{
    static const struct {
        const char *name;
        enum filter_op op;
    } comparisons[] = {{"$eq", FILTER_EQ}, {"$lt", FILTER_LT}, {"$lte", FILTER_LTE},
        {"$gt", FILTER_GT}, {"$gte", FILTER_GTE}};
    const char *name = bson_iter_key(v);

    for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++) {
        if (strcmp(name, comparisons[i].name) == 0)
            return compile_comparison(c, comparisons[i].op, path, v);
    }
    if (strcmp(name, "$ne") == 0)
        return wrap_not(c, compile_comparison(c, FILTER_EQ, path, v));
    if (strcmp(name, "$in") == 0)
        return compile_in(c, path, v);
    if (strcmp(name, "$nin") == 0)
        return wrap_not(c, compile_in(c, path, v));
    if (strcmp(name, "$exists") == 0)
        return compile_exists(c, path, v);
    if (strcmp(name, "$not") == 0) {
        if (BSON_ITER_HOLDS_DOCUMENT(v))
            return wrap_not(c, compile_ops(c, path, v, depth + 1));
        refuse(c, "invalid_filter", "$not takes a document of operators", path->text);
        return NULL;
    }
    refuse(c, "unsupported_filter", "unknown operator", name);
    return NULL;
}

/* {path: {$op: v, ...}}: all must hold. Not empty, operators only. */
static const struct filter *
compile_ops(
    struct compiler *c, const struct filter_path *path, const bson_iter_t *doc, unsigned depth)
{
    size_t n = count_fields(doc), i = 0;
    struct filter *f;
    bson_iter_t it;

    if (n == 0 || depth > FILTER_DEPTH_MAX) {
        refuse(c, "invalid_filter", "no operators, or nested too deep", path->text);
        return NULL;
    }
    if ((f = new_node(c, FILTER_AND)) == NULL)
        return NULL;
    f->kids = arena_array(c->arena, n, sizeof(*f->kids));
    for (bson_iter_recurse(doc, &it); bson_iter_next(&it) && i < n; i++) {
        if ((f->kids[i] = compile_op(c, path, &it, depth)) == NULL)
            return NULL;
    }
    f->n_kids = i;
    return f->n_kids == 1 ? f->kids[0] : f;
}

static bool
is_operator_doc(const bson_iter_t *v)
{
    bson_iter_t it;

    return BSON_ITER_HOLDS_DOCUMENT(v) && bson_iter_recurse(v, &it) && bson_iter_next(&it) &&
           bson_iter_key(&it)[0] == '$';
}

static const struct filter *
compile_field(struct compiler *c, const bson_iter_t *v, unsigned depth)
{
    struct filter_path *path = arena_alloc(c->arena, sizeof(*path));

    if (filter_path_parse(bson_iter_key(v), path, c->err) != 0)
        return NULL;
    if (is_operator_doc(v))
        return compile_ops(c, path, v, depth);
    return compile_comparison(c, FILTER_EQ, path, v);
}

static const struct filter *compile_doc(
    struct compiler *c, bson_iter_t it, size_t n_fields, unsigned depth);

/* $and, $or, $nor: a non-empty array of filters. */
static const struct filter *
compile_logic(struct compiler *c, enum filter_op op, const bson_iter_t *v, unsigned depth)
{
    size_t n = count_fields(v), i = 0;
    struct filter *f;
    bson_iter_t it, sub;

    if (!BSON_ITER_HOLDS_ARRAY(v) || n == 0 || depth >= FILTER_DEPTH_MAX) {
        refuse(c, "invalid_filter", "needs a non-empty array of filters", bson_iter_key(v));
        return NULL;
    }
    if ((f = new_node(c, op)) == NULL)
        return NULL;
    f->kids = arena_array(c->arena, n, sizeof(*f->kids));
    for (bson_iter_recurse(v, &it); bson_iter_next(&it) && i < n; i++) {
        if (!BSON_ITER_HOLDS_DOCUMENT(&it) || !bson_iter_recurse(&it, &sub)) {
            refuse(c, "invalid_filter", "needs an array of filters", bson_iter_key(v));
            return NULL;
        }
        if ((f->kids[i] = compile_doc(c, sub, count_fields(&it), depth + 1)) == NULL)
            return NULL;
    }
    f->n_kids = i;
    return f;
}

static const struct filter *
compile_member(struct compiler *c, const bson_iter_t *it, unsigned depth)
{
    const char *name = bson_iter_key(it);

    if (name[0] != '$')
        return compile_field(c, it, depth);
    if (strcmp(name, "$and") == 0)
        return compile_logic(c, FILTER_AND, it, depth);
    if (strcmp(name, "$or") == 0)
        return compile_logic(c, FILTER_OR, it, depth);
    if (strcmp(name, "$nor") == 0)
        return compile_logic(c, FILTER_NOR, it, depth);
    refuse(c, "unsupported_filter", "unknown operator", name);
    return NULL;
}

static const struct filter *
compile_doc(struct compiler *c, bson_iter_t it, size_t n_fields, unsigned depth)
{
    struct filter *f = new_node(c, FILTER_AND);
    size_t i = 0;

    if (f == NULL)
        return NULL;
    f->kids = arena_array(c->arena, n_fields > 0 ? n_fields : 1, sizeof(*f->kids));
    for (; bson_iter_next(&it) && i < n_fields; i++) {
        if ((f->kids[i] = compile_member(c, &it, depth)) == NULL)
            return NULL;
    }
    f->n_kids = i;
    return f;
}

const struct filter *
filter_compile(const bson_t *filter, struct arena *a, struct err *err)
{
    struct compiler c = {.arena = a, .err = err};
    bson_iter_t it;

    if (filter->len > STORE_DOC_MAX_BYTES || !bson_iter_init(&it, filter)) {
        err_sub(err, ERR_INVALID, "invalid_filter", "malformed or too large");
        return NULL;
    }
    return compile_doc(&c, it, bson_count_keys(filter), 0);
}

const struct filter *
filter_compile_ops(const bson_t *ops, struct arena *a, struct err *err)
{
    static const struct filter_path element = {.text = "(element)"};
    struct compiler c = {.arena = a, .err = err};
    struct filter *f;
    bson_iter_t it;
    size_t i = 0;

    if (!bson_iter_init(&it, ops) || (f = new_node(&c, FILTER_AND)) == NULL)
        return NULL;
    f->kids = arena_array(a, bson_count_keys(ops) + 1, sizeof(*f->kids));
    while (bson_iter_next(&it)) {
        if ((f->kids[i++] = compile_op(&c, &element, &it, 0)) == NULL)
            return NULL;
    }
    f->n_kids = i;
    return f;
}

/* ---- other input that names fields ------------------------------------------------------------ */

static int
check_keys(const bson_t *keys, bool with_minus, unsigned max, const char *what, struct err *err)
{
    bson_iter_t it;
    unsigned n = 0;

    if (keys == NULL)
        return 0;
    if (!bson_iter_init(&it, keys))
        return err_sub(err, ERR_INVALID, "malformed", "%s", what);
    while (bson_iter_next(&it)) {
        int64_t v = 0;

        if (++n > max)
            return err_sub(err, ERR_INVALID, "invalid_find", "%s: more than %u fields", what, max);
        if ((with_minus ? filter_check_plain_path : filter_check_path)(bson_iter_key(&it), err) !=
            0)
            return -1;
        if (!value_int(&it, &v) || (v != 1 && !(with_minus && v == -1)))
            return err_sub(err, ERR_INVALID, "invalid_find", "%s: bad value for \"%.60s\"", what,
                bson_iter_key(&it));
    }
    return 0;
}

int
filter_check_find(const struct store_find *find, struct err *err)
{
    bson_iter_t it, at;
    int64_t id;

    if (check_keys(find->sort, true, SORT_KEYS_MAX, "sort", err) != 0 ||
        check_keys(find->projection, false, PROJECTION_MAX, "projection", err) != 0)
        return -1;
    if (find->after == NULL)
        return 0;
    if (!bson_iter_init_find(&it, find->after, "_id") || !value_int(&it, &id))
        return err_sub(err, ERR_INVALID, "invalid_find", "a keyset position needs an integer _id");
    if (!bson_iter_init(&it, find->after))
        return err_sub(err, ERR_INVALID, "malformed", "keyset position");
    while (bson_iter_next(&it)) {
        if (value_check(&it, err) != 0)
            return -1;
    }
    if (find->sort == NULL || !bson_iter_init(&it, find->sort))
        return 0;
    while (bson_iter_next(&it)) {
        if (!bson_iter_init_find(&at, find->after, bson_iter_key(&it)))
            return err_sub(err, ERR_INVALID, "invalid_find", "the keyset position lacks \"%.60s\"",
                bson_iter_key(&it));
    }
    return 0;
}

int
filter_check_doc(const bson_t *doc, struct err *err)
{
    bson_iter_t it;
    bool has_id = false;

    if (doc->len > STORE_DOC_MAX_BYTES)
        return err_sub(
            err, ERR_LIMIT, "document_too_large", "more than %u bytes", STORE_DOC_MAX_BYTES);
    if (!bson_iter_init(&it, doc))
        return err_sub(err, ERR_INVALID, "malformed", "not a document");
    while (bson_iter_next(&it)) {
        const char *name = bson_iter_key(&it);

        if (name[0] == '\0' || name[0] == '$' || strchr(name, '.') != NULL)
            return err_sub(err, ERR_INVALID, "invalid_field_name", "\"%.60s\"", name);
        if (strcmp(name, "_id") == 0) {
            if (has_id || bson_iter_type(&it) != BSON_TYPE_INT64)
                return err_sub(err, ERR_INVALID, "id_missing", "_id is one int64");
            has_id = true;
        } else if (value_check(&it, err) != 0) {
            return -1;
        }
    }
    if (it.err_off != 0)
        return err_sub(err, ERR_INVALID, "malformed", "damaged at byte %u", it.err_off);
    if (!has_id)
        return err_sub(err, ERR_INVALID, "id_missing", "a document needs an _id");
    return 0;
}
