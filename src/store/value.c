/*
 * The order of values, in two forms that must agree: value_cmp() compares two values in place,
 * value_key() turns one into bytes whose memcmp order is the same.
 *
 * Key format, version 1: one byte of type rank, then
 *   number   8 bytes of the nearest double not above it (sign-flipped big endian), then 2 bytes of
 *            what an int64 exceeds that double by; the 2 bytes are left out at the top level when zero
 *   string   its bytes; nested also 00 -> 00 FF, and 00 00 behind it
 *   object   per field: rank, name, 00, value; then 00
 *   array    per element: rank, value; then 00
 *   binary   length (4, big endian), subtype, bytes
 *   oid 12 bytes, bool 1 byte, date 8 bytes (sign-flipped big endian)
 * An int64 lies at most 1023 above the double below it, hence the two bytes.
 */
#include "store/value.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum value_rank
value_rank(const bson_iter_t *v)
{
    if (v == NULL)
        return VALUE_RANK_NULL;
    switch (bson_iter_type(v)) {
    case BSON_TYPE_NULL: return VALUE_RANK_NULL;
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
    case BSON_TYPE_DOUBLE: return VALUE_RANK_NUMBER;
    case BSON_TYPE_UTF8: return VALUE_RANK_STRING;
    case BSON_TYPE_DOCUMENT: return VALUE_RANK_OBJECT;
    case BSON_TYPE_ARRAY: return VALUE_RANK_ARRAY;
    case BSON_TYPE_BINARY: return VALUE_RANK_BINARY;
    case BSON_TYPE_OID: return VALUE_RANK_OID;
    case BSON_TYPE_BOOL: return VALUE_RANK_BOOL;
    case BSON_TYPE_DATE_TIME: return VALUE_RANK_DATE;
    default: return VALUE_RANK_NONE;
    }
}

