#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/**
 * Allocation that cannot fail: when memory is out the process ends with a line on stderr.
 * Sizes that come from a peer must be checked against a configured limit before they get here.
 */
void *mem_alloc(size_t size_bytes);
void *mem_zalloc(size_t size_bytes);
void *mem_realloc(void *p, size_t size_bytes);
/** Room for `n` items of `size_bytes` each; an overflow of the product ends the process. */
void *mem_array(size_t n, size_t size_bytes);
char *mem_strdup(const char *s);
void mem_free(void *p);

/** Overwrite memory that held a secret; the compiler may not leave it out. */
void mem_wipe(void *p, size_t n);

#endif
