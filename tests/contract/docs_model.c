#include "contract/docs_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A plain evaluator: paths are split into words and walked by recursion that collects candidates into
 * a list; a comparison asks each candidate in turn. Numbers compare as long double, which holds every
 * int64 and every double exactly on this machine.
 */

_Static_assert(__LDBL_MANT_DIG__ >= 64, "long double must hold an int64");

struct model_value *
model_new(struct arena *a, enum model_type type)
{
    struct model_value *v = arena_zalloc(a, sizeof *v);

    v->type = type;
    return v;
}

void
model_add(struct arena *a, struct model_value *to, const char *name, struct model_value *kid)
{
    struct model_value **kids = arena_array(a, to->n_kids + 1, sizeof *kids);
    const char **names = arena_array(a, to->n_kids + 1, sizeof *names);

    for (size_t i = 0; i < to->n_kids; i++) {
        kids[i] = to->kids[i];
        names[i] = to->names[i];
    }
    kids[to->n_kids] = kid;
    names[to->n_kids++] = name;
    to->kids = kids;
    to->names = names;
}

struct model_value *
model_field(const struct model_value *doc, const char *name)
{
    for (size_t i = 0; i < doc->n_kids; i++) {
        if (strcmp(doc->names[i], name) == 0)
            return doc->kids[i];
    }
    return NULL;
}

/* ---- order ----------------------------------------------------------------------------------- */

int
model_bracket(const struct model_value *v)
{
    static const int brackets[] = {[MODEL_NULL] = 1,
        [MODEL_INT32] = 2,
        [MODEL_INT64] = 2,
        [MODEL_DOUBLE] = 2,
        [MODEL_TEXT] = 3,
        [MODEL_DOC] = 4,
        [MODEL_ARRAY] = 5,
        [MODEL_BOOL] = 6,
        [MODEL_DATE] = 7};

    return v == NULL ? 1 : brackets[v->type];
}

static long double
number(const struct model_value *v)
{
    return v->type == MODEL_DOUBLE ? (long double)v->d : (long double)v->i;
}

int
model_cmp(const struct model_value *a, const struct model_value *b)
{
    int x = model_bracket(a), y = model_bracket(b);

    if (x != y)
        return x < y ? -1 : 1;
    if (x == 1)
        return 0;
    if (x == 2)
        return number(a) < number(b) ? -1 : number(a) > number(b);
    if (x == 3)
        return strcmp(a->text, b->text);
    if (x == 6 || x == 7)
        return a->i < b->i ? -1 : a->i > b->i;
    for (size_t i = 0; i < a->n_kids && i < b->n_kids; i++) {
        int c = model_bracket(a->kids[i]) - model_bracket(b->kids[i]);

        if (c == 0 && x == 4)
            c = strcmp(a->names[i], b->names[i]);
        if (c == 0)
            c = model_cmp(a->kids[i], b->kids[i]);
        if (c != 0)
            return c;
    }
    return a->n_kids < b->n_kids ? -1 : a->n_kids > b->n_kids;
}

bool
model_same(const struct model_value *a, const struct model_value *b)
{
    if (a->type != b->type || a->n_kids != b->n_kids || a->i != b->i)
        return false;
    if (a->type == MODEL_DOUBLE && memcmp(&a->d, &b->d, sizeof a->d) != 0)
        return false;
    if (a->type == MODEL_TEXT && strcmp(a->text, b->text) != 0)
        return false;
    for (size_t i = 0; i < a->n_kids; i++) {
        if (!model_same(a->kids[i], b->kids[i]) ||
            (a->type == MODEL_DOC && strcmp(a->names[i], b->names[i]) != 0))
            return false;
    }
    return true;
}

/* ---- to and from BSON -------------------------------------------------------------------------- */

