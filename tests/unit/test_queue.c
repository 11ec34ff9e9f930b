/* The embedded queue: order within a group, turns between groups, lanes and profiles apart. */
#include "queue/queue.h"

#include <string.h>

#include "loop/loop.h"
#include "support/suite.h"

struct taken {
    struct queue_ready ready[64];
    size_t n;
    unsigned calls;
};

static void
on_taken(const struct queue_ready *ready, size_t n, void *arg)
{
    struct taken *t = arg;

    memcpy(t->ready, ready, n * sizeof(*ready));
    t->n = n;
    t->calls++;
}

static struct taken
take(struct loop *l, struct queue *q, uint64_t profile, enum send_lane lane, size_t max)
{
    struct taken t = {0};

    queue_take(q, profile, lane, max, on_taken, &t);
    ck_assert_uint_eq(t.calls, 0); /* never before queue_take() has returned */
    loop_turn(l, 0);
    ck_assert_uint_eq(t.calls, 1);
    return t;
}

START_TEST(ids_leave_in_order_across_a_grown_ring)
{
    struct loop *l = loop_create();
    struct queue *q = queue_embedded_create(l);
    uint64_t ids[100], next = 1;

    for (uint64_t round = 0; round < 5; round++) {
        for (size_t i = 0; i < 100; i++)
            ids[i] = round * 100 + i + 1;
        queue_add(q, 7, LANE_BULK, 42, ids, 100);
        for (int k = 0; k < 2; k++) {
            struct taken t = take(l, q, 7, LANE_BULK, 30);

            ck_assert_uint_eq(t.n, 30);
            for (size_t i = 0; i < t.n; i++) {
                ck_assert_uint_eq(t.ready[i].group, 42);
                ck_assert_uint_eq(t.ready[i].id, next++);
            }
        }
    }
    ck_assert_uint_eq(queue_length(q, 42), 200);
    queue_free(&q);
    loop_free(&l);
}
END_TEST

START_TEST(groups_take_turns)
{
    struct loop *l = loop_create();
    struct queue *q = queue_embedded_create(l);
    uint64_t many[64] = {0}, one = 999;
    struct taken t;

    for (size_t i = 0; i < 64; i++)
        many[i] = i + 1;
    queue_add(q, 7, LANE_BULK, 1, many, 64);
    queue_add(q, 7, LANE_BULK, 2, &one, 1);
    t = take(l, q, 7, LANE_BULK, 10);
    ck_assert_uint_eq(t.ready[0].group, 1);
    t = take(l, q, 7, LANE_BULK, 10);
    ck_assert_uint_eq(t.n, 1);
    ck_assert_uint_eq(t.ready[0].id, 999);
    t = take(l, q, 7, LANE_BULK, 10);
    ck_assert_uint_eq(t.ready[0].group, 1);
    ck_assert_uint_eq(t.ready[0].id, 11);
    queue_free(&q);
    loop_free(&l);
}
END_TEST

START_TEST(lanes_and_profiles_are_apart)
{
    struct loop *l = loop_create();
    struct queue *q = queue_embedded_create(l);
    uint64_t a = 1, b = 2, c = 3;

    queue_add(q, 7, LANE_BULK, 10, &a, 1);
    queue_add(q, 7, LANE_IMMEDIATE, 7, &b, 1);
    queue_add(q, 8, LANE_BULK, 11, &c, 1);
    ck_assert_uint_eq(take(l, q, 7, LANE_IMMEDIATE, 10).ready[0].id, 2);
    ck_assert_uint_eq(take(l, q, 8, LANE_BULK, 10).ready[0].id, 3);
    ck_assert_uint_eq(take(l, q, 9, LANE_BULK, 10).n, 0);
    ck_assert_uint_eq(take(l, q, 7, LANE_BULK, 10).ready[0].id, 1);
    ck_assert_uint_eq(take(l, q, 7, LANE_BULK, 10).n, 0);
    queue_free(&q);
    loop_free(&l);
}
END_TEST

START_TEST(a_dropped_group_is_gone_and_may_come_back)
{
    struct loop *l = loop_create();
    struct queue *q = queue_embedded_create(l);
    uint64_t a = 1, b = 2;

    queue_add(q, 7, LANE_BULK, 10, &a, 1);
    queue_drop(q, 10);
    queue_drop(q, 10);
    ck_assert_uint_eq(queue_length(q, 10), 0);
    ck_assert_uint_eq(take(l, q, 7, LANE_BULK, 10).n, 0);
    queue_add(q, 7, LANE_BULK, 10, &b, 1);
    ck_assert_uint_eq(take(l, q, 7, LANE_BULK, 10).ready[0].id, 2);
    queue_free(&q);
    loop_free(&l);
}
END_TEST

SUITE_MAIN("queue", ids_leave_in_order_across_a_grown_ring, groups_take_turns,
    lanes_and_profiles_are_apart, a_dropped_group_is_gone_and_may_come_back)