void *
value_alloc(struct arena *a, size_t n, size_t size_bytes)
{
    const uintptr_t align = _Alignof(bson_iter_t);
    uintptr_t p = (uintptr_t)arena_zalloc(a, n * size_bytes + align);

    return (void *)((p + align - 1) & ~(align - 1));
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A number as the nearest double not above it and the whole remainder. */
struct split {
    double base;
    unsigned rest;
};

static struct split
split_int(int64_t i)
{
    double d = (double)i; /* rounds to nearest; 2^63 is possible and is above every int64 */

    if (d >= 9223372036854775808.0 || (int64_t)d > i)
        d = nextafter(d, -INFINITY);
    return (struct split){d, (unsigned)(i - (int64_t)d)};
}

static struct split
split_number(const bson_iter_t *v)
{
    switch (bson_iter_type(v)) {
    case BSON_TYPE_INT32: return (struct split){bson_iter_int32(v), 0};
    case BSON_TYPE_INT64: return split_int(bson_iter_int64(v));
    default: return (struct split){bson_iter_double(v), 0};
    }
}

static int
cmp_numbers(const bson_iter_t *a, const bson_iter_t *b)
{
    struct split x, y;

    if (bson_iter_type(a) == BSON_TYPE_INT64 && bson_iter_type(b) == BSON_TYPE_INT64) {
        int64_t i = bson_iter_int64(a), j = bson_iter_int64(b);

        return (i > j) - (i < j);
    }
    x = split_number(a);
    y = split_number(b);
    if (isnan(x.base) || isnan(y.base)) /* below every number; cannot be stored, may be read */
        return isnan(y.base) - isnan(x.base);
    if (x.base != y.base)
        return x.base < y.base ? -1 : 1;
    return (x.rest > y.rest) - (x.rest < y.rest);
}

bool
value_int(const bson_iter_t *v, int64_t *out)
{
    double d;

    switch (bson_iter_type(v)) {
    case BSON_TYPE_INT32: *out = bson_iter_int32(v); return true;
    case BSON_TYPE_INT64: *out = bson_iter_int64(v); return true;
    case BSON_TYPE_DOUBLE:
        d = bson_iter_double(v);
        if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0) || d != floor(d))
            return false;
        *out = (int64_t)d;
        return true;
    default: return false;
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int
cmp_bytes(const void *a, size_t an, const void *b, size_t bn)
{
    size_t n = an < bn ? an : bn;
    int c = n > 0 ? memcmp(a, b, n) : 0;

    return c != 0 ? c : (an > bn) - (an < bn);
}

static int
cmp_containers(const bson_iter_t *a, const bson_iter_t *b, bool with_names)
{
    bson_iter_t x, y;

    if (!bson_iter_recurse(a, &x) || !bson_iter_recurse(b, &y))
        return 0;
    for (;;) {
        bool has_x = bson_iter_next(&x), has_y = bson_iter_next(&y);
        int c;

        if (!has_x || !has_y)
            return has_x - has_y;
        c = (int)value_rank(&x) - (int)value_rank(&y);
        if (c == 0 && with_names)
            c = strcmp(bson_iter_key(&x), bson_iter_key(&y));
        if (c == 0)
            c = value_cmp(&x, &y);
        if (c != 0)
            return c;
    }
}

static int
cmp_binaries(const bson_iter_t *a, const bson_iter_t *b)
{
    bson_subtype_t s, t;
    uint32_t m, n;
    const uint8_t *p, *q;

    bson_iter_binary(a, &s, &m, &p);
    bson_iter_binary(b, &t, &n, &q);
    if (m != n)
        return m < n ? -1 : 1;
    if (s != t)
        return s < t ? -1 : 1;
    return m > 0 ? memcmp(p, q, m) : 0;
}

static int
cmp_strings(const bson_iter_t *a, const bson_iter_t *b)
{
    uint32_t m, n;
    const char *p = bson_iter_utf8(a, &m), *q = bson_iter_utf8(b, &n);

    return cmp_bytes(p, m, q, n);
}

int
value_cmp(const bson_iter_t *a, const bson_iter_t *b)
{
    int ra = (int)value_rank(a), rb = (int)value_rank(b);
    int64_t i, j;

    if (ra != rb)
        return ra - rb;
    switch ((enum value_rank)ra) {
    case VALUE_RANK_NUMBER: return cmp_numbers(a, b);
    case VALUE_RANK_STRING: return cmp_strings(a, b);
    case VALUE_RANK_OBJECT: return cmp_containers(a, b, true);
    case VALUE_RANK_ARRAY: return cmp_containers(a, b, false);
    case VALUE_RANK_BINARY: return cmp_binaries(a, b);
    case VALUE_RANK_OID: return memcmp(bson_iter_oid(a), bson_iter_oid(b), sizeof(bson_oid_t));
    case VALUE_RANK_BOOL: return (int)bson_iter_bool(a) - (int)bson_iter_bool(b);
    case VALUE_RANK_DATE:
        i = bson_iter_date_time(a);
        j = bson_iter_date_time(b);
        return (i > j) - (i < j);
    case VALUE_RANK_NONE:
    case VALUE_RANK_EMPTY:
    case VALUE_RANK_NULL: break;
    }
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void
put_be(struct buf *out, uint64_t v, unsigned n)
{
    unsigned char b[8];

    for (unsigned i = 0; i < n; i++)
        b[i] = (unsigned char)(v >> (8 * (n - 1 - i)));
    buf_append(out, b, n);
}

static void
put_number(struct buf *out, const bson_iter_t *v, bool is_nested)
{
    struct split s = split_number(v);
    uint64_t bits = 0;

    if (!isnan(s.base)) {
        if (s.base == 0)
            s.base = 0; /* -0.0 equals 0 */
        memcpy(&bits, &s.base, sizeof(bits));
        bits = (bits >> 63) != 0 ? ~bits : bits | (1ULL << 63);
    }
    put_be(out, bits, 8);
    if (is_nested || s.rest != 0)
        put_be(out, s.rest, 2);
}

static void
put_string(struct buf *out, const bson_iter_t *v, bool is_nested)
{
    uint32_t n;
    const char *p = bson_iter_utf8(v, &n);

    if (!is_nested) {
        buf_append(out, p, n);
        return;
    }
    while (n > 0) {
        const char *nul = memchr(p, 0, n);
        size_t run = nul != NULL ? (size_t)(nul - p) : n;

        buf_append(out, p, run);
        if (nul == NULL)
            break;
        buf_append(out, "\0\xff", 2);
        p += run + 1;
        n -= (uint32_t)run + 1;
    }
    buf_append(out, "\0\0", 2);
}

static void put_value(struct buf *out, const bson_iter_t *v, unsigned depth);

static void
put_container(struct buf *out, const bson_iter_t *v, bool with_names, unsigned depth)
{
    bson_iter_t it;

    if (depth < VALUE_DEPTH_MAX && bson_iter_recurse(v, &it)) {
        while (bson_iter_next(&it)) {
            buf_append_char(out, (char)value_rank(&it));
            if (with_names)
                buf_append(out, bson_iter_key(&it), strlen(bson_iter_key(&it)) + 1);
            put_value(out, &it, depth + 1);
        }
    }
    buf_append_char(out, 0);
}

static void
put_binary(struct buf *out, const bson_iter_t *v)
{
    bson_subtype_t subtype;
    uint32_t n;
    const uint8_t *p;

    bson_iter_binary(v, &subtype, &n, &p);
    put_be(out, n, 4);
    buf_append_char(out, (char)subtype);
    buf_append(out, p, n);
}

static void
put_value(struct buf *out, const bson_iter_t *v, unsigned depth)
{
    switch (value_rank(v)) {
    case VALUE_RANK_NUMBER: put_number(out, v, depth > 0); break;
    case VALUE_RANK_STRING: put_string(out, v, depth > 0); break;
    case VALUE_RANK_OBJECT: put_container(out, v, true, depth); break;
    case VALUE_RANK_ARRAY: put_container(out, v, false, depth); break;
    case VALUE_RANK_BINARY: put_binary(out, v); break;
    case VALUE_RANK_OID: buf_append(out, bson_iter_oid(v), sizeof(bson_oid_t)); break;
    case VALUE_RANK_BOOL: buf_append_char(out, (char)bson_iter_bool(v)); break;
    case VALUE_RANK_DATE: put_be(out, (uint64_t)bson_iter_date_time(v) ^ (1ULL << 63), 8); break;
    case VALUE_RANK_NONE:
    case VALUE_RANK_EMPTY:
    case VALUE_RANK_NULL: break;
    }
}

void
value_key(struct buf *out, const bson_iter_t *v)
{
    buf_append_char(out, (char)value_rank(v));
    put_value(out, v, 0);
}

/* ---- checking -------------------------------------------------------------------------------- */

static int
check_value(const bson_iter_t *v, unsigned depth, struct err *err)
{
    bson_iter_t it;

    switch (value_rank(v)) {
    case VALUE_RANK_NONE:
        return err_sub(err, ERR_INVALID, "unsupported_type", "field %.60s: type 0x%02x is not kept",
            bson_iter_key(v), (unsigned)bson_iter_type(v));
    case VALUE_RANK_NUMBER:
        if (bson_iter_type(v) == BSON_TYPE_DOUBLE && isnan(bson_iter_double(v)))
            return err_sub(
                err, ERR_INVALID, "not_a_number", "field %.60s is NaN", bson_iter_key(v));
        return 0;
    case VALUE_RANK_OBJECT:
    case VALUE_RANK_ARRAY:
        if (depth >= VALUE_DEPTH_MAX)
            return err_sub(err, ERR_INVALID, "too_deep", "nested deeper than %d", VALUE_DEPTH_MAX);
        if (!bson_iter_recurse(v, &it))
            return err_sub(err, ERR_INVALID, "malformed", "field %.60s", bson_iter_key(v));
        while (bson_iter_next(&it)) {
            if (check_value(&it, depth + 1, err) != 0)
                return -1;
        }
        return 0;
    default: return 0;
    }
}

int
value_check(const bson_iter_t *v, struct err *err)
{
    return check_value(v, 0, err);
}
