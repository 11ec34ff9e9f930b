#ifndef STORE_FILTER_H
#define STORE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/value.h"

struct store_find;

/**
 * The filter language, compiled. $ne, $nin and {$exists: false} become FILTER_NOT over their positive
 * form; {a: 1, b: 2} and several operators on one path become FILTER_AND.
 */
#define FILTER_PATH_PARTS_MAX 16

struct filter_path {
    const char *text; /* dotted, NUL-terminated */
    struct slice parts[FILTER_PATH_PARTS_MAX];
    unsigned n_parts;
};

enum filter_op {
    FILTER_AND,
    FILTER_OR,
    FILTER_NOR,
    FILTER_NOT,
    FILTER_EQ,
    FILTER_IN,
    FILTER_LT,
    FILTER_LTE,
    FILTER_GT,
    FILTER_GTE,
    FILTER_EXISTS
};

/** An element of a list of values; wrapped, since an array of bare bson_iter_t would be misaligned. */
struct filter_value {
    bson_iter_t it;
};

struct filter {
    enum filter_op op;
    const struct filter_path *path;    /* of a comparison */
    bson_iter_t value;                 /* EQ, LT, LTE, GT, GTE */
    const struct filter_value *values; /* IN, in value order */
    size_t n_values;
    const struct filter **kids; /* AND, OR, NOR; NOT has one */
    size_t n_kids;
};

/** Compile into `a`; the result points into `filter`, which must live as long. NULL with ERR_INVALID
 * (sub "unsupported_filter" or "invalid_filter") for anything outside the language. */
const struct filter *filter_compile(const bson_t *filter, struct arena *a, struct err *err);
/** Conditions on the value itself, as in {$pull: {path: <conditions>}}: `ops` is a document of
 * operators. The result is used with filter_match_value(). */
const struct filter *filter_compile_ops(const bson_t *ops, struct arena *a, struct err *err);

bool filter_match(const struct filter *f, const bson_t *doc);
/** Match a compiled set of operators against one value. */
bool filter_match_value(const struct filter *f, const bson_iter_t *v);

/** Split a dotted path. ERR_INVALID: empty part, '$' at the start of a part, too long, too deep. */
int filter_path_parse(const char *text, struct filter_path *path_r, struct err *err);
int filter_check_path(const char *path, struct err *err);
/** As above, for sorts and groupings: no part may be a number. What a sort would see behind an array's
 * number depends on the other elements, so nobody could say. */
int filter_check_plain_path(const char *path, struct err *err);
/** Check sort, projection and keyset position of a find. */
int filter_check_find(const struct store_find *find, struct err *err);
/** Check a document to be stored: types, depth, size, field names, `_id` an int64. */
int filter_check_doc(const bson_t *doc, struct err *err);

/** Largest document the store takes. */
#define STORE_DOC_MAX_BYTES (8u << 20)

#endif
