#include "store/instances.h"

#include <assert.h>

#include "store/driver.h"

/*
 * Operations on instance records; operands are copied into the batch's arena. The rules of number,
 * fingerprint and adoption are the drivers', since they depend on who can share the store.
 */

static unsigned
add_record_op(struct store_batch *b, enum store_op_kind kind, const struct instance_record *r)
{
    struct instance_record *args = arena_zalloc(b->arena, sizeof(*args));

    *args = *r;
    store_batch_add(b, kind, true)->args = args;
    return b->n_ops - 1;
}

unsigned
instances_start(struct store_batch *b, const struct instance_record *r)
{
    assert(r->fingerprint[0] != '\0' && r->incarnation != 0);
    return add_record_op(b, OP_INSTANCES_START, r);
}

unsigned
instances_beat(struct store_batch *b, const struct instance_record *r)
{
    return add_record_op(b, OP_INSTANCES_BEAT, r);
}

unsigned
instances_list(struct store_batch *b)
{
    store_batch_add(b, OP_INSTANCES_LIST, false);
    return b->n_ops - 1;
}

unsigned
instances_adopt(struct store_batch *b, unsigned number, uint64_t incarnation)
{
    struct instances_adopt_args *args = arena_zalloc(b->arena, sizeof(*args));

    args->number = number;
    args->incarnation = incarnation;
    store_batch_add(b, OP_INSTANCES_ADOPT, true)->args = args;
    return b->n_ops - 1;
}

const struct instances_result *
instances_result(const struct store_batch *b, unsigned op)
{
    assert(op < b->n_ops);
    return &b->ops[op].inst_out;
}
