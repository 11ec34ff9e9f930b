#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

/** Embedded in an object that is on a heap: smallest key first, equal keys in order of insertion. */
struct heap_node {
    uint64_t key;
    uint64_t seq;
    size_t pos; /* 1-based; 0 when on no heap */
};

struct heap {
    struct heap_node **a;
    size_t n, cap;
    uint64_t seq;
};

void heap_init(struct heap *h);
void heap_deinit(struct heap *h);
/** `node->pos` must be 0 (a zeroed node is fine). The caller keeps owning the node. */
void heap_add(struct heap *h, struct heap_node *node, uint64_t key);
/** Remove from anywhere; a node on no heap is left alone. */
void heap_del(struct heap *h, struct heap_node *node);
/** Smallest node, or NULL; stays on the heap. */
struct heap_node *heap_min(const struct heap *h);

#endif
