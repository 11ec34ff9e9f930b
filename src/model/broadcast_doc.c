/*
 * The definition of a broadcast: what a person wrote, never what happens while it runs. The run record is
 * made in the same batch as the document, and every change of a definition is conditional on the run
 * being a draft, so that nothing can change under a broadcast that is on its way.
 */
#include "model/broadcast_doc.h"

#include <string.h>

#include "mailshot/states.h"
#include "base/bsonx.h"
#include "base/id.h"
#include "model/audit.h"
#include "model/docs.h"
#include "model/slug.h"
#include "store/runs.h"
#include "store/store.h"

#define VARS_MAX_BYTES (64 * 1024)

int
broadcast_doc_check(const struct broadcast_doc *d, unsigned set, struct err *err)
{
    bson_t vars;

    if ((set & BROADCAST_SET_NAME) != 0 && text_check("name", d->name, 1, 200, false, err) != 0)
        return -1;
    if ((set & BROADCAST_SET_TEMPLATE) != 0 &&
        slug_check("templateSlug", d->template_slug, err) != 0)
        return -1;
    if ((set & BROADCAST_SET_PROFILE) != 0 && d->profile.n > 0 &&
        slug_check("profile", d->profile, err) != 0)
        return -1;
    if ((set & BROADCAST_SET_SEGMENT) != 0 && d->segment.n == 0)
        return err_field(err, "segmentDefinition", "is required");
    if ((set & BROADCAST_SET_VARS) != 0 && d->vars.n > 0) {
        if (d->vars.n > VARS_MAX_BYTES)
            return err_field(err, "vars", "must have at most %d bytes", VARS_MAX_BYTES);
        if (!bsonx_view(d->vars, &vars))
            return err_field(err, "vars", "must be an object");
    }
    if ((set & BROADCAST_SET_LATENESS) != 0 &&
        (d->max_lateness_ms < 0 || d->max_lateness_ms > INT64_C(30) * 86400000))
        return err_field(err, "maxLateness", "must be between 0 and 30 days");
    if ((set & BROADCAST_SET_GROWTH) != 0 &&
        (d->growth_limit_pct < -1 || d->growth_limit_pct > 1000))
        return err_field(err, "growthLimitPct", "must be between 0 and 1000");
    return 0;
}

/* ---- stored form ----------------------------------------------------------------------------- */

static void
add_view(bson_t *doc, const char *key, struct slice bytes)
{
    bson_t view;

    if (bytes.n > 0 && bsonx_view(bytes, &view))
        bson_append_document(doc, key, -1, &view);
    else
        bson_append_null(doc, key, -1);
}

static void
add_members(bson_t *doc, const struct broadcast_doc *d, unsigned set)
{
    if ((set & BROADCAST_SET_NAME) != 0)
        bsonx_add_str(doc, "name", d->name);
    if ((set & BROADCAST_SET_TEMPLATE) != 0)
        bsonx_add_str(doc, "templateSlug", d->template_slug);
    if ((set & BROADCAST_SET_SEGMENT) != 0)
        add_view(doc, "segmentDefinition", d->segment);
    if ((set & BROADCAST_SET_PROFILE) != 0)
        bsonx_add_str_or_null(doc, "profile", d->profile.n > 0 ? d->profile : SLICE_NONE);
    if ((set & BROADCAST_SET_STOP_RULES) != 0)
        stop_rules_to_bson(&d->stop_rules, doc, "stopRules");
    if ((set & BROADCAST_SET_VARS) != 0)
        add_view(doc, "vars", d->vars);
    if ((set & BROADCAST_SET_LATENESS) != 0)
        bsonx_add_i64(doc, "maxLatenessMs", d->max_lateness_ms);
    if ((set & BROADCAST_SET_GROWTH) != 0)
        bsonx_add_i64(doc, "growthLimitPct", d->growth_limit_pct);
}

