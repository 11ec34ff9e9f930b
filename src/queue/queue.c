/* The thin front of the queue: every call goes to the backend chosen at start. */
#include "queue/queue.h"

#include "base/mem.h"

struct queue {
    const struct queue_ops *ops;
    void *impl;
};

struct queue *
queue_create(const struct queue_ops *ops, void *impl)
{
    struct queue *q = mem_alloc(sizeof(*q));

    q->ops = ops;
    q->impl = impl;
    return q;
}

void
queue_free(struct queue **qp)
{
    struct queue *q = *qp;

    if (q == NULL)
        return;
    q->ops->free(q->impl);
    mem_free(q);
    *qp = NULL;
}

void
queue_add(struct queue *q, uint64_t profile, enum send_lane lane, uint64_t group,
    const uint64_t *ids, size_t n)
{
    q->ops->add(q->impl, profile, lane, group, ids, n);
}

void
queue_take(struct queue *q, uint64_t profile, enum send_lane lane, size_t max, queue_take_fn *fn,
    void *arg)
{
    q->ops->take(q->impl, profile, lane, max, fn, arg);
}

void
queue_drop(struct queue *q, uint64_t group)
{
    q->ops->drop(q->impl, group);
}

size_t
queue_length(const struct queue *q, uint64_t group)
{
    return q->ops->length(q->impl, group);
}
