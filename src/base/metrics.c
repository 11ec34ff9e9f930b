#include "base/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/slice.h"

/*
 * The registry of what the program counts about itself.
 *
 * Metrics are made once and live as long as the process, so the pointer a module keeps needs no
 * lock: counting is one relaxed atomic. The mutex guards registration and the list that the text
 * page is made from. A page is a set of single readings, not one snapshot.
 */

enum metric_kind { KIND_COUNTER, KIND_GAUGE, KIND_HISTOGRAM };

static const uint64_t bounds_us[] = {100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000,
    250000, 500000, 1000000, 2500000, 5000000, 10000000};
#define N_BOUNDS (sizeof bounds_us / sizeof bounds_us[0])

struct histogram {
    _Atomic uint64_t bucket[N_BOUNDS + 1]; /* not cumulative; the last one is beyond all bounds */
    _Atomic uint64_t sum_us;
};

struct metric {
    const char *name, *help;
    char *labels; /* "" when none */
    enum metric_kind kind;
    _Atomic int64_t value;
    struct histogram *histogram;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map_str *by_key; /* "name{labels}" to metric */
static struct metric **all;
static size_t n_all, cap_all;

static struct metric *
metric_create(enum metric_kind kind, const char *name, const char *help, const char *labels)
{
    struct metric *m = mem_zalloc(sizeof *m);

    m->name = name;
    m->help = help;
    m->labels = mem_strdup(labels);
    m->kind = kind;
    if (kind == KIND_HISTOGRAM)
        m->histogram = mem_zalloc(sizeof *m->histogram);
    if (n_all == cap_all) {
        cap_all = cap_all != 0 ? cap_all * 2 : 64;
        all = mem_realloc(all, cap_all * sizeof all[0]);
    }
    all[n_all++] = m;
    return m;
}

static struct metric *
metric_register(enum metric_kind kind, const char *name, const char *help, const char *labels)
{
    struct buf key = BUF_INIT;
    struct metric *m;

    if (labels == NULL)
        labels = "";
    buf_printf(&key, "%s{%s}", name, labels);
    pthread_mutex_lock(&lock);
    if (by_key == NULL)
        by_key = map_str_create();
    m = map_str_get(by_key, buf_slice(&key));
    if (m == NULL) {
        m = metric_create(kind, name, help, labels);
        map_str_put(by_key, buf_slice(&key), m);
    }
    pthread_mutex_unlock(&lock);
    buf_deinit(&key);
    assert(m->kind == kind);
    return m;
}

struct metric *
metric_counter(const char *name, const char *help, const char *labels)
{
    return metric_register(KIND_COUNTER, name, help, labels);
}

struct metric *
metric_gauge(const char *name, const char *help, const char *labels)
{
    return metric_register(KIND_GAUGE, name, help, labels);
}

struct metric *
metric_histogram_us(const char *name, const char *help, const char *labels)
{
    return metric_register(KIND_HISTOGRAM, name, help, labels);
}

void
metric_add(struct metric *m, int64_t n)
{
    atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}

void
metric_set(struct metric *m, int64_t v)
{
    atomic_store_explicit(&m->value, v, memory_order_relaxed);
}

void
metric_max(struct metric *m, int64_t v)
{
    int64_t seen = atomic_load_explicit(&m->value, memory_order_relaxed);

    while (seen < v && !atomic_compare_exchange_weak_explicit(
                           &m->value, &seen, v, memory_order_relaxed, memory_order_relaxed))
        continue;
}

void
metric_observe_us(struct metric *m, uint64_t us)
{
    size_t i = 0;

    assert(m->histogram != NULL);
    while (i < N_BOUNDS && us > bounds_us[i])
        i++;
    atomic_fetch_add_explicit(&m->histogram->bucket[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->histogram->sum_us, us, memory_order_relaxed);
    metric_add(m, 1);
}

int64_t
metric_value(const struct metric *m)
{
    return atomic_load_explicit(&m->value, memory_order_relaxed);
}

/* ---- the text page ---- */

static void
render_name(struct buf *out, const struct metric *m, const char *suffix)
{
    buf_append_str(out, m->name);
    buf_append_str(out, suffix);
    if (m->labels[0] != '\0')
        buf_printf(out, "{%s}", m->labels);
}

static void
render_value(struct buf *out, const struct metric *m)
{
    render_name(out, m, "");
    buf_printf(out, " %" PRId64 "\n", metric_value(m));
}

static void
render_histogram(struct buf *out, const struct metric *m)
{
    const char *comma = m->labels[0] != '\0' ? "," : "";
    uint64_t sum_us = atomic_load_explicit(&m->histogram->sum_us, memory_order_relaxed);
    uint64_t seen = 0;

    for (size_t i = 0; i <= N_BOUNDS; i++) {
        seen += atomic_load_explicit(&m->histogram->bucket[i], memory_order_relaxed);
        buf_printf(out, "%s_bucket{%s%sle=\"", m->name, m->labels, comma);
        if (i < N_BOUNDS)
            buf_printf(out, "%g", (double)bounds_us[i] / 1e6);
        else
            buf_append_str(out, "+Inf");
        buf_append_str(out, "\"} ");
        buf_append_u64(out, seen);
        buf_append_char(out, '\n');
    }
    /* The count is the last cumulative bucket, so that the two always agree. */
    render_name(out, m, "_sum");
    buf_printf(out, " %.6f\n", (double)sum_us / 1e6);
    render_name(out, m, "_count");
    buf_printf(out, " %" PRIu64 "\n", seen);
}

static int
by_name(const void *a, const void *b)
{
    const struct metric *x = *(struct metric *const *)a, *y = *(struct metric *const *)b;
    int r = strcmp(x->name, y->name);

    return r != 0 ? r : strcmp(x->labels, y->labels);
}

void
metrics_render(struct buf *out)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    struct metric **sorted;
    size_t n;

    pthread_mutex_lock(&lock);
    n = n_all;
    sorted = mem_array(n, sizeof sorted[0]);
    if (n != 0)
        memcpy(sorted, all, n * sizeof sorted[0]);
    pthread_mutex_unlock(&lock);
    if (n != 0)
        qsort(sorted, n, sizeof sorted[0], by_name);
    for (size_t i = 0; i < n; i++) {
        const struct metric *m = sorted[i];

        if (i == 0 || strcmp(sorted[i - 1]->name, m->name) != 0)
            buf_printf(
                out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, kinds[m->kind]);
        if (m->kind == KIND_HISTOGRAM)
            render_histogram(out, m);
        else
            render_value(out, m);
    }
    mem_free(sorted);
}
