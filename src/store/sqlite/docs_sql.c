/*
 * Writing SQL for documents: the one generator of index expressions and query conditions, and the
 * dispatcher of document operations.
 *
 * A condition on an indexed path compares keys (value.h), which are blobs: equality is "=", an order
 * is a range of keys within one type bracket. On `_id` it compares the row id. Missing and null have
 * one key, so nothing here is ever SQL NULL.
 */
#include <assert.h>
#include <string.h>

#include "store/sqlite/docs.h"
#include "store/value.h"

void
sq_query_init(struct sq_query *q, struct arena *a)
{
    memset(q, 0, sizeof(*q));
    q->a = a;
}

void
sq_query_deinit(struct sq_query *q)
{
    buf_deinit(&q->sql);
}

void
sq_query_bind(struct sq_query *q, struct sq_bind b)
{
    if (q->n_binds == q->cap_binds) {
        unsigned cap = q->cap_binds == 0 ? 8 : q->cap_binds * 2;
        struct sq_bind *grown = arena_array(q->a, cap, sizeof(*grown));

        if (q->n_binds > 0)
            memcpy(grown, q->binds, q->n_binds * sizeof(*grown));
        q->binds = grown;
        q->cap_binds = cap;
    }
    q->binds[q->n_binds++] = b;
}

sqlite3_stmt *
sq_query_prepare(struct sq_conn *c, struct sq_query *q, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_text(c, buf_cstr(&q->sql), err);

    if (stmt == NULL)
        return NULL;
    for (unsigned i = 0; i < q->n_binds; i++) {
        const struct sq_bind *b = &q->binds[i];
        int at = (int)i + 1;

        switch (b->kind) {
        case SQ_BIND_BLOB:
            sqlite3_bind_blob64(stmt, at, b->blob.p, b->blob.n, SQLITE_STATIC);
            break;
        case SQ_BIND_INT: sqlite3_bind_int64(stmt, at, b->i); break;
        case SQ_BIND_FILTER:
            sqlite3_bind_pointer(stmt, at, (void *)(uintptr_t)b->filter, "filter", NULL);
            break;
        }
    }
    return stmt;
}

/* ---- expressions ----------------------------------------------------------------------------- */

void
sq_put_quoted(struct buf *sql, const char *text)
{
    buf_append_char(sql, '\'');
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '\'')
            buf_append_char(sql, '\'');
        buf_append_char(sql, *p);
    }
    buf_append_char(sql, '\'');
}

void
sq_put_path(struct buf *sql, const char *path)
{
    buf_append_str(sql, "bson_get(doc,");
    sq_put_quoted(sql, path);
    buf_append_char(sql, ')');
}

void
sq_put_index_name(struct buf *sql, const struct schema_index *index)
{
    buf_append_str(sql, "i_");
    buf_append_str(sql, index->coll);
    buf_append_char(sql, '_');
    buf_append_str(sql, index->name);
}

/* A key as a literal (index definitions) or a bound value (queries: q not NULL). */
static void
put_key(struct buf *sql, struct sq_query *q, struct slice key)
{
    if (q != NULL) {
        buf_append_char(sql, '?');
        sq_query_bind(q, (struct sq_bind){.kind = SQ_BIND_BLOB, .blob = arena_dup(q->a, key)});
        return;
    }
    buf_append_str(sql, "x'");
    for (size_t i = 0; i < key.n; i++)
        buf_printf(sql, "%02x", (unsigned char)key.p[i]);
    buf_append_char(sql, '\'');
}

static void
put_value(struct buf *sql, struct sq_query *q, const bson_iter_t *v)
{
    struct buf key = BUF_INIT;

    value_key(&key, v);
    put_key(sql, q, buf_slice(&key));
    buf_deinit(&key);
}

static void
put_rank(struct buf *sql, unsigned rank)
{
    buf_printf(sql, "x'%02x'", rank);
}

