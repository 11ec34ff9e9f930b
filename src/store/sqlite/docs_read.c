/*
 * Finding and counting. A keyset page after position (k1, k2, id) is read as up to three runs, each an
 * index range of its own: equal k1 and k2 with a later id; equal k1 with a later k2; a later k1. In
 * that order they are the page, and no run walks over what an earlier page has shown, however many
 * documents share a key.
 */
#include <string.h>

#include "store/project.h"
#include "store/sqlite/docs.h"
#include "store/value.h"

#define SORT_MAX 5u /* four keys and _id */

struct sort_part {
    const char *path; /* NULL: _id */
    int direction;
    bool is_indexed;    /* bson_get() serves it */
    struct slice after; /* key at the keyset position */
    int64_t after_id;
};

struct page {
    struct sort_part parts[SORT_MAX];
    unsigned n;
    bool has_after;
};

struct found {
    struct slice *docs;
    size_t n, cap;
};

static bool
is_key_of(const struct schema_index *index, const char *path)
{
    for (unsigned k = 0; index != NULL && k < index->n_keys; k++) {
        if (strcmp(index->keys[k].path, path) == 0)
            return true;
    }
    return false;
}

static void
set_after(struct sort_part *part, const bson_t *after, struct arena *a)
{
    struct buf key = BUF_INIT, tmp = BUF_INIT;
    bson_iter_t it;

    if (bson_iter_init_find(&it, after, part->path != NULL ? part->path : "_id")) {
        if (part->path == NULL) {
            value_int(&it, &part->after_id);
        } else {
            sort_key_value(&it, part->direction, &key, &tmp);
            part->after = arena_dup(a, buf_slice(&key));
        }
    }
    buf_deinit(&key);
    buf_deinit(&tmp);
}

static void
make_page(struct page *pg, const struct store_find *find, const struct plan *p, struct arena *a)
{
    bool has_id = false;
    bson_iter_t it;

    memset(pg, 0, sizeof(*pg));
    if (find->sort != NULL && bson_iter_init(&it, find->sort)) {
        while (bson_iter_next(&it) && !has_id) { /* nothing sorts behind _id */
            struct sort_part *part = &pg->parts[pg->n++];
            int64_t direction = 1;

            value_int(&it, &direction);
            part->direction = (int)direction;
            has_id = strcmp(bson_iter_key(&it), "_id") == 0;
            part->path = has_id ? NULL : bson_iter_key(&it);
            part->is_indexed = !has_id && is_key_of(p->index, part->path);
        }
    }
    if (!has_id)
        pg->parts[pg->n++] = (struct sort_part){.direction = 1};
    pg->has_after = find->after != NULL;
    for (unsigned i = 0; i < pg->n && pg->has_after; i++)
        set_after(&pg->parts[i], find->after, a);
}

static void
put_part(struct buf *sql, const struct sort_part *part)
{
    if (part->path == NULL) {
        buf_append_str(sql, "id");
    } else if (part->is_indexed) {
        sq_put_path(sql, part->path);
    } else {
        buf_append_str(sql, "bson_sort(doc,");
        sq_put_quoted(sql, part->path);
        buf_printf(sql, ",%d)", part->direction);
    }
}

/* Run `r` of a page: the first parts equal to the position, part n-1-r beyond it, the rest free. */
static void
put_position(struct sq_query *q, const struct page *pg, unsigned r)
{
    unsigned beyond = pg->n - 1 - r;

    for (unsigned i = 0; i <= beyond; i++) {
        const struct sort_part *part = &pg->parts[i];

        buf_append_str(&q->sql, " AND ");
        put_part(&q->sql, part);
        buf_append_str(&q->sql, i < beyond ? "=?" : part->direction > 0 ? ">?" : "<?");
        if (part->path == NULL)
            sq_query_bind(q, (struct sq_bind){.kind = SQ_BIND_INT, .i = part->after_id});
        else
            sq_query_bind(q, (struct sq_bind){.kind = SQ_BIND_BLOB, .blob = part->after});
    }
}

static void
put_order(struct sq_query *q, const struct page *pg)
{
    buf_append_str(&q->sql, " ORDER BY ");
    for (unsigned i = 0; i < pg->n; i++) {
        if (i > 0)
            buf_append_char(&q->sql, ',');
        put_part(&q->sql, &pg->parts[i]);
        if (pg->parts[i].direction < 0)
            buf_append_str(&q->sql, " DESC");
    }
    buf_append_str(&q->sql, " LIMIT ?");
}

static void
add_found(struct found *f, struct slice doc, struct arena *a)
{
    if (f->n == f->cap) {
        size_t cap = f->cap == 0 ? 16 : f->cap * 2;
        struct slice *grown = arena_array(a, cap, sizeof(*grown));

        if (f->n > 0)
            memcpy(grown, f->docs, f->n * sizeof(*grown));
        f->docs = grown;
        f->cap = cap;
    }
    f->docs[f->n++] = doc;
}

