/*
 * Writes of contacts. A contact is found by its external id, which is unique, or by the hash of its
 * address key, which is not: two contacts may share an address, and a broadcast mails it once. The
 * subscription follows the address of its contact, so that an opt-out by address finds it.
 */
#include "model/contact.h"

#include <string.h>

#include "base/bsonx.h"
#include "base/id.h"
#include "model/docs.h"
#include "model/slug.h"
#include "model/subscription.h"
#include "store/store.h"

int
contact_create(struct store *st, const struct crypto_keys *keys, const struct contact_input *in,
    int64_t now_ms, struct arena *a, struct contact *c_r, struct err *err)
{
    struct store_batch *b;
    const bson_t *docs[1];
    bson_t doc, copy;
    int rc;

    if (contact_input_check(in, err) != 0)
        return -1;
    bson_init(&doc);
    if (contact_build(keys, in, id_next(), now_ms, &doc, err) != 0) {
        bson_destroy(&doc);
        return -1;
    }
    b = store_batch_create(st, STORE_URGENT);
    docs[0] = &doc;
    store_require(b, store_insert(b, CONTACTS_COLL, docs, 1), ERR_CONFLICT, "contact_exists");
    rc = docs_run(&b, err);
    docs_copy(a, &doc, &copy);
    bson_destroy(&doc);
    if (rc != 0)
        return -1;
    return contact_from_bson(&copy, a, c_r) ? 0 : err_set(err, ERR_INTERNAL, "contact unreadable");
}

/* ---- patch ----------------------------------------------------------------------------------- */

/* The update under construction: members to set and to unset, tags to add. */
struct patch {
    bson_t set, unset, add;
    bool has_unset, has_add;
};

static void
patch_text(struct patch *p, const char *key, struct slice v)
{
    bsonx_add_str_or_null(&p->set, key, v.n > 0 ? v : SLICE_NONE);
}

static void
patch_tags(struct patch *p, const struct contact_input *in)
{
    bson_t each;

    if ((in->set & CONTACT_ADD_TAGS) == 0) {
        docs_add_strs(&p->set, "tags", in->tags, in->n_tags);
        return;
    }
    bson_append_document_begin(&p->add, "tags", -1, &each);
    docs_add_strs(&each, "$each", in->tags, in->n_tags);
    bson_append_document_end(&p->add, &each);
    p->has_add = true;
}

static void
patch_fields(struct patch *p, const struct contact_input *in, struct arena *a)
{
    bson_t view;
    bson_iter_t it;

    if ((in->set & CONTACT_REPLACE_FIELDS) != 0) {
        bson_t fields;

        bson_append_document_begin(&p->set, "fields", -1, &fields);
        if (in->fields.n > 0 && bsonx_view(in->fields, &view))
            bson_concat(&fields, &view);
        bson_append_document_end(&p->set, &fields);
        return;
    }
    if (in->fields.n == 0 || !bsonx_view(in->fields, &view) || !bson_iter_init(&it, &view))
        return;
    while (bson_iter_next(&it)) {
        const char *path = arena_printf(a, "fields.%s", bson_iter_key(&it));

        if (BSON_ITER_HOLDS_NULL(&it)) {
            bson_append_int32(&p->unset, path, -1, 1);
            p->has_unset = true;
        } else {
            bson_append_iter(&p->set, path, -1, &it);
        }
    }
}

/* Tags and fields after the patch: what stays of the stored ones plus what comes. */
static int
check_merged(const struct contact *old, const struct contact_input *in, struct err *err)
{
    bson_t stored, given;
    bson_iter_t it, hit;
    size_t size = in->fields.n;

    if ((in->set & CONTACT_ADD_TAGS) != 0 && old->n_tags + in->n_tags > CONTACT_MAX_TAGS)
        return err_field(err, "tags", "a contact has at most %d tags", CONTACT_MAX_TAGS);
    if ((in->set & CONTACT_SET_FIELDS) == 0 || (in->set & CONTACT_REPLACE_FIELDS) != 0 ||
        old->fields.n == 0 || in->fields.n == 0)
        return 0;
    if (!bsonx_view(old->fields, &stored) || !bsonx_view(in->fields, &given) ||
        !bson_iter_init(&it, &stored))
        return err_set(err, ERR_INTERNAL, "stored fields cannot be read");
    while (bson_iter_next(&it)) {
        if (bson_iter_init_find(&hit, &given, bson_iter_key(&it)))
            continue;
        size += it.next_off - it.off;
    }
    if (size > CONTACT_MAX_FIELDS_BYTES)
        return err_field(err, "fields", "must have at most %d bytes", CONTACT_MAX_FIELDS_BYTES);
    return 0;
}

