#include "base/bsonx.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/timefmt.h"

/*
 * Thin readers and writers over libbson. Readers never fail: a path that is absent, null or of
 * another type gives the fallback, because a stored document may be older than the code. Writers
 * fail only when a document passes 2 GiB, which limits on input make impossible: an assertion.
 */

#define MAX_EXACT 9007199254740991.0 /* 2^53 - 1 */
/* Levels that bsonx_to_json() leaves free under the 64 of the writer. */
#define MAX_WRITER_DEPTH 62u

/* ---- reading ---- */

bool
bsonx_find(const bson_t *doc, const char *path, bson_iter_t *it_r)
{
    bson_iter_t root;

    if (strchr(path, '.') == NULL)
        return bson_iter_init_find(it_r, doc, path);
    return bson_iter_init(&root, doc) && bson_iter_find_descendant(&root, path, it_r);
}

struct slice
bsonx_str(const bson_t *doc, const char *path)
{
    bson_iter_t it;
    uint32_t n;
    const char *p;

    if (!bsonx_find(doc, path, &it) || !BSON_ITER_HOLDS_UTF8(&it))
        return SLICE_NONE;
    p = bson_iter_utf8(&it, &n);
    return slice_make(p, n);
}

int64_t
bsonx_i64(const bson_t *doc, const char *path, int64_t fallback)
{
    bson_iter_t it;
    double v;

    if (!bsonx_find(doc, path, &it))
        return fallback;
    switch (bson_iter_type(&it)) {
    case BSON_TYPE_INT32: return bson_iter_int32(&it);
    case BSON_TYPE_INT64: return bson_iter_int64(&it);
    case BSON_TYPE_DATE_TIME: return bson_iter_date_time(&it);
    case BSON_TYPE_DOUBLE:
        v = bson_iter_double(&it);
        return fabs(v) <= MAX_EXACT && v == trunc(v) ? (int64_t)v : fallback;
    default: return fallback;
    }
}

double
bsonx_num(const bson_t *doc, const char *path, double fallback)
{
    bson_iter_t it;

    if (!bsonx_find(doc, path, &it) || !BSON_ITER_HOLDS_NUMBER(&it))
        return fallback;
    return bson_iter_as_double(&it);
}

bool
bsonx_bool(const bson_t *doc, const char *path, bool fallback)
{
    bson_iter_t it;

    if (!bsonx_find(doc, path, &it) || !BSON_ITER_HOLDS_BOOL(&it))
        return fallback;
    return bson_iter_bool(&it);
}

bool
bsonx_doc(const bson_t *doc, const char *path, bson_t *out)
{
    bson_iter_t it;
    const uint8_t *p = NULL;
    uint32_t n = 0;

    if (!bsonx_find(doc, path, &it))
        return false;
    if (BSON_ITER_HOLDS_DOCUMENT(&it))
        bson_iter_document(&it, &n, &p);
    else if (BSON_ITER_HOLDS_ARRAY(&it))
        bson_iter_array(&it, &n, &p);
    return p != NULL && bson_init_static(out, p, n);
}

struct slice
bsonx_bin(const bson_t *doc, const char *path)
{
    bson_iter_t it;
    bson_subtype_t subtype;
    const uint8_t *p = NULL;
    uint32_t n = 0;

    if (!bsonx_find(doc, path, &it) || !BSON_ITER_HOLDS_BINARY(&it))
        return SLICE_NONE;
    bson_iter_binary(&it, &subtype, &n, &p);
    return slice_make(p, n);
}

bool
bsonx_view(struct slice bytes, bson_t *out)
{
    return bytes.p != NULL && bson_init_static(out, (const uint8_t *)bytes.p, bytes.n) &&
           bson_validate(out, BSON_VALIDATE_NONE, NULL);
}

struct slice
bsonx_bytes(const bson_t *doc)
{
    return slice_make(bson_get_data(doc), doc->len);
}

/* ---- writing ---- */

/* libbson refuses only what would pass its size limit. */
static void
must(bool added)
{
    assert(added);
    (void)added;
}

static void
append_str(bson_t *doc, const char *key, size_t key_n, struct slice v)
{
    assert(v.n <= INT32_MAX);
    must(bson_append_utf8(doc, key, (int)key_n, v.p != NULL ? v.p : "", (int)v.n));
}

