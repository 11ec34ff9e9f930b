/*
 * Values of the template engine: look-up, truth, equality, and conversion from stored documents and
 * parsed JSON.
 *
 * A value never owns memory. Composite values point into an arena, strings point into whatever the
 * caller converted from, so a conversion costs one array per object and no copy of text. Conversion
 * recurses at most VALUE_DEPTH_MAX levels; what lies deeper becomes undefined, since no template can
 * use it and input decides the depth.
 */
#include "message/value.h"

#include <math.h>

#include "base/bsonx.h"
#include "base/json.h"
#include "base/utf8.h"

#define VALUE_DEPTH_MAX 32

const struct value value_undefined = {.type = VALUE_UNDEFINED};

const struct value *
value_get(const struct value *v, struct slice name)
{
    if (v->type != VALUE_OBJECT)
        return &value_undefined;
    for (size_t i = v->object.n; i-- > 0;) {
        if (slice_eq(v->object.members[i].name, name))
            return v->object.members[i].value;
    }
    return &value_undefined;
}

struct value
value_member(const struct value *v, struct slice name)
{
    uint64_t index;

    switch (v->type) {
    case VALUE_OBJECT: return *value_get(v, name);
    case VALUE_ARRAY:
        if (slice_u64(name, &index))
            return index < v->array.n ? v->array.items[index] : value_undefined;
        if (slice_eq(name, SLICE_LIT("length")))
            return value_int((int64_t)v->array.n);
        return value_undefined;
    case VALUE_STRING:
        if (slice_eq(name, SLICE_LIT("length")))
            return value_int((int64_t)utf8_count(v->s));
        return value_undefined;
    default: return value_undefined;
    }
}

bool
value_is_truthy(const struct value *v)
{
    switch (v->type) {
    case VALUE_UNDEFINED:
    case VALUE_NULL: return false;
    case VALUE_BOOL: return v->b;
    case VALUE_INT: return v->i != 0;
    case VALUE_NUMBER: return v->d != 0 && !isnan(v->d);
    case VALUE_STRING: return v->s.n > 0;
    case VALUE_DATE:
    case VALUE_ARRAY:
    case VALUE_OBJECT: return true;
    }
    return false;
}

bool
value_opens_block(const struct value *v, bool include_zero)
{
    if (v->type == VALUE_ARRAY)
        return v->array.n > 0;
    if (include_zero &&
        ((v->type == VALUE_INT && v->i == 0) || (v->type == VALUE_NUMBER && v->d == 0)))
        return true;
    return value_is_truthy(v);
}

bool
value_is_equal(const struct value *a, const struct value *b)
{
    if (a->type == VALUE_INT && b->type == VALUE_NUMBER)
        return (double)a->i == b->d;
    if (a->type == VALUE_NUMBER && b->type == VALUE_INT)
        return a->d == (double)b->i;
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case VALUE_UNDEFINED:
    case VALUE_NULL: return true;
    case VALUE_BOOL: return a->b == b->b;
    case VALUE_INT:
    case VALUE_DATE: return a->i == b->i;
    case VALUE_NUMBER: return a->d == b->d;
    case VALUE_STRING: return slice_eq(a->s, b->s);
    case VALUE_ARRAY: return a->array.items == b->array.items && a->array.n == b->array.n;
    case VALUE_OBJECT: return a->object.members == b->object.members && a->object.n == b->object.n;
    }
    return false;
}

static bool bson_members(
    struct arena *a, bson_iter_t *it, size_t n, unsigned depth, struct value *out_r, bool is_array);

static bool
bson_nested(
    struct arena *a, const bson_iter_t *it, unsigned depth, bool is_array, struct value *v_r)
{
    bson_iter_t count, child;
    size_t n = 0;

    if (depth >= VALUE_DEPTH_MAX)
        return true; /* stays undefined */
    if (!bson_iter_recurse(it, &count) || !bson_iter_recurse(it, &child))
        return false;
    while (bson_iter_next(&count))
        n++;
    return bson_members(a, &child, n, depth + 1, v_r, is_array);
}