void
model_append(bson_t *out, const char *name, const struct model_value *v)
{
    char index[24];
    bson_t child;

    switch (v->type) {
    case MODEL_NULL: bson_append_null(out, name, -1); return;
    case MODEL_INT32: bson_append_int32(out, name, -1, (int32_t)v->i); return;
    case MODEL_INT64: bson_append_int64(out, name, -1, v->i); return;
    case MODEL_DOUBLE: bson_append_double(out, name, -1, v->d); return;
    case MODEL_TEXT: bson_append_utf8(out, name, -1, v->text, -1); return;
    case MODEL_BOOL: bson_append_bool(out, name, -1, v->i != 0); return;
    case MODEL_DATE: bson_append_date_time(out, name, -1, v->i); return;
    case MODEL_DOC:
        bson_append_document_begin(out, name, -1, &child);
        for (size_t i = 0; i < v->n_kids; i++)
            model_append(&child, v->names[i], v->kids[i]);
        bson_append_document_end(out, &child);
        return;
    case MODEL_ARRAY:
        bson_append_array_begin(out, name, -1, &child);
        for (size_t i = 0; i < v->n_kids; i++) {
            snprintf(index, sizeof index, "%zu", i);
            model_append(&child, index, v->kids[i]);
        }
        bson_append_array_end(out, &child);
        return;
    }
}

bson_t *
model_doc_to_bson(const struct model_value *doc)
{
    bson_t *out = bson_new();

    for (size_t i = 0; i < doc->n_kids; i++)
        model_append(out, doc->names[i], doc->kids[i]);
    return out;
}

static void
read_fields(struct arena *a, struct model_value *to, bson_iter_t it)
{
    while (bson_iter_next(&it)) {
        struct model_value *v = model_new(a, MODEL_NULL);
        bson_iter_t sub;

        switch (bson_iter_type(&it)) {
        case BSON_TYPE_INT32:
            v->type = MODEL_INT32;
            v->i = bson_iter_int32(&it);
            break;
        case BSON_TYPE_INT64:
            v->type = MODEL_INT64;
            v->i = bson_iter_int64(&it);
            break;
        case BSON_TYPE_DOUBLE:
            v->type = MODEL_DOUBLE;
            v->d = bson_iter_double(&it);
            break;
        case BSON_TYPE_UTF8:
            v->type = MODEL_TEXT;
            v->text = arena_strdup(a, bson_iter_utf8(&it, NULL));
            break;
        case BSON_TYPE_BOOL:
            v->type = MODEL_BOOL;
            v->i = bson_iter_bool(&it);
            break;
        case BSON_TYPE_DATE_TIME:
            v->type = MODEL_DATE;
            v->i = bson_iter_date_time(&it);
            break;
        case BSON_TYPE_DOCUMENT:
        case BSON_TYPE_ARRAY:
            v->type = BSON_ITER_HOLDS_ARRAY(&it) ? MODEL_ARRAY : MODEL_DOC;
            bson_iter_recurse(&it, &sub);
            read_fields(a, v, sub);
            break;
        default: break;
        }
        model_add(a, to, arena_strdup(a, bson_iter_key(&it)), v);
    }
}

struct model_value *
model_from_bson(struct arena *a, const bson_t *doc)
{
    struct model_value *v = model_new(a, MODEL_DOC);
    bson_iter_t it;

    bson_iter_init(&it, doc);
    read_fields(a, v, it);
    return v;
}

static void
append_filter(bson_t *out, const struct model_filter *f)
{
    static const char *const names[] = {[MODEL_AND] = "$and",
        [MODEL_OR] = "$or",
        [MODEL_NOR] = "$nor",
        [MODEL_EQ] = "$eq",
        [MODEL_NE] = "$ne",
        [MODEL_LT] = "$lt",
        [MODEL_LTE] = "$lte",
        [MODEL_GT] = "$gt",
        [MODEL_GTE] = "$gte",
        [MODEL_IN] = "$in",
        [MODEL_NIN] = "$nin"};
    bson_t child, inner;
    char index[24];

    switch (f->op) {
    case MODEL_AND:
    case MODEL_OR:
    case MODEL_NOR:
        bson_append_array_begin(out, names[f->op], -1, &child);
        for (size_t i = 0; i < f->n_kids; i++) {
            snprintf(index, sizeof index, "%zu", i);
            bson_append_document_begin(&child, index, -1, &inner);
            append_filter(&inner, f->kids[i]);
            bson_append_document_end(&child, &inner);
        }
        bson_append_array_end(out, &child);
        return;
    case MODEL_NOT: /* over one comparison */
        bson_append_document_begin(out, f->kids[0]->path, -1, &child);
        bson_append_document_begin(&child, "$not", 4, &inner);
        model_append(&inner, names[f->kids[0]->op], f->kids[0]->value);
        bson_append_document_end(&child, &inner);
        bson_append_document_end(out, &child);
        return;
    case MODEL_EXISTS:
    case MODEL_EXISTS_NOT:
        bson_append_document_begin(out, f->path, -1, &child);
        bson_append_bool(&child, "$exists", 7, f->op == MODEL_EXISTS);
        bson_append_document_end(out, &child);
        return;
    default:
        bson_append_document_begin(out, f->path, -1, &child);
        model_append(&child, names[f->op], f->value);
        bson_append_document_end(out, &child);
    }
}

