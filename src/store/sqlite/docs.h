#ifndef STORE_SQLITE_DOCS_H
#define STORE_SQLITE_DOCS_H

#include <stdbool.h>

#include "base/buf.h"
#include "store/plan.h"
#include "store/schema.h"
#include "store/sqlite/internal.h"

/**
 * Documents as SQL. One generator writes every expression that index definitions and queries share:
 * SQLite uses an expression index only for the very same text.
 */
struct sq_bind {
    enum { SQ_BIND_BLOB, SQ_BIND_INT, SQ_BIND_FILTER } kind;
    struct slice blob;
    int64_t i;
    const struct filter *filter;
};

struct sq_query {
    struct arena *a;
    struct buf sql;
    struct sq_bind *binds;
    unsigned n_binds, cap_binds;
};

void sq_query_init(struct sq_query *q, struct arena *a);
void sq_query_deinit(struct sq_query *q);
void sq_query_bind(struct sq_query *q, struct sq_bind b);
/** Prepare (cached by text) and bind. NULL with err. */
sqlite3_stmt *sq_query_prepare(struct sq_conn *c, struct sq_query *q, struct err *err);

/** A text literal. */
void sq_put_quoted(struct buf *sql, const char *text);
/** bson_get(doc,'path') */
void sq_put_path(struct buf *sql, const char *path);
/** The CREATE INDEX statement of an index. */
void sq_put_index(struct buf *sql, const struct schema_index *index);
/** "i_<collection>_<index>" */
void sq_put_index_name(struct buf *sql, const struct schema_index *index);

/** Append " FROM c_x [INDEXED BY ...] WHERE ..." for a plan; what the plan does not answer is checked
 * by the compiled filter. */
void sq_put_from_where(struct sq_query *q, const struct schema_coll *coll, const struct plan *p,
    const struct filter *f);

/** Plan an operation and hold it to its declared access. */
int sq_docs_plan(struct sq_conn *c, const struct store_op *op, const struct schema_coll **coll_r,
    struct plan *p, struct err *err);

/** The document in column `col` of a row, borrowed until the next step. */
int sq_column_doc(sqlite3_stmt *stmt, int col, bson_t *doc_r, struct err *err);

/** Name of the unique index a constraint error speaks of: of `coll`, or "_id". */
const char *sq_duplicate_index(const struct schema_coll *coll, const struct err *err);

/* docs_read.c, docs_group.c, docs_write.c */
int sq_docs_find(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_docs_count(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_docs_group(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_docs_insert(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_docs_update(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);
int sq_docs_delete(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err);

#endif
