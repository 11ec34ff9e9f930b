#include "store/sends.h"

#include <assert.h>
#include <string.h>

#include "store/driver.h"

/*
 * Operations on send rows: each constructor copies its operands, with every byte string in them, into
 * the batch's arena, so the caller may forget them at once. Bounds are asserted here: the callers cut
 * what comes from outside to size before. What the operations do is in the drivers and send_moves.c.
 */

#define PLAN_MAX       1000u
#define COMMIT_MAX     4096u
#define IDS_MAX        1000u
#define LIST_MAX       500u
#define BATCH_MAX      1000u
#define ADDRESS_MAX    320u
#define REPLY_TEXT_MAX 1024u
#define PROVIDER_MAX   256u

static unsigned
add_op(struct store_batch *b, enum store_op_kind kind, bool is_write, const void *args)
{
    store_batch_add(b, kind, is_write)->args = args;
    return b->n_ops - 1;
}

/** A copy of `n` items in the arena, NULL when there are none. */
static void *
dup_items(struct arena *a, const void *items, size_t n, size_t size_bytes)
{
    void *copy;

    if (n == 0)
        return NULL;
    copy = arena_array(a, n, size_bytes);
    memcpy(copy, items, n * size_bytes);
    return copy;
}

static unsigned
limit_clamp(unsigned limit, unsigned max)
{
    return limit == 0 || limit > max ? max : limit;
}

unsigned
sends_plan(struct store_batch *b, const struct sends_plan *p)
{
    struct sends_plan *args = dup_items(b->arena, p, 1, sizeof(*p));
    struct sends_plan_row *rows = dup_items(b->arena, p->rows, p->n_rows, sizeof(*rows));

    assert(p->broadcast != 0 && p->n_rows <= PLAN_MAX && p->n_excluded <= PLAN_MAX);
    assert(p->cursor_before.n <= RUN_CURSOR_MAX && p->cursor_after.n <= RUN_CURSOR_MAX);
    for (size_t i = 0; i < p->n_rows; i++) {
        assert(rows[i].id != 0 && rows[i].contact != 0 && rows[i].address_hash >= 0);
        assert(rows[i].address.n > 0 && rows[i].address.n <= ADDRESS_MAX);
        rows[i].address = arena_dup(b->arena, rows[i].address);
    }
    args->rows = rows;
    args->excluded = dup_items(b->arena, p->excluded, p->n_excluded, sizeof(*p->excluded));
    args->cursor_before = arena_dup(b->arena, p->cursor_before);
    args->cursor_after = arena_dup(b->arena, p->cursor_after);
    return add_op(b, OP_SENDS_PLAN, true, args);
}

unsigned
sends_insert_oneoff(struct store_batch *b, const struct send_row *row, struct slice content)
{
    struct sends_oneoff_args *args = arena_zalloc(b->arena, sizeof(*args));

    assert(row->id != 0 && row->profile != 0);
    assert(row->address.n > 0 && row->address.n <= ADDRESS_MAX);
    args->row = *row;
    args->row.address = arena_dup(b->arena, row->address);
    args->content = arena_dup(b->arena, content);
    return add_op(b, OP_SENDS_ONEOFF, true, args);
}

unsigned
sends_due(struct store_batch *b, uint64_t group, int64_t after_due_ms, uint64_t after_id,
    int64_t now_ms, unsigned n)
{
    struct sends_due_args *args = arena_zalloc(b->arena, sizeof(*args));

    args->group = group;
    args->after_due_ms = after_due_ms;
    args->after_id = after_id;
    args->now_ms = now_ms;
    args->n = limit_clamp(n, BATCH_MAX);
    return add_op(b, OP_SENDS_DUE, false, args);
}

unsigned
sends_oneoff_groups(struct store_batch *b)
{
    return add_op(b, OP_SENDS_GROUPS, false, NULL);
}

static struct sends_ids_args *
dup_ids(struct store_batch *b, uint64_t broadcast, const uint64_t *ids, size_t n)
{
    struct sends_ids_args *args = arena_zalloc(b->arena, sizeof(*args));

    assert(n <= IDS_MAX);
    args->broadcast = broadcast;
    args->ids = dup_items(b->arena, ids, n, sizeof(*ids));
    args->n = n;
    return args;
}

unsigned
sends_get(struct store_batch *b, uint64_t broadcast, const uint64_t *ids, size_t n)
{
    return add_op(b, OP_SENDS_GET, false, dup_ids(b, broadcast, ids, n));
}