static void
from_doc(const bson_t *doc, struct broadcast_doc *d_r)
{
    bson_t sub;

    memset(d_r, 0, sizeof(*d_r));
    d_r->id = (uint64_t)bsonx_i64(doc, "_id", 0);
    d_r->slug = bsonx_str(doc, "slug");
    d_r->name = bsonx_str(doc, "name");
    d_r->template_slug = bsonx_str(doc, "templateSlug");
    d_r->profile = bsonx_str(doc, "profile");
    if (bsonx_doc(doc, "segmentDefinition", &sub))
        d_r->segment = bsonx_bytes(&sub);
    if (bsonx_doc(doc, "vars", &sub))
        d_r->vars = bsonx_bytes(&sub);
    stop_rules_from_bson(doc, "stopRules", &d_r->stop_rules);
    d_r->max_lateness_ms = bsonx_i64(doc, "maxLatenessMs", 0);
    d_r->growth_limit_pct = bsonx_i64(doc, "growthLimitPct", -1);
    d_r->created_at_ms = bsonx_i64(doc, "createdAt", 0);
    d_r->updated_at_ms = bsonx_i64(doc, "updatedAt", 0);
    d_r->created_by = bsonx_str(doc, "createdBy");
    d_r->confirmed_by = bsonx_str(doc, "confirmedBy");
}

/* ---- writes ---------------------------------------------------------------------------------- */

static void
audit_op(struct store_batch *b, const char *action, uint64_t id, struct slice actor,
    struct slice summary, int64_t now_ms)
{
    char id_txt[ID_TEXT_SIZE];

    audit_add_op(b, &(struct audit_entry){
                        .actor = actor,
                        .action = slice_str(action),
                        .resource = SLICE_LIT(BROADCASTS_COLL),
                        .resource_id = slice_str(id_text(id, id_txt)),
                        .summary = summary,
                        .at_ms = now_ms,
                    });
}

int
broadcast_doc_create(
    struct store *st, struct broadcast_doc *d, struct slice actor, int64_t now_ms, struct err *err)
{
    const unsigned all = ~0u;
    struct store_batch *b;
    const bson_t *docs[1];
    bson_t doc;

    if (slug_check("slug", d->slug, err) != 0 || broadcast_doc_check(d, all, err) != 0)
        return -1;
    d->id = id_next();
    d->created_at_ms = d->updated_at_ms = now_ms;
    d->created_by = actor;
    bson_init(&doc);
    bsonx_add_i64(&doc, "_id", (int64_t)d->id);
    bsonx_add_str(&doc, "slug", d->slug);
    add_members(&doc, d, all);
    bsonx_add_time(&doc, "createdAt", now_ms);
    bsonx_add_str(&doc, "createdBy", actor);
    bsonx_add_time(&doc, "updatedAt", now_ms);
    b = store_batch_create(st, STORE_URGENT);
    docs[0] = &doc;
    store_require(b, store_insert(b, BROADCASTS_COLL, docs, 1), ERR_CONFLICT, "slug_taken");
    runs_create(b, &(struct run_record){.broadcast = d->id,
                       .state = RUN_DRAFT,
                       .max_lateness_ms = d->max_lateness_ms,
                       .growth_limit = -1});
    audit_op(b, "broadcast.create", d->id, actor, d->slug, now_ms);
    bson_destroy(&doc);
    return docs_run(&b, err);
}

/* Names of the members in `set`, for the audit. */
static struct slice
set_names(unsigned set, struct arena *a)
{
    static const char *const names[] = {"name", "templateSlug", "segmentDefinition", "profile",
        "stopRules", "vars", "maxLateness", "growthLimitPct"};
    const char *text = "";

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((set & 1u << i) != 0)
            text = arena_printf(a, "%s%s%s", text, *text != '\0' ? ", " : "", names[i]);
    }
    return slice_str(text);
}

int
broadcast_doc_patch(struct store *st, uint64_t id, const struct broadcast_doc *d, unsigned set,
    struct slice actor, int64_t now_ms, struct arena *a, struct broadcast_doc *d_r, struct err *err)
{
    struct store_batch *b;
    bson_t filter, update, members;
    unsigned op;

