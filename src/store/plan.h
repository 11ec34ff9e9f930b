#ifndef STORE_PLAN_H
#define STORE_PLAN_H

#include <stdbool.h>

#include "store/filter.h"
#include "store/schema.h"
#include "store/store.h"

/**
 * How a filter reaches its documents: by `_id`, by one index, or by walking the collection. The same
 * decision for every driver, so that a filter one of them would walk for is refused by all.
 */
#define PLAN_CONDS_MAX 24

struct plan {
    const struct schema_index *index; /* NULL: by _id, or the whole collection */
    bool is_order_only;               /* `index` serves the sort, no condition */
    /** Conditions of the top level that index or _id answer exactly. */
    const struct filter *conds[PLAN_CONDS_MAX];
    unsigned n_conds;
    bool is_exact;  /* no other condition is left */
    bool is_served; /* the work is bounded by what is found, see enum store_access */
};

/** `find` is NULL for operations without sort and limit. */
void plan_make(struct plan *p, const struct schema_coll *coll, const struct filter *f,
    const struct store_find *find);

#endif
