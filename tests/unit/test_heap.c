/* The binary heap: order, ties, removal from the middle. */
#include <string.h>

#include "base/heap.h"
#include "base/rand.h"

#include "../support/suite.h"

#define N 500

struct item {
    struct heap_node node;
    unsigned number;
};

START_TEST(smallest_first_and_ties_in_order)
{
    static struct item items[N];
    struct heap h;
    uint64_t last_key = 0;
    unsigned last_number = 0;

    rand_seed(1);
    heap_init(&h);
    memset(items, 0, sizeof items);
    for (unsigned i = 0; i < N; i++) {
        items[i].number = i;
        heap_add(&h, &items[i].node, rand_below(50));
    }
    for (unsigned i = 0; i < N; i++) {
        struct item *first = (struct item *)(void *)heap_min(&h);

        ck_assert_uint_ge(first->node.key, last_key);
        if (i > 0 && first->node.key == last_key)
            ck_assert_uint_gt(first->number, last_number);
        last_key = first->node.key;
        last_number = first->number;
        heap_del(&h, &first->node);
        ck_assert_uint_eq(first->node.pos, 0);
    }
    ck_assert_ptr_null(heap_min(&h));
    heap_deinit(&h);
}
END_TEST

/* Random additions and removals against a plain search for the smallest. */
START_TEST(removal_from_anywhere_keeps_the_order)
{
    static struct item items[N];
    struct heap h;

    rand_seed(2);
    heap_init(&h);
    memset(items, 0, sizeof items);
    for (int step = 0; step < 20000; step++) {
        struct item *it = &items[rand_below(N)];
        const struct heap_node *smallest = NULL;

        if (it->node.pos == 0)
            heap_add(&h, &it->node, rand_below(1000));
        else
            heap_del(&h, &it->node);
        heap_del(&h, &it->node); /* the second time, or just added: off it goes */
        heap_add(&h, &it->node, rand_below(1000));
        if (rand_below(3) == 0)
            heap_del(&h, &it->node);
        for (int i = 0; i < N; i++) {
            const struct heap_node *n = &items[i].node;

            if (n->pos != 0 && (smallest == NULL || n->key < smallest->key ||
                                   (n->key == smallest->key && n->seq < smallest->seq)))
                smallest = n;
        }
        ck_assert_ptr_eq(heap_min(&h), smallest);
    }
    heap_deinit(&h);
}
END_TEST

SUITE_MAIN("heap", smallest_first_and_ties_in_order, removal_from_anywhere_keeps_the_order)
