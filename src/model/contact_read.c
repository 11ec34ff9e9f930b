/*
 * Contacts as they come out of the store, and as they go to JSON and to templates. A document is read
 * in one pass over its members, because the eligible stream does it for every contact there is.
 */
#include "model/contact.h"

#include <string.h>

#include "base/bsonx.h"
#include "base/id.h"
#include "base/utf8.h"
#include "model/docs.h"
#include "model/slug.h"
#include "store/store.h"

static struct slice
iter_text(const bson_iter_t *it)
{
    uint32_t len;
    const char *p;

    if (!BSON_ITER_HOLDS_UTF8(it))
        return SLICE_NONE;
    p = bson_iter_utf8(it, &len);
    return slice_make(p, len);
}

static int64_t
iter_time(const bson_iter_t *it)
{
    return BSON_ITER_HOLDS_DATE_TIME(it) ? bson_iter_date_time(it) : 0;
}

static void
read_tags(const bson_iter_t *it, struct arena *a, struct contact *c)
{
    struct slice tags[CONTACT_MAX_TAGS];
    bson_iter_t sub;
    size_t n = 0;

    if (!BSON_ITER_HOLDS_ARRAY(it) || !bson_iter_recurse(it, &sub))
        return;
    while (n < CONTACT_MAX_TAGS && bson_iter_next(&sub)) {
        if (BSON_ITER_HOLDS_UTF8(&sub))
            tags[n++] = iter_text(&sub);
    }
    if (n == 0)
        return;
    c->tags = memcpy(arena_array(a, n, sizeof(*tags)), tags, n * sizeof(*tags));
    c->n_tags = n;
}

static void
read_member(const bson_iter_t *it, struct arena *a, struct contact *c)
{
    const char *key = bson_iter_key(it);

    if (strcmp(key, "_id") == 0 && BSON_ITER_HOLDS_INT64(it)) {
        c->id = (uint64_t)bson_iter_int64(it);
    } else if (strcmp(key, "externalId") == 0) {
        c->external_id = iter_text(it);
    } else if (strcmp(key, "email") == 0) {
        c->email = iter_text(it);
    } else if (strcmp(key, "emailKey") == 0) {
        c->email_key = iter_text(it);
    } else if (strcmp(key, "emailHash") == 0 && BSON_ITER_HOLDS_INT64(it)) {
        c->email_hash = bson_iter_int64(it);
    } else if (strcmp(key, "tags") == 0) {
        read_tags(it, a, c);
    } else if (strcmp(key, "fields") == 0 && BSON_ITER_HOLDS_DOCUMENT(it)) {
        const uint8_t *p;
        uint32_t len;

        bson_iter_document(it, &len, &p);
        c->fields = slice_make(p, len);
    } else if (strcmp(key, "timezone") == 0) {
        c->timezone = iter_text(it);
    } else if (strcmp(key, "locale") == 0) {
        c->locale = iter_text(it);
    } else if (strcmp(key, "createdAt") == 0) {
        c->created_at_ms = iter_time(it);
    } else if (strcmp(key, "updatedAt") == 0) {
        c->updated_at_ms = iter_time(it);
    } else if (strcmp(key, "deletedAt") == 0) {
        c->deleted_at_ms = iter_time(it);
    }
}

bool
contact_from_bson(const bson_t *doc, struct arena *a, struct contact *c_r)
{
    bson_iter_t it;

    memset(c_r, 0, sizeof(*c_r));
    if (!bson_iter_init(&it, doc))
        return false;
    while (bson_iter_next(&it))
        read_member(&it, a, c_r);
    return c_r->id != 0;
}

/* ---- reads ----------------------------------------------------------------------------------- */

static int
from_doc(const bson_t *doc, struct arena *a, struct contact *c_r, struct err *err)
{
    if (!contact_from_bson(doc, a, c_r))
        return err_set(err, ERR_INTERNAL, "a stored contact cannot be read");
    if (c_r->deleted_at_ms != 0)
        return err_sub(err, ERR_NOTFOUND, "contact_not_found", "there is no such contact");
    return 0;
}

