#include "store/runs.h"

#include <assert.h>

#include "store/driver.h"

/*
 * Operations on run records: each constructor copies its operands into the batch's arena, so the
 * caller may forget them at once. What the operations do is in the drivers and in run_moves.c.
 */

#define RUNS_LIMIT_MAX 1000u

static unsigned
add_op(struct store_batch *b, enum store_op_kind kind, bool is_write, const void *args)
{
    store_batch_add(b, kind, is_write)->args = args;
    return b->n_ops - 1;
}

static unsigned
limit_clamp(unsigned limit)
{
    return limit == 0 || limit > RUNS_LIMIT_MAX ? RUNS_LIMIT_MAX : limit;
}

static void
dup_record(struct arena *a, struct run_record *to, const struct run_record *from)
{
    assert(from->cursor.n <= RUN_CURSOR_MAX && from->reason_detail.n <= RUN_DETAIL_MAX);
    *to = *from;
    to->cursor = arena_dup(a, from->cursor);
    to->reason_detail = arena_dup(a, from->reason_detail);
}

static unsigned
add_key_op(struct store_batch *b, enum store_op_kind kind, bool is_write, struct runs_key_args key)
{
    struct runs_key_args *args = arena_zalloc(b->arena, sizeof(*args));

    *args = key;
    return add_op(b, kind, is_write, args);
}

unsigned
runs_create(struct store_batch *b, const struct run_record *r)
{
    struct run_record *args = arena_zalloc(b->arena, sizeof(*args));

    assert(r->broadcast != 0);
    dup_record(b->arena, args, r);
    args->n = (struct run_counters){0};
    return add_op(b, OP_RUNS_CREATE, true, args);
}

unsigned
runs_get(struct store_batch *b, uint64_t broadcast)
{
    return add_key_op(b, OP_RUNS_GET, false, (struct runs_key_args){.broadcast = broadcast});
}

unsigned
runs_list(struct store_batch *b, uint32_t state_mask, uint64_t after, unsigned limit)
{
    struct runs_list_args *args = arena_zalloc(b->arena, sizeof(*args));

    args->state_mask = state_mask;
    args->after = after;
    args->limit = limit_clamp(limit);
    return add_op(b, OP_RUNS_LIST, false, args);
}

unsigned
runs_due(struct store_batch *b, int64_t now_ms, unsigned limit)
{
    return add_key_op(b, OP_RUNS_DUE, false,
        (struct runs_key_args){.now_ms = now_ms, .limit = limit_clamp(limit)});
}

unsigned
runs_delete(struct store_batch *b, uint64_t broadcast, uint32_t state_mask)
{
    return add_key_op(b, OP_RUNS_DELETE, true,
        (struct runs_key_args){.broadcast = broadcast, .state_mask = state_mask});
}

/** An edge that no state of the condition has is our own mistake, not a race. */
static bool
edges_exist(const struct run_change *c)
{
    if ((c->set & RUN_SET_STATE) == 0)
        return true;
    for (int from = 0; from < RUN_STATES; from++) {
        bool is_named = (c->if_states & (1u << from)) != 0;

        if (is_named && !run_edge_allowed((enum run_state)from, c->to.state))
            return false;
    }
    return c->if_states != 0;
}

unsigned
runs_change(struct store_batch *b, const struct run_change *c)
{
    struct run_change *args = arena_zalloc(b->arena, sizeof(*args));

    assert(edges_exist(c));
    *args = *c;
    dup_record(b->arena, &args->to, &c->to);
    return add_op(b, OP_RUNS_CHANGE, true, args);
}

unsigned
runs_recount(struct store_batch *b, uint64_t broadcast)
{
    return add_key_op(b, OP_RUNS_RECOUNT, false, (struct runs_key_args){.broadcast = broadcast});
}

unsigned
runs_correct(struct store_batch *b, uint64_t broadcast, const struct run_counters *delta)
{
    struct runs_correct_args *args = arena_zalloc(b->arena, sizeof(*args));

    args->broadcast = broadcast;
    args->delta = *delta;
    return add_op(b, OP_RUNS_CORRECT, true, args);
}

const struct run_result *
runs_result(const struct store_batch *b, unsigned op)
{
    assert(op < b->n_ops);
    return &b->ops[op].run_out;
}
