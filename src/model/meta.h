#ifndef MODEL_META_H
#define MODEL_META_H

#include <bson/bson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct store;
struct store_batch;

#define META_COLL "meta"

/** Small facts about the installation, one document {key, value} per name (1–64 characters). */

/** ERR_NOTFOUND when never set. `value_r` is a view into `a`. Blocking. */
int meta_get(struct store *st, const char *key, struct arena *a, bson_t *value_r, struct err *err);
/** Set or replace; blocking. */
int meta_set(struct store *st, const char *key, const bson_t *value, struct err *err);
/** As an operation of a batch. */
void meta_set_op(struct store_batch *b, const char *key, const bson_t *value);

#endif
