#include "base/heap.h"

#include <assert.h>
#include <stdbool.h>

#include "base/mem.h"

/*
 * Binary heap of pointers to embedded nodes; each node knows its place, so one can be taken out of
 * the middle in O(log n). Equal keys leave in the order they came, by a running number.
 * Invariant: a[i]->pos == i + 1 for every i < n.
 */

static bool
is_before(const struct heap_node *a, const struct heap_node *b)
{
    return a->key < b->key || (a->key == b->key && a->seq < b->seq);
}

static void
heap_place(struct heap *h, size_t i, struct heap_node *node)
{
    h->a[i] = node;
    node->pos = i + 1;
}

static void
heap_sift_up(struct heap *h, size_t i, struct heap_node *node)
{
    while (i > 0) {
        size_t parent = (i - 1) / 2;

        if (!is_before(node, h->a[parent]))
            break;
        heap_place(h, i, h->a[parent]);
        i = parent;
    }
    heap_place(h, i, node);
}

static void
heap_sift_down(struct heap *h, size_t i, struct heap_node *node)
{
    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= h->n)
            break;
        if (child + 1 < h->n && is_before(h->a[child + 1], h->a[child]))
            child++;
        if (!is_before(h->a[child], node))
            break;
        heap_place(h, i, h->a[child]);
        i = child;
    }
    heap_place(h, i, node);
}

void
heap_init(struct heap *h)
{
    *h = (struct heap){NULL, 0, 0, 0};
}

void
heap_deinit(struct heap *h)
{
    mem_free(h->a);
    heap_init(h);
}

void
heap_add(struct heap *h, struct heap_node *node, uint64_t key)
{
    if (h->n == h->cap) {
        h->cap = h->cap != 0 ? h->cap * 2 : 64;
        h->a = mem_realloc(h->a, h->cap * sizeof h->a[0]);
    }
    node->key = key;
    node->seq = h->seq++;
    heap_sift_up(h, h->n++, node);
}

void
heap_del(struct heap *h, struct heap_node *node)
{
    struct heap_node *last;
    size_t i;

    if (node->pos == 0)
        return;
    i = node->pos - 1;
    assert(i < h->n && h->a[i] == node);
    node->pos = 0;
    last = h->a[--h->n];
    if (last == node)
        return;
    if (i > 0 && is_before(last, h->a[(i - 1) / 2]))
        heap_sift_up(h, i, last);
    else
        heap_sift_down(h, i, last);
}

struct heap_node *
heap_min(const struct heap *h)
{
    return h->n != 0 ? h->a[0] : NULL;
}
