#ifndef MESSAGE_VALUE_H
#define MESSAGE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"

/** What templates compute with. Values live in an arena or on the stack; nothing is freed alone. */
enum value_type {
    VALUE_UNDEFINED = 0,
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_NUMBER,
    VALUE_STRING,
    VALUE_DATE, /* milliseconds since the epoch in `i` */
    VALUE_ARRAY,
    VALUE_OBJECT
};

struct value;

struct value_member {
    struct slice name;
    const struct value *value;
};

struct value {
    enum value_type type;
    union {
        bool b;
        int64_t i;
        double d;
        struct slice s;
        struct {
            const struct value *items;
            size_t n;
        } array;
        struct {
            const struct value_member *members;
            size_t n;
        } object;
    };
};

extern const struct value value_undefined;

static inline struct value
value_str(struct slice s)
{
    return (struct value){.type = VALUE_STRING, .s = s};
}

static inline struct value
value_int(int64_t i)
{
    return (struct value){.type = VALUE_INT, .i = i};
}

/** Member by exact name; value_undefined when absent or `v` is no object. Later members win. */
const struct value *value_get(const struct value *v, struct slice name);

/** Truth in `and`, `or`, `not`: false for undefined, null, false, 0, NaN and "". An empty array is
 * true. */
bool value_is_truthy(const struct value *v);
/** Truth of a block's condition: as above, but an empty array is false, and 0 is true when
 * `include_zero`. */
bool value_opens_block(const struct value *v, bool include_zero);
/** Same type and value; integers and other numbers are one type. Arrays and objects are equal only
 * when they are the same memory. Null is not undefined. */
bool value_is_equal(const struct value *a, const struct value *b);
/** Member of an object, element of an array by decimal index, or `length` of an array or a string
 * (code points); undefined for everything else. */
struct value value_member(const struct value *v, struct slice name);

/** Convert stored BSON (bytes of one document) into an object whose strings borrow from `bytes`.
 * Depth is bounded by 32: what is deeper becomes undefined. False for ill-formed BSON. */
bool value_from_bson(struct arena *a, struct slice bytes, struct value *out_r);

struct json;
/** Convert parsed JSON; strings borrow from `j`. */
void value_from_json(struct arena *a, const struct json *j, struct value *out_r);

#endif
