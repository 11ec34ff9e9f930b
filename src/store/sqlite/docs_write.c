/*
 * Inserts, updates and deletes. An update first decides which documents it is about (their ids), then
 * changes them one by one, so that a document moved by its own change is not met twice. A document
 * whose bytes do not change is not written.
 */
#include <string.h>

#include "store/sqlite/docs.h"
#include "store/update.h"
#include "store/value.h"

/* Up to 1000 documents come back from STORE_RETURN. */
#define RETURN_MAX 1000u

static bool
is_duplicate(const struct err *err)
{
    return err->code == ERR_CONFLICT && strcmp(err->sub, "duplicate") == 0;
}

static int64_t
doc_id(const bson_t *doc)
{
    bson_iter_t it;

    return bson_iter_init_find(&it, doc, "_id") ? bson_iter_int64(&it) : 0;
}

static int
insert_doc(struct sq_conn *c, const char *coll, const bson_t *doc, struct err *err)
{
    char sql[96];
    sqlite3_stmt *stmt;

    sqlite3_snprintf(sizeof(sql), sql, "INSERT INTO c_%s(id,doc) VALUES(?,?)", coll);
    if ((stmt = sq_prepare_text(c, sql, err)) == NULL)
        return -1;
    sqlite3_bind_int64(stmt, 1, doc_id(doc));
    sqlite3_bind_blob64(stmt, 2, bson_get_data(doc), doc->len, SQLITE_STATIC);
    return sq_exec(c, stmt, err);
}

int
sq_docs_insert(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct schema_coll *coll = schema_coll_get(c->schema, op->coll);
    struct store_dup *dups = NULL;
    size_t n_dups = 0;

    for (size_t i = 0; i < op->n_docs; i++) {
        if (insert_doc(c, op->coll, op->docs[i], err) == 0) {
            op->out.changed++;
            continue;
        }
        if (!is_duplicate(err))
            return -1;
        if (dups == NULL)
            dups = arena_array(a, op->n_docs - i, sizeof(*dups));
        dups[n_dups++] = (struct store_dup){i, sq_duplicate_index(coll, err)};
        err_clear(err);
    }
    op->out.dups = dups;
    op->out.n_dups = n_dups;
    return 0;
}

/* ---- update ---------------------------------------------------------------------------------- */

struct ids {
    int64_t *v;
    size_t n, cap;
};

static void
add_id(struct ids *ids, int64_t id, struct arena *a)
{
    if (ids->n == ids->cap) {
        size_t cap = ids->cap == 0 ? 16 : ids->cap * 2;
        int64_t *grown = arena_array(a, cap, sizeof(*grown));

        if (ids->n > 0)
            memcpy(grown, ids->v, ids->n * sizeof(*grown));
        ids->v = grown;
        ids->cap = cap;
    }
    ids->v[ids->n++] = id;
}

static void
put_select_ids(struct sq_query *q, const struct schema_coll *coll, const struct plan *p,
    const struct store_op *op)
{
    buf_append_str(&q->sql, "SELECT id");
    sq_put_from_where(q, coll, p, op->match);
    buf_append_str(
        &q->sql, (op->flags & STORE_MANY) != 0 ? " ORDER BY id" : " ORDER BY id LIMIT 1");
}

static int
select_ids(
    struct sq_conn *c, const struct store_op *op, struct ids *ids, struct arena *a, struct err *err)
{
    const struct schema_coll *coll;
    struct sq_query q;
    struct plan p;
    sqlite3_stmt *stmt;
    int rc = -1;

    if (sq_docs_plan(c, op, &coll, &p, err) != 0)
        return -1;
    sq_query_init(&q, a);
    put_select_ids(&q, coll, &p, op);
    if ((stmt = sq_query_prepare(c, &q, err)) != NULL) {
        while ((rc = sq_step(c, stmt, err)) == 1)
            add_id(ids, sqlite3_column_int64(stmt, 0), a);
    }
    sq_query_deinit(&q);
    return rc;
}

/* The stored document, copied into the arena. */
static int
load_doc(struct sq_conn *c, const char *coll, int64_t id, struct arena *a, bson_t *doc_r,
    struct err *err)
{
    char sql[96];
    sqlite3_stmt *stmt;
    struct slice kept;
    int rc;