int
contact_get(struct store *st, uint64_t id, struct arena *a, struct contact *c_r, struct err *err)
{
    bson_t doc;

    if (docs_find_id(st, CONTACTS_COLL, id, "contact_not_found", a, &doc, err) != 0)
        return -1;
    return from_doc(&doc, a, c_r, err);
}

int
contact_get_external(struct store *st, struct slice external_id, struct arena *a,
    struct contact *c_r, struct err *err)
{
    bson_t doc;

    if (external_id.n == 0 || external_id.n > CONTACT_MAX_EXTERNAL_ID || !utf8_valid(external_id))
        return err_sub(err, ERR_NOTFOUND, "contact_not_found", "there is no such contact");
    if (docs_find_key(
            st, CONTACTS_COLL, "externalId", external_id, "contact_not_found", a, &doc, err) != 0)
        return -1;
    return from_doc(&doc, a, c_r, err);
}

int
contact_get_email(struct store *st, const struct crypto_keys *keys, struct slice email,
    struct arena *a, struct contact *c_r, struct err *err)
{
    struct buf key = BUF_INIT;
    bson_t filter, doc;
    int64_t hash;
    int rc;

    if (contact_address(keys, email, &key, &hash, err) != 0) {
        buf_deinit(&key);
        return -1;
    }
    bson_init(&filter);
    bsonx_add_i64(&filter, "emailHash", hash);
    bsonx_add_str(&filter, "emailKey", buf_slice(&key));
    bson_append_null(&filter, "deletedAt", -1);
    rc = docs_find_one(
        st, CONTACTS_COLL, STORE_INDEXED, &filter, NULL, "contact_not_found", a, &doc, err);
    bson_destroy(&filter);
    buf_deinit(&key);
    return rc == 0 ? from_doc(&doc, a, c_r, err) : -1;
}

unsigned
contact_find_op(struct store_batch *b, const uint64_t *ids, size_t n)
{
    return store_find_ids(b, CONTACTS_COLL, ids, n, NULL);
}

