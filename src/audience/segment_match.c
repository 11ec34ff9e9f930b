/*
 * The meaning of a segment, in memory: evaluated on stored contacts for the filters that the store does
 * not do, and the yardstick that the store filter is tested against.
 *
 * A path leads through documents; through a list it goes into every element that is a document, and a
 * numeric part also into the element of that number. At its end a list stands for itself and for its
 * elements. A path that leads nowhere is missing, which equals null; a list on the way that holds no
 * document leads to nothing at all, not even to missing.
 */

#include "audience/segment_internal.h"

/* ---- one value ------------------------------------------------------------------------------- */

static bool
equals_double(const struct segment_value *v, double stored)
{
    if (v->type == SEGMENT_DOUBLE)
        return v->d == stored;
    /* Operands are within ±2^53, so the conversion is exact. */
    return v->type == SEGMENT_INT && (double)v->i == stored;
}

static bool
equals_int(const struct segment_value *v, int64_t stored)
{
    if (v->type == SEGMENT_INT)
        return v->i == stored;
    /* An integral double operand was read as an integer: a fraction never equals one. */
    return false;
}

/* `it` NULL = missing. */
static bool
equals(const struct segment_value *v, const bson_iter_t *it)
{
    uint32_t len;
    const char *text;

    if (it == NULL)
        return v->type == SEGMENT_NULL;
    switch (bson_iter_type(it)) {
    case BSON_TYPE_NULL: return v->type == SEGMENT_NULL;
    case BSON_TYPE_BOOL: return v->type == SEGMENT_BOOL && v->b == bson_iter_bool(it);
    case BSON_TYPE_INT32: return equals_int(v, bson_iter_int32(it));
    case BSON_TYPE_INT64: return equals_int(v, bson_iter_int64(it));
    case BSON_TYPE_DOUBLE: return equals_double(v, bson_iter_double(it));
    case BSON_TYPE_DATE_TIME: return v->is_time && v->time_ms == bson_iter_date_time(it);
    case BSON_TYPE_UTF8:
        text = bson_iter_utf8(it, &len);
        return v->type == SEGMENT_STRING && slice_eq(v->s, slice_make(text, len));
    default: return false;
    }
}

static bool
equals_any(const struct segment_node *n, const bson_iter_t *it)
{
    if (n->kind == SEGMENT_FIELD_EXISTS)
        return it != NULL;
    for (size_t i = 0; i < n->n_values; i++) {
        if (equals(&n->values[i], it))
            return true;
    }
    return false;
}

/* ---- the path -------------------------------------------------------------------------------- */

static bool walk_doc(const struct segment_node *n, bson_iter_t fields, unsigned part);

/* The end of the path: the value, and the elements of a list. */
static bool
walk_end(const struct segment_node *n, const bson_iter_t *it)
{
    bson_iter_t element;

    if (equals_any(n, it))
        return true;
    if (!BSON_ITER_HOLDS_ARRAY(it) || !bson_iter_recurse(it, &element))
        return false;
    while (bson_iter_next(&element)) {
        if (equals_any(n, &element))
            return true;
    }
    return false;
}

static bool
walk_list(const struct segment_node *n, const bson_iter_t *list, unsigned part)
{
    bool is_last = part + 1 == n->n_parts;
    bson_iter_t element, inner;

    if (!bson_iter_recurse(list, &element))
        return false;
    while (bson_iter_next(&element)) {
        bool is_doc = BSON_ITER_HOLDS_DOCUMENT(&element) && bson_iter_recurse(&element, &inner);

        if (is_doc && walk_doc(n, inner, part))
            return true;
        if (!slice_eq_str(n->parts[part], bson_iter_key(&element)))
            continue;
        if (is_last  ? equals_any(n, &element)
            : is_doc ? walk_doc(n, inner, part + 1)
                     : BSON_ITER_HOLDS_ARRAY(&element) && walk_list(n, &element, part + 1))
            return true;
    }
    return false;
}

static bool
walk_doc(const struct segment_node *n, bson_iter_t fields, unsigned part)
{
    bson_iter_t inner;

    if (!bson_iter_find_w_len(&fields, n->parts[part].p, (int)n->parts[part].n))
        return equals_any(n, NULL);
    if (part + 1 == n->n_parts)
        return walk_end(n, &fields);
    if (BSON_ITER_HOLDS_ARRAY(&fields))
        return walk_list(n, &fields, part + 1);
    if (BSON_ITER_HOLDS_DOCUMENT(&fields) && bson_iter_recurse(&fields, &inner))
        return walk_doc(n, inner, part + 1);
    return equals_any(n, NULL);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static bool
path_holds(const struct segment_node *n, const bson_t *contact)
{
    bson_iter_t it;

    return bson_iter_init(&it, contact) && walk_doc(n, it, 0);
}

bool
segment_node_matches(
    const struct segment_node *n, const bson_t *contact, enum subscription_status status)
{
    switch (n->kind) {
    case SEGMENT_FIELD_EQUALS:
    case SEGMENT_FIELD_IN:
    case SEGMENT_FIELD_EXISTS:
    case SEGMENT_HAS_TAG: return path_holds(n, contact);
    case SEGMENT_NOT_HAS_TAG: return !path_holds(n, contact);
    case SEGMENT_STATUS: return n->status == status;
    case SEGMENT_ANY:
        for (size_t i = 0; i < n->n_kids; i++) {
            if (segment_node_matches(&n->kids[i], contact, status))
                return true;
        }
        return false;
    case SEGMENT_NOT: return !segment_node_matches(n->kids, contact, status);
    case SEGMENT_KINDS: break;
    }
    return false;
}

bool
segment_match_rest(const struct segment *s, const bson_t *contact, enum subscription_status status)
{
    for (size_t i = 0; i < s->n_rest; i++) {
        if (!segment_node_matches(s->rest[i], contact, status))
            return false;
    }
    return true;
}

static bool
is_erased(const bson_t *contact)
{
    bson_iter_t it;

    return bson_iter_init_find(&it, contact, "deletedAt") && !BSON_ITER_HOLDS_NULL(&it);
}

bool
segment_match(const struct segment *s, const bson_t *contact, enum subscription_status status)
{
    if (is_erased(contact))
        return false;
    for (size_t i = 0; i < s->n_filters; i++) {
        const struct segment_node *n = &s->filters[i];

        if (n->kind == SEGMENT_STATUS && n->status == SUBSCRIPTION_SUBSCRIBED)
            continue;
        if (!segment_node_matches(n, contact, status))
            return false;
    }
    return true;
}
