#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "mailshot/states.h"

struct loop;
struct queue;

/**
 * Ready ids, nothing else. The row in the store is the truth: an id may be here twice, or be lost with
 * the whole queue, and nothing is sent twice or left out by it. A group is a broadcast, or a profile
 * with one-off mail; groups of one profile and lane are served round robin, so a long broadcast stands
 * before nobody. Loop thread only.
 */
struct queue_ready {
    uint64_t group, id;
};

/** Ids taken; the array is valid during the call. Comes in the loop, never before queue_take() has
 * returned, unless the queue was freed. n is 0 when nothing is ready. */
typedef void queue_take_fn(const struct queue_ready *ready, size_t n, void *arg);

struct queue_ops {
    const char *name;
    void (*free)(void *impl);
    void (*add)(void *impl, uint64_t profile, enum send_lane lane, uint64_t group,
        const uint64_t *ids, size_t n);
    void (*take)(void *impl, uint64_t profile, enum send_lane lane, size_t max, queue_take_fn *fn,
        void *arg);
    void (*drop)(void *impl, uint64_t group);
    size_t (*length)(const void *impl, uint64_t group);
};

/** Wrap a backend; takes `impl` over. */
struct queue *queue_create(const struct queue_ops *ops, void *impl);
void queue_free(struct queue **q);

/** Add ids of one group at its end. */
void queue_add(struct queue *q, uint64_t profile, enum send_lane lane, uint64_t group,
    const uint64_t *ids, size_t n);
/** Up to `max` ids of one profile and lane, all of the same group, the groups in turn. */
void queue_take(struct queue *q, uint64_t profile, enum send_lane lane, size_t max,
    queue_take_fn *fn, void *arg);
/** Forget a group (paused, cancelled, closed). */
void queue_drop(struct queue *q, uint64_t group);
/** Ids waiting in a group, as far as this process knows. */
size_t queue_length(const struct queue *q, uint64_t group);

/** The queue in memory of the embedded default. */
struct queue *queue_embedded_create(struct loop *l);

#endif
