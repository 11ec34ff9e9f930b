#ifndef LOOP_WORKERS_H
#define LOOP_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

struct loop;
struct workers;

/** Runs on a worker thread; sees only `job`. */
typedef void workers_run_fn(void *job);
/** Runs in the loop after run_fn returned; takes the job back. */
typedef void workers_done_fn(void *job);

/**
 * `n_threads` threads with one bounded queue: besides those that run, `queue_limit` jobs may wait. A
 * job is owned by one side at a time. `name` (≤ 15 characters) names the threads and the metrics of
 * the pool. Signals of the loop must have been added before.
 */
struct workers *workers_create(
    struct loop *l, const char *name, unsigned n_threads, size_t queue_limit);
/** Waits for running jobs, runs queued ones, delivers their done_fn by turning the loop's mailbox;
 * call from the loop thread after loop_run() has returned. */
void workers_free(struct workers **w);
/** Loop thread. `done` comes exactly once, from the loop, never before this has returned. False when
 * the queue is full (try again after a done_fn) or the pool is being freed: nothing was taken. */
bool workers_submit(struct workers *w, workers_run_fn *run, workers_done_fn *done, void *job);
/** Jobs not yet given back: waiting, running, or done with done_fn still to come. Any thread. */
size_t workers_busy(const struct workers *w);

#endif
