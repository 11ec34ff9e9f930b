/*
 * The ticker under a frozen clock: order, isolation, one round at a time, and the blocking form from
 * another thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "loop/loop.h"
#include "support/suite.h"
#include "tick/ticker.h"

#define INTERVAL_MS 60000

static struct loop *loop;
static struct ticker *ticker;
static struct buf trace;
static struct ticker_turn *held; /* of a job that ends later */

static void
job_now(struct ticker_turn *turn, void *arg)
{
    buf_append_str(&trace, arg);
    ticker_turn_end(turn, NULL);
}

static void
job_fails(struct ticker_turn *turn, void *arg)
{
    struct err err = {0};

    err_set(&err, ERR_TEMP, "on purpose");
    buf_append_str(&trace, arg);
    ticker_turn_end(turn, &err);
}

static void
job_holds(struct ticker_turn *turn, void *arg)
{
    buf_append_str(&trace, arg);
    held = turn;
}

static void
note_done(unsigned n_failed, void *arg)
{
    buf_printf(&trace, "done:%u", n_failed);
    *(bool *)arg = true;
}

static void
setup(void)
{
    clock_set_fake(1700000000000);
    loop = loop_create();
    ticker = ticker_create(loop, INTERVAL_MS);
    buf_clear(&trace);
    held = NULL;
}

static void
teardown(void)
{
    ticker_free(&ticker);
    loop_free(&loop);
    buf_deinit(&trace);
    clock_set_fake(0);
}

static void
turn_loop(unsigned times)
{
    while (times-- > 0)
        loop_turn(loop, 0);
}

static void
step(int64_t ms)
{
    clock_step(ms);
    turn_loop(8);
}

START_TEST(test_jobs_run_in_order_each_interval)
{
    setup();
    ticker_add(ticker, "a", job_now, "a");
    ticker_add(ticker, "b", job_now, "b");
    ticker_add(ticker, "c", job_now, "c");
    ticker_start(ticker);
    step(INTERVAL_MS - 1);
    ck_assert_str_eq(buf_cstr(&trace), "");
    step(1);
    ck_assert_str_eq(buf_cstr(&trace), "abc");
    step(INTERVAL_MS);
    ck_assert_str_eq(buf_cstr(&trace), "abcabc");
    teardown();
}
END_TEST

START_TEST(test_failure_is_counted_and_the_rest_runs)
{
    struct ticker_status st;
    bool is_done = false;

    setup();
    ticker_add(ticker, "a", job_now, "a");
    ticker_add(ticker, "bad", job_fails, "!");
    ticker_add(ticker, "c", job_now, "c");
    ck_assert_int_eq(ticker_run_now(ticker, note_done, &is_done, NULL), 0);
    ck_assert(!is_done); /* never before the call has returned */
    turn_loop(8);
    ck_assert_str_eq(buf_cstr(&trace), "a!cdone:1");
    ticker_status(ticker, &st);
    ck_assert_uint_eq(st.last_failed, 1);
    ck_assert_uint_eq(st.rounds, 1);
    ck_assert_int_eq(st.ended_at_ms, clock_now_ms());
    teardown();
}
END_TEST

START_TEST(test_one_round_at_a_time)
{
    struct err err = {0};
    struct ticker_status st;

    setup();
    ticker_add(ticker, "slow", job_holds, "s");
    ticker_add(ticker, "b", job_now, "b");
    ticker_start(ticker);
    step(INTERVAL_MS);
    ck_assert_ptr_nonnull(held);
    ck_assert_int_eq(ticker_run_now(ticker, NULL, NULL, &err), -1);
    ck_assert_int_eq(err.code, ERR_CONFLICT);
    ck_assert_str_eq(err.sub, "tick_running");
    ticker_status(ticker, &st);
    ck_assert_str_eq(st.running, "slow");
    step(3 * INTERVAL_MS); /* no second round starts meanwhile */
    ck_assert_str_eq(buf_cstr(&trace), "s");
    ticker_turn_end(held, NULL);
    turn_loop(8);
    ck_assert_str_eq(buf_cstr(&trace), "sb");
    step(INTERVAL_MS - 1); /* the wait begins at the end of a round */
    ck_assert_str_eq(buf_cstr(&trace), "sb");
    step(1);
    ck_assert_str_eq(buf_cstr(&trace), "sbs");
    ticker_turn_end(held, NULL);
    turn_loop(8);
    teardown();
}
END_TEST

