#ifndef CONTRACT_DOCS_H
#define CONTRACT_DOCS_H

#include <bson/bson.h>
#include <stdint.h>

#include "store/store.h"

/**
 * Documents for tests as extended JSON in which ' stands for ". Numbers without a fraction are int32,
 * {'$numberLong': '5'} is int64, {'$date': {'$numberLong': '5'}} a date. Free with bson_destroy().
 */
bson_t *docs_json(const char *json);
/** The same, with `_id` as int64 in front. */
bson_t *docs_with_id(uint64_t id, const char *json);
/** Insert documents numbered 1.. from a NULL-terminated list; all must go in. */
void docs_insert_all(struct store *st, const char *coll, const char *const *jsons);
/** Insert one document and return the batch error's code (ERR_NONE = in); duplicates count as
 * ERR_CONFLICT. */
enum err_code docs_insert_one(struct store *st, const char *coll, uint64_t id, const char *json);
/** The ids a find gives, as "1,2,3"; static buffer. Filter, sort and after may be NULL. */
const char *docs_find_ids(struct store *st, const char *coll, enum store_access access,
    const char *filter, const char *sort, const char *after, uint32_t limit);
/** The document as canonical extended JSON with ' for "; NULL when it is not there. Static buffer. */
const char *docs_get(struct store *st, const char *coll, uint64_t id);
/** Relaxed JSON of a document with ' for "; static buffer. */
const char *docs_text(const bson_t *doc);

#endif
