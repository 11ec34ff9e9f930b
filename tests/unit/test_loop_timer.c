/* Timers, driven by a frozen clock. */
#include <string.h>

#include "base/clock.h"
#include "loop/loop.h"

#include "../support/suite.h"

struct trace {
    struct loop *loop;
    struct loop_timer *other;
    char text[32];
    int n;
};

struct mark {
    struct trace *trace;
    char name;
};

static void
on_timer(void *arg)
{
    struct mark *m = arg;

    m->trace->text[m->trace->n++] = m->name;
}

static void
begin(struct trace *t)
{
    clock_set_fake(1750000000000);
    *t = (struct trace){.loop = loop_create()};
}

static void
end(struct trace *t)
{
    loop_free(&t->loop);
    clock_set_fake(0);
}

START_TEST(timers_fire_by_due_time_and_then_by_start)
{
    struct trace t;
    struct mark a = {&t, 'a'}, b = {&t, 'b'}, c = {&t, 'c'}, d = {&t, 'd'};

    begin(&t);
    loop_timer_start(t.loop, 300, on_timer, &c);
    loop_timer_start(t.loop, 100, on_timer, &a);
    loop_timer_start(t.loop, 100, on_timer, &b);
    loop_timer_start(t.loop, INT64_MAX, on_timer, &d);
    loop_turn(t.loop, 0);
    ck_assert_str_eq(t.text, "");
    clock_step(99);
    loop_turn(t.loop, 0);
    ck_assert_str_eq(t.text, "");
    clock_step(1);
    loop_turn(t.loop, -1);
    ck_assert_str_eq(t.text, "ab");
    clock_step(1000);
    loop_turn(t.loop, -1);
    ck_assert_str_eq(t.text, "abc");
    end(&t);
}
END_TEST

START_TEST(the_wall_clock_moves_no_timer)
{
    struct trace t;
    struct mark a = {&t, 'a'};

    begin(&t);
    loop_timer_start(t.loop, 1000, on_timer, &a);
    clock_step_wall(3600000);
    loop_turn(t.loop, 0);
    ck_assert_str_eq(t.text, "");
    clock_step_wall(-7200000);
    clock_step(1000);
    loop_turn(t.loop, 0);
    ck_assert_str_eq(t.text, "a");
    end(&t);
}
END_TEST

START_TEST(a_cancelled_timer_never_fires)
{
    struct trace t;
    struct mark a = {&t, 'a'}, b = {&t, 'b'}, c = {&t, 'c'};
    struct loop_timer *timer;

    begin(&t);
    loop_timer_start(t.loop, 1, on_timer, &a);
    timer = loop_timer_start(t.loop, 2, on_timer, &b);
    loop_timer_start(t.loop, 3, on_timer, &c);
    loop_timer_cancel(&timer);
    ck_assert_ptr_null(timer);
    loop_timer_cancel(&timer);
    clock_step(10);
    loop_turn(t.loop, 0);
    ck_assert_str_eq(t.text, "ac");
    end(&t);
}
END_TEST

static void
cancel_other(void *arg)
{
    struct trace *t = arg;

    t->text[t->n++] = 'x';
    loop_timer_cancel(&t->other);
}

START_TEST(a_callback_may_cancel_one_that_is_due)
{
    struct trace t;
    struct mark a = {&t, 'a'};

    begin(&t);
    loop_timer_start(t.loop, 0, cancel_other, &t);
    t.other = loop_timer_start(t.loop, 0, on_timer, &a);
    loop_turn(t.loop, 0);
    ck_assert_str_eq(t.text, "x");
    end(&t);
}
END_TEST

static void
start_again(void *arg)
{
    struct trace *t = arg;

    t->text[t->n++] = 'r';
    loop_timer_start(t->loop, -5, start_again, t);
}

START_TEST(a_timer_that_starts_itself_does_not_starve_the_loop)
{
    struct trace t;

    begin(&t);
    loop_timer_start(t.loop, 0, start_again, &t);
    loop_turn(t.loop, -1);
    ck_assert_str_eq(t.text, "r");
    loop_turn(t.loop, -1);
    ck_assert_str_eq(t.text, "rr");
    end(&t);
}
END_TEST

START_TEST(real_time_bounds_the_wait)
{
    struct trace t;
    struct mark a = {&t, 'a'};
    int64_t from_ms;

    begin(&t);
    clock_set_fake(0);
    from_ms = clock_mono_ms();
    loop_timer_start(t.loop, 20, on_timer, &a);
    while (t.n == 0)
        loop_turn(t.loop, -1);
    ck_assert_int_ge(clock_mono_ms() - from_ms, 20);
    end(&t);
}
END_TEST

SUITE_MAIN("loop_timer", timers_fire_by_due_time_and_then_by_start, the_wall_clock_moves_no_timer,
    a_cancelled_timer_never_fires, a_callback_may_cancel_one_that_is_due,
    a_timer_that_starts_itself_does_not_starve_the_loop, real_time_bounds_the_wait)
