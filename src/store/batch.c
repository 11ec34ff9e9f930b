/*
 * Building a batch: each store_*() call copies its operands into the batch's arena and compiles
 * filter and update there, so that what is outside the language is refused before any thread has
 * seen it. The first mistake is kept in the batch's error and comes back from running it.
 *
 * Invariant: after its constructor an op refers to nothing outside the arena.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "store/driver.h"
#include "store/filter.h"
#include "store/schema.h"
#include "store/update.h"

#define FIND_LIMIT_MAX 1000u
#define INSERT_MAX     1000u

struct store_batch *
store_batch_create(struct store *st, enum store_prio prio)
{
    struct arena *a = arena_create(0);
    struct store_batch *b = arena_zalloc(a, sizeof(*b));

    b->st = st;
    b->prio = prio;
    b->arena = a;
    return b;
}

void
store_batch_free(struct store_batch **bp)
{
    struct arena *a;

    if (*bp == NULL)
        return;
    a = (*bp)->arena; /* the batch lives in its own arena */
    *bp = NULL;
    arena_free(&a);
}

struct arena *
store_batch_arena(struct store_batch *b)
{
    return b->arena;
}

static const bson_t *
dup_bson(struct arena *a, const bson_t *doc)
{
    bson_t *copy;
    uint8_t *data;

    if (doc == NULL)
        return NULL;
    copy = value_alloc(a, 1, sizeof(*copy));
    data = arena_alloc(a, doc->len);
    memcpy(data, bson_get_data(doc), doc->len);
    bson_init_static(copy, data, doc->len);
    return copy;
}

struct store_op *
store_batch_add(struct store_batch *b, enum store_op_kind kind, bool is_write)
{
    struct store_op *op;

    if (b->n_ops == b->cap_ops) {
        unsigned cap = b->cap_ops == 0 ? 4 : b->cap_ops * 2;
        struct store_op *ops = arena_array(b->arena, cap, sizeof(*ops));

        if (b->n_ops > 0)
            memcpy(ops, b->ops, b->n_ops * sizeof(*ops));
        b->ops = ops;
        b->cap_ops = cap;
    }
    op = &b->ops[b->n_ops++];
    memset(op, 0, sizeof(*op));
    op->kind = kind;
    op->is_write = is_write;
    if (is_write)
        b->is_write = true;
    return op;
}

/* Keep the first mistake, and which operation made it. */
static void
refuse(struct store_batch *b, const struct err *err)
{
    if (b->err.code != ERR_NONE)
        return;
    b->err = *err;
    err_prefix(
        &b->err, "operation %u (%s)", b->n_ops - 1, store_op_name(b->ops[b->n_ops - 1].kind));
}

static struct store_op *
add_docs(struct store_batch *b, enum store_op_kind kind, bool is_write, const char *coll,
    enum store_access access)
{
    struct store_op *op = store_batch_add(b, kind, is_write);
    const struct schema_coll *c = schema_coll_get(b->st->schema, coll);
    struct err err;

    op->access = access;
    if (c == NULL) {
        err_clear(&err);
        err_sub(&err, ERR_INVALID, "unknown_collection", "no collection \"%s\"", coll);
        refuse(b, &err);
    } else {
        op->coll = c->name;
    }
    return op;
}

static void
set_filter(struct store_batch *b, struct store_op *op, const bson_t *filter)
{
    struct err err;

    err_clear(&err);
    op->filter = dup_bson(b->arena, filter);
    if (op->filter == NULL) {
        op->filter = value_alloc(b->arena, 1, sizeof(bson_t));
        bson_init((bson_t *)op->filter);
    }
    if ((op->match = filter_compile(op->filter, b->arena, &err)) == NULL)
        refuse(b, &err);
}

unsigned
store_find(struct store_batch *b, const char *coll, enum store_access access, const bson_t *filter,
    const struct store_find *opts)
{
    struct store_op *op = add_docs(b, OP_FIND, false, coll, access);
    struct err err;

    err_clear(&err);
    set_filter(b, op, filter);
    if (opts != NULL) {
        op->find.sort = dup_bson(b->arena, opts->sort);
        op->find.projection = dup_bson(b->arena, opts->projection);
        op->find.after = dup_bson(b->arena, opts->after);
        op->find.limit = opts->limit;
    }
    if (filter_check_find(&op->find, &err) != 0)
        refuse(b, &err);
    if (op->find.limit == 0 || op->find.limit > FIND_LIMIT_MAX)
        op->find.limit = FIND_LIMIT_MAX;
    return b->n_ops - 1;
}

unsigned
store_find_id(struct store_batch *b, const char *coll, uint64_t id)
{
    return store_find_ids(b, coll, &id, 1, NULL);
}

