/* Sorting more values than one chunk holds. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/rand.h"
#include "audience/spill.h"
#include "support/suite.h"

static int
compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

START_TEST(gives_all_values_in_order)
{
    static const size_t sizes[] = {0, 1, 2, 65535, 65536, 65537, 3 * 65536, 200000};
    struct err err;

    rand_seed(7);
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        uint64_t *values = mem_array(sizes[k] + 1, sizeof(*values)), v;
        struct spill *s = spill_create(suite_path("."));

        for (size_t i = 0; i < sizes[k]; i++) {
            /* Few different values at first, so that repeats cross the chunks. */
            values[i] = k % 2 == 0 ? rand_below(1000) : rand_below(UINT64_MAX);
            if (spill_add(s, values[i], &err) != 0)
                ck_abort_msg("value %zu of %zu: %s", i, sizes[k], err.text);
        }
        ck_assert_uint_eq(spill_count(s), sizes[k]);
        ck_assert_int_eq(spill_sort(s, &err), 0);
        qsort(values, sizes[k], sizeof(*values), compare);
        /* An assertion per value would take longer than the sorting. */
        for (size_t i = 0; i < sizes[k]; i++) {
            if (spill_next(s, &v, &err) != 1 || v != values[i])
                ck_abort_msg("value %zu of %zu", i, sizes[k]);
        }
        ck_assert_int_eq(spill_next(s, &v, &err), 0);
        ck_assert_int_eq(spill_next(s, &v, &err), 0);
        spill_free(&s);
        mem_free(values);
    }
}
END_TEST

START_TEST(says_when_it_cannot_write)
{
    struct spill *s = spill_create(suite_path("no/such/folder"));
    struct err err;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < 70000; i++)
        rc = spill_add(s, i, &err);
    ck_assert_int_eq(rc, -1);
    ck_assert_int_eq(err.code, ERR_NOTFOUND);
    spill_free(&s);
}
END_TEST

SUITE_MAIN("audience_spill", gives_all_values_in_order, says_when_it_cannot_write)