static bool
bson_value(struct arena *a, const bson_iter_t *it, unsigned depth, struct value *v_r)
{
    uint32_t n;
    const char *p;

    *v_r = value_undefined;
    switch (bson_iter_type(it)) {
    case BSON_TYPE_UTF8:
        p = bson_iter_utf8(it, &n);
        *v_r = value_str(slice_make(p, n));
        return true;
    case BSON_TYPE_INT32: *v_r = value_int(bson_iter_int32(it)); return true;
    case BSON_TYPE_INT64: *v_r = value_int(bson_iter_int64(it)); return true;
    case BSON_TYPE_DOUBLE:
        *v_r = (struct value){.type = VALUE_NUMBER, .d = bson_iter_double(it)};
        return true;
    case BSON_TYPE_BOOL:
        *v_r = (struct value){.type = VALUE_BOOL, .b = bson_iter_bool(it)};
        return true;
    case BSON_TYPE_DATE_TIME:
        *v_r = (struct value){.type = VALUE_DATE, .i = bson_iter_date_time(it)};
        return true;
    case BSON_TYPE_NULL: v_r->type = VALUE_NULL; return true;
    case BSON_TYPE_DOCUMENT: return bson_nested(a, it, depth, false, v_r);
    case BSON_TYPE_ARRAY: return bson_nested(a, it, depth, true, v_r);
    default: return true; /* binary, ids and the like mean nothing in a mail */
    }
}

/* Fill an object or array of `n` entries from `it`, which stands before the first. */
static bool
bson_members(
    struct arena *a, bson_iter_t *it, size_t n, unsigned depth, struct value *out_r, bool is_array)
{
    struct value *values = arena_array(a, n, sizeof(*values));
    struct value_member *members = is_array ? NULL : arena_array(a, n, sizeof(*members));
    size_t i = 0;

    while (bson_iter_next(it)) {
        if (i == n || !bson_value(a, it, depth, &values[i]))
            return false;
        if (!is_array) {
            members[i].name = slice_make(bson_iter_key(it), bson_iter_key_len(it));
            members[i].value = &values[i];
        }
        i++;
    }
    if (it->err_off != 0)
        return false;
    if (is_array) {
        out_r->type = VALUE_ARRAY;
        out_r->array.items = values;
        out_r->array.n = i;
    } else {
        out_r->type = VALUE_OBJECT;
        out_r->object.members = members;
        out_r->object.n = i;
    }
    return true;
}

bool
value_from_bson(struct arena *a, struct slice bytes, struct value *out_r)
{
    bson_iter_t it;
    bson_t doc;

    *out_r = value_undefined;
    if (!bsonx_view(bytes, &doc) || !bson_iter_init(&it, &doc))
        return false;
    return bson_members(a, &it, bson_count_keys(&doc), 1, out_r, false);
}

static void json_value(struct arena *a, const struct json *j, unsigned depth, struct value *out_r);

/* An array or object with all it holds. */
static void
json_nested(struct arena *a, const struct json *j, unsigned depth, struct value *out_r)
{
    bool is_object = json_type(j) == JSON_OBJECT;
    size_t n = json_count(j), i = 0;
    struct value *values = arena_array(a, n, sizeof(*values));
    struct value_member *members = is_object ? arena_array(a, n, sizeof(*members)) : NULL;

    for (const struct json *c = json_first(j); c != NULL && i < n; c = json_next(c), i++) {
        json_value(a, c, depth + 1, &values[i]);
        if (is_object)
            members[i] = (struct value_member){json_name(c), &values[i]};
    }
    if (is_object) {
        out_r->type = VALUE_OBJECT;
        out_r->object.members = members;
        out_r->object.n = i;
    } else {
        out_r->type = VALUE_ARRAY;
        out_r->array.items = values;
        out_r->array.n = i;
    }
}

static void
json_value(struct arena *a, const struct json *j, unsigned depth, struct value *out_r)
{
    *out_r = value_undefined;
    switch (json_type(j)) {
    case JSON_NULL: out_r->type = VALUE_NULL; break;
    case JSON_BOOL: *out_r = (struct value){.type = VALUE_BOOL, .b = json_bool(j, false)}; break;
    case JSON_NUMBER:
        if (json_int(j, &out_r->i))
            out_r->type = VALUE_INT;
        else
            *out_r = (struct value){.type = VALUE_NUMBER, .d = json_num(j, 0)};
        break;
    case JSON_STRING: *out_r = value_str(json_str(j)); break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        if (depth <= VALUE_DEPTH_MAX)
            json_nested(a, j, depth, out_r);
        break;
    }
}

void
value_from_json(struct arena *a, const struct json *j, struct value *out_r)
{
    json_value(a, j, 1, out_r);
}
