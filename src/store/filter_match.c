/*
 * Matching a compiled filter against a stored document, in place: no copy, no allocation.
 *
 * A path yields values: the value it leads to; when that is an array also each element; through an
 * array on the way, what each element that is a document yields, and for a numeric part the element
 * of that number. Where a field is absent the path yields "missing", which equals null. A comparison
 * holds when one yielded value satisfies it, and orders only values of the same type bracket.
 */
#include "store/filter.h"

#include <stdlib.h>
#include <string.h>

static int
cmp_to_element(const void *key, const void *element)
{
    const struct filter_value *v = element;

    return value_cmp(key, &v->it);
}

/* Does this one value (NULL = missing) satisfy the comparison? */
static bool
test_value(const struct filter *f, const bson_iter_t *v)
{
    bson_iter_t null_value;
    static const uint8_t null_doc[] = {8, 0, 0, 0, BSON_TYPE_NULL, 'n', 0, 0};

    switch (f->op) {
    case FILTER_EXISTS: return v != NULL;
    case FILTER_EQ: return value_cmp(v, &f->value) == 0;
    case FILTER_LT: return value_rank(v) == value_rank(&f->value) && value_cmp(v, &f->value) < 0;
    case FILTER_LTE: return value_rank(v) == value_rank(&f->value) && value_cmp(v, &f->value) <= 0;
    case FILTER_GT: return value_rank(v) == value_rank(&f->value) && value_cmp(v, &f->value) > 0;
    case FILTER_GTE: return value_rank(v) == value_rank(&f->value) && value_cmp(v, &f->value) >= 0;
    case FILTER_IN:
        if (v == NULL) {
            bson_iter_init_from_data(&null_value, null_doc, sizeof(null_doc));
            bson_iter_next(&null_value);
            v = &null_value;
        }
        return f->n_values > 0 &&
               bsearch(v, f->values, f->n_values, sizeof(*f->values), cmp_to_element) != NULL;
    case FILTER_AND:
    case FILTER_OR:
    case FILTER_NOR:
    case FILTER_NOT: break;
    }
    return false;
}

/* A value at the end of the path: itself, and the elements when it is an array. */
static bool
test_leaf(const struct filter *f, const bson_iter_t *v)
{
    bson_iter_t it;

    if (test_value(f, v))
        return true;
    if (!BSON_ITER_HOLDS_ARRAY(v) || !bson_iter_recurse(v, &it))
        return false;
    while (bson_iter_next(&it)) {
        if (test_value(f, &it))
            return true;
    }
    return false;
}

static bool test_in_array(const struct filter *f, const bson_iter_t *array, unsigned part);

/* The rest of the path, from `part` on, inside a document; `it` stands before its first field. */
static bool
test_in_doc(const struct filter *f, bson_iter_t it, unsigned part)
{
    const struct slice name = f->path->parts[part];
    bool is_last = part + 1 == f->path->n_parts;
    bson_iter_t sub;

    if (!bson_iter_find_w_len(&it, name.p, (int)name.n))
        return test_value(f, NULL);
    if (is_last)
        return test_leaf(f, &it);
    if (BSON_ITER_HOLDS_ARRAY(&it))
        return test_in_array(f, &it, part + 1);
    if (BSON_ITER_HOLDS_DOCUMENT(&it) && bson_iter_recurse(&it, &sub))
        return test_in_doc(f, sub, part + 1);
    return test_value(f, NULL);
}

static bool
test_in_array(const struct filter *f, const bson_iter_t *array, unsigned part)
{
    bson_iter_t it, sub;

    if (!bson_iter_recurse(array, &it))
        return false;
    while (bson_iter_next(&it)) {
        bool is_here = slice_eq_str(f->path->parts[part], bson_iter_key(&it));
        bool is_doc = BSON_ITER_HOLDS_DOCUMENT(&it) && bson_iter_recurse(&it, &sub);

        if (is_doc && test_in_doc(f, sub, part))
            return true;
        if (!is_here)
            continue;
        if (part + 1 == f->path->n_parts) {
            if (test_value(f, &it))
                return true;
        } else if (is_doc) {
            if (test_in_doc(f, sub, part + 1))
                return true;
        } else if (BSON_ITER_HOLDS_ARRAY(&it) && test_in_array(f, &it, part + 1)) {
            return true;
        }
    }
    return false;
}

/* Exactly one of `doc` and `v` is given. */
static bool
match(const struct filter *f, const bson_t *doc, const bson_iter_t *v)
{
    bson_iter_t it;

    switch (f->op) {
    case FILTER_AND:
        for (size_t i = 0; i < f->n_kids; i++) {
            if (!match(f->kids[i], doc, v))
                return false;
        }
        return true;
    case FILTER_OR:
    case FILTER_NOR:
        for (size_t i = 0; i < f->n_kids; i++) {
            if (match(f->kids[i], doc, v))
                return f->op == FILTER_OR;
        }
        return f->op == FILTER_NOR;
    case FILTER_NOT: return !match(f->kids[0], doc, v);
    default: break;
    }
    if (doc == NULL)
        return test_leaf(f, v);
    return bson_iter_init(&it, doc) && test_in_doc(f, it, 0);
}

bool
filter_match(const struct filter *f, const bson_t *doc)
{
    return match(f, doc, NULL);
}

bool
filter_match_value(const struct filter *f, const bson_iter_t *v)
{
    return match(f, NULL, v);
}
