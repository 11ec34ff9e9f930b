#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Allocation that cannot fail.
 *
 * A daemon that limps on without memory loses more than one that ends and is started again: every
 * row it had claimed is in the store. So the one branch for "no memory" in the whole program is
 * here. The line is written with write(2), because stdio may want memory of its own.
 */

static void __attribute__((noreturn)) out_of_memory(void)
{
    static const char line[] = "mailshotd: out of memory\n";
    ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);

    (void)ignored;
    abort();
}

void *
mem_alloc(size_t size_bytes)
{
    void *p = malloc(size_bytes != 0 ? size_bytes : 1);

    if (p == NULL)
        out_of_memory();
    return p;
}

void *
mem_zalloc(size_t size_bytes)
{
    void *p = calloc(1, size_bytes != 0 ? size_bytes : 1);

    if (p == NULL)
        out_of_memory();
    return p;
}

void *
mem_realloc(void *p, size_t size_bytes)
{
    p = realloc(p, size_bytes != 0 ? size_bytes : 1);
    if (p == NULL)
        out_of_memory();
    return p;
}

void *
mem_array(size_t n, size_t size_bytes)
{
    size_t total;

    if (__builtin_mul_overflow(n, size_bytes, &total))
        out_of_memory();
    return mem_alloc(total);
}

char *
mem_strdup(const char *s)
{
    size_t n = strlen(s) + 1;

    return memcpy(mem_alloc(n), s, n);
}

void
mem_free(void *p)
{
    free(p);
}

void
mem_wipe(void *p, size_t n)
{
    if (n != 0)
        explicit_bzero(p, n);
}
