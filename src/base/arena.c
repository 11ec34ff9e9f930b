#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/*
 * An alloc-only pool: a chain of blocks and a pointer that moves through the newest one.
 *
 *   arena ─► block (in use) ─► older blocks and blocks of single large objects
 *
 * Blocks double from the first size to 64 KiB, so a small request touches one block and a large one
 * O(log n) of them. An object larger than half a block gets a block of its own, put *behind* the
 * block in use, so what is left of that is not lost. Invariant: `next` is aligned to 16 bytes.
 */

#define ALIGN           16u
#define FIRST_BLOCK     4096u
#define LARGEST_DOUBLED 65536u

struct block {
    struct block *older;
    size_t size_bytes; /* of data */
    alignas(ALIGN) char data[];
};

struct arena {
    struct block *head;
    char *next, *end; /* free part of the head */
    size_t first_bytes;
    size_t block_bytes; /* size of the next block */
    size_t used_bytes;
};

static struct block *
block_create(size_t size_bytes)
{
    struct block *b;

    if (size_bytes > SIZE_MAX - sizeof *b)
        size_bytes = SIZE_MAX - sizeof *b; /* ends in mem_alloc() */
    b = mem_alloc(sizeof *b + size_bytes);
    b->older = NULL;
    b->size_bytes = size_bytes;
    return b;
}

static void
arena_use_block(struct arena *a, struct block *b)
{
    b->older = a->head;
    a->head = b;
    a->next = b->data;
    a->end = b->data + b->size_bytes;
}

struct arena *
arena_create(size_t first_block_bytes)
{
    struct arena *a = mem_zalloc(sizeof *a);

    a->first_bytes = first_block_bytes != 0 ? first_block_bytes : FIRST_BLOCK;
    a->block_bytes = a->first_bytes;
    return a;
}

static void
blocks_free(struct block *b)
{
    while (b != NULL) {
        struct block *older = b->older;

        mem_free(b);
        b = older;
    }
}

void
arena_free(struct arena **a)
{
    if (*a == NULL)
        return;
    blocks_free((*a)->head);
    mem_free(*a);
    *a = NULL;
}

void
arena_reset(struct arena *a)
{
    struct block **largest = &a->head;
    struct block *keep;

    a->used_bytes = 0;
    if (a->head == NULL)
        return;
    for (struct block **b = &a->head; *b != NULL; b = &(*b)->older)
        if ((*b)->size_bytes > (*largest)->size_bytes)
            largest = b;
    keep = *largest;
    *largest = keep->older;
    blocks_free(a->head);
    a->head = NULL;
    arena_use_block(a, keep);
}

/* The rare half of arena_alloc(): a new block. `size_bytes` is already rounded. */
static void *
arena_alloc_slow(struct arena *a, size_t size_bytes)
{
    struct block *b;
    void *p;

    if (size_bytes > a->block_bytes / 2 && a->head != NULL) {
        b = block_create(size_bytes);
        b->older = a->head->older;
        a->head->older = b;
        return b->data;
    }
    arena_use_block(a, block_create(size_bytes > a->block_bytes ? size_bytes : a->block_bytes));
    if (a->block_bytes < LARGEST_DOUBLED)
        a->block_bytes *= 2;
    p = a->next;
    a->next += size_bytes;
    return p;
}

void *
arena_alloc(struct arena *a, size_t size_bytes)
{
    size_t rounded = (size_bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    void *p;

    if (rounded < size_bytes)
        rounded = SIZE_MAX & ~(size_t)(ALIGN - 1); /* ends in mem_alloc() */
    a->used_bytes += size_bytes;
    if ((size_t)(a->end - a->next) < rounded || a->next == NULL)
        return arena_alloc_slow(a, rounded);
    p = a->next;
    a->next += rounded;
    return p;
}

void *
arena_zalloc(struct arena *a, size_t size_bytes)
{
    return memset(arena_alloc(a, size_bytes), 0, size_bytes);
}

void *
arena_array(struct arena *a, size_t n, size_t size_bytes)
{
    size_t total;

    if (__builtin_mul_overflow(n, size_bytes, &total))
        total = SIZE_MAX; /* ends in mem_alloc() */
    return arena_alloc(a, total);
}

char *
arena_cstr(struct arena *a, struct slice s)
{
    char *p = arena_alloc(a, s.n + 1);

    if (s.n != 0)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

struct slice
arena_dup(struct arena *a, struct slice s)
{
    return (struct slice){arena_cstr(a, s), s.n};
}

char *
arena_strdup(struct arena *a, const char *s)
{
    return arena_cstr(a, slice_str(s));
}

char *
arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    char small[256];
    char *p;
    int n;

    va_copy(again, ap);
    n = vsnprintf(small, sizeof small, fmt, ap);
    assert(n >= 0);
    p = arena_alloc(a, (size_t)n + 1);
    if ((size_t)n < sizeof small)
        memcpy(p, small, (size_t)n + 1);
    else
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    char *p;

    va_start(ap, fmt);
    p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

size_t
arena_used(const struct arena *a)
{
    return a->used_bytes;
}
