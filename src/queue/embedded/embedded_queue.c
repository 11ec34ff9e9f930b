/*
 * The embedded queue: one ring of ids per group in memory.
 *
 * A feeder keeps each ring between its low and high water mark from the due index, so memory is
 * bounded by groups × window whatever the length of a broadcast. Rings of one profile and lane hang on
 * a list; a take serves the first ring with ids and moves it to the end: round robin.
 */
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "queue/queue.h"

struct ring {
    struct list node; /* on its turn */
    uint64_t group;
    uint64_t *ids;
    size_t head, n, cap;
};

/* The groups of one profile and lane, in the order of their turn. */
struct turn {
    struct list node;
    uint64_t profile;
    enum send_lane lane;
    struct list rings;
};

struct embedded {
    struct loop *loop;
    struct list turns;     /* few: one per profile and lane in use */
    struct map_u64 *rings; /* group -> struct ring */
    struct list takes;     /* answers that are due at the end of the turn */
};

struct take {
    struct list node;
    struct embedded *q;
    uint64_t profile;
    enum send_lane lane;
    size_t max;
    queue_take_fn *fn;
    void *arg;
};

static struct turn *
turn_of(struct embedded *q, uint64_t profile, enum send_lane lane)
{
    struct turn *t;

    LIST_EACH(node, tmp, &q->turns)
    {
        t = LIST_ENTRY(node, struct turn, node);
        if (t->profile == profile && t->lane == lane)
            return t;
    }
    t = mem_zalloc(sizeof(*t));
    t->profile = profile;
    t->lane = lane;
    list_init(&t->rings);
    list_push_back(&q->turns, &t->node);
    return t;
}

static void
ring_grow(struct ring *r, size_t more)
{
    size_t cap = r->cap != 0 ? r->cap : 64;
    uint64_t *ids;

    if (r->n + more <= r->cap)
        return;
    while (cap < r->n + more)
        cap *= 2;
    ids = mem_array(cap, sizeof(*ids));
    for (size_t i = 0; i < r->n; i++)
        ids[i] = r->ids[(r->head + i) % r->cap];
    mem_free(r->ids);
    r->ids = ids;
    r->head = 0;
    r->cap = cap;
}

static void
ring_free(struct ring *r)
{
    list_del(&r->node);
    mem_free(r->ids);
    mem_free(r);
}

static void
embedded_add(void *impl, uint64_t profile, enum send_lane lane, uint64_t group, const uint64_t *ids,
    size_t n)
{
    struct embedded *q = impl;
    struct ring *r = map_u64_get(q->rings, group);

    if (r == NULL) {
        r = mem_zalloc(sizeof(*r));
        r->group = group;
        map_u64_put(q->rings, group, r);
        list_push_back(&turn_of(q, profile, lane)->rings, &r->node);
    }
    ring_grow(r, n);
    for (size_t i = 0; i < n; i++)
        r->ids[(r->head + r->n + i) % r->cap] = ids[i];
    r->n += n;
}

static size_t
turn_take(struct turn *t, size_t max, struct queue_ready *out)
{
    struct ring *r = NULL;
    size_t n;

    LIST_EACH(node, tmp, &t->rings)
    {
        r = LIST_ENTRY(node, struct ring, node);
        if (r->n > 0)
            break;
        r = NULL;
    }
    if (r == NULL)
        return 0;
    n = r->n < max ? r->n : max;
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct queue_ready){r->group, r->ids[r->head]};
        r->head = (r->head + 1) % r->cap;
    }
    r->n -= n;
    list_del(&r->node);
    list_push_back(&t->rings, &r->node);
    return n;
}

static void
on_take(void *arg)
{
    struct embedded *q = arg;
    struct list *node = list_pop_front(&q->takes);
    struct take *t;
    struct queue_ready *ready;
    size_t n;

    if (node == NULL)
        return;
    t = LIST_ENTRY(node, struct take, node);
    ready = mem_array(t->max, sizeof(*ready));
    n = turn_take(turn_of(q, t->profile, t->lane), t->max, ready);
    t->fn(ready, n, t->arg);
    mem_free(ready);
    mem_free(t);
}

static void
embedded_take(
    void *impl, uint64_t profile, enum send_lane lane, size_t max, queue_take_fn *fn, void *arg)
{
    struct embedded *q = impl;
    struct take *t = mem_zalloc(sizeof(*t));

    *t = (struct take){.q = q, .profile = profile, .lane = lane, .max = max, .fn = fn, .arg = arg};
    list_push_back(&q->takes, &t->node);
    loop_defer(q->loop, on_take, q);
}

static void
embedded_drop(void *impl, uint64_t group)
{
    struct embedded *q = impl;
    struct ring *r = map_u64_del(q->rings, group);

    if (r != NULL)
        ring_free(r);
}

static size_t
embedded_length(const void *impl, uint64_t group)
{
    const struct embedded *q = impl;
    const struct ring *r = map_u64_get(q->rings, group);

    return r != NULL ? r->n : 0;
}

static void
embedded_free(void *impl)
{
    struct embedded *q = impl;
    size_t it = 0;
    uint64_t group;
    void *r;

    while (map_u64_next(q->rings, &it, &group, &r))
        ring_free(r);
    map_u64_free(&q->rings);
    LIST_EACH(node, tmp, &q->turns)
    mem_free(LIST_ENTRY(node, struct turn, node));
    LIST_EACH(node, tmp, &q->takes)
    mem_free(LIST_ENTRY(node, struct take, node));
    mem_free(q);
}

static const struct queue_ops embedded_ops = {
    .name = "embedded",
    .free = embedded_free,
    .add = embedded_add,
    .take = embedded_take,
    .drop = embedded_drop,
    .length = embedded_length,
};

struct queue *
queue_embedded_create(struct loop *l)
{
    struct embedded *q = mem_zalloc(sizeof(*q));

    q->loop = l;
    list_init(&q->turns);
    list_init(&q->takes);
    q->rings = map_u64_create();
    return queue_create(&embedded_ops, q);
}