static int
patch_build(const struct crypto_keys *keys, const struct contact_input *in, int64_t now_ms,
    struct arena *a, struct patch *p, int64_t *hash_r, struct err *err)
{
    struct buf key = BUF_INIT;

    if ((in->set & CONTACT_SET_EXTERNAL_ID) != 0)
        bsonx_add_str(&p->set, "externalId", in->external_id);
    if ((in->set & CONTACT_SET_EMAIL) != 0) {
        if (contact_address(keys, in->email, &key, hash_r, err) != 0) {
            buf_deinit(&key);
            return -1;
        }
        bsonx_add_str(&p->set, "email", slice_trim(in->email));
        bsonx_add_str(&p->set, "emailKey", buf_slice(&key));
        bsonx_add_i64(&p->set, "emailHash", *hash_r);
        buf_deinit(&key);
    }
    if ((in->set & CONTACT_SET_TAGS) != 0)
        patch_tags(p, in);
    if ((in->set & CONTACT_SET_FIELDS) != 0)
        patch_fields(p, in, a);
    if ((in->set & CONTACT_SET_TIMEZONE) != 0)
        patch_text(p, "timezone", in->timezone);
    if ((in->set & CONTACT_SET_LOCALE) != 0)
        patch_text(p, "locale", in->locale);
    bsonx_add_time(&p->set, "updatedAt", now_ms);
    return 0;
}

/* {_id, not erased}: a contact that is being erased is not written any more. */
static void
live_filter(bson_t *filter, uint64_t id)
{
    bsonx_add_i64(filter, "_id", (int64_t)id);
    bson_append_null(filter, "deletedAt", -1);
}

/* Run an update on one contact and return what it became. The batch is consumed. */
static int
run_and_read(
    struct store_batch *b, unsigned op, struct arena *a, struct contact *c_r, struct err *err)
{
    const struct store_result *res;
    bson_t copy;
    int rc = store_run(b, err);

    if (rc == 0) {
        res = store_batch_result(b, op);
        if (res->n_docs == 1) {
            docs_copy(a, &res->docs[0], &copy);
            if (!contact_from_bson(&copy, a, c_r))
                rc = err_set(err, ERR_INTERNAL, "a stored contact cannot be read");
        } else {
            rc = err_sub(err, ERR_NOTFOUND, "contact_not_found", "there is no such contact");
        }
    } else if (err != NULL && err->code == ERR_CONFLICT) {
        err_sub(err, ERR_CONFLICT, "contact_exists", "the external id belongs to another contact");
    }
    store_batch_free(&b);
    return rc;
}

static void
patch_add_op(struct store_batch *b, uint64_t id, const struct patch *p, unsigned *op_r)
{
    bson_t filter, update;
    unsigned op;

    bson_init(&filter);
    live_filter(&filter, id);
    bson_init(&update);
    bson_append_document(&update, "$set", -1, &p->set);
    if (p->has_unset)
        bson_append_document(&update, "$unset", -1, &p->unset);
    if (p->has_add)
        bson_append_document(&update, "$addToSet", -1, &p->add);
    op = store_update(
        b, CONTACTS_COLL, STORE_INDEXED, &filter, &update, op_r != NULL ? STORE_RETURN : 0);
    if (op_r != NULL)
        *op_r = op;
    bson_destroy(&update);
    bson_destroy(&filter);
}