void
bsonx_add_str(bson_t *doc, const char *key, struct slice v)
{
    append_str(doc, key, strlen(key), v);
}

void
bsonx_add_str_or_null(bson_t *doc, const char *key, struct slice v)
{
    if (v.p == NULL)
        must(bson_append_null(doc, key, -1));
    else
        bsonx_add_str(doc, key, v);
}

void
bsonx_add_i64(bson_t *doc, const char *key, int64_t v)
{
    must(bson_append_int64(doc, key, -1, v));
}

void
bsonx_add_bool(bson_t *doc, const char *key, bool v)
{
    must(bson_append_bool(doc, key, -1, v));
}

void
bsonx_add_time(bson_t *doc, const char *key, int64_t ms)
{
    if (ms == 0)
        must(bson_append_null(doc, key, -1));
    else
        must(bson_append_date_time(doc, key, -1, ms));
}

void
bsonx_add_bin(bson_t *doc, const char *key, struct slice v)
{
    static const uint8_t none[1];
    const uint8_t *p = v.p != NULL ? (const uint8_t *)v.p : none;

    assert(v.n <= UINT32_MAX);
    must(bson_append_binary(doc, key, -1, BSON_SUBTYPE_BINARY, p, (uint32_t)v.n));
}

/* ---- from JSON ---- */

static int append_json(
    bson_t *doc, struct slice key, const struct json *j, unsigned max_depth, struct err *err);

static int
check_key(struct slice key, struct err *err)
{
    if (key.n == 0)
        return err_sub(err, ERR_INVALID, "invalid_key", "a name is empty");
    if (key.p[0] == '$')
        return err_sub(err, ERR_INVALID, "invalid_key", "a name starts with '$'");
    if (slice_find_char(key, '.') >= 0 || slice_find_char(key, '\0') >= 0)
        return err_sub(err, ERR_INVALID, "invalid_key", "a name holds '.' or NUL");
    return 0;
}

static int
append_members(bson_t *doc, const struct json *object, unsigned max_depth, struct err *err)
{
    for (const struct json *m = json_first(object); m != NULL; m = json_next(m))
        if (check_key(json_name(m), err) != 0 ||
            append_json(doc, json_name(m), m, max_depth, err) != 0)
            return -1;
    return 0;
}

static int
append_elements(bson_t *arr, const struct json *array, unsigned max_depth, struct err *err)
{
    uint32_t i = 0;

    for (const struct json *e = json_first(array); e != NULL; e = json_next(e)) {
        char digits[16];
        const char *key;
        size_t n = bson_uint32_to_string(i++, &key, digits, sizeof digits);

        if (append_json(arr, slice_make(key, n), e, max_depth, err) != 0)
            return -1;
    }
    return 0;
}

static int
append_level(
    bson_t *doc, struct slice key, const struct json *j, unsigned max_depth, struct err *err)
{
    bson_t child;
    int r;

    if (max_depth == 0)
        return err_sub(err, ERR_INVALID, "nested_too_deeply", "nested too deeply");
    if (json_type(j) == JSON_OBJECT) {
        must(bson_append_document_begin(doc, key.p, (int)key.n, &child));
        r = append_members(&child, j, max_depth - 1, err);
        must(bson_append_document_end(doc, &child));
    } else {
        must(bson_append_array_begin(doc, key.p, (int)key.n, &child));
        r = append_elements(&child, j, max_depth - 1, err);
        must(bson_append_array_end(doc, &child));
    }
    return r;
}

static int
append_json(
    bson_t *doc, struct slice key, const struct json *j, unsigned max_depth, struct err *err)
{
    int n = (int)key.n;
    int64_t integer;

    switch (json_type(j)) {
    case JSON_NULL: must(bson_append_null(doc, key.p, n)); return 0;
    case JSON_BOOL: must(bson_append_bool(doc, key.p, n, json_bool(j, false))); return 0;
    case JSON_STRING: append_str(doc, key.p, key.n, json_str(j)); return 0;
    case JSON_NUMBER:
        if (json_int(j, &integer))
            must(bson_append_int64(doc, key.p, n, integer));
        else
            must(bson_append_double(doc, key.p, n, json_num(j, 0)));
        return 0;
    default: return append_level(doc, key, j, max_depth, err);
    }
}