unsigned
store_find_ids(struct store_batch *b, const char *coll, const uint64_t *ids, size_t n,
    const bson_t *projection)
{
    struct store_op *op = add_docs(b, OP_FIND, false, coll, STORE_INDEXED);
    uint64_t *copy;
    struct err err;

    err_clear(&err);
    if (n > FIND_LIMIT_MAX) {
        err_set(&err, ERR_LIMIT, "%zu ids, at most %u", n, FIND_LIMIT_MAX);
        refuse(b, &err);
        n = 0;
    }
    copy = arena_array(b->arena, n > 0 ? n : 1, sizeof(*copy));
    if (n > 0)
        memcpy(copy, ids, n * sizeof(*copy));
    op->ids = copy;
    op->n_ids = n;
    op->find.projection = dup_bson(b->arena, projection);
    op->find.limit = FIND_LIMIT_MAX;
    if (filter_check_find(&op->find, &err) != 0)
        refuse(b, &err);
    return b->n_ops - 1;
}

unsigned
store_count(struct store_batch *b, const char *coll, enum store_access access, const bson_t *filter)
{
    struct store_op *op = add_docs(b, OP_COUNT, false, coll, access);

    set_filter(b, op, filter);
    return b->n_ops - 1;
}

static unsigned
add_grouping(struct store_batch *b, enum store_op_kind kind, const char *coll,
    enum store_access access, const char *path, const bson_t *filter, uint32_t limit)
{
    struct store_op *op = add_docs(b, kind, false, coll, access);
    struct err err;

    err_clear(&err);
    op->path = arena_strdup(b->arena, path);
    op->limit = limit;
    if (filter_check_plain_path(path, &err) != 0)
        refuse(b, &err);
    set_filter(b, op, filter);
    return b->n_ops - 1;
}

unsigned
store_distinct(struct store_batch *b, const char *coll, enum store_access access, const char *path,
    const bson_t *filter, uint32_t limit)
{
    return add_grouping(b, OP_DISTINCT, coll, access, path, filter, limit);
}

unsigned
store_group_count(struct store_batch *b, const char *coll, enum store_access access,
    const char *path, const bson_t *filter, uint32_t limit)
{
    return add_grouping(b, OP_GROUP_COUNT, coll, access, path, filter, limit);
}

unsigned
store_insert(struct store_batch *b, const char *coll, const bson_t *const *docs, size_t n)
{
    struct store_op *op = add_docs(b, OP_INSERT, true, coll, STORE_INDEXED);
    const bson_t **copies;
    struct err err;

    err_clear(&err);
    if (n > INSERT_MAX) {
        err_set(&err, ERR_LIMIT, "%zu documents, at most %u", n, INSERT_MAX);
        refuse(b, &err);
        n = 0;
    }
    copies = arena_array(b->arena, n > 0 ? n : 1, sizeof(*copies));
    for (size_t i = 0; i < n; i++) {
        if (filter_check_doc(docs[i], &err) != 0) {
            err_prefix(&err, "document %zu", i);
            refuse(b, &err);
            n = i;
            break;
        }
        copies[i] = dup_bson(b->arena, docs[i]);
    }
    op->docs = copies;
    op->n_docs = n;
    return b->n_ops - 1;
}

unsigned
store_update(struct store_batch *b, const char *coll, enum store_access access,
    const bson_t *filter, const bson_t *update, unsigned flags)
{
    struct store_op *op = add_docs(b, OP_UPDATE, true, coll, access);
    struct err err;

    err_clear(&err);
    op->flags = flags;
    set_filter(b, op, filter);
    op->update = dup_bson(b->arena, update);
    if ((op->change = update_compile(op->update, b->arena, &err)) == NULL)
        refuse(b, &err);
    return b->n_ops - 1;
}

unsigned
store_delete(struct store_batch *b, const char *coll, enum store_access access,
    const bson_t *filter, unsigned flags)
{
    struct store_op *op = add_docs(b, OP_DELETE, true, coll, access);

    op->flags = flags;
    set_filter(b, op, filter);
    return b->n_ops - 1;
}

void
store_require(struct store_batch *b, unsigned op, enum err_code code, const char *sub)
{
    assert(op < b->n_ops && code != ERR_NONE);
    b->ops[op].require_code = code;
    b->ops[op].require_sub = arena_strdup(b->arena, sub);
}

void
store_note_suppressed(struct store_batch *b, int64_t address_hash)
{
    /* Grown by doubling at powers of two: few notes per batch, many only in an import. */
    if ((b->n_suppressed & (b->n_suppressed - 1)) == 0) {
        size_t cap = b->n_suppressed == 0 ? 1 : b->n_suppressed * 2;
        int64_t *grown = arena_array(b->arena, cap, sizeof(*grown));

        if (b->n_suppressed > 0)
            memcpy(grown, b->suppressed, b->n_suppressed * sizeof(*grown));
        b->suppressed = grown;
    }
    ((int64_t *)b->suppressed)[b->n_suppressed++] = address_hash;
    b->is_write = true;
}

const struct err *
store_batch_err(const struct store_batch *b)
{
    return b->err.code != ERR_NONE ? &b->err : NULL;
}

const struct store_result *
store_batch_result(const struct store_batch *b, unsigned op)
{
    assert(op < b->n_ops);
    return &b->ops[op].out;
}