static void
put_range(struct buf *sql, struct sq_query *q, const struct filter *f)
{
    unsigned rank = value_rank(&f->value);
    bool is_lower = f->op == FILTER_GT || f->op == FILTER_GTE;
    bool is_equal = f->op == FILTER_GTE || f->op == FILTER_LTE;

    if (rank == VALUE_RANK_NULL) { /* null is equal to itself and orders nothing */
        if (is_equal) {
            sq_put_path(sql, f->path->text);
            buf_append_char(sql, '=');
            put_rank(sql, rank);
        } else {
            buf_append_char(sql, '0');
        }
        return;
    }
    sq_put_path(sql, f->path->text);
    buf_append_str(sql, is_lower ? ">" : "<");
    if (is_equal)
        buf_append_char(sql, '=');
    put_value(sql, q, &f->value);
    buf_append_str(sql, " AND ");
    sq_put_path(sql, f->path->text);
    buf_append_str(sql, is_lower ? "<" : ">=");
    put_rank(sql, is_lower ? rank + 1 : rank);
}

/* The number of `?` is rounded up, so that lists of all lengths share a few statements. */
static size_t
in_slots(size_t n)
{
    size_t slots = 1;

    while (slots < n)
        slots *= 2;
    return slots;
}

static void
put_in(struct buf *sql, struct sq_query *q, const struct filter *f)
{
    size_t slots = q != NULL ? in_slots(f->n_values) : f->n_values;

    if (f->n_values == 0) {
        buf_append_char(sql, '0');
        return;
    }
    sq_put_path(sql, f->path->text);
    buf_append_str(sql, " IN (");
    for (size_t i = 0; i < slots; i++) {
        if (i > 0)
            buf_append_char(sql, ',');
        put_value(sql, q, &f->values[i < f->n_values ? i : f->n_values - 1].it);
    }
    buf_append_char(sql, ')');
}

static void
put_path_cond(struct buf *sql, struct sq_query *q, const struct filter *f)
{
    switch (f->op) {
    case FILTER_EQ:
        sq_put_path(sql, f->path->text);
        buf_append_char(sql, '=');
        put_value(sql, q, &f->value);
        break;
    case FILTER_IN: put_in(sql, q, f); break;
    default: put_range(sql, q, f); break;
    }
}

/* ---- conditions on _id ----------------------------------------------------------------------- */

static void
put_id_in(struct sq_query *q, const struct filter *f)
{
    size_t slots = in_slots(f->n_values), n = 0;
    int64_t last = 0;

    buf_append_str(&q->sql, "id IN (");
    for (size_t i = 0; i < f->n_values; i++) {
        if (!value_int(&f->values[i].it, &last))
            continue;
        buf_append_str(&q->sql, n++ > 0 ? ",?" : "?");
        sq_query_bind(q, (struct sq_bind){.kind = SQ_BIND_INT, .i = last});
    }
    for (size_t i = n; i > 0 && i < slots; i++) {
        buf_append_str(&q->sql, ",?");
        sq_query_bind(q, q->binds[q->n_binds - 1]);
    }
    buf_append_char(&q->sql, ')');
}

