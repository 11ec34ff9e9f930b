#ifndef STORE_PROJECT_H
#define STORE_PROJECT_H

#include <bson/bson.h>

#include "base/arena.h"
#include "base/slice.h"
#include "store/filter.h"

struct projection;

/** Compile {"path": 1, ...}; NULL for NULL or an empty document: the whole document. The paths were
 * checked by filter_check_find(). */
const struct projection *projection_compile(const bson_t *fields, struct arena *a);
/** Copy of the document with `_id` and the fields named; `p` NULL copies all. Bytes in `a`. */
struct slice projection_apply(const struct projection *p, const bson_t *doc, struct arena *a);

/**
 * The values a path without numbers leads to, for grouping: through documents, and through arrays
 * element by element.
 * A trailing array gives its elements when `is_expanded`, else itself. `fn` gets NULL when the path
 * leads nowhere.
 */
typedef void path_value_fn(const bson_iter_t *v, void *arg);
void path_values(const struct filter_path *path, const bson_t *doc, bool is_expanded,
    path_value_fn *fn, void *arg);

/**
 * The sort key of a document on a path: the least (direction 1) or greatest (-1) of the values it
 * leads to, as value_key(). An empty array sorts before null. Replaces the content of `out`; `tmp` is
 * scratch.
 */
void sort_key(const struct filter_path *path, const bson_t *doc, int direction, struct buf *out,
    struct buf *tmp);
/** As above for a single value, as found in a keyset position. */
void sort_key_value(const bson_iter_t *v, int direction, struct buf *out, struct buf *tmp);

#endif
