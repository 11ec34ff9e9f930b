#include "base/buf.h"

#include <assert.h>
#include <stdio.h>

#include "base/mem.h"

/*
 * Growing bytes. The memory doubles, so appending n bytes costs O(n) whatever the pieces. The fast
 * path (room is there) is inline in the header; what is here runs once per doubling.
 * Invariant: n <= cap, and p is NULL exactly when cap is 0.
 */

#define FIRST_CAP 64

void
buf_init(struct buf *b)
{
    *b = BUF_INIT;
}

void
buf_deinit(struct buf *b)
{
    mem_free(b->p);
    *b = BUF_INIT;
}

void
buf_grow(struct buf *b, size_t more)
{
    size_t need, cap;

    /* An overflow here is a size that was not checked against a limit before it came. */
    if (__builtin_add_overflow(b->n, more, &need) || need > SIZE_MAX / 2)
        need = SIZE_MAX / 2;
    cap = b->cap != 0 ? b->cap * 2 : FIRST_CAP;
    if (cap < need)
        cap = need;
    b->p = mem_realloc(b->p, cap);
    b->cap = cap;
}

void
buf_append_u64(struct buf *b, uint64_t v)
{
    char digits[20];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    buf_append(b, digits + at, sizeof digits - at);
}

void
buf_append_i64(struct buf *b, int64_t v)
{
    uint64_t magnitude = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    if (v < 0)
        buf_append_char(b, '-');
    buf_append_u64(b, magnitude);
}

void
buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    size_t room;
    int n;

    va_copy(again, ap);
    buf_reserve(b, FIRST_CAP);
    room = b->cap - b->n;
    n = vsnprintf(b->p + b->n, room, fmt, ap);
    assert(n >= 0);
    if ((size_t)n >= room) {
        buf_reserve(b, (size_t)n + 1);
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    b->n += (size_t)n;
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void
buf_consume(struct buf *b, size_t n)
{
    assert(n <= b->n);
    b->n -= n;
    if (n != 0 && b->n != 0)
        memmove(b->p, b->p + n, b->n);
}

const char *
buf_cstr(struct buf *b)
{
    *buf_reserve(b, 1) = '\0';
    return b->p;
}

char *
buf_take(struct buf *b, size_t *n_r)
{
    char *p = b->p;

    if (n_r != NULL)
        *n_r = b->n;
    *b = BUF_INIT;
    return p;
}
