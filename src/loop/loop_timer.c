#include "loop/loop_internal.h"

#include <limits.h>

#include "base/clock.h"
#include "base/mem.h"

/*
 * Timers (declared in loop.h): a heap by due time on the monotonic clock of base/clock, so that a
 * stepped clock moves them. The first one bounds the wait of the loop; no timerfd is armed.
 */

struct loop_timer {
    struct heap_node node; /* key: due time, monotonic milliseconds */
    struct loop *loop;
    loop_fn *fn;
    void *arg;
};

static struct loop_timer *
timer_of(struct heap_node *node)
{
    return LIST_ENTRY(node, struct loop_timer, node);
}

struct loop_timer *
loop_timer_start(struct loop *l, int64_t delay_ms, loop_fn *fn, void *arg)
{
    struct loop_timer *t = mem_zalloc(sizeof *t);
    int64_t now_ms = clock_mono_ms();
    int64_t due_ms;

    if (delay_ms < 0)
        delay_ms = 0;
    if (__builtin_add_overflow(now_ms, delay_ms, &due_ms))
        due_ms = INT64_MAX;
    t->loop = l;
    t->fn = fn;
    t->arg = arg;
    heap_add(&l->timers, &t->node, (uint64_t)due_ms);
    return t;
}

void
loop_timer_cancel(struct loop_timer **tp)
{
    struct loop_timer *t = *tp;

    if (t == NULL)
        return;
    *tp = NULL;
    heap_del(&t->loop->timers, &t->node);
    mem_free(t);
}

int
loop_timer_wait_ms(const struct loop *l)
{
    struct heap_node *first = heap_min(&l->timers);
    uint64_t now_ms = (uint64_t)clock_mono_ms();

    if (first == NULL)
        return -1;
    if (first->key <= now_ms)
        return 0;
    return first->key - now_ms < INT_MAX ? (int)(first->key - now_ms) : INT_MAX;
}

void
loop_timer_run(struct loop *l)
{
    uint64_t now_ms = (uint64_t)clock_mono_ms();
    uint64_t started_later = l->timers.seq; /* timers that callbacks start wait for the next turn */
    struct heap_node *first;

    while ((first = heap_min(&l->timers)) != NULL && first->key <= now_ms &&
           first->seq < started_later) {
        struct loop_timer t = *timer_of(first);

        heap_del(&l->timers, first);
        mem_free(timer_of(first));
        t.fn(t.arg);
        loop_callback_end(l, "timer");
    }
}

void
loop_timer_deinit(struct loop *l)
{
    struct heap_node *first;

    while ((first = heap_min(&l->timers)) != NULL) {
        heap_del(&l->timers, first);
        mem_free(timer_of(first));
    }
    heap_deinit(&l->timers);
}
