/* The registry and its text page. */
#include <pthread.h>
#include <string.h>

#include "base/metrics.h"

#include "../support/suite.h"

START_TEST(same_name_and_labels_are_one_metric)
{
    struct metric *a = metric_counter("t_same_total", "h", NULL);
    struct metric *b = metric_counter("t_same_total", "h", "op=\"x\"");

    ck_assert_ptr_eq(metric_counter("t_same_total", "h", NULL), a);
    ck_assert_ptr_eq(metric_counter("t_same_total", "h", "op=\"x\""), b);
    ck_assert_ptr_ne(a, b);
    metric_add(a, 2);
    metric_add(a, 3);
    ck_assert_int_eq(metric_value(a), 5);
    ck_assert_int_eq(metric_value(b), 0);
}
END_TEST

START_TEST(gauges_are_set_and_raised)
{
    struct metric *g = metric_gauge("t_gauge", "h", NULL);

    metric_set(g, 7);
    metric_max(g, 5);
    ck_assert_int_eq(metric_value(g), 7);
    metric_max(g, 9);
    metric_add(g, -10);
    ck_assert_int_eq(metric_value(g), -1);
}
END_TEST

static void *
add_many(void *arg)
{
    for (int i = 0; i < 100000; i++)
        metric_add(arg, 1);
    return NULL;
}

START_TEST(threads_lose_no_count)
{
    struct metric *m = metric_counter("t_threads_total", "h", NULL);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, add_many, m);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(metric_value(m), 400000);
}
END_TEST

START_TEST(page_is_sorted_and_complete)
{
    struct metric *h = metric_histogram_us("t_b_seconds", "Time.", "op=\"q\"");
    struct buf out = BUF_INIT;
    const char *page, *at;

    metric_add(metric_counter("t_c_total", "Things.", "k=\"2\""), 4);
    metric_add(metric_counter("t_a_total", "First.", NULL), 1);
    metric_add(metric_counter("t_c_total", "Things.", "k=\"1\""), 3);
    metric_observe_us(h, 100);
    metric_observe_us(h, 101);
    metric_observe_us(h, 10000001);
    metrics_render(&out);
    page = buf_cstr(&out);
    at = strstr(page, "# HELP t_a_total First.\n# TYPE t_a_total counter\nt_a_total 1\n");
    ck_assert_ptr_nonnull(at);
    at = strstr(at, "# HELP t_b_seconds Time.\n# TYPE t_b_seconds histogram\n"
                    "t_b_seconds_bucket{op=\"q\",le=\"0.0001\"} 1\n"
                    "t_b_seconds_bucket{op=\"q\",le=\"0.00025\"} 2\n");
    ck_assert_ptr_nonnull(at);
    at = strstr(at, "t_b_seconds_bucket{op=\"q\",le=\"10\"} 2\n"
                    "t_b_seconds_bucket{op=\"q\",le=\"+Inf\"} 3\n"
                    "t_b_seconds_sum{op=\"q\"} 10.000202\n"
                    "t_b_seconds_count{op=\"q\"} 3\n");
    ck_assert_ptr_nonnull(at);
    at = strstr(at, "# HELP t_c_total Things.\n# TYPE t_c_total counter\n"
                    "t_c_total{k=\"1\"} 3\nt_c_total{k=\"2\"} 4\n");
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(metric_value(h), 3);
    buf_deinit(&out);
}
END_TEST

SUITE_MAIN("metrics", same_name_and_labels_are_one_metric, gauges_are_set_and_raised,
    threads_lose_no_count, page_is_sorted_and_complete)