START_TEST(test_stop_ends_after_the_present_job)
{
    bool is_done = false;
    struct err err = {0};

    setup();
    ticker_add(ticker, "slow", job_holds, "s");
    ticker_add(ticker, "b", job_now, "b");
    ticker_start(ticker);
    ck_assert_int_eq(ticker_run_now(ticker, note_done, &is_done, NULL), 0);
    turn_loop(4);
    ticker_stop(ticker);
    ck_assert(ticker_is_running(ticker));
    ticker_turn_end(held, NULL);
    turn_loop(4);
    ck_assert(!ticker_is_running(ticker));
    ck_assert_str_eq(buf_cstr(&trace), "sdone:0");
    ck_assert_int_eq(ticker_run_now(ticker, NULL, NULL, &err), -1);
    ck_assert_str_eq(err.sub, "stopping");
    step(5 * INTERVAL_MS);
    ck_assert_str_eq(buf_cstr(&trace), "sdone:0");
    teardown();
}
END_TEST

START_TEST(test_a_new_interval_counts_from_the_next_wait)
{
    setup();
    ticker_add(ticker, "a", job_now, "a");
    ticker_start(ticker);
    ticker_set_interval(ticker, 1000);
    step(INTERVAL_MS);
    ck_assert_str_eq(buf_cstr(&trace), "a");
    step(1000);
    ck_assert_str_eq(buf_cstr(&trace), "aa");
    teardown();
}
END_TEST

/* ---- blocking ---------------------------------------------------------------------------------- */

struct waiter {
    pthread_t thread;
    int64_t timeout_ms;
    int rc;
    unsigned n_failed;
    struct err err;
    atomic_bool is_back;
};

static void *
waiter_main(void *arg)
{
    struct waiter *w = arg;

    w->rc = ticker_run_blocking(ticker, w->timeout_ms, &w->n_failed, &w->err);
    atomic_store(&w->is_back, true);
    loop_wake(loop);
    return NULL;
}

static void
waiter_run(struct waiter *w, int64_t timeout_ms)
{
    memset(w, 0, sizeof(*w));
    w->timeout_ms = timeout_ms;
    ck_assert_int_eq(pthread_create(&w->thread, NULL, waiter_main, w), 0);
    while (!atomic_load(&w->is_back))
        loop_turn(loop, 100);
    pthread_join(w->thread, NULL);
}

START_TEST(test_blocking_form_waits_for_the_end)
{
    struct waiter w;

    setup();
    ticker_add(ticker, "a", job_now, "a");
    ticker_add(ticker, "bad", job_fails, "!");
    waiter_run(&w, 10000);
    ck_assert_int_eq(w.rc, 0);
    ck_assert_uint_eq(w.n_failed, 1);
    ck_assert_str_eq(buf_cstr(&trace), "a!");
    teardown();
}
END_TEST

START_TEST(test_blocking_form_is_refused_while_a_round_runs)
{
    struct waiter w;

    setup();
    ticker_add(ticker, "slow", job_holds, "s");
    ck_assert_int_eq(ticker_run_now(ticker, NULL, NULL, NULL), 0);
    turn_loop(4);
    waiter_run(&w, 10000);
    ck_assert_int_eq(w.rc, -1);
    ck_assert_str_eq(w.err.sub, "tick_running");
    ticker_turn_end(held, NULL);
    turn_loop(4);
    teardown();
}
END_TEST

START_TEST(test_blocking_form_gives_up_and_the_round_goes_on)
{
    struct waiter w;

    setup();
    ticker_add(ticker, "slow", job_holds, "s");
    waiter_run(&w, 20);
    ck_assert_int_eq(w.rc, -1);
    ck_assert_str_eq(w.err.sub, "tick_slow");
    ck_assert(ticker_is_running(ticker));
    ticker_turn_end(held, NULL);
    turn_loop(4);
    ck_assert(!ticker_is_running(ticker));
    teardown();
}
END_TEST

SUITE_MAIN("ticker", test_jobs_run_in_order_each_interval,
    test_failure_is_counted_and_the_rest_runs, test_one_round_at_a_time,
    test_stop_ends_after_the_present_job, test_a_new_interval_counts_from_the_next_wait,
    test_blocking_form_waits_for_the_end, test_blocking_form_is_refused_while_a_round_runs,
    test_blocking_form_gives_up_and_the_round_goes_on)
