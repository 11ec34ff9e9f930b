/*
 * Templates and their versions. Publishing takes the next number from the template itself (one atomic
 * find-and-update), inserts the immutable version under it, and then moves the live content forward. A
 * crash in between leaves a number unused and the old version live; two publishers get two numbers and
 * the higher one stays live.
 */
#include "model/template_doc.h"

#include <stdio.h>
#include <string.h>

#include "base/bsonx.h"
#include "base/id.h"
#include "model/audit.h"
#include "model/docs.h"
#include "model/slug.h"
#include "store/store.h"

static int
put_check(const struct template_put *p, struct err *err)
{
    if (slug_check("slug", p->slug, err) != 0)
        return -1;
    if (p->name.p != NULL && text_check("name", p->name, 1, 200, false, err) != 0)
        return -1;
    if (p->description.p != NULL &&
        text_check("description", p->description, 0, 2000, true, err) != 0)
        return -1;
    return template_content_check(p->content, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void
from_doc(const bson_t *doc, struct template_doc *t_r)
{
    bson_t sub;

    memset(t_r, 0, sizeof(*t_r));
    t_r->id = (uint64_t)bsonx_i64(doc, "_id", 0);
    t_r->slug = bsonx_str(doc, "slug");
    t_r->name = bsonx_str(doc, "name");
    t_r->description = bsonx_str(doc, "description");
    t_r->version = (uint32_t)bsonx_i64(doc, "version", 0);
    t_r->published_at_ms = bsonx_i64(doc, "publishedAt", 0);
    t_r->published_by = bsonx_str(doc, "publishedBy");
    t_r->created_at_ms = bsonx_i64(doc, "createdAt", 0);
    t_r->updated_at_ms = bsonx_i64(doc, "updatedAt", 0);
    if (bsonx_doc(doc, "live", &sub))
        template_content_from_bson(&sub, &t_r->live);
    if (bsonx_doc(doc, "draft", &sub)) {
        template_content_from_bson(&sub, &t_r->draft);
        t_r->has_draft = true;
    }
}

int
template_doc_get(
    struct store *st, struct slice slug, struct arena *a, struct template_doc *t_r, struct err *err)
{
    bson_t doc;

    if (!slug_valid(slug))
        return err_sub(err, ERR_NOTFOUND, "template_not_found", "there is no such template");
    if (docs_find_key(st, TEMPLATES_COLL, "slug", slug, "template_not_found", a, &doc, err) != 0)
        return -1;
    from_doc(&doc, t_r);
    return 0;
}

static int
version_find(struct store *st, uint64_t template_id, uint32_t version, struct arena *a,
    bson_t *doc_r, struct err *err)
{
    bson_t filter;
    int rc;

    bson_init(&filter);
    bsonx_add_i64(&filter, "template", (int64_t)template_id);
    bsonx_add_i64(&filter, "version", version);
    rc = docs_find_one(st, TEMPLATE_VERSIONS_COLL, STORE_INDEXED, &filter, NULL,
        "template_version_not_found", a, doc_r, err);
    bson_destroy(&filter);
    return rc;
}

int
template_version_get(struct store *st, struct slice slug, uint32_t version, struct arena *a,
    struct template_version *v_r, struct err *err)
{
    struct template_doc t;
    bson_t doc;

    if (template_doc_get(st, slug, a, &t, err) != 0 ||
        version_find(st, t.id, version, a, &doc, err) != 0)
        return -1;
    memset(v_r, 0, sizeof(*v_r));
    v_r->id = (uint64_t)bsonx_i64(&doc, "_id", 0);
    v_r->template_id = t.id;
    v_r->slug = t.slug;
    v_r->version = version;
    v_r->published_at_ms = bsonx_i64(&doc, "publishedAt", 0);
    v_r->published_by = bsonx_str(&doc, "publishedBy");
    template_content_from_bson(&doc, &v_r->content);
    return 0;
}

int
template_doc_list(struct store *st, struct slice after_slug, unsigned limit, struct arena *a,
    const struct template_doc **docs_r, size_t *n_r, struct err *err)
{
    static const char *const shown[] = {"slug", "name", "description", "version", "publishedAt",
        "publishedBy", "createdAt", "updatedAt", "live.kind", "live.subject", "live.preheader",
        "live.fromName", "live.fromEmail", "live.replyTo", "live.profile", "live.isTextOnly",
        "live.trackOpens", "live.trackClicks", "live.nLinks"};
    struct template_doc *list;
    bson_t filter, sort, projection;
    const bson_t *docs;
    size_t n;
    int rc;

    if (docs_limit_check(limit, 500, err) != 0)
        return -1;
    bson_init(&filter);
    bson_init(&sort);
    bson_init(&projection);
    if (after_slug.n > 0)
        docs_cond_str(&filter, "slug", "$gt", after_slug);
    bson_append_int32(&sort, "slug", -1, 1);
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        bson_append_int32(&projection, shown[i], -1, 1);
    rc = docs_find_many(st, TEMPLATES_COLL, STORE_BOUNDED, &filter,
        &(struct store_find){.sort = &sort, .projection = &projection, .limit = limit}, a, &docs,
        &n, err);
    bson_destroy(&projection);
    bson_destroy(&sort);
    bson_destroy(&filter);
    if (rc != 0)
        return -1;
    list = arena_array(a, n, sizeof(*list));
    for (size_t i = 0; i < n; i++)
        from_doc(&docs[i], &list[i]);
    *docs_r = list;
    *n_r = n;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void
add_content(bson_t *doc, const char *key, const struct template_content *c)
{
    bson_t sub;

    bson_append_document_begin(doc, key, -1, &sub);
    template_content_to_bson(c, &sub);
    bson_append_document_end(doc, &sub);
}

/* Members that both kinds of write set on the template, and those of a new one. */
static void
add_common(const struct template_put *p, bson_t *set, bson_t *first)
{
    if (p->name.p != NULL)
        bsonx_add_str(set, "name", p->name);
    else
        bsonx_add_str(first, "name", p->slug);
    if (p->description.p != NULL)
        bsonx_add_str(set, "description", p->description);
    else
        bsonx_add_str(first, "description", SLICE_LIT(""));
    bsonx_add_time(set, "updatedAt", p->now_ms);
    bsonx_add_i64(first, "_id", (int64_t)id_next());
    bsonx_add_i64(first, "version", 0);
    bsonx_add_time(first, "createdAt", p->now_ms);
    bson_append_null(first, "live", -1);
}

/* One upsert of the template by slug; the document afterwards in `a`. */
static int
upsert(struct store *st, const struct template_put *p, bool is_draft, struct arena *a,
    bson_t *doc_r, bool *created_r, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t filter, update, set, first, inc;
    unsigned op;
    int rc;

    bson_init(&set);
    bson_init(&first);
    add_common(p, &set, &first);
    if (is_draft)
        add_content(&set, "draft", p->content);
    else
        bson_append_null(&first, "draft", -1);
    bson_init(&filter);
    bsonx_add_str(&filter, "slug", p->slug);
    bson_init(&update);
    if (!is_draft) {
        bson_append_document_begin(&update, "$inc", -1, &inc);
        bsonx_add_i64(&inc, "lastVersion", 1);
        bson_append_document_end(&update, &inc);
    } else {
        bsonx_add_i64(&first, "lastVersion", 0);
    }
    bson_append_document(&update, "$set", -1, &set);
    bson_append_document(&update, "$setOnInsert", -1, &first);
    op = store_update(
        b, TEMPLATES_COLL, STORE_INDEXED, &filter, &update, STORE_UPSERT | STORE_RETURN);
    rc = store_run(b, err);
    if (rc == 0) {
        const struct store_result *res = store_batch_result(b, op);

        docs_copy(a, &res->docs[0], doc_r);
        *created_r = res->upserted;
    }
    store_batch_free(&b);
    bson_destroy(&update);
    bson_destroy(&filter);
    bson_destroy(&first);
    bson_destroy(&set);
    return rc;
}

int
template_doc_save_draft(struct store *st, const struct template_put *p, struct arena *a,
    struct template_doc *t_r, bool *created_r, struct err *err)
{
    bson_t doc;

    if (put_check(p, err) != 0 || upsert(st, p, true, a, &doc, created_r, err) != 0)
        return -1;
    from_doc(&doc, t_r);
    return 0;
}

/* Insert the version under its number and move the live content forward to it. */
static void
publish_ops(struct store_batch *b, const struct template_put *p, uint64_t id, uint32_t version)
{
    const bson_t *docs[1];
    bson_t doc, filter, update, set;

    bson_init(&doc);
    bsonx_add_i64(&doc, "_id", (int64_t)id_next());
    bsonx_add_i64(&doc, "template", (int64_t)id);
    bsonx_add_i64(&doc, "version", version);
    template_content_to_bson(p->content, &doc);
    bsonx_add_time(&doc, "publishedAt", p->now_ms);
    bsonx_add_str(&doc, "publishedBy", p->actor);
    docs[0] = &doc;
    store_require(b, store_insert(b, TEMPLATE_VERSIONS_COLL, docs, 1), ERR_CONFLICT, "conflict");
    bson_destroy(&doc);

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)id);
    docs_cond_i64(&filter, "version", "$lt", version);
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &set);
    add_content(&set, "live", p->content);
    bson_append_null(&set, "draft", -1);
    bsonx_add_i64(&set, "version", version);
    bsonx_add_time(&set, "publishedAt", p->now_ms);
    bsonx_add_str(&set, "publishedBy", p->actor);
    bson_append_document_end(&update, &set);
    store_update(b, TEMPLATES_COLL, STORE_INDEXED, &filter, &update, 0);
    bson_destroy(&update);
    bson_destroy(&filter);
}