    sqlite3_snprintf(sizeof(sql), sql, "SELECT doc FROM c_%s WHERE id=?", coll);
    if ((stmt = sq_prepare_text(c, sql, err)) == NULL)
        return -1;
    sqlite3_bind_int64(stmt, 1, id);
    if ((rc = sq_step(c, stmt, err)) != 1)
        return rc == 0 ? err_set(err, ERR_INTERNAL, "a document vanished in its transaction") : -1;
    rc = sq_column_doc(stmt, 0, doc_r, err);
    if (rc == 0) {
        kept = arena_dup(a, slice_make(bson_get_data(doc_r), doc_r->len));
        bson_init_static(doc_r, (const uint8_t *)kept.p, kept.n);
    }
    sqlite3_reset(stmt);
    return rc;
}

static int
store_doc(struct sq_conn *c, const char *coll, int64_t id, const bson_t *doc, struct err *err)
{
    char sql[96];
    sqlite3_stmt *stmt;

    sqlite3_snprintf(sizeof(sql), sql, "UPDATE c_%s SET doc=? WHERE id=?", coll);
    if ((stmt = sq_prepare_text(c, sql, err)) == NULL)
        return -1;
    sqlite3_bind_blob64(stmt, 1, bson_get_data(doc), doc->len, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, id);
    return sq_exec(c, stmt, err);
}

static void
return_doc(struct store_op *op, const bson_t *doc)
{
    bson_t *docs = (bson_t *)(uintptr_t)op->out.docs;

    if ((op->flags & STORE_RETURN) != 0 && op->out.n_docs < RETURN_MAX)
        bson_init_static(&docs[op->out.n_docs++], bson_get_data(doc), doc->len);
}

/* Changes of one document; the scratch arena is emptied when nothing of it is returned. */
static int
update_one(struct sq_conn *c, struct store_op *op, int64_t id, struct arena *scratch,
    struct arena *a, struct err *err)
{
    struct arena *in = (op->flags & STORE_RETURN) != 0 ? a : scratch;
    const bson_t *new_doc;
    bson_t old;

    if (load_doc(c, op->coll, id, in, &old, err) != 0 ||
        update_apply(op->change, &old, in, &new_doc, err) != 0)
        return -1;
    op->out.matched++;
    if (!bson_equal(&old, new_doc)) {
        if (store_doc(c, op->coll, id, new_doc, err) != 0)
            return -1;
        op->out.changed++;
    }
    return_doc(op, new_doc);
    arena_reset(scratch);
    return 0;
}

static int
upsert(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const bson_t *doc;

    if (update_upsert(op->change, op->match, a, &doc, err) != 0 ||
        insert_doc(c, op->coll, doc, err) != 0)
        return -1;
    op->out.upserted = true;
    op->out.changed = 1;
    return_doc(op, doc);
    return 0;
}

int
sq_docs_update(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    struct arena *scratch;
    struct ids ids = {0};
    size_t n_docs;
    int rc = 0;

    if (select_ids(c, op, &ids, a, err) != 0)
        return -1;
    n_docs = ids.n < RETURN_MAX ? ids.n : RETURN_MAX;
    op->out.docs = value_alloc(a, (op->flags & STORE_RETURN) != 0 ? n_docs + 1 : 1, sizeof(bson_t));
    scratch = arena_create(0);
    for (size_t i = 0; i < ids.n && rc == 0; i++)
        rc = update_one(c, op, ids.v[i], scratch, a, err);
    arena_free(&scratch);
    if (rc == 0 && ids.n == 0 && (op->flags & STORE_UPSERT) != 0)
        rc = upsert(c, op, a, err);
    if (rc != 0 && is_duplicate(err)) {
        const struct schema_coll *coll = schema_coll_get(c->schema, op->coll);
        const char *index = sq_duplicate_index(coll, err);

        err_sub(err, ERR_CONFLICT, "duplicate", "%s: unique key %s is taken", op->coll, index);
    }
    return rc;
}

/* ---- delete ---------------------------------------------------------------------------------- */

int
sq_docs_delete(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct schema_coll *coll;
    struct sq_query q;
    struct plan p;
    sqlite3_stmt *stmt;
    int rc = -1;

    if (sq_docs_plan(c, op, &coll, &p, err) != 0)
        return -1;
    sq_query_init(&q, a);
    buf_printf(&q.sql, "DELETE FROM c_%s WHERE id IN (", op->coll);
    put_select_ids(&q, coll, &p, op);
    buf_append_char(&q.sql, ')');
    if ((stmt = sq_query_prepare(c, &q, err)) != NULL && (rc = sq_exec(c, stmt, err)) == 0)
        op->out.changed = op->out.matched = (uint64_t)sqlite3_changes64(c->db);
    sq_query_deinit(&q);
    return rc;
}
