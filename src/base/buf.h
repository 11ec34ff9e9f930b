#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/slice.h"

/** Owned, growing bytes. A zeroed struct is an empty buffer; buf_deinit() frees what it holds. */
struct buf {
    char *p;
    size_t n;
    size_t cap;
};

#define BUF_INIT ((struct buf){NULL, 0, 0})

void buf_init(struct buf *b);
void buf_deinit(struct buf *b);
/** Make the memory hold at least `more` bytes beyond `n`. The slow half of buf_reserve(). */
void buf_grow(struct buf *b, size_t more);
void buf_append_u64(struct buf *b, uint64_t v);
void buf_append_i64(struct buf *b, int64_t v);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/** Drop the first `n` bytes (moves the rest down). */
void buf_consume(struct buf *b, size_t n);
/** The content with a NUL behind it (not counted); valid until the next change. */
const char *buf_cstr(struct buf *b);
/** Give the memory away (mem_free() it); the buffer is empty afterwards. NULL when it held none. */
char *buf_take(struct buf *b, size_t *n_r);

static inline struct slice
buf_slice(const struct buf *b)
{
    return (struct slice){b->p, b->n};
}

/** Forget the content, keep the memory. */
static inline void
buf_clear(struct buf *b)
{
    b->n = 0;
}

/** Make room for `more` further bytes and return where they go; the caller adds to `n`. Never
 * NULL, also when `more` is 0. */
static inline char *
buf_reserve(struct buf *b, size_t more)
{
    if (b->p == NULL || b->cap - b->n < more)
        buf_grow(b, more);
    return b->p + b->n;
}

/** `p` must not point into the buffer itself; it may be NULL when `n` is 0. */
static inline void
buf_append(struct buf *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    memcpy(buf_reserve(b, n), p, n);
    b->n += n;
}

static inline void
buf_append_slice(struct buf *b, struct slice s)
{
    buf_append(b, s.p, s.n);
}

static inline void
buf_append_str(struct buf *b, const char *s)
{
    buf_append(b, s, strlen(s));
}

static inline void
buf_append_char(struct buf *b, char c)
{
    *buf_reserve(b, 1) = c;
    b->n++;
}

#endif