static int
check_no_draft(struct store *st, const struct template_put *p, struct arena *a, struct err *err)
{
    struct template_doc old;
    struct err why;

    err_clear(&why);
    if (template_doc_get(st, p->slug, a, &old, &why) != 0) {
        if (why.code == ERR_NOTFOUND)
            return 0;
        if (err != NULL)
            *err = why;
        return -1;
    }
    if (old.has_draft && !p->is_discard_draft)
        return err_sub(err, ERR_CONFLICT, "draft_exists", "an unpublished draft would be lost");
    return 0;
}

int
template_doc_publish(struct store *st, const struct template_put *p, struct arena *a,
    struct template_doc *t_r, bool *created_r, struct err *err)
{
    struct store_batch *b;
    uint32_t version;
    uint64_t id;
    char number[16];
    bson_t doc;

    if (put_check(p, err) != 0 || check_no_draft(st, p, a, err) != 0 ||
        upsert(st, p, false, a, &doc, created_r, err) != 0)
        return -1;
    id = (uint64_t)bsonx_i64(&doc, "_id", 0);
    version = (uint32_t)bsonx_i64(&doc, "lastVersion", 0);
    snprintf(number, sizeof(number), "version %u", version);
    b = store_batch_create(st, STORE_URGENT);
    publish_ops(b, p, id, version);
    audit_add_op(b, &(struct audit_entry){
                        .actor = p->actor,
                        .action = SLICE_LIT("template.publish"),
                        .resource = SLICE_LIT(TEMPLATES_COLL),
                        .resource_id = p->slug,
                        .summary = slice_str(number),
                        .at_ms = p->now_ms,
                    });
    if (docs_run(&b, err) != 0)
        return -1;
    return template_doc_get(st, p->slug, a, t_r, err);
}

/* ---- shown ----------------------------------------------------------------------------------- */

void
template_doc_write_json(
    struct json_writer *w, const char *name, const struct template_doc *t, bool with_body)
{
    jw_obj(w, name);
    jw_id(w, "id", t->id);
    jw_str(w, "slug", t->slug);
    jw_str(w, "name", t->name);
    jw_str(w, "description", t->description);
    jw_int(w, "version", t->version);
    jw_bool(w, "hasDraft", t->has_draft);
    template_content_write_members(w, t->version > 0 ? &t->live : &t->draft, with_body);
    jw_time(w, "publishedAt", t->published_at_ms);
    if (t->published_by.n > 0)
        jw_str(w, "publishedBy", t->published_by);
    else
        jw_null(w, "publishedBy");
    jw_time(w, "createdAt", t->created_at_ms);
    jw_time(w, "updatedAt", t->updated_at_ms);
    jw_end_obj(w);
}
