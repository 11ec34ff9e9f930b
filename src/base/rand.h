#ifndef BASE_RAND_H
#define BASE_RAND_H

#include <stddef.h>
#include <stdint.h>

/** Cryptographic random bytes (getrandom). Ends the process if the kernel refuses. */
void rand_bytes(void *p, size_t n);
uint64_t rand_u64(void);
/** Fast, not cryptographic, per thread: jitter and sampling. Uniform in [0, bound). bound > 0. */
uint64_t rand_below(uint64_t bound);
/** Make rand_below() of this thread repeatable; for tests. */
void rand_seed(uint64_t seed);

#endif
