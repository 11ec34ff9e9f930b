/* The alloc-only pool: alignment, growth, large objects, reset, copies. */
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

#include "../support/suite.h"

START_TEST(memory_is_aligned_and_apart)
{
    static const size_t sizes[] = {1, 15, 16, 17, 100, 4096, 5000, 70000, 3, 200000, 8};
    const size_t n = sizeof sizes / sizeof sizes[0];
    struct arena *a = arena_create(0);
    unsigned char *got[sizeof sizes / sizeof sizes[0]];

    for (size_t i = 0; i < n; i++) {
        got[i] = arena_alloc(a, sizes[i]);
        ck_assert_uint_eq((uintptr_t)got[i] % 16, 0);
        memset(got[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            if (got[i][k] != i + 1)
                ck_abort_msg("object %zu, byte %zu", i, k);
    arena_free(&a);
    ck_assert_ptr_null(a);
    arena_free(&a);
}
END_TEST

START_TEST(a_large_object_leaves_the_block_in_use)
{
    struct arena *a = arena_create(4096);
    char *first = arena_alloc(a, 16);
    char *second;

    arena_alloc(a, 1000000);
    second = arena_alloc(a, 16);
    ck_assert_ptr_eq(second, first + 16);
    arena_free(&a);
}
END_TEST

START_TEST(used_counts_bytes_and_reset_forgets_them)
{
    struct arena *a = arena_create(64);
    char *again;

    arena_reset(a);
    ck_assert_uint_eq(arena_used(a), 0);
    for (int i = 0; i < 1000; i++)
        arena_alloc(a, 100);
    ck_assert_uint_eq(arena_used(a), 100000);
    arena_reset(a);
    ck_assert_uint_eq(arena_used(a), 0);
    again = arena_zalloc(a, 60000);
    for (int i = 0; i < 60000; i++)
        if (again[i] != 0)
            ck_abort_msg("byte %d", i);
    arena_free(&a);
}
END_TEST

START_TEST(copies_end_with_nul)
{
    struct arena *a = arena_create(0);
    struct slice dup = arena_dup(a, SLICE_LIT("abc"));
    char long_text[1000];

    ck_assert(slice_eq_str(dup, "abc"));
    ck_assert_int_eq(dup.p[3], '\0');
    ck_assert_str_eq(arena_cstr(a, SLICE_NONE), "");
    ck_assert_str_eq(arena_strdup(a, "x"), "x");
    memset(long_text, 'y', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    ck_assert_str_eq(arena_printf(a, "%s", long_text), long_text);
    ck_assert_str_eq(arena_printf(a, "%d-%s", 7, "z"), "7-z");
    arena_free(&a);
}
END_TEST

SUITE_MAIN("arena", memory_is_aligned_and_apart, a_large_object_leaves_the_block_in_use,
    used_counts_bytes_and_reset_forgets_them, copies_end_with_nul)
