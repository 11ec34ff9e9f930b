#ifndef BROADCAST_DISPATCH_INTERNAL_H
#define BROADCAST_DISPATCH_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "broadcast/dispatch.h"

struct loop_timer;
struct map_u64;

/** Shared by dispatch.c (plans) and dispatcher.c (which runs are planned and started, and when). */
struct dispatcher {
    struct dispatcher_args args;
    struct map_u64 *plans; /* broadcast -> struct plan */
    unsigned n_busy;       /* answers still to come from the store and the workers */
    bool is_kicked, is_starting;
    bool is_due_again; /* asked to start while starting */
    struct loop_timer *retry_timer, *due_timer;
    int64_t due_at_ms; /* wall clock of due_timer */
    unsigned op, next_op;
};

/** Plan this run, or go on with it. */
void dispatch_plan_kick(struct dispatcher *d, uint64_t broadcast);
/** The run may not be planned any more (paused, cancelled). */
void dispatch_plan_stop(struct dispatcher *d, uint64_t broadcast);
/** Free the plans that are over; at the end of a turn. */
void dispatch_plans_sweep(struct dispatcher *d);
void dispatch_plans_free(struct dispatcher *d);
/** Kick in a second. */
void dispatcher_retry_later(struct dispatcher *d);

#endif
