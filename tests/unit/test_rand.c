/* Random numbers: bounds, evenness, repeatability. */
#include <string.h>

#include "base/rand.h"

#include "../support/suite.h"

START_TEST(a_seed_repeats_the_sequence)
{
    uint64_t first[10];

    rand_seed(42);
    for (int i = 0; i < 10; i++)
        first[i] = rand_below(1000000);
    rand_seed(42);
    for (int i = 0; i < 10; i++)
        ck_assert_uint_eq(rand_below(1000000), first[i]);
}
END_TEST

START_TEST(values_are_below_the_bound_and_even)
{
    unsigned counts[7] = {0};

    rand_seed(5);
    for (int i = 0; i < 70000; i++) {
        uint64_t v = rand_below(7);

        if (v >= 7)
            ck_abort_msg("%llu", (unsigned long long)v);
        counts[v]++;
    }
    for (int i = 0; i < 7; i++)
        ck_assert(counts[i] > 9500 && counts[i] < 10500);
    ck_assert_uint_eq(rand_below(1), 0);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_lt(rand_below(UINT64_C(1) << 63), UINT64_C(1) << 63);
}
END_TEST

START_TEST(kernel_bytes_fill_all)
{
    unsigned char a[1000] = {0}, b[1000] = {0};

    rand_bytes(a, sizeof a);
    rand_bytes(b, sizeof b);
    rand_bytes(b, 0);
    ck_assert_int_ne(memcmp(a, b, sizeof a), 0);
    ck_assert_int_ne(memcmp(a + 900, b + 900, 100), 0);
    ck_assert_uint_ne(rand_u64(), rand_u64());
}
END_TEST

SUITE_MAIN(
    "rand", a_seed_repeats_the_sequence, values_are_below_the_bound_and_even, kernel_bytes_fill_all)
