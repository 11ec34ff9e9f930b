/* Worker pools: threads, bound, order of ownership, closing. */
#include <pthread.h>
#include <string.h>

#include "loop/loop.h"
#include "loop/workers.h"

#include "../support/suite.h"

/* A gate keeps workers inside run_fn until the test opens it. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
    int inside;
};

struct job {
    struct gate *gate;
    struct loop *loop;
    int runs, dones;
    bool ran_off_loop, done_in_loop;
    char thread_name[16];
};

static void
gate_init(struct gate *g)
{
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    g->is_open = false;
    g->inside = 0;
}

static void
gate_set_open(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->is_open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void
gate_await_inside(struct gate *g, int n)
{
    pthread_mutex_lock(&g->lock);
    while (g->inside < n)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void
gate_pass(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->inside++;
    pthread_cond_broadcast(&g->changed);
    while (!g->is_open)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void
job_run(void *arg)
{
    struct job *j = arg;

    j->runs++;
    j->ran_off_loop = !loop_is_current(j->loop);
    pthread_getname_np(pthread_self(), j->thread_name, sizeof j->thread_name);
    gate_pass(j->gate);
}

static void
job_done(void *arg)
{
    struct job *j = arg;

    j->dones++;
    j->done_in_loop = loop_is_current(j->loop);
}

static void
jobs_init(struct job *jobs, int n, struct gate *g, struct loop *l)
{
    gate_init(g);
    memset(jobs, 0, (size_t)n * sizeof jobs[0]);
    for (int i = 0; i < n; i++) {
        jobs[i].gate = g;
        jobs[i].loop = l;
    }
    loop_turn(l, 0); /* makes this thread the loop's */
}

START_TEST(jobs_run_on_threads_and_end_in_the_loop)
{
    struct loop *l = loop_create();
    struct workers *w = workers_create(l, "testpool", 3, 100);
    struct job jobs[50];
    struct gate g;

    jobs_init(jobs, 50, &g, l);
    gate_set_open(&g);
    for (int i = 0; i < 50; i++)
        ck_assert(workers_submit(w, job_run, job_done, &jobs[i]));
    while (workers_busy(w) > 0)
        loop_turn(l, -1);
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(jobs[i].runs, 1);
        ck_assert_int_eq(jobs[i].dones, 1);
        ck_assert(jobs[i].ran_off_loop && jobs[i].done_in_loop);
        ck_assert_str_eq(jobs[i].thread_name, "testpool");
    }
    workers_free(&w);
    ck_assert_ptr_null(w);
    workers_free(&w);
    loop_free(&l);
}
END_TEST

START_TEST(a_full_queue_refuses_until_a_done)
{
    struct loop *l = loop_create();
    struct workers *w = workers_create(l, "bounded", 2, 3);
    struct job jobs[6];
    struct gate g;

    jobs_init(jobs, 6, &g, l);
    for (int i = 0; i < 5; i++)
        ck_assert(workers_submit(w, job_run, job_done, &jobs[i]));
    ck_assert(!workers_submit(w, job_run, job_done, &jobs[5]));
    ck_assert_uint_eq(workers_busy(w), 5);
    gate_await_inside(&g, 2);
    gate_set_open(&g);
    while (jobs[0].dones == 0)
        loop_turn(l, -1);
    ck_assert(workers_submit(w, job_run, job_done, &jobs[5]));
    while (workers_busy(w) > 0)
        loop_turn(l, -1);
    ck_assert_int_eq(jobs[5].dones, 1);
    workers_free(&w);
    loop_free(&l);
}
END_TEST

static void *
open_gate(void *arg)
{
    struct gate *g = arg;

    gate_await_inside(g, 1);
    gate_set_open(g);
    return NULL;
}

START_TEST(freeing_runs_what_waits_and_gives_it_back)
{
    struct loop *l = loop_create();
    struct workers *w = workers_create(l, "closing", 1, 10);
    struct job jobs[8];
    pthread_t opener;
    struct gate g;

    jobs_init(jobs, 8, &g, l);
    for (int i = 0; i < 8; i++)
        ck_assert(workers_submit(w, job_run, job_done, &jobs[i]));
    pthread_create(&opener, NULL, open_gate, &g);
    workers_free(&w);
    pthread_join(opener, NULL);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(jobs[i].runs, 1);
        ck_assert_int_eq(jobs[i].dones, 1);
    }
    loop_free(&l);
}
END_TEST

struct chain {
    struct workers *pool;
    bool was_accepted;
};

static void
chain_run(void *arg)
{
}

static void
chain_done(void *arg)
{
    struct chain *c = arg;

    c->was_accepted = workers_submit(c->pool, chain_run, chain_done, c);
}

START_TEST(a_pool_that_closes_takes_no_more)
{
    struct loop *l = loop_create();
    struct chain c = {.was_accepted = true};

    c.pool = workers_create(l, "chain", 1, 10);
    loop_turn(l, 0);
    ck_assert(workers_submit(c.pool, chain_run, chain_done, &c));
    workers_free(&c.pool);
    ck_assert(!c.was_accepted);
    loop_free(&l);
}
END_TEST

SUITE_MAIN("workers", jobs_run_on_threads_and_end_in_the_loop, a_full_queue_refuses_until_a_done,
    freeing_runs_what_waits_and_gives_it_back, a_pool_that_closes_takes_no_more)
