#include "loop/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "loop/loop_internal.h"

/*
 * One turn of the loop:
 *
 *   wait (epoll, at most until the first timer or hook) -> fds -> mailbox -> hooks -> timers
 *        -> deferred calls -> release of deleted watches
 *
 * Invariant: memory that a callback of this turn may still point to is released at the end of the
 * turn only, so a callback may delete any watch, its own included. Each phase runs what was there
 * when the phase began; what callbacks add comes in the next turn, so no phase can starve the
 * others. Every callback is timed; a slow one delays all mail and is logged.
 */

#define BATCH_EVENTS 256
#define SLOW_US      50000

static struct metric *slow_callbacks;
static struct metric *longest_callback;
static pthread_once_t metrics_once = PTHREAD_ONCE_INIT;

static void
metrics_create(void)
{
    slow_callbacks = metric_counter("mailshot_loop_slow_callbacks_total",
        "Callbacks that held the loop for more than 50 ms.", NULL);
    longest_callback = metric_gauge("mailshot_loop_longest_callback_us",
        "Longest callback since start, in microseconds.", NULL);
}

void
loop_fatal(const char *what)
{
    log_error(NULL, "loop.fatal", "call=%s error=\"%s\"", what, strerror(errno));
    abort();
}

/* Not base/clock: a test that steps the clock in a callback must not make it look slow. */
static uint64_t
real_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void
loop_callback_begin(struct loop *l)
{
    l->callback_from_us = real_us();
}

void
loop_callback_end(struct loop *l, const char *kind)
{
    uint64_t now_us = real_us();
    uint64_t took_us = now_us - l->callback_from_us;

    l->callback_from_us = now_us;
    metric_max(longest_callback, (int64_t)took_us);
    if (took_us <= SLOW_US)
        return;
    metric_add(slow_callbacks, 1);
    log_warn(NULL, "loop.slow", "kind=%s ms=%u", kind, (unsigned)(took_us / 1000));
}

struct loop *
loop_create(void)
{
    struct loop *l = mem_zalloc(sizeof *l);

    pthread_once(&metrics_once, metrics_create);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll_fd < 0)
        loop_fatal("epoll_create1");
    list_init(&l->fds);
    list_init(&l->dead_fds);
    list_init(&l->deferred);
    heap_init(&l->timers);
    loop_mailbox_init(l);
    loop_signal_init(l);
    return l;
}

void
loop_free(struct loop **lp)
{
    struct loop *l = *lp;

    if (l == NULL)
        return;
    loop_signal_deinit(l);
    loop_fd_deinit(l);
    loop_timer_deinit(l);
    loop_calls_drop(&l->deferred);
    loop_mailbox_deinit(l);
    close(l->epoll_fd);
    mem_free(l);
    *lp = NULL;
}

/* ---- queued calls ---- */

void
loop_calls_add(struct list *list, loop_fn *fn, void *arg)
{
    struct loop_call_node *c = mem_alloc(sizeof *c);

    c->fn = fn;
    c->arg = arg;
    list_push_back(list, &c->node);
}

void
loop_calls_run(struct loop *l, struct list *calls, const char *kind)
{
    struct list batch;
    struct list *node;

    list_init(&batch);
    list_move(&batch, calls);
    while ((node = list_pop_front(&batch)) != NULL) {
        struct loop_call_node c = *LIST_ENTRY(node, struct loop_call_node, node);

        mem_free(LIST_ENTRY(node, struct loop_call_node, node));
        c.fn(c.arg);
        loop_callback_end(l, kind);
    }
}

void
loop_calls_drop(struct list *calls)
{
    struct list *node;

    while ((node = list_pop_front(calls)) != NULL)
        mem_free(LIST_ENTRY(node, struct loop_call_node, node));
}

void
loop_defer(struct loop *l, loop_fn *fn, void *arg)
{
    loop_calls_add(&l->deferred, fn, arg);
}

/* ---- hooks ---- */

void
loop_hook_add(struct loop *l, int (*timeout)(void *arg), loop_fn *run, void *arg)
{
    for (int i = 0; i < LOOP_MAX_HOOKS; i++) {
        if (l->hooks[i].run != NULL)
            continue;
        l->hooks[i] = (struct loop_hook){timeout, run, arg};
        return;
    }
    log_error(NULL, "loop.fatal", "call=hook_add error=\"all hooks are taken\"");
    abort();
}

void
loop_hook_del(struct loop *l, loop_fn *run, void *arg)
{
    for (int i = 0; i < LOOP_MAX_HOOKS; i++)
        if (l->hooks[i].run == run && l->hooks[i].arg == arg)
            l->hooks[i] = (struct loop_hook){NULL, NULL, NULL};
}

static void
hooks_run(struct loop *l)
{
    for (int i = 0; i < LOOP_MAX_HOOKS; i++) {
        if (l->hooks[i].run == NULL)
            continue;
        l->hooks[i].run(l->hooks[i].arg);
        loop_callback_end(l, "hook");
    }
}

/* ---- the turn ---- */

/* The shorter of two waits, where -1 means for ever. */
static int
shorter(int a_ms, int b_ms)
{
    if (a_ms < 0)
        return b_ms;
    return b_ms >= 0 && b_ms < a_ms ? b_ms : a_ms;
}

static int
wait_ms(struct loop *l, int timeout_ms)
{
    if (!list_empty(&l->deferred))
        return 0;
    timeout_ms = shorter(timeout_ms, loop_timer_wait_ms(l));
    for (int i = 0; i < LOOP_MAX_HOOKS; i++)
        if (l->hooks[i].timeout != NULL)
            timeout_ms = shorter(timeout_ms, l->hooks[i].timeout(l->hooks[i].arg));
    return timeout_ms;
}

/* The address of a thread-local is an identity that costs no system call. */
static uintptr_t
this_thread(void)
{
    static _Thread_local char self;

    return (uintptr_t)&self;
}

bool
loop_is_current(const struct loop *l)
{
    return atomic_load_explicit(&l->owner, memory_order_relaxed) == this_thread();
}

void
loop_turn(struct loop *l, int timeout_ms)
{
    struct epoll_event events[BATCH_EVENTS];
    int n;

    atomic_store_explicit(&l->owner, this_thread(), memory_order_relaxed);
    n = epoll_wait(l->epoll_fd, events, BATCH_EVENTS, wait_ms(l, timeout_ms));
    if (n < 0 && errno != EINTR)
        loop_fatal("epoll_wait");
    loop_callback_begin(l);
    for (int i = 0; i < n; i++) {
        /* The eventfd of the mailbox has no watch: its mail is looked for in any case. */
        if (events[i].data.ptr != NULL)
            loop_fd_dispatch(events[i].data.ptr, events[i].events);
    }
    loop_mailbox_run(l);
    hooks_run(l);
    loop_timer_run(l);
    loop_calls_run(l, &l->deferred, "deferred");
    loop_fd_bury(l);
}

void
loop_run(struct loop *l)
{
    while (!atomic_exchange(&l->must_stop, false))
        loop_turn(l, -1);
}

void
loop_stop(struct loop *l)
{
    atomic_store(&l->must_stop, true);
    loop_wake(l);
}