int
bsonx_from_json(const struct json *j, unsigned max_depth, bson_t *out, struct err *err)
{
    if (!json_is(j, JSON_OBJECT))
        return err_set(err, ERR_INVALID, "expected an object");
    if (max_depth == 0)
        return err_sub(err, ERR_INVALID, "nested_too_deeply", "nested too deeply");
    bson_init(out);
    if (append_members(out, j, max_depth - 1, err) != 0) {
        bson_destroy(out);
        return -1;
    }
    return 0;
}

/* ---- to JSON ---- */

static void write_level(struct json_writer *w, const char *name, bson_iter_t *it, bool is_object);

static void
write_int64(struct json_writer *w, int64_t v)
{
    if (v >= -INT64_C(9007199254740991) && v <= INT64_C(9007199254740991)) {
        jw_int(w, NULL, v);
    } else {
        char digits[24];

        snprintf(digits, sizeof digits, "%" PRId64, v);
        jw_cstr(w, NULL, digits);
    }
}

static void
write_binary(struct json_writer *w, const bson_iter_t *it)
{
    struct buf text = BUF_INIT;
    bson_subtype_t subtype;
    const uint8_t *p = NULL;
    uint32_t n = 0;

    bson_iter_binary(it, &subtype, &n, &p);
    base64_encode(slice_make(p, n), &text);
    jw_str(w, NULL, buf_slice(&text));
    buf_deinit(&text);
}

static void
write_oid(struct json_writer *w, const bson_iter_t *it)
{
    char hex[25];

    bson_oid_to_string(bson_iter_oid(it), hex);
    jw_cstr(w, NULL, hex);
}

static void
write_value(struct json_writer *w, const bson_iter_t *it)
{
    bson_iter_t child;
    uint32_t n;

    switch (bson_iter_type(it)) {
    case BSON_TYPE_UTF8: {
        const char *p = bson_iter_utf8(it, &n);

        jw_str(w, NULL, slice_make(p, n));
        break;
    }
    case BSON_TYPE_INT32: jw_int(w, NULL, bson_iter_int32(it)); break;
    case BSON_TYPE_INT64: write_int64(w, bson_iter_int64(it)); break;
    case BSON_TYPE_DOUBLE: jw_num(w, NULL, bson_iter_double(it)); break;
    case BSON_TYPE_BOOL: jw_bool(w, NULL, bson_iter_bool(it)); break;
    case BSON_TYPE_BINARY: write_binary(w, it); break;
    case BSON_TYPE_OID: write_oid(w, it); break;
    case BSON_TYPE_DATE_TIME: {
        char text[TIMEFMT_ISO_SIZE];

        jw_cstr(w, NULL, timefmt_iso(bson_iter_date_time(it), text));
        break;
    }
    case BSON_TYPE_DOCUMENT:
    case BSON_TYPE_ARRAY:
        if (w->depth < MAX_WRITER_DEPTH && bson_iter_recurse(it, &child))
            write_level(w, NULL, &child, BSON_ITER_HOLDS_DOCUMENT(it));
        else
            jw_null(w, NULL);
        break;
    default: jw_null(w, NULL); break;
    }
}

static void
write_level(struct json_writer *w, const char *name, bson_iter_t *it, bool is_object)
{
    if (is_object)
        jw_obj(w, name);
    else
        jw_arr(w, name);
    while (bson_iter_next(it)) {
        if (is_object)
            jw_key(w, slice_str(bson_iter_key(it)));
        write_value(w, it);
    }
    if (is_object)
        jw_end_obj(w);
    else
        jw_end_arr(w);
}

static void
write_root(struct json_writer *w, const char *name, const bson_t *doc, bool is_object)
{
    bson_iter_t it;

    if (bson_iter_init(&it, doc))
        write_level(w, name, &it, is_object);
    else
        jw_null(w, name);
}

void
bsonx_to_json(struct json_writer *w, const char *name, const bson_t *doc)
{
    write_root(w, name, doc, true);
}

void
bsonx_arr_to_json(struct json_writer *w, const char *name, const bson_t *arr)
{
    write_root(w, name, arr, false);
}
