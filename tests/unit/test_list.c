/* The intrusive list. */
#include "base/list.h"

#include "../support/suite.h"

struct item {
    int number;
    struct list node;
};

static int
number_of(struct list *node)
{
    return LIST_ENTRY(node, struct item, node)->number;
}

START_TEST(order_removal_and_pop)
{
    struct item items[5];
    struct list head;
    int seen = 0;

    list_init(&head);
    ck_assert(list_empty(&head));
    for (int i = 0; i < 5; i++) {
        items[i].number = i;
        list_push_back(&head, &items[i].node);
    }
    list_del(&items[2].node);
    list_del(&items[2].node);
    LIST_EACH(node, next, &head)
    {
        seen = seen * 10 + number_of(node);
        if (number_of(node) == 3)
            list_del(node);
    }
    ck_assert_int_eq(seen, 134);
    list_push_front(&head, &items[2].node);
    ck_assert_int_eq(number_of(list_pop_front(&head)), 2);
    ck_assert_int_eq(number_of(list_pop_front(&head)), 0);
    ck_assert_int_eq(number_of(list_pop_front(&head)), 1);
    ck_assert_int_eq(number_of(list_pop_front(&head)), 4);
    ck_assert_ptr_null(list_pop_front(&head));
}
END_TEST

START_TEST(move_appends_all)
{
    struct item items[4];
    struct list a, b;

    list_init(&a);
    list_init(&b);
    list_move(&a, &b);
    ck_assert(list_empty(&a));
    for (int i = 0; i < 4; i++) {
        items[i].number = i;
        list_push_back(i < 2 ? &a : &b, &items[i].node);
    }
    list_move(&a, &b);
    ck_assert(list_empty(&b));
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(number_of(list_pop_front(&a)), i);
    ck_assert(list_empty(&a));
}
END_TEST

SUITE_MAIN("list", order_removal_and_pop, move_appends_all)
