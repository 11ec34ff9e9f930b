/*
 * Distinct values and counts per value: one walk over what the filter finds, a hash table keyed by the
 * order-preserving key of each value, and the groups in value order at the end. Memory is bounded by the
 * number of different values, and that by GROUPS_MAX.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "store/project.h"
#include "store/sqlite/docs.h"
#include "store/value.h"

#define GROUPS_MAX 100000u

struct group {
    struct slice key;   /* value_key() */
    struct slice first; /* document {"v": value} */
    uint64_t n;
};

struct grouping {
    struct arena *a;
    struct map_str *groups;
    struct buf key;
    bool is_full;
    bool counts_missing; /* group count: under null; distinct: not at all */
};

static struct slice
wrap_value(struct arena *a, const bson_iter_t *v)
{
    bson_t doc = BSON_INITIALIZER;
    struct slice kept;

    if (v == NULL)
        bson_append_null(&doc, "v", 1);
    else
        bson_append_iter(&doc, "v", 1, v);
    kept = arena_dup(a, slice_make(bson_get_data(&doc), doc.len));
    bson_destroy(&doc);
    return kept;
}

static void
on_value(const bson_iter_t *v, void *arg)
{
    struct grouping *g = arg;
    struct group *group;

    if (v == NULL && !g->counts_missing)
        return;
    buf_clear(&g->key);
    if (v == NULL)
        buf_append_char(&g->key, VALUE_RANK_NULL);
    else
        value_key(&g->key, v);
    group = map_str_get(g->groups, buf_slice(&g->key));
    if (group == NULL) {
        if (map_str_count(g->groups) >= GROUPS_MAX) {
            g->is_full = true;
            return;
        }
        group = arena_zalloc(g->a, sizeof(*group));
        group->key = arena_dup(g->a, buf_slice(&g->key));
        group->first = wrap_value(g->a, v);
        map_str_put(g->groups, group->key, group);
    }
    group->n++;
}

static int
cmp_groups(const void *a, const void *b)
{
    const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

    return slice_cmp(x->key, y->key);
}

static int
walk(struct sq_conn *c, struct store_op *op, struct grouping *g, struct err *err)
{
    bool is_distinct = op->kind == OP_DISTINCT;
    const struct schema_coll *coll;
    struct filter_path path;
    struct sq_query q;
    struct plan p;
    sqlite3_stmt *stmt;
    int rc = -1;

    if (filter_path_parse(op->path, &path, err) != 0 || sq_docs_plan(c, op, &coll, &p, err) != 0)
        return -1;
    sq_query_init(&q, g->a);
    buf_append_str(&q.sql, "SELECT doc");
    sq_put_from_where(&q, coll, &p, op->match);
    if ((stmt = sq_query_prepare(c, &q, err)) != NULL) {
        while ((rc = sq_step(c, stmt, err)) == 1) {
            bson_t doc;

            if (sq_column_doc(stmt, 0, &doc, err) != 0) {
                sqlite3_reset(stmt);
                rc = -1;
                break;
            }
            path_values(&path, &doc, is_distinct, on_value, g);
        }
    }
    sq_query_deinit(&q);
    if (rc == 0 && g->is_full)
        return err_sub(err, ERR_LIMIT, "too_many_values", "more than %u values", GROUPS_MAX);
    return rc;
}

static void
put_result(struct store_op *op, struct grouping *g)
{
    size_t n = map_str_count(g->groups), i = 0, at = 0;
    struct group **sorted = arena_array(g->a, n + 1, sizeof(*sorted));
    struct slice key;
    void *value;
    bson_t *docs;

    while (map_str_next(g->groups, &at, &key, &value))
        sorted[i++] = value;
    qsort(sorted, n, sizeof(struct group *), cmp_groups);
    if (op->limit > 0 && n > op->limit)
        n = op->limit;
    docs = value_alloc(g->a, n + 1, sizeof(*docs));
    for (i = 0; i < n; i++) {
        struct slice bytes = sorted[i]->first;

        if (op->kind == OP_GROUP_COUNT) {
            bson_t doc;

            bson_init_static(&doc, (const uint8_t *)bytes.p, bytes.n);
            bson_t out = BSON_INITIALIZER;

            bson_concat(&out, &doc);
            bson_append_int64(&out, "n", 1, (int64_t)sorted[i]->n);
            bytes = arena_dup(g->a, slice_make(bson_get_data(&out), out.len));
            bson_destroy(&out);
        }
        bson_init_static(&docs[i], (const uint8_t *)bytes.p, bytes.n);
    }
    op->out.docs = docs;
    op->out.n_docs = n;
}

int
sq_docs_group(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    struct grouping g = {.a = a, .counts_missing = op->kind == OP_GROUP_COUNT};
    int rc;

    g.groups = map_str_create();
    rc = walk(c, op, &g, err);
    if (rc == 0)
        put_result(op, &g);
    map_str_free(&g.groups);
    buf_deinit(&g.key);
    return rc;
}
