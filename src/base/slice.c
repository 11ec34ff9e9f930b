#include "base/slice.h"

/*
 * Searching, comparing and cutting borrowed bytes. Everything is bounded by the length of the
 * slice, nothing expects a NUL behind it, and a slice whose p is NULL is as good as an empty one.
 */

static inline unsigned char
ascii_lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

static bool
bytes_ieq(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i] && ascii_lower((unsigned char)a[i]) != ascii_lower((unsigned char)b[i]))
            return false;
    return true;
}

int
slice_cmp(struct slice a, struct slice b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int r = n != 0 ? memcmp(a.p, b.p, n) : 0;

    if (r != 0)
        return r;
    return (a.n > b.n) - (a.n < b.n);
}

bool
slice_ieq(struct slice a, struct slice b)
{
    return a.n == b.n && bytes_ieq(a.p, b.p, a.n);
}

bool
slice_eq_str(struct slice a, const char *s)
{
    return slice_eq(a, slice_str(s));
}

bool
slice_starts(struct slice s, struct slice prefix)
{
    return s.n >= prefix.n && slice_eq((struct slice){s.p, prefix.n}, prefix);
}

bool
slice_istarts(struct slice s, struct slice prefix)
{
    return s.n >= prefix.n && bytes_ieq(s.p, prefix.p, prefix.n);
}

bool
slice_ends(struct slice s, struct slice suffix)
{
    return s.n >= suffix.n && slice_eq(slice_from(s, s.n - suffix.n), suffix);
}

ptrdiff_t
slice_find_char(struct slice s, char c)
{
    const char *hit = s.n != 0 ? memchr(s.p, c, s.n) : NULL;

    return hit != NULL ? hit - s.p : -1;
}

ptrdiff_t
slice_rfind_char(struct slice s, char c)
{
    const char *hit = s.n != 0 ? memrchr(s.p, c, s.n) : NULL;

    return hit != NULL ? hit - s.p : -1;
}

ptrdiff_t
slice_find(struct slice s, struct slice needle)
{
    const char *hit;

    if (needle.n == 0)
        return 0;
    if (s.n < needle.n)
        return -1;
    hit = memmem(s.p, s.n, needle.p, needle.n);
    return hit != NULL ? hit - s.p : -1;
}

static inline bool
is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct slice
slice_trim(struct slice s)
{
    while (s.n != 0 && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n != 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool
slice_cut(struct slice *rest, char sep, struct slice *token_r)
{
    ptrdiff_t at;

    if (rest->p == NULL)
        return false;
    at = slice_find_char(*rest, sep);
    if (at < 0) {
        *token_r = *rest;
        *rest = SLICE_NONE;
        return true;
    }
    *token_r = (struct slice){rest->p, (size_t)at};
    *rest = slice_from(*rest, (size_t)at + 1);
    return true;
}

bool
slice_u64(struct slice s, uint64_t *value_r)
{
    uint64_t v = 0;

    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - (unsigned)'0';

        if (digit > 9 || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    *value_r = v;
    return true;
}

bool
slice_i64(struct slice s, int64_t *value_r)
{
    bool is_negative = s.n != 0 && s.p[0] == '-';
    uint64_t limit = is_negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t v;

    if (!slice_u64(slice_from(s, is_negative ? 1 : 0), &v) || v > limit)
        return false;
    /* Negated as unsigned: -INT64_MIN has no signed form. */
    *value_r = (int64_t)(is_negative ? 0 - v : v);
    return true;
}
