/* Hash maps: against a plain array under random work, walks, and the hash function's vectors. */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/rand.h"

#include "../support/suite.h"

#define KEYS 300

static char values[KEYS];

START_TEST(u64_agrees_with_an_array)
{
    struct map_u64 *m = map_u64_create();
    void *expected[KEYS] = {NULL};
    size_t n = 0;

    rand_seed(3);
    for (int step = 0; step < 20000; step++) {
        uint64_t k = rand_below(KEYS);
        uint64_t key = k << 22; /* ids differ in high bits */
        void *value = &values[rand_below(KEYS)];

        if (rand_below(2) == 0) {
            ck_assert_ptr_eq(map_u64_put(m, key, value), expected[k]);
            n += expected[k] == NULL;
            expected[k] = value;
        } else {
            ck_assert_ptr_eq(map_u64_del(m, key), expected[k]);
            n -= expected[k] != NULL;
            expected[k] = NULL;
        }
        k = rand_below(KEYS);
        ck_assert_ptr_eq(map_u64_get(m, k << 22), expected[k]);
        ck_assert_uint_eq(map_u64_count(m), n);
    }
    for (uint64_t k = 0; k < KEYS; k++)
        ck_assert_int_eq(map_u64_has(m, k << 22), expected[k] != NULL);
    map_u64_clear(m);
    ck_assert_uint_eq(map_u64_count(m), 0);
    ck_assert(!map_u64_has(m, 0));
    map_u64_free(&m);
    map_u64_free(&m);
}
END_TEST

START_TEST(u64_walk_sees_each_once)
{
    struct map_u64 *m = map_u64_create();
    bool seen[100] = {false};
    size_t it = 0, n = 0;
    uint64_t key;
    void *value;

    for (uint64_t k = 0; k < 100; k++)
        map_u64_put(m, k, &values[k]);
    for (; map_u64_next(m, &it, &key, &value); n++) {
        ck_assert_ptr_eq(value, &values[key]);
        ck_assert(!seen[key]);
        seen[key] = true;
    }
    ck_assert_uint_eq(n, 100);
    map_u64_free(&m);
}
END_TEST

static struct slice
key_text(uint64_t k, char out[32])
{
    return slice_make(out, (size_t)snprintf(out, 32, "key-%llu", (unsigned long long)k));
}

START_TEST(str_agrees_with_an_array)
{
    struct map_str *m = map_str_create();
    void *expected[KEYS] = {NULL};
    size_t n = 0;
    char text[32];

    rand_seed(4);
    for (int step = 0; step < 20000; step++) {
        uint64_t k = rand_below(KEYS);
        void *value = &values[rand_below(KEYS)];

        if (rand_below(2) == 0) {
            ck_assert_ptr_eq(map_str_put(m, key_text(k, text), value), expected[k]);
            n += expected[k] == NULL;
            expected[k] = value;
        } else {
            ck_assert_ptr_eq(map_str_del(m, key_text(k, text)), expected[k]);
            n -= expected[k] != NULL;
            expected[k] = NULL;
        }
        memset(text, 0, sizeof text); /* keys are copies */
        k = rand_below(KEYS);
        ck_assert_ptr_eq(map_str_get(m, key_text(k, text)), expected[k]);
        ck_assert_uint_eq(map_str_count(m), n);
    }
    map_str_free(&m);
    map_str_free(&m);
}
END_TEST

START_TEST(str_keys_are_bytes)
{
    struct map_str *m = map_str_create();
    struct slice key;
    size_t it = 0;
    void *value;

    map_str_put(m, slice_make("a\0b", 3), &values[1]);
    map_str_put(m, slice_make("a\0c", 3), &values[2]);
    map_str_put(m, SLICE_NONE, &values[3]);
    ck_assert_ptr_eq(map_str_get(m, slice_make("a\0b", 3)), &values[1]);
    ck_assert_ptr_null(map_str_get(m, SLICE_LIT("a")));
    ck_assert_ptr_eq(map_str_get(m, SLICE_LIT("")), &values[3]);
    ck_assert_ptr_eq(map_str_del(m, SLICE_LIT("")), &values[3]);
    ck_assert_ptr_eq(map_str_del(m, slice_make("a\0b", 3)), &values[1]);
    ck_assert(map_str_next(m, &it, &key, &value));
    ck_assert(slice_eq(key, slice_make("a\0c", 3)));
    ck_assert_ptr_eq(value, &values[2]);
    ck_assert(!map_str_next(m, &it, NULL, NULL));
    map_str_free(&m);
}
END_TEST

/* Key 00 01 … 0f and messages 00 01 … of rising length, as in the paper of its authors. */
START_TEST(siphash_vectors)
{
    static const struct {
        size_t n;
        uint64_t hash;
    } rows[] = {{0, UINT64_C(0x726fdb47dd0e0e31)}, {1, UINT64_C(0x74f839c593dc67fd)},
        {7, UINT64_C(0xab0200f58b01d137)}, {8, UINT64_C(0x93f5f5799a932462)},
        {15, UINT64_C(0xa129ca6149be45e5)}};
    static const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    unsigned char message[16];

    for (unsigned i = 0; i < sizeof message; i++)
        message[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_uint_eq(map_siphash(key, slice_make(message, rows[i].n)), rows[i].hash);
    ck_assert_uint_eq(map_hash(SLICE_LIT("x")), map_hash(SLICE_LIT("x")));
}
END_TEST

SUITE_MAIN("map", u64_agrees_with_an_array, u64_walk_sees_each_once, str_agrees_with_an_array,
    str_keys_are_bytes, siphash_vectors)