void
contact_match_ops(struct store_batch *b, const struct slice *external_ids, size_t n_ids,
    unsigned *ids_op_r, const int64_t *hashes, size_t n_hashes, unsigned *hashes_op_r)
{
    bson_t filter;

    if (n_ids > 0) {
        bson_init(&filter);
        docs_cond_strs(&filter, "externalId", "$in", external_ids, n_ids);
        bson_append_null(&filter, "deletedAt", -1);
        *ids_op_r = store_find(b, CONTACTS_COLL, STORE_INDEXED, &filter, NULL);
        bson_destroy(&filter);
    }
    if (n_hashes > 0) {
        bson_init(&filter);
        docs_cond_i64s(&filter, "emailHash", "$in", hashes, n_hashes);
        bson_append_null(&filter, "deletedAt", -1);
        *hashes_op_r = store_find(b, CONTACTS_COLL, STORE_INDEXED, &filter, NULL);
        bson_destroy(&filter);
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void
list_filter(const struct contact_list *q, bson_t *filter)
{
    bson_append_null(filter, "deletedAt", -1);
    if (q->after_id != 0)
        docs_cond_i64(filter, "_id", "$gt", (int64_t)q->after_id);
    if (q->email_prefix.n > 0)
        docs_cond_prefix(filter, "emailKey", q->email_prefix);
    if (q->external_prefix.n > 0)
        docs_cond_prefix(filter, "externalId", q->external_prefix);
    if (q->tag.n > 0)
        bsonx_add_str(filter, "tags", q->tag);
}

static int
list_check(const struct contact_list *q, struct err *err)
{
    const struct slice texts[] = {q->email_prefix, q->external_prefix, q->tag};
    static const char *const names[] = {"email", "externalId", "tag"};

    if (docs_limit_check(q->limit, 500, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (text_check(names[i], texts[i], 0, CONTACT_MAX_EXTERNAL_ID, false, err) != 0)
            return -1;
    }
    return 0;
}

int
contact_list(struct store *st, const struct contact_list *q, struct arena *a,
    struct contact_page *page_r, struct err *err)
{
    struct store_find opts = {.limit = q->limit + 1};
    struct contact *contacts;
    const bson_t *docs;
    bson_t filter;
    size_t n;
    int rc;

    memset(page_r, 0, sizeof(*page_r));
    if (list_check(q, err) != 0)
        return -1;
    bson_init(&filter);
    list_filter(q, &filter);
    rc = docs_find_many(st, CONTACTS_COLL, STORE_SCAN, &filter, &opts, a, &docs, &n, err);
    bson_destroy(&filter);
    if (rc != 0)
        return -1;
    page_r->has_more = n > q->limit;
    if (page_r->has_more)
        n = q->limit;
    contacts = arena_array(a, n, sizeof(*contacts));
    for (size_t i = 0; i < n; i++) {
        if (!contact_from_bson(&docs[i], a, &contacts[i]))
            return err_set(err, ERR_INTERNAL, "a stored contact cannot be read");
    }
    page_r->contacts = contacts;
    page_r->n = n;
    return 0;
}

/* ---- shown ----------------------------------------------------------------------------------- */

static void
write_text_or_null(struct json_writer *w, const char *name, struct slice v)
{
    if (v.n == 0)
        jw_null(w, name);
    else
        jw_str(w, name, v);
}

void
contact_write_json(struct json_writer *w, const char *name, const struct contact *c)
{
    bson_t fields;

    jw_obj(w, name);
    jw_id(w, "id", c->id);
    jw_str(w, "externalId", c->external_id);
    jw_str(w, "email", c->email);
    jw_arr(w, "tags");
    for (size_t i = 0; i < c->n_tags; i++)
        jw_str(w, NULL, c->tags[i]);
    jw_end_arr(w);
    if (c->fields.n > 0 && bsonx_view(c->fields, &fields)) {
        bsonx_to_json(w, "fields", &fields);
    } else {
        jw_obj(w, "fields");
        jw_end_obj(w);
    }
    write_text_or_null(w, "timezone", c->timezone);
    write_text_or_null(w, "locale", c->locale);
    jw_time(w, "createdAt", c->created_at_ms);
    jw_time(w, "updatedAt", c->updated_at_ms);
    jw_end_obj(w);
}

static const struct value *
value_of_text(struct arena *a, struct slice s)
{
    struct value *v = arena_zalloc(a, sizeof(*v));

    if (s.n > 0)
        *v = value_str(s);
    return v;
}

static const struct value *
value_of_tags(struct arena *a, const struct contact *c)
{
    struct value *items = arena_array(a, c->n_tags, sizeof(*items));
    struct value *v = arena_zalloc(a, sizeof(*v));

    for (size_t i = 0; i < c->n_tags; i++)
        items[i] = value_str(c->tags[i]);
    v->type = VALUE_ARRAY;
    v->array.items = items;
    v->array.n = c->n_tags;
    return v;
}

static const struct value *
value_of_fields(struct arena *a, const struct contact *c)
{
    struct value *v = arena_zalloc(a, sizeof(*v));

    if (c->fields.n == 0 || !value_from_bson(a, c->fields, v))
        *v = (struct value){.type = VALUE_OBJECT};
    return v;
}

void
contact_to_value(struct arena *a, const struct contact *c, struct value *out_r)
{
    struct value_member *m = arena_array(a, 7, sizeof(*m));
    char *id = arena_alloc(a, ID_TEXT_SIZE);

    m[0] = (struct value_member){SLICE_LIT("id"), value_of_text(a, slice_str(id_text(c->id, id)))};
    m[1] = (struct value_member){SLICE_LIT("externalId"), value_of_text(a, c->external_id)};
    m[2] = (struct value_member){SLICE_LIT("email"), value_of_text(a, c->email)};
    m[3] = (struct value_member){SLICE_LIT("tags"), value_of_tags(a, c)};
    m[4] = (struct value_member){SLICE_LIT("fields"), value_of_fields(a, c)};
    m[5] = (struct value_member){SLICE_LIT("timezone"), value_of_text(a, c->timezone)};
    m[6] = (struct value_member){SLICE_LIT("locale"), value_of_text(a, c->locale)};
    *out_r = (struct value){.type = VALUE_OBJECT, .object = {.members = m, .n = 7}};
}