static void
put_id_cond(struct sq_query *q, const struct filter *f)
{
    static const char *const ops[] = {[FILTER_EQ] = "id=?",
        [FILTER_LT] = "id<?",
        [FILTER_LTE] = "id<=?",
        [FILTER_GT] = "id>?",
        [FILTER_GTE] = "id>=?"};
    int64_t i;

    if (f->op == FILTER_IN) {
        put_id_in(q, f);
    } else if (!value_int(&f->value, &i)) {
        buf_append_char(&q->sql, '0'); /* equality with something no id can be */
    } else {
        buf_append_str(&q->sql, ops[f->op]);
        sq_query_bind(q, (struct sq_bind){.kind = SQ_BIND_INT, .i = i});
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

/* The condition of a partial index, always in literals: the same text in index and query. */
static void
put_partial(struct buf *sql, const struct filter *f, bool *is_first)
{
    if (f->op == FILTER_AND) {
        for (size_t i = 0; i < f->n_kids; i++)
            put_partial(sql, f->kids[i], is_first);
        return;
    }
    assert(f->path != NULL); /* conjunctions of comparisons only */
    if (!*is_first)
        buf_append_str(sql, " AND ");
    *is_first = false;
    put_path_cond(sql, NULL, f);
}

void
sq_put_index(struct buf *sql, const struct schema_index *index)
{
    bool is_first = true;

    buf_append_str(sql, index->is_unique ? "CREATE UNIQUE INDEX " : "CREATE INDEX ");
    sq_put_index_name(sql, index);
    buf_printf(sql, " ON c_%s(", index->coll);
    for (unsigned k = 0; k < index->n_keys; k++) {
        if (k > 0)
            buf_append_char(sql, ',');
        sq_put_path(sql, index->keys[k].path);
        if (index->keys[k].direction < 0)
            buf_append_str(sql, " DESC");
    }
    buf_append_char(sql, ')');
    if (index->in_index != NULL) {
        buf_append_str(sql, " WHERE ");
        put_partial(sql, index->in_index, &is_first);
    }
}

void
sq_put_from_where(struct sq_query *q, const struct schema_coll *coll, const struct plan *p,
    const struct filter *f)
{
    bool is_first = true;

    buf_append_str(&q->sql, " FROM c_");
    buf_append_str(&q->sql, coll->name);
    if (p->index != NULL) {
        buf_append_str(&q->sql, " INDEXED BY ");
        sq_put_index_name(&q->sql, p->index);
    }
    buf_append_str(&q->sql, " WHERE ");
    if (p->index != NULL && p->index->in_index != NULL)
        put_partial(&q->sql, p->index->in_index, &is_first);
    for (unsigned i = 0; i < p->n_conds; i++) {
        if (!is_first)
            buf_append_str(&q->sql, " AND ");
        is_first = false;
        if (strcmp(p->conds[i]->path->text, "_id") == 0)
            put_id_cond(q, p->conds[i]);
        else
            put_path_cond(&q->sql, q, p->conds[i]);
    }
    if (!p->is_exact) {
        buf_append_str(&q->sql, is_first ? "bson_match(?,doc)" : " AND bson_match(?,doc)");
        sq_query_bind(q, (struct sq_bind){.kind = SQ_BIND_FILTER, .filter = f});
    } else if (is_first) {
        buf_append_char(&q->sql, '1');
    }
}

int
sq_docs_plan(struct sq_conn *c, const struct store_op *op, const struct schema_coll **coll_r,
    struct plan *p, struct err *err)
{
    *coll_r = schema_coll_get(c->schema, op->coll);
    plan_make(p, *coll_r, op->match, op->kind == OP_FIND ? &op->find : NULL);
    if (op->access == STORE_INDEXED && !p->is_served)
        return err_sub(
            err, ERR_INVALID, "not_indexed", "%s: no index serves this filter", op->coll);
    return 0;
}

int
sq_column_doc(sqlite3_stmt *stmt, int col, bson_t *doc_r, struct err *err)
{
    const void *p = sqlite3_column_blob(stmt, col);
    int n = sqlite3_column_bytes(stmt, col);

    if (p == NULL || !bson_init_static(doc_r, p, (size_t)n))
        return err_sub(err, ERR_PERM, "store_corrupt", "a stored document is damaged");
    return 0;
}

const char *
sq_duplicate_index(const struct schema_coll *coll, const struct err *err)
{
    const char *at = strstr(err->text, "index 'i_");
    size_t skip = strlen("index 'i_") + strlen(coll->name) + 1;

    if (at == NULL || strlen(at) < skip)
        return "_id";
    for (unsigned i = 0; i < coll->n_indexes; i++) {
        const char *name = coll->indexes[i]->name;
        size_t n = strlen(name);

        if (strncmp(at + skip, name, n) == 0 && at[skip + n] == '\'')
            return name;
    }
    return "_id";
}

int
sq_op_docs(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    switch (op->kind) {
    case OP_FIND: return sq_docs_find(c, op, a, err);
    case OP_COUNT: return sq_docs_count(c, op, a, err);
    case OP_DISTINCT:
    case OP_GROUP_COUNT: return sq_docs_group(c, op, a, err);
    case OP_INSERT: return sq_docs_insert(c, op, a, err);
    case OP_UPDATE: return sq_docs_update(c, op, a, err);
    case OP_DELETE: return sq_docs_delete(c, op, a, err);
    default:
        return err_set(err, ERR_INTERNAL, "%s is no document operation", store_op_name(op->kind));
    }
}
