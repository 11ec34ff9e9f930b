#ifndef STORE_UPDATE_CHANGE_H
#define STORE_UPDATE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include <bson/bson.h>

#include "store/filter.h"

/** A compiled update, as update.c makes it and update_apply.c reads it. */
enum change_op {
    CHANGE_SET,
    CHANGE_SET_ON_INSERT,
    CHANGE_UNSET,
    CHANGE_INC,
    CHANGE_MIN,
    CHANGE_MAX,
    CHANGE_ADD_TO_SET,
    CHANGE_PULL,
    CHANGE_PUSH
};

struct change {
    enum change_op op;
    struct filter_path path;
    bson_iter_t value; /* operand; of $push and $addToSet the only value to add */
    bool has_each;     /* `value` is the array of $each */
    bool has_slice;
    int64_t slice;
    const struct filter *elements; /* $pull by operators (on the element) or by a filter */
    bool is_doc_filter;
};

struct update {
    struct change *changes; /* by path */
    unsigned n;
};

#endif