static const struct sends_settle *
dup_settles(struct arena *a, const struct sends_settle *s, size_t n)
{
    struct sends_settle *copy = dup_items(a, s, n, sizeof(*s));

    assert(n <= COMMIT_MAX);
    for (size_t i = 0; i < n; i++) {
        assert(copy[i].reply_text.n <= REPLY_TEXT_MAX && copy[i].provider_id.n <= PROVIDER_MAX);
        copy[i].reply_text = arena_dup(a, copy[i].reply_text);
        copy[i].provider_id = arena_dup(a, copy[i].provider_id);
    }
    return copy;
}

unsigned
sends_commit(struct store_batch *b, const struct sends_commit *c)
{
    struct sends_commit *args = dup_items(b->arena, c, 1, sizeof(*c));

    assert(c->owner != 0 && c->n_claims <= COMMIT_MAX);
    args->settles = dup_settles(b->arena, c->settles, c->n_settles);
    args->claims = dup_items(b->arena, c->claims, c->n_claims, sizeof(*c->claims));
    for (size_t i = 0; i < c->n_claims; i++)
        assert(c->claims[i].token != 0);
    return add_op(b, OP_SENDS_COMMIT, true, args);
}

unsigned
sends_settle_queued(struct store_batch *b, const struct sends_settle *s, size_t n)
{
    struct sends_settle_args *args = arena_zalloc(b->arena, sizeof(*args));

    args->s = dup_settles(b->arena, s, n);
    args->n = n;
    return add_op(b, OP_SENDS_SETTLE, true, args);
}

unsigned
sends_feedback(struct store_batch *b, const struct sends_feedback *f, size_t n)
{
    struct sends_feedback_args *args = arena_zalloc(b->arena, sizeof(*args));

    assert(n <= COMMIT_MAX);
    args->f = dup_items(b->arena, f, n, sizeof(*f));
    args->n = n;
    return add_op(b, OP_SENDS_FEEDBACK, true, args);
}

unsigned
sends_recover(struct store_batch *b, const struct sends_recover *r)
{
    struct sends_recover *args = dup_items(b->arena, r, 1, sizeof(*r));

    args->limit = limit_clamp(r->limit, BATCH_MAX);
    return add_op(b, OP_SENDS_RECOVER, true, args);
}

unsigned
sends_requeue(struct store_batch *b, const struct sends_requeue *r)
{
    struct sends_requeue *args = dup_items(b->arena, r, 1, sizeof(*r));

    assert(r->from == SEND_FAILED || r->from == SEND_UNKNOWN || r->from == SEND_SUPPRESSED);
    assert(r->n_ids <= IDS_MAX);
    args->ids = dup_items(b->arena, r->ids, r->n_ids, sizeof(*r->ids));
    args->limit = limit_clamp(r->limit, BATCH_MAX);
    return add_op(b, OP_SENDS_REQUEUE, true, args);
}

unsigned
sends_resolve(struct store_batch *b, uint64_t broadcast, const uint64_t *ids, size_t n,
    enum send_state to, int64_t now_ms)
{
    struct sends_ids_args *args = dup_ids(b, broadcast, ids, n);

    assert(to == SEND_SENT || to == SEND_FAILED);
    args->to = to;
    args->now_ms = now_ms;
    return add_op(b, OP_SENDS_RESOLVE, true, args);
}

unsigned
sends_list(struct store_batch *b, const struct sends_list *l)
{
    struct sends_list *args = dup_items(b->arena, l, 1, sizeof(*l));

    args->limit = limit_clamp(l->limit, LIST_MAX);
    return add_op(b, OP_SENDS_LIST, false, args);
}

unsigned
sends_exclusions(struct store_batch *b, uint64_t broadcast, enum exclusion_reason reason,
    uint64_t after, unsigned limit)
{
    struct sends_excl_args *args = arena_zalloc(b->arena, sizeof(*args));

    args->broadcast = broadcast;
    args->reason = reason;
    args->after = after;
    args->limit = limit_clamp(limit, LIST_MAX);
    return add_op(b, OP_SENDS_EXCLUSIONS, false, args);
}

unsigned
sends_detail(struct store_batch *b, uint64_t broadcast, uint64_t id)
{
    return add_op(b, OP_SENDS_DETAIL, false, dup_ids(b, broadcast, &id, 1));
}

const struct sends_result *
sends_result(const struct store_batch *b, unsigned op)
{
    assert(op < b->n_ops);
    return &b->ops[op].sends_out;
}