int
contact_patch_ops(struct store_batch *b, const struct crypto_keys *keys, const struct contact *old,
    const struct contact_input *in, int64_t now_ms, unsigned *op_r, struct err *err)
{
    struct patch p = {.has_unset = false};
    int64_t hash = 0;
    int rc;

    if (check_merged(old, in, err) != 0)
        return -1;
    bson_init(&p.set);
    bson_init(&p.unset);
    bson_init(&p.add);
    rc = patch_build(keys, in, now_ms, store_batch_arena(b), &p, &hash, err);
    if (rc == 0) {
        patch_add_op(b, old->id, &p, op_r);
        if (hash != 0 && hash != old->email_hash)
            subscription_move_op(b, old->id, hash, now_ms);
    }
    bson_destroy(&p.add);
    bson_destroy(&p.unset);
    bson_destroy(&p.set);
    return rc;
}

int
contact_patch(struct store *st, const struct crypto_keys *keys, uint64_t id,
    const struct contact_input *in, int64_t now_ms, struct arena *a, struct contact *c_r,
    struct err *err)
{
    struct contact old;
    struct store_batch *b;
    unsigned op;

    if (contact_input_check(in, err) != 0 || contact_get(st, id, a, &old, err) != 0)
        return -1;
    b = store_batch_create(st, STORE_URGENT);
    if (contact_patch_ops(b, keys, &old, in, now_ms, &op, err) != 0) {
        store_batch_free(&b);
        return -1;
    }
    return run_and_read(b, op, a, c_r, err);
}

/* ---- tags ------------------------------------------------------------------------------------ */

static int
check_tag_change(const struct contact *c, const struct slice *add, size_t n_add,
    const struct slice *remove, size_t n_remove, struct err *err)
{
    for (size_t i = 0; i < n_add; i++) {
        if (text_check("add", add[i], 1, CONTACT_MAX_TAG, false, err) != 0)
            return -1;
        for (size_t k = 0; k < n_remove; k++) {
            if (slice_eq(add[i], remove[k]))
                return err_sub(err, ERR_INVALID, "tag_conflict", "a tag is both added and removed");
        }
    }
    for (size_t i = 0; i < n_remove; i++) {
        if (text_check("remove", remove[i], 1, CONTACT_MAX_TAG, false, err) != 0)
            return -1;
    }
    if (c->n_tags + n_add > CONTACT_MAX_TAGS)
        return err_field(err, "add", "a contact has at most %d tags", CONTACT_MAX_TAGS);
    return 0;
}

/* {"<op>": {"tags": {"<each>": [...]}}, "$set": {"updatedAt": now}} */
static void
tag_update(bson_t *update, const char *op, const char *each, const struct slice *tags, size_t n,
    int64_t now_ms)
{
    bson_t change, set;

    bson_append_document_begin(update, op, -1, &change);
    docs_cond_strs(&change, "tags", each, tags, n);
    bson_append_document_end(update, &change);
    bson_append_document_begin(update, "$set", -1, &set);
    bsonx_add_time(&set, "updatedAt", now_ms);
    bson_append_document_end(update, &set);
}

int
contact_change_tags(struct store *st, uint64_t id, const struct slice *add, size_t n_add,
    const struct slice *remove, size_t n_remove, int64_t now_ms, struct arena *a,
    struct contact *c_r, struct err *err)
{
    bson_t filter, pull, push;
    struct store_batch *b;
    unsigned op;
    int rc;

    if (contact_get(st, id, a, c_r, err) != 0 ||
        check_tag_change(c_r, add, n_add, remove, n_remove, err) != 0)
        return -1;
    bson_init(&filter);
    bson_init(&pull);
    bson_init(&push);
    live_filter(&filter, id);
    b = store_batch_create(st, STORE_URGENT);
    if (n_remove > 0) {
        tag_update(&pull, "$pull", "$in", remove, n_remove, now_ms);
        store_update(b, CONTACTS_COLL, STORE_INDEXED, &filter, &pull, 0);
    }
    tag_update(&push, "$addToSet", "$each", add, n_add, now_ms);
    op = store_update(b, CONTACTS_COLL, STORE_INDEXED, &filter, &push, STORE_RETURN);
    rc = run_and_read(b, op, a, c_r, err);
    bson_destroy(&push);
    bson_destroy(&pull);
    bson_destroy(&filter);
    return rc;
}