bson_t *
model_filter_to_bson(const struct model_filter *f)
{
    bson_t *out = bson_new();

    append_filter(out, f);
    return out;
}

bson_t *
model_changes_to_bson(const struct model_change *changes, size_t n)
{
    static const char *const names[] = {[MODEL_SET] = "$set",
        [MODEL_UNSET] = "$unset",
        [MODEL_INC] = "$inc",
        [MODEL_MIN] = "$min",
        [MODEL_MAX] = "$max",
        [MODEL_ADD_TO_SET] = "$addToSet",
        [MODEL_PULL] = "$pull",
        [MODEL_PUSH] = "$push"};
    bson_t *out = bson_new(), child;

    for (int op = MODEL_SET; op <= MODEL_PUSH; op++) {
        bool is_used = false;

        for (size_t i = 0; i < n; i++)
            is_used = is_used || (int)changes[i].op == op;
        if (!is_used)
            continue;
        bson_append_document_begin(out, names[op], -1, &child);
        for (size_t i = 0; i < n; i++) {
            if ((int)changes[i].op == op)
                model_append(&child, changes[i].path, changes[i].value);
        }
        bson_append_document_end(out, &child);
    }
    return out;
}

/* ---- where a path leads ------------------------------------------------------------------------ */

#define FOUND_MAX 512

struct found {
    const struct model_value *v[FOUND_MAX]; /* NULL = missing */
    size_t n;
};

static void
found_add(struct found *f, const struct model_value *v)
{
    if (f->n < FOUND_MAX)
        f->v[f->n++] = v;
}

const char *
model_first_word(const char *path, char *word, size_t size)
{
    const char *dot = strchr(path, '.');

    snprintf(word, size, "%.*s", dot != NULL ? (int)(dot - path) : (int)strlen(path), path);
    return dot != NULL ? dot + 1 : NULL;
}

bool
model_is_index(const char *word, size_t *i_r)
{
    char *end;

    *i_r = strtoul(word, &end, 10);
    return word[0] >= '0' && word[0] <= '9' && *end == '\0';
}

static void list_values(
    const struct model_value *v, const char *path, bool for_sort, struct found *out);

static void
list_from_array(const struct model_value *array, const char *path, bool for_sort, struct found *out)
{
    char word[64];
    const char *rest = model_first_word(path, word, sizeof word);
    size_t at = 0;
    bool is_number = model_is_index(word, &at);

    for (size_t i = 0; i < array->n_kids; i++) {
        const struct model_value *e = array->kids[i];
        bool is_here = is_number && i == at;

        if (e->type == MODEL_DOC)
            list_values(e, path, for_sort, out);
        else if (for_sort) /* whose paths hold no numbers */
            found_add(out, NULL);
        if (is_here && rest == NULL)
            found_add(out, e);
        else if (is_here && e->type == MODEL_DOC)
            list_values(e, rest, for_sort, out);
        else if (is_here && e->type == MODEL_ARRAY)
            list_from_array(e, rest, for_sort, out);
    }
}

