/* Other threads: posting, calling, waking, stopping. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "loop/loop.h"

#include "../support/suite.h"

#define POSTERS  4
#define PER_POST 5000

struct poster {
    struct loop *loop;
    pthread_t thread;
    int next;     /* number of the next post, set by the thread */
    int received; /* seen in the loop */
    bool in_order;
    bool in_loop;
};

struct letter {
    struct poster *from;
    int number;
};

static struct letter letters[POSTERS][PER_POST];
static int n_received;

static void
on_letter(void *arg)
{
    struct letter *l = arg;
    struct poster *p = l->from;

    p->in_order = p->in_order && l->number == p->received;
    p->in_loop = p->in_loop && loop_is_current(p->loop);
    p->received++;
    if (++n_received == POSTERS * PER_POST)
        loop_stop(p->loop);
}

static void *
post_all(void *arg)
{
    struct poster *p = arg;
    struct letter *mine = letters[p->next];

    for (int i = 0; i < PER_POST; i++) {
        mine[i] = (struct letter){p, i};
        loop_post(p->loop, on_letter, &mine[i]);
    }
    return NULL;
}

START_TEST(posts_arrive_once_and_in_order_per_thread)
{
    struct loop *l = loop_create();
    struct poster posters[POSTERS];

    n_received = 0;
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){.loop = l, .next = i, .in_order = true, .in_loop = true};
        pthread_create(&posters[i].thread, NULL, post_all, &posters[i]);
    }
    loop_run(l);
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(posters[i].thread, NULL);
        ck_assert_int_eq(posters[i].received, PER_POST);
        ck_assert(posters[i].in_order);
        ck_assert(posters[i].in_loop);
    }
    loop_free(&l);
}
END_TEST

struct caller {
    struct loop *loop;
    int value;
    bool was_current;
};

static void
add_one(void *arg)
{
    struct caller *c = arg;

    c->value++;
}

static void *
call_and_stop(void *arg)
{
    struct caller *c = arg;

    c->was_current = loop_is_current(c->loop);
    for (int i = 0; i < 1000; i++) {
        int before = c->value;

        loop_call(c->loop, add_one, c);
        if (c->value != before + 1)
            break;
    }
    loop_stop(c->loop);
    return NULL;
}

START_TEST(a_call_returns_after_it_was_done)
{
    struct caller c = {.loop = loop_create()};
    pthread_t thread;

    pthread_create(&thread, NULL, call_and_stop, &c);
    loop_run(c.loop);
    pthread_join(thread, NULL);
    ck_assert_int_eq(c.value, 1000);
    ck_assert(!c.was_current);
    ck_assert(loop_is_current(c.loop));
    loop_free(&c.loop);
}
END_TEST

static void
stop_loop(void *arg)
{
    loop_stop(arg);
}

static void *
step_and_wake(void *arg)
{
    clock_step(3600000);
    loop_wake(arg);
    return NULL;
}

START_TEST(a_stepped_clock_is_seen_after_a_wake)
{
    struct loop *l = loop_create();
    pthread_t thread;

    clock_set_fake(1750000000000);
    loop_timer_start(l, 3600000, stop_loop, l);
    pthread_create(&thread, NULL, step_and_wake, l);
    loop_run(l);
    pthread_join(thread, NULL);
    clock_set_fake(0);
    loop_free(&l);
}
END_TEST

START_TEST(a_loop_runs_again_after_a_stop)
{
    struct caller c = {.loop = loop_create()};

    for (int i = 0; i < 3; i++) {
        loop_post(c.loop, add_one, &c);
        loop_defer(c.loop, stop_loop, c.loop);
        loop_run(c.loop);
        ck_assert_int_eq(c.value, i + 1);
    }
    loop_post(c.loop, add_one, &c); /* left over: dropped, not called */
    loop_free(&c.loop);
    ck_assert_int_eq(c.value, 3);
}
END_TEST

SUITE_MAIN("loop_mailbox", posts_arrive_once_and_in_order_per_thread,
    a_call_returns_after_it_was_done, a_stepped_clock_is_seen_after_a_wake,
    a_loop_runs_again_after_a_stop)