static int
collect_rows(struct sq_conn *c, sqlite3_stmt *stmt, const struct projection *proj,
    struct found *out, struct arena *a, struct err *err)
{
    int rc;

    while ((rc = sq_step(c, stmt, err)) == 1) {
        bson_t doc;

        if (proj == NULL) { /* as it is; looked at when the result is made */
            const void *p = sqlite3_column_blob(stmt, 0);

            add_found(out, arena_dup(a, slice_make(p, (size_t)sqlite3_column_bytes(stmt, 0))), a);
            continue;
        }
        if (sq_column_doc(stmt, 0, &doc, err) != 0) {
            sqlite3_reset(stmt);
            return -1;
        }
        add_found(out, projection_apply(proj, &doc, a), a);
    }
    return rc;
}

static int
find_by_ids(struct sq_conn *c, struct store_op *op, const struct projection *proj,
    struct found *out, struct arena *a, struct err *err)
{
    struct sq_query q;
    sqlite3_stmt *stmt;
    int rc = 0;

    sq_query_init(&q, a);
    buf_append_str(&q.sql, "SELECT doc FROM c_");
    buf_append_str(&q.sql, op->coll);
    buf_append_str(&q.sql, " WHERE id=?");
    for (size_t i = 0; i < op->n_ids && rc == 0; i++) {
        if ((stmt = sq_prepare_text(c, buf_cstr(&q.sql), err)) == NULL) {
            rc = -1;
            break;
        }
        sqlite3_bind_int64(stmt, 1, (int64_t)op->ids[i]);
        rc = collect_rows(c, stmt, proj, out, a, err);
    }
    sq_query_deinit(&q);
    return rc;
}

/* One run of a page (r), or the whole of a first page (no position). */
static int
find_run(struct sq_conn *c, struct store_op *op, const struct schema_coll *coll,
    const struct plan *p, const struct page *pg, unsigned r, const struct projection *proj,
    struct found *out, struct arena *a, struct err *err)
{
    struct sq_query q;
    sqlite3_stmt *stmt;
    int rc = -1;

    sq_query_init(&q, a);
    buf_append_str(&q.sql, "SELECT doc");
    sq_put_from_where(&q, coll, p, op->match);
    if (pg->has_after)
        put_position(&q, pg, r);
    put_order(&q, pg);
    sq_query_bind(
        &q, (struct sq_bind){.kind = SQ_BIND_INT, .i = (int64_t)(op->find.limit - out->n)});
    if ((stmt = sq_query_prepare(c, &q, err)) != NULL)
        rc = collect_rows(c, stmt, proj, out, a, err);
    sq_query_deinit(&q);
    return rc;
}

static int
find_by_filter(struct sq_conn *c, struct store_op *op, const struct projection *proj,
    struct found *out, struct arena *a, struct err *err)
{
    const struct schema_coll *coll;
    struct page pg;
    struct plan p;

    if (sq_docs_plan(c, op, &coll, &p, err) != 0)
        return -1;
    make_page(&pg, &op->find, &p, a);
    for (unsigned r = 0; r < (pg.has_after ? pg.n : 1) && out->n < op->find.limit; r++) {
        if (find_run(c, op, coll, &p, &pg, r, proj, out, a, err) != 0)
            return -1;
    }
    return 0;
}

int
sq_docs_find(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct projection *proj = projection_compile(op->find.projection, a);
    struct found found = {0};
    bson_t *docs;
    int rc = op->match != NULL ? find_by_filter(c, op, proj, &found, a, err)
                               : find_by_ids(c, op, proj, &found, a, err);

    if (rc != 0)
        return -1;
    docs = value_alloc(a, found.n > 0 ? found.n : 1, sizeof(*docs));
    for (size_t i = 0; i < found.n; i++) {
        if (!bson_init_static(&docs[i], (const uint8_t *)found.docs[i].p, found.docs[i].n))
            return err_sub(
                err, ERR_PERM, "store_corrupt", "%s: a stored document is damaged", op->coll);
    }
    op->out.docs = docs;
    op->out.n_docs = found.n;
    return 0;
}

int
sq_docs_count(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct schema_coll *coll;
    struct sq_query q;
    struct plan p;
    sqlite3_stmt *stmt;
    int rc = -1;

    if (sq_docs_plan(c, op, &coll, &p, err) != 0)
        return -1;
    sq_query_init(&q, a);
    buf_append_str(&q.sql, "SELECT count(*)");
    sq_put_from_where(&q, coll, &p, op->match);
    if ((stmt = sq_query_prepare(c, &q, err)) != NULL && (rc = sq_step(c, stmt, err)) == 1) {
        op->out.count = (uint64_t)sqlite3_column_int64(stmt, 0);
        rc = sq_exec(c, stmt, err);
    }
    sq_query_deinit(&q);
    return rc;
}