/* `v` is a document. */
static void
list_values(const struct model_value *v, const char *path, bool for_sort, struct found *out)
{
    char word[64];
    const char *rest = model_first_word(path, word, sizeof word);
    const struct model_value *kid = model_field(v, word);

    if (kid == NULL) {
        found_add(out, NULL);
    } else if (rest == NULL) {
        found_add(out, kid);
        for (size_t i = 0; !for_sort && kid->type == MODEL_ARRAY && i < kid->n_kids; i++)
            found_add(out, kid->kids[i]);
    } else if (kid->type == MODEL_ARRAY) {
        list_from_array(kid, rest, for_sort, out);
    } else if (kid->type == MODEL_DOC) {
        list_values(kid, rest, for_sort, out);
    } else {
        found_add(out, NULL);
    }
}

/* ---- filters --------------------------------------------------------------------------------- */

static bool
holds(enum model_op op, const struct model_value *have, const struct model_value *want)
{
    int c = model_cmp(have, want);
    bool is_comparable = model_bracket(have) == model_bracket(want);

    switch (op) {
    case MODEL_EQ: return c == 0;
    case MODEL_LT: return is_comparable && c < 0;
    case MODEL_LTE: return is_comparable && c <= 0;
    case MODEL_GT: return is_comparable && c > 0;
    case MODEL_GTE: return is_comparable && c >= 0;
    case MODEL_EXISTS: return have != NULL;
    case MODEL_IN:
        for (size_t i = 0; i < want->n_kids; i++) {
            if (model_cmp(have, want->kids[i]) == 0)
                return true;
        }
        return false;
    default: abort();
    }
}

static bool
any_holds(enum model_op op, const struct model_filter *f, const struct model_value *doc)
{
    struct found found = {.n = 0};

    list_values(doc, f->path, false, &found);
    for (size_t i = 0; i < found.n; i++) {
        if (holds(op, found.v[i], f->value))
            return true;
    }
    return false;
}

bool
model_match(const struct model_filter *f, const struct model_value *doc)
{
    size_t n_true = 0;

    for (size_t i = 0; i < f->n_kids; i++)
        n_true += model_match(f->kids[i], doc);
    switch (f->op) {
    case MODEL_AND: return n_true == f->n_kids;
    case MODEL_OR: return n_true > 0;
    case MODEL_NOR: return n_true == 0;
    case MODEL_NOT: return n_true == 0;
    case MODEL_NE: return !any_holds(MODEL_EQ, f, doc);
    case MODEL_NIN: return !any_holds(MODEL_IN, f, doc);
    case MODEL_EXISTS_NOT: return !any_holds(MODEL_EXISTS, f, doc);
    default: return any_holds(f->op, f, doc);
    }
}

/* ---- sorting --------------------------------------------------------------------------------- */

/* The value a document sorts by: the least or greatest of all, elements of a last array instead of
 * it. Elements that are empty arrays themselves are ordinary values. */
static const struct model_value *
sort_value(const char *path, int direction, const struct model_value *doc, bool *is_empty_r)
{
    struct found found = {.n = 0}, flat = {.n = 0};
    const struct model_value *best = NULL;
    bool has_empty = false;

    list_values(doc, path, true, &found);
    for (size_t i = 0; i < found.n; i++) {
        const struct model_value *v = found.v[i];

        if (v == NULL || v->type != MODEL_ARRAY)
            found_add(&flat, v);
        else if (v->n_kids == 0)
            has_empty = true;
        for (size_t k = 0; v != NULL && v->type == MODEL_ARRAY && k < v->n_kids; k++)
            found_add(&flat, v->kids[k]);
    }
    *is_empty_r = has_empty && (direction > 0 || flat.n == 0);
    for (size_t i = 0; i < flat.n; i++) {
        if (i == 0 || model_cmp(flat.v[i], best) * direction < 0)
            best = flat.v[i];
    }
    return best;
}

int
model_sort_cmp(
    const char *path, int direction, const struct model_value *a, const struct model_value *b)
{
    bool is_empty_a, is_empty_b;
    const struct model_value *x = sort_value(path, direction, a, &is_empty_a);
    const struct model_value *y = sort_value(path, direction, b, &is_empty_b);

    if (is_empty_a || is_empty_b)
        return ((int)is_empty_b - (int)is_empty_a) * direction;
    return model_cmp(x, y) * direction;
}