    if (broadcast_doc_check(d, set, err) != 0 ||
        broadcast_doc_get_id(st, id, a, d_r, NULL, err) != 0)
        return -1;
    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)id);
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &members);
    add_members(&members, d, set);
    bsonx_add_time(&members, "updatedAt", now_ms);
    bson_append_document_end(&update, &members);
    b = store_batch_create(st, STORE_URGENT);
    op = runs_change(b, &(struct run_change){.broadcast = id, .if_states = 1u << RUN_DRAFT});
    store_require(b, op, ERR_CONFLICT, "not_draft");
    store_update(b, BROADCASTS_COLL, STORE_INDEXED, &filter, &update, 0);
    audit_op(b, "broadcast.update", id, actor, set_names(set, a), now_ms);
    bson_destroy(&update);
    bson_destroy(&filter);
    if (docs_run(&b, err) != 0)
        return -1;
    return broadcast_doc_get_id(st, id, a, d_r, NULL, err);
}

/* One unconditional $set on the document; consumes `members`. */
static void
set_op(struct store_batch *b, uint64_t id, bson_t *members)
{
    bson_t filter, update;

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)id);
    bson_init(&update);
    bson_append_document(&update, "$set", -1, members);
    store_update(b, BROADCASTS_COLL, STORE_INDEXED, &filter, &update, 0);
    bson_destroy(&update);
    bson_destroy(&filter);
    bson_destroy(members);
}

void
broadcast_doc_confirmed_op(struct store_batch *b, uint64_t id, struct slice actor, int64_t now_ms)
{
    bson_t members;

    bson_init(&members);
    bsonx_add_str(&members, "confirmedBy", actor);
    bsonx_add_time(&members, "updatedAt", now_ms);
    set_op(b, id, &members);
}

void
broadcast_doc_stop_rules_op(
    struct store_batch *b, uint64_t id, const struct stop_rules *r, int64_t now_ms)
{
    bson_t members;

    bson_init(&members);
    stop_rules_to_bson(r, &members, "stopRules");
    bsonx_add_time(&members, "updatedAt", now_ms);
    set_op(b, id, &members);
}

int
broadcast_doc_delete(
    struct store *st, uint64_t id, struct slice actor, int64_t now_ms, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t filter;

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)id);
    store_require(b, runs_delete(b, id, 1u << RUN_DRAFT), ERR_CONFLICT, "not_draft");
    store_delete(b, BROADCASTS_COLL, STORE_INDEXED, &filter, 0);
    audit_op(b, "broadcast.delete", id, actor, SLICE_NONE, now_ms);
    bson_destroy(&filter);
    return docs_run(&b, err);
}

/* ---- reads ----------------------------------------------------------------------------------- */

static void
copy_run(const struct run_record *run, struct arena *a, struct run_record *run_r)
{
    *run_r = *run;
    run_r->cursor = arena_dup(a, run->cursor);
    run_r->reason_detail = arena_dup(a, run->reason_detail);
}

static int
read_run(struct store *st, uint64_t id, struct arena *a, struct run_record *run_r, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    unsigned op = runs_get(b, id);
    int rc = store_run(b, err);

    if (rc == 0) {
        const struct run_result *res = runs_result(b, op);

        if (res->n_runs == 1)
            copy_run(&res->runs[0], a, run_r);
        else
            rc = err_set(err, ERR_INTERNAL, "the broadcast has no run record");
    }
    store_batch_free(&b);
    return rc;
}

int
broadcast_doc_get(struct store *st, struct slice slug, struct arena *a, struct broadcast_doc *d_r,
    struct run_record *run_r, struct err *err)
{
    bson_t doc;

    if (!slug_valid(slug))
        return err_sub(err, ERR_NOTFOUND, "not_found", "there is no such broadcast");
    if (docs_find_key(st, BROADCASTS_COLL, "slug", slug, "not_found", a, &doc, err) != 0)
        return -1;
    from_doc(&doc, d_r);
    return run_r != NULL ? read_run(st, d_r->id, a, run_r, err) : 0;
}

