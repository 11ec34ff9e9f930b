#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/slice.h"

struct arena;

/**
 * An alloc-only pool freed in one call: per HTTP request, per message being built, per batch.
 * Nothing inside is freed alone. One thread at a time. Blocks start at `first_block_bytes`
 * (0 = 4 KiB) and double up to 64 KiB; larger objects get a block of their own.
 */
struct arena *arena_create(size_t first_block_bytes);
void arena_free(struct arena **a);
/** Forget everything, keep the largest block, so a reused arena allocates nothing. */
void arena_reset(struct arena *a);
/** Memory for any type (16-byte aligned), not cleared. Never NULL. */
void *arena_alloc(struct arena *a, size_t size_bytes);
void *arena_zalloc(struct arena *a, size_t size_bytes);
void *arena_array(struct arena *a, size_t n, size_t size_bytes);
/** Copies; the C string forms are NUL-terminated, and so is the memory behind a copied slice. */
struct slice arena_dup(struct arena *a, struct slice s);
char *arena_strdup(struct arena *a, const char *s);
char *arena_cstr(struct arena *a, struct slice s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/** Bytes handed out since creation or the last reset. */
size_t arena_used(const struct arena *a);

#endif
