#ifndef STORE_UPDATE_H
#define STORE_UPDATE_H

#include <stdbool.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/err.h"

struct filter;
struct update;

/**
 * Compile an update document of $set $unset $inc $min $max $addToSet $pull $push $setOnInsert into
 * `a`; it points into `doc`, which must live as long. NULL with ERR_INVALID (sub "unsupported_update" or
 * "invalid_update"): other operators, two operators on one path or on a path and its parent, `_id`
 * outside $setOnInsert.
 */
const struct update *update_compile(const bson_t *doc, struct arena *a, struct err *err);

/** Apply to `doc`. The new document lives in `a`. ERR_INVALID "path_blocked", "not_a_number",
 * "not_an_array" or "number_overflow" when a stored value does not allow it, ERR_LIMIT when the
 * result is too large. New fields are appended in the order of their paths. */
int update_apply(const struct update *u, const bson_t *doc, struct arena *a, const bson_t **out_r,
    struct err *err);

/** The document an upsert inserts: equality fields of the filter, then the update with $setOnInsert.
 * ERR_INVALID "id_missing" when that gives no int64 `_id`. */
int update_upsert(const struct update *u, const struct filter *f, struct arena *a,
    const bson_t **out_r, struct err *err);

#endif
