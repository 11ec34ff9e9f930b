/* Watches, deferred calls, hooks and signals. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/metrics.h"
#include "loop/loop.h"

#include "../support/suite.h"

struct end {
    struct loop *loop;
    int fd[2];
    struct loop_fd *watch;
    struct end *peer_to_delete;
    unsigned events;
    int calls;
};

static void
end_open(struct end *e, struct loop *l, unsigned events, loop_fd_fn *fn)
{
    *e = (struct end){.loop = l};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, e->fd), 0);
    e->watch = loop_fd_add(l, e->fd[0], events, fn, e);
}

static void
end_close(struct end *e)
{
    loop_fd_del(&e->watch);
    loop_fd_del(&e->watch);
    close(e->fd[0]);
    if (e->fd[1] >= 0)
        close(e->fd[1]);
}

static void
on_event(unsigned events, void *arg)
{
    struct end *e = arg;

    e->events = events;
    e->calls++;
    if (e->peer_to_delete != NULL)
        loop_fd_del(&e->peer_to_delete->watch);
}

START_TEST(events_are_level_triggered)
{
    struct loop *l = loop_create();
    struct end e;
    char byte;

    end_open(&e, l, LOOP_READ, on_event);
    loop_turn(l, 0);
    ck_assert_int_eq(e.calls, 0);
    ck_assert_int_eq(write(e.fd[1], "x", 1), 1);
    loop_turn(l, 0);
    loop_turn(l, 0);
    ck_assert_int_eq(e.calls, 2);
    ck_assert_uint_eq(e.events, LOOP_READ);
    loop_fd_set(e.watch, LOOP_READ | LOOP_WRITE);
    loop_turn(l, 0);
    ck_assert_uint_eq(e.events, LOOP_READ | LOOP_WRITE);
    ck_assert_int_eq(read(e.fd[0], &byte, 1), 1);
    loop_turn(l, 0);
    ck_assert_uint_eq(e.events, LOOP_WRITE);
    loop_fd_set(e.watch, 0);
    e.calls = 0;
    loop_turn(l, 0);
    ck_assert_int_eq(e.calls, 0);
    close(e.fd[1]);
    e.fd[1] = -1;
    loop_turn(l, 0);
    ck_assert_uint_eq(e.events, LOOP_ERROR);
    end_close(&e);
    loop_free(&l);
    ck_assert_ptr_null(l);
    loop_free(&l);
}
END_TEST

START_TEST(a_deleted_watch_gets_no_event_of_the_same_batch)
{
    struct loop *l = loop_create();
    struct end a, b;

    end_open(&a, l, LOOP_READ, on_event);
    end_open(&b, l, LOOP_READ, on_event);
    a.peer_to_delete = &b;
    b.peer_to_delete = &a;
    ck_assert_int_eq(write(a.fd[1], "x", 1), 1);
    ck_assert_int_eq(write(b.fd[1], "x", 1), 1);
    loop_turn(l, 0);
    ck_assert_int_eq(a.calls + b.calls, 1);
    end_close(&a);
    end_close(&b);
    loop_free(&l);
}
END_TEST

START_TEST(a_watch_may_delete_itself)
{
    struct loop *l = loop_create();
    struct end a;

    end_open(&a, l, LOOP_READ, on_event);
    a.peer_to_delete = &a;
    ck_assert_int_eq(write(a.fd[1], "x", 1), 1);
    loop_turn(l, 0);
    loop_turn(l, 0);
    ck_assert_int_eq(a.calls, 1);
    end_close(&a);
    loop_free(&l);
}
END_TEST

/* A library may close a descriptor first and tell us afterwards. */
START_TEST(deleting_after_close_is_harmless)
{
    struct loop *l = loop_create();
    struct end a;

    end_open(&a, l, LOOP_READ, on_event);
    close(a.fd[0]);
    loop_fd_del(&a.watch);
    loop_turn(l, 0);
    close(a.fd[1]);
    loop_free(&l);
}
END_TEST

struct order {
    struct loop *loop;
    char text[16];
    int n;
};

static void
add_b(void *arg)
{
    struct order *o = arg;

    o->text[o->n++] = 'b';
}

static void
add_a_defer_b(void *arg)
{
    struct order *o = arg;

    o->text[o->n++] = 'a';
    loop_defer(o->loop, add_b, o);
}

START_TEST(deferred_calls_of_deferred_calls_wait_a_turn)
{
    struct order o = {.loop = loop_create()};

    loop_defer(o.loop, add_a_defer_b, &o);
    loop_defer(o.loop, add_a_defer_b, &o);
    loop_turn(o.loop, -1); /* does not wait: something is deferred */
    ck_assert_str_eq(o.text, "aa");
    loop_turn(o.loop, -1);
    ck_assert_str_eq(o.text, "aabb");
    loop_defer(o.loop, add_b, &o);
    loop_free(&o.loop);
    ck_assert_str_eq(o.text, "aabb");
}
END_TEST

struct hook {
    int asked, ran;
};

static int
hook_timeout(void *arg)
{
    struct hook *h = arg;

    h->asked++;
    return 0;
}

static void
hook_run(void *arg)
{
    struct hook *h = arg;

    h->ran++;
}

START_TEST(hooks_bound_the_wait_and_run_after_it)
{
    struct loop *l = loop_create();
    struct hook h = {0, 0};

    loop_hook_add(l, hook_timeout, hook_run, &h);
    loop_turn(l, -1);
    loop_turn(l, -1);
    ck_assert_int_eq(h.asked, 2);
    ck_assert_int_eq(h.ran, 2);
    loop_hook_del(l, hook_run, &h);
    loop_turn(l, 0);
    ck_assert_int_eq(h.ran, 2);
    loop_free(&l);
}
END_TEST

static int signals_seen;

static void
on_signal(int signo, void *arg)
{
    signals_seen = signals_seen * 100 + signo;
}

START_TEST(signals_are_callbacks)
{
    struct loop *l = loop_create();
    sigset_t old;

    pthread_sigmask(SIG_SETMASK, NULL, &old);
    loop_signal_add(l, SIGUSR1, on_signal, NULL);
    loop_signal_add(l, SIGUSR2, on_signal, NULL);
    kill(getpid(), SIGUSR1);
    loop_turn(l, -1);
    kill(getpid(), SIGUSR2);
    loop_turn(l, -1);
    ck_assert_int_eq(signals_seen, SIGUSR1 * 100 + SIGUSR2);
    loop_free(&l);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
END_TEST

static void
hold_the_loop(void *arg)
{
    usleep(60000);
}

START_TEST(slow_callbacks_are_counted)
{
    struct loop *l = loop_create();
    struct metric *slow = metric_counter("mailshot_loop_slow_callbacks_total", "", NULL);
    struct metric *longest = metric_gauge("mailshot_loop_longest_callback_us", "", NULL);
    int64_t before = metric_value(slow);

    loop_defer(l, hold_the_loop, NULL);
    loop_turn(l, 0);
    ck_assert_int_eq(metric_value(slow), before + 1);
    ck_assert_int_ge(metric_value(longest), 60000);
    loop_free(&l);
}
END_TEST

SUITE_MAIN("loop", events_are_level_triggered, a_deleted_watch_gets_no_event_of_the_same_batch,
    a_watch_may_delete_itself, deleting_after_close_is_harmless,
    deferred_calls_of_deferred_calls_wait_a_turn, hooks_bound_the_wait_and_run_after_it,
    signals_are_callbacks, slow_callbacks_are_counted)
