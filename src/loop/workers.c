#include "loop/workers.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "loop/loop.h"

/*
 * Threads beside the loop, for what blocks or computes.
 *
 *   loop thread: submit ─► queue (lock, condition) ─► worker: run ─► loop_post ─► loop: done
 *
 * A task is owned by exactly one side: from submit to done by the pool, then by the caller again.
 * `n_open` counts the tasks in between; it moves in the loop thread only, and bounds the queue: a
 * full pool refuses, and has room again after the next done_fn.
 */

struct task {
    struct list node;
    struct workers *pool;
    workers_run_fn *run;
    workers_done_fn *done;
    void *job;
    uint64_t queued_us;
};

struct workers {
    struct loop *loop;
    char name[16];
    size_t open_limit;
    atomic_size_t n_open;
    unsigned n_threads;
    pthread_t *threads;

    pthread_mutex_t lock;
    pthread_cond_t has_work;
    struct list queue; /* struct task */
    bool is_closing;

    struct metric *m_jobs, *m_refused, *m_busy, *m_wait;
};

/* Back in the loop. */
static void
on_task_done(void *arg)
{
    struct task task = *(struct task *)arg;
    struct workers *w = task.pool;

    mem_free(arg);
    atomic_fetch_sub_explicit(&w->n_open, 1, memory_order_relaxed);
    metric_add(w->m_busy, -1);
    task.done(task.job);
}

/* The next task, or NULL when the pool closes and nothing waits. */
static struct task *
queue_take(struct workers *w)
{
    struct list *node;

    pthread_mutex_lock(&w->lock);
    while ((node = list_pop_front(&w->queue)) == NULL && !w->is_closing)
        pthread_cond_wait(&w->has_work, &w->lock);
    pthread_mutex_unlock(&w->lock);
    return node != NULL ? LIST_ENTRY(node, struct task, node) : NULL;
}

static void *
worker_main(void *arg)
{
    struct workers *w = arg;
    struct task *task;

    while ((task = queue_take(w)) != NULL) {
        metric_observe_us(w->m_wait, clock_mono_us() - task->queued_us);
        task->run(task->job);
        loop_post(w->loop, on_task_done, task);
    }
    return NULL;
}

static void
metrics_create(struct workers *w)
{
    char label[32];

    snprintf(label, sizeof label, "pool=\"%s\"", w->name);
    w->m_jobs =
        metric_counter("mailshot_workers_jobs_total", "Jobs given to worker threads.", label);
    w->m_refused = metric_counter("mailshot_workers_refused_total",
        "Jobs refused because the queue of the pool was full.", label);
    w->m_busy = metric_gauge("mailshot_workers_busy", "Jobs waiting and running.", label);
    w->m_wait = metric_histogram_us(
        "mailshot_workers_wait_seconds", "Time between giving a job and its start.", label);
}

struct workers *
workers_create(struct loop *l, const char *name, unsigned n_threads, size_t queue_limit)
{
    struct workers *w = mem_zalloc(sizeof *w);

    assert(n_threads > 0);
    w->loop = l;
    snprintf(w->name, sizeof w->name, "%s", name);
    w->open_limit = queue_limit + n_threads;
    w->n_threads = n_threads;
    w->threads = mem_array(n_threads, sizeof w->threads[0]);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->has_work, NULL);
    list_init(&w->queue);
    metrics_create(w);
    for (unsigned i = 0; i < n_threads; i++) {
        if (pthread_create(&w->threads[i], NULL, worker_main, w) != 0) {
            log_error(NULL, "workers.fatal", "pool=%s error=\"no thread\"", w->name);
            abort();
        }
        pthread_setname_np(w->threads[i], w->name);
    }
    return w;
}

void
workers_free(struct workers **wp)
{
    struct workers *w = *wp;

    if (w == NULL)
        return;
    pthread_mutex_lock(&w->lock);
    w->is_closing = true;
    pthread_cond_broadcast(&w->has_work);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->n_threads; i++)
        pthread_join(w->threads[i], NULL);
    /* Everything has run; the results are in the mailbox or on their way through this loop. */
    while (workers_busy(w) > 0)
        loop_turn(w->loop, 0);
    pthread_cond_destroy(&w->has_work);
    pthread_mutex_destroy(&w->lock);
    mem_free(w->threads);
    mem_free(w);
    *wp = NULL;
}

bool
workers_submit(struct workers *w, workers_run_fn *run, workers_done_fn *done, void *job)
{
    struct task *task;

    if (w->is_closing || workers_busy(w) >= w->open_limit) {
        metric_add(w->m_refused, 1);
        return false;
    }
    task = mem_alloc(sizeof *task);
    *task = (struct task){
        .pool = w, .run = run, .done = done, .job = job, .queued_us = clock_mono_us()};
    atomic_fetch_add_explicit(&w->n_open, 1, memory_order_relaxed);
    metric_add(w->m_jobs, 1);
    metric_add(w->m_busy, 1);
    pthread_mutex_lock(&w->lock);
    list_push_back(&w->queue, &task->node);
    pthread_cond_signal(&w->has_work);
    pthread_mutex_unlock(&w->lock);
    return true;
}

size_t
workers_busy(const struct workers *w)
{
    return atomic_load_explicit(&w->n_open, memory_order_relaxed);
}
