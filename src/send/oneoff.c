/*
 * One-off mail: a row of broadcast 0 whose recipe (template version and variables) lies with its
 * details.
 *
 * A caller's key maps to the row through a small document inserted in the same batch, so a repeated
 * request meets the unique key and answers with the first row.
 */
#include "send/oneoff.h"

#include <bson/bson.h>

#include "base/bsonx.h"
#include "base/id.h"
#include "base/mem.h"
#include "store/store.h"

#define KEYS_COLL "send_keys"

static int
find_key(struct store *st, struct slice key, uint64_t *id_r, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t filter = BSON_INITIALIZER;
    const struct store_result *r;
    unsigned op;
    int rc;

    bsonx_add_str(&filter, "key", key);
    op = store_find(b, KEYS_COLL, STORE_INDEXED, &filter, &(struct store_find){.limit = 1});
    rc = store_run(b, err);
    if (rc == 0) {
        r = store_batch_result(b, op);
        if (r->n_docs == 1)
            *id_r = (uint64_t)bsonx_i64(&r->docs[0], "_id", 0);
        else
            rc = err_set(err, ERR_NOTFOUND, "no send has this key");
    }
    bson_destroy(&filter);
    store_batch_free(&b);
    return rc;
}

static void
add_key(struct store_batch *b, const struct oneoff *o, uint64_t id)
{
    bson_t doc = BSON_INITIALIZER;
    const bson_t *docs[1] = {&doc};

    bsonx_add_i64(&doc, "_id", (int64_t)id);
    bsonx_add_str(&doc, "key", o->key);
    bsonx_add_time(&doc, "createdAt", o->now_ms);
    store_require(b, store_insert(b, KEYS_COLL, docs, 1), ERR_CONFLICT, "key_taken");
    bson_destroy(&doc);
}

static void
add_row(struct store_batch *b, const struct oneoff *o, uint64_t id)
{
    bson_t recipe = BSON_INITIALIZER;
    struct send_row row = {
        .id = id,
        .group = o->profile,
        .contact = o->contact,
        .address = o->address,
        .address_hash = o->address_hash,
        .profile = o->profile,
        .lane = LANE_IMMEDIATE,
        .state = SEND_QUEUED,
        .due_at_ms = o->now_ms,
        .created_at_ms = o->now_ms,
    };
    bson_t vars;

    bsonx_add_str(&recipe, "template", o->template_slug);
    bsonx_add_i64(&recipe, "version", o->version);
    bsonx_add_str(&recipe, "origin", o->origin);
    if (o->vars.n > 0 && bsonx_view(o->vars, &vars))
        bson_append_document(&recipe, "vars", 4, &vars);
    sends_insert_oneoff(b, &row, bsonx_bytes(&recipe));
    bson_destroy(&recipe);
}

int
oneoff_insert(
    struct store *st, const struct oneoff *o, uint64_t *id_r, bool *existing_r, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    uint64_t id = id_next();
    int rc;

    if (o->key.n > 0)
        add_key(b, o, id);
    add_row(b, o, id);
    rc = store_run(b, err);
    store_batch_free(&b);
    *existing_r = false;
    *id_r = id;
    if (rc != 0 && err->code == ERR_CONFLICT && o->key.n > 0) {
        err_clear(err);
        *existing_r = true;
        return find_key(st, o->key, id_r, err);
    }
    return rc;
}

int
oneoff_load(struct store *st, const struct send_row *row, struct arena *a, struct content **c_r,
    struct value *vars_r, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    unsigned op = sends_detail(b, 0, row->id);
    bson_t recipe, vars;
    struct slice bytes;
    int rc = store_run(b, err);

    *vars_r = (struct value){.type = VALUE_OBJECT};
    if (rc != 0)
        goto out;
    bytes = arena_dup(a, sends_result(b, op)->detail.content);
    if (!bsonx_view(bytes, &recipe)) {
        rc = err_set(err, ERR_INTERNAL, "the recipe of this mail is missing");
        goto out;
    }
    if (bsonx_doc(&recipe, "vars", &vars))
        value_from_bson(a, bsonx_bytes(&vars), vars_r);
    rc = content_load_template(
        st, bsonx_str(&recipe, "template"), (uint32_t)bsonx_i64(&recipe, "version", 0), c_r, err);
out:
    store_batch_free(&b);
    return rc;
}
