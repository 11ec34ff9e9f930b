#include "base/rand.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/*
 * Two sources. rand_bytes() is the kernel's, for secrets and seeds. rand_below() is a generator of
 * 64 bits of state per thread (a Weyl sequence through a mixing function), seeded from the kernel
 * at first use: good enough for jitter and samples, and it costs a nanosecond.
 */

static _Thread_local uint64_t state;
static _Thread_local bool is_seeded;

void
rand_bytes(void *p, size_t n)
{
    char *at = p;

    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);

        if (got < 0) {
            static const char line[] = "mailshotd: the kernel gives no random bytes\n";
            ssize_t ignored;

            if (errno == EINTR)
                continue;
            ignored = write(STDERR_FILENO, line, sizeof line - 1);
            (void)ignored;
            abort();
        }
        at += got;
        n -= (size_t)got;
    }
}

uint64_t
rand_u64(void)
{
    uint64_t v;

    rand_bytes(&v, sizeof v);
    return v;
}

void
rand_seed(uint64_t seed)
{
    state = seed;
    is_seeded = true;
}

static uint64_t
rand_next(void)
{
    uint64_t z;

    if (!is_seeded)
        rand_seed(rand_u64());
    z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t
rand_below(uint64_t bound)
{
    uint64_t low;
    unsigned __int128 product;

    assert(bound > 0);
    /* High half of a 128-bit product; the few low halves that would favour small results are
     * drawn again. */
    do {
        product = (unsigned __int128)rand_next() * bound;
        low = (uint64_t)product;
    } while (low < bound && low < (0 - bound) % bound);
    return (uint64_t)(product >> 64);
}
