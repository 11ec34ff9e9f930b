#ifndef MODEL_DOCS_H
#define MODEL_DOCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "store/store.h"

/** What the files of model/ share: one-document reads and the small shapes of filters. Private to this
 * folder. */

/** First document that meets the filter, copied into `a`; ERR_NOTFOUND `missing_sub` when none does.
 * Blocking. */
int docs_find_one(struct store *st, const char *coll, enum store_access access,
    const bson_t *filter, const bson_t *sort, const char *missing_sub, struct arena *a,
    bson_t *doc_r, struct err *err);
/** The document with this `_id`. */
int docs_find_id(struct store *st, const char *coll, uint64_t id, const char *missing_sub,
    struct arena *a, bson_t *doc_r, struct err *err);
/** By one text field that has a unique index. */
int docs_find_key(struct store *st, const char *coll, const char *key, struct slice value,
    const char *missing_sub, struct arena *a, bson_t *doc_r, struct err *err);
/** Documents of one find, copied into `a` as an array of views. */
int docs_find_many(struct store *st, const char *coll, enum store_access access,
    const bson_t *filter, const struct store_find *opts, struct arena *a, const bson_t **docs_r,
    size_t *n_r, struct err *err);
/** A view of a copy of `doc` in the arena. */
void docs_copy(struct arena *a, const bson_t *doc, bson_t *view_r);

/** Run a batch and free it. */
int docs_run(struct store_batch **b, struct err *err);

/** Page size asked for by a caller: 1..max, else ERR_INVALID naming the bound. */
int docs_limit_check(unsigned limit, unsigned max, struct err *err);

/** {"<key>": {"<op>": value}} appended to a filter. */
void docs_cond_i64(bson_t *filter, const char *key, const char *op, int64_t v);
void docs_cond_str(bson_t *filter, const char *key, const char *op, struct slice v);
/** Texts that begin with `prefix`: a half-open range, so an index can serve it. */
void docs_cond_prefix(bson_t *filter, const char *key, struct slice prefix);
/** {"<key>": {"<op>": [v...]}}. */
void docs_cond_i64s(bson_t *filter, const char *key, const char *op, const int64_t *v, size_t n);
void docs_cond_strs(
    bson_t *filter, const char *key, const char *op, const struct slice *v, size_t n);
/** An array of texts as a member. */
void docs_add_strs(bson_t *doc, const char *key, const struct slice *v, size_t n);

#endif
