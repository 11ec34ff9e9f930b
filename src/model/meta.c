/* Small facts about the installation: one document per name, replaced whole. */
#include "model/meta.h"

#include "base/bsonx.h"
#include "base/id.h"
#include "model/docs.h"
#include "store/store.h"

int
meta_get(struct store *st, const char *key, struct arena *a, bson_t *value_r, struct err *err)
{
    bson_t filter, doc;
    int rc;

    bson_init(&filter);
    bsonx_add_str(&filter, "key", slice_str(key));
    rc = docs_find_one(st, META_COLL, STORE_BOUNDED, &filter, NULL, "not_found", a, &doc, err);
    bson_destroy(&filter);
    if (rc != 0)
        return -1;
    if (!bsonx_doc(&doc, "value", value_r))
        return err_set(err, ERR_INTERNAL, "meta %s has no value", key);
    return 0;
}

void
meta_set_op(struct store_batch *b, const char *key, const bson_t *value)
{
    bson_t filter, update, set, on_insert;

    bson_init(&filter);
    bsonx_add_str(&filter, "key", slice_str(key));
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &set);
    bson_append_document(&set, "value", -1, value);
    bson_append_document_end(&update, &set);
    bson_append_document_begin(&update, "$setOnInsert", -1, &on_insert);
    bsonx_add_i64(&on_insert, "_id", (int64_t)id_next());
    bson_append_document_end(&update, &on_insert);
    store_update(b, META_COLL, STORE_BOUNDED, &filter, &update, STORE_UPSERT);
    bson_destroy(&update);
    bson_destroy(&filter);
}

int
meta_set(struct store *st, const char *key, const bson_t *value, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);

    meta_set_op(b, key, value);
    return docs_run(&b, err);
}