int
broadcast_doc_get_id(struct store *st, uint64_t id, struct arena *a, struct broadcast_doc *d_r,
    struct run_record *run_r, struct err *err)
{
    bson_t doc;

    if (docs_find_id(st, BROADCASTS_COLL, id, "not_found", a, &doc, err) != 0)
        return -1;
    from_doc(&doc, d_r);
    return run_r != NULL ? read_run(st, id, a, run_r, err) : 0;
}

/* The run records of a list, in one batch. */
static int
read_runs(struct store *st, const struct broadcast_doc *docs, size_t n, struct arena *a,
    struct run_record *runs, struct err *err)
{
    struct store_batch *b;
    unsigned *ops;
    int rc = 0;

    if (n == 0)
        return 0;
    b = store_batch_create(st, STORE_URGENT);
    ops = arena_array(a, n, sizeof(*ops));
    for (size_t i = 0; i < n; i++)
        ops[i] = runs_get(b, docs[i].id);
    rc = store_run(b, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct run_result *res = runs_result(b, ops[i]);

        if (res->n_runs == 1)
            copy_run(&res->runs[0], a, &runs[i]);
        else
            rc = err_set(err, ERR_INTERNAL, "a broadcast has no run record");
    }
    store_batch_free(&b);
    return rc;
}

int
broadcast_doc_list(struct store *st, uint64_t before_id, unsigned limit, struct arena *a,
    const struct broadcast_doc **docs_r, const struct run_record **runs_r, size_t *n_r,
    struct err *err)
{
    struct broadcast_doc *list;
    struct run_record *runs;
    bson_t filter, sort;
    const bson_t *docs;
    size_t n;
    int rc;

    if (docs_limit_check(limit, 200, err) != 0)
        return -1;
    bson_init(&filter);
    bson_init(&sort);
    if (before_id != 0)
        docs_cond_i64(&filter, "_id", "$lt", (int64_t)before_id);
    bson_append_int32(&sort, "_id", -1, -1);
    rc = docs_find_many(st, BROADCASTS_COLL, STORE_SCAN, &filter,
        &(struct store_find){.sort = &sort, .limit = limit}, a, &docs, &n, err);
    bson_destroy(&sort);
    bson_destroy(&filter);
    if (rc != 0)
        return -1;
    list = arena_array(a, n, sizeof(*list));
    runs = arena_array(a, n, sizeof(*runs));
    for (size_t i = 0; i < n; i++)
        from_doc(&docs[i], &list[i]);
    *docs_r = list;
    *runs_r = runs;
    *n_r = n;
    return read_runs(st, list, n, a, runs, err);
}

/* ---- shown ----------------------------------------------------------------------------------- */

static void
write_or_null(struct json_writer *w, const char *name, struct slice v)
{
    if (v.n > 0)
        jw_str(w, name, v);
    else
        jw_null(w, name);
}

void
broadcast_doc_write_members(struct json_writer *w, const struct broadcast_doc *d)
{
    bson_t view;

    jw_id(w, "id", d->id);
    jw_str(w, "slug", d->slug);
    jw_str(w, "name", d->name);
    jw_str(w, "templateSlug", d->template_slug);
    if (d->segment.n > 0 && bsonx_view(d->segment, &view))
        bsonx_to_json(w, "segmentDefinition", &view);
    else
        jw_null(w, "segmentDefinition");
    write_or_null(w, "profile", d->profile);
    stop_rules_write_json(w, "stopRules", &d->stop_rules);
    if (d->vars.n > 0 && bsonx_view(d->vars, &view))
        bsonx_to_json(w, "vars", &view);
    else
        jw_null(w, "vars");
    jw_time(w, "createdAt", d->created_at_ms);
    jw_str(w, "createdBy", d->created_by);
    jw_time(w, "updatedAt", d->updated_at_ms);
    write_or_null(w, "confirmedBy", d->confirmed_by);
}
