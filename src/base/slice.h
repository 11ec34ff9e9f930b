#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Borrowed bytes: never owned, never NUL-terminated by promise. An empty slice may have p NULL. */
struct slice {
    const char *p;
    size_t n;
};

#define SLICE_LIT(s) ((struct slice){("" s), sizeof(s) - 1})
#define SLICE_NONE   ((struct slice){NULL, 0})
/** For printf("%.*s", SLICE_FMT(s)). */
#define SLICE_FMT(s) (int)(s).n, ((s).p != NULL ? (s).p : "")

static inline struct slice
slice_make(const void *p, size_t n)
{
    return (struct slice){(const char *)p, n};
}

/** The bytes of a C string; NULL gives an empty slice. */
static inline struct slice
slice_str(const char *s)
{
    return (struct slice){s, s != NULL ? strlen(s) : 0};
}

static inline bool
slice_eq(struct slice a, struct slice b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/** Bytes from `from` (clamped) to the end. */
static inline struct slice
slice_from(struct slice s, size_t from)
{
    if (from > s.n)
        from = s.n;
    return (struct slice){s.p != NULL ? s.p + from : NULL, s.n - from};
}

/** Byte order, shorter first on a tie: <0, 0, >0. */
int slice_cmp(struct slice a, struct slice b);
/** Equal when ASCII letters are compared without case. */
bool slice_ieq(struct slice a, struct slice b);
bool slice_eq_str(struct slice a, const char *s);
bool slice_starts(struct slice s, struct slice prefix);
bool slice_istarts(struct slice s, struct slice prefix);
bool slice_ends(struct slice s, struct slice suffix);
/** Position of the first `c`, or -1. */
ptrdiff_t slice_find_char(struct slice s, char c);
ptrdiff_t slice_rfind_char(struct slice s, char c);
/** Position of the first `needle`, or -1. An empty needle is found at 0. */
ptrdiff_t slice_find(struct slice s, struct slice needle);
/** Without ASCII white space (space, tab, CR, LF, VT, FF) at both ends. */
struct slice slice_trim(struct slice s);
/**
 * Cut the next token: the bytes before the first `sep` go to `token_r`, the rest stays in `rest`.
 * False when `rest` was exhausted (p NULL). "a,,b" gives "a", "", "b".
 */
bool slice_cut(struct slice *rest, char sep, struct slice *token_r);
/** Decimal, whole slice, no sign, no blank, no overflow; false otherwise. */
bool slice_u64(struct slice s, uint64_t *value_r);
/** As slice_u64() with an optional leading '-'. */
bool slice_i64(struct slice s, int64_t *value_r);

#endif
