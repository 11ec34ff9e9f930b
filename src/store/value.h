#ifndef STORE_VALUE_H
#define STORE_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/**
 * One total order over stored values, the one MongoDB uses: missing and null, numbers (compared by
 * value across int32, int64 and double), strings (bytes), objects, arrays, binary, object id, bool,
 * date. Values are passed as iterators that stand on them; NULL means missing.
 */
#define VALUE_DEPTH_MAX 32

/** Rank of the type bracket; equal for all numbers, and for null and missing. 0 = a type the store does
 * not keep. */
enum value_rank {
    VALUE_RANK_NONE = 0,
    VALUE_RANK_EMPTY = 1, /* an empty array where a sort looks for its least element */
    VALUE_RANK_NULL = 5,
    VALUE_RANK_NUMBER = 10,
    VALUE_RANK_STRING = 15,
    VALUE_RANK_OBJECT = 20,
    VALUE_RANK_ARRAY = 25,
    VALUE_RANK_BINARY = 30,
    VALUE_RANK_OID = 35,
    VALUE_RANK_BOOL = 40,
    VALUE_RANK_DATE = 45
};
enum value_rank value_rank(const bson_iter_t *v);

/** <0, 0, >0. */
int value_cmp(const bson_iter_t *a, const bson_iter_t *b);

/**
 * Append the order-preserving key of a value: keys compare by memcmp (shorter first on a tie) as their
 * values do. It is what indexes and sorts store, so its format is versioned: any change needs a new
 * VALUE_KEY_VERSION and a rebuild of every index.
 */
#define VALUE_KEY_VERSION 1
void value_key(struct buf *out, const bson_iter_t *v);

/** ERR_INVALID unless the value (and all inside it) is of a type the store keeps, not NaN, and nested
 * no deeper than VALUE_DEPTH_MAX. */
int value_check(const bson_iter_t *v, struct err *err);

/** `n` zeroed objects that hold bson_iter_t or bson_t: libbson wants them at multiples of 128, arenas
 * give 16. */
void *value_alloc(struct arena *a, size_t n, size_t size_bytes);

/** An integer of any numeric type without fraction; false otherwise. */
bool value_int(const bson_iter_t *v, int64_t *out);

#endif
