#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/**
 * Hash maps: 64-bit key to pointer, and byte string to pointer (keys are copied). Open addressing,
 * grows at 70 %. String keys are hashed with a per-process random seed (SipHash-2-4), since they
 * come from peers. One thread at a time.
 */
struct map_u64;
struct map_str;

struct map_u64 *map_u64_create(void);
void map_u64_free(struct map_u64 **m);
/** The value stored, or NULL. */
void *map_u64_get(const struct map_u64 *m, uint64_t key);
bool map_u64_has(const struct map_u64 *m, uint64_t key);
/** Store `value` (not NULL) and return the one it replaced, or NULL. */
void *map_u64_put(struct map_u64 *m, uint64_t key, void *value);
/** Remove and return the value, or NULL. */
void *map_u64_del(struct map_u64 *m, uint64_t key);
void map_u64_clear(struct map_u64 *m);
size_t map_u64_count(const struct map_u64 *m);
/** Walk: start with *it = 0; false at the end. The map must not change during the walk. `key_r`
 * and `value_r` may be NULL. */
bool map_u64_next(const struct map_u64 *m, size_t *it, uint64_t *key_r, void **value_r);

/** As for map_u64. The key of map_str_next() is borrowed and valid until the map changes. */
struct map_str *map_str_create(void);
void map_str_free(struct map_str **m);
void *map_str_get(const struct map_str *m, struct slice key);
void *map_str_put(struct map_str *m, struct slice key, void *value);
void *map_str_del(struct map_str *m, struct slice key);
size_t map_str_count(const struct map_str *m);
bool map_str_next(const struct map_str *m, size_t *it, struct slice *key_r, void **value_r);

/** SipHash-2-4 of bytes with the per-process seed. Any thread. */
uint64_t map_hash(struct slice s);
/** The same with a given key (its 16 bytes as two little-endian words). */
uint64_t map_siphash(const uint64_t key[2], struct slice s);

#endif
