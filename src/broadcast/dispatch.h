#ifndef BROADCAST_DISPATCH_H
#define BROADCAST_DISPATCH_H

#include <stdint.h>

struct dispatcher;
struct gates;
struct loop;
struct run_table;
struct sender;
struct store;
struct workers;

/**
 * Planning: the lease owner of a run walks the eligible stream and makes its rows, page by page. All
 * in the loop thread; pages are read on `cpu`.
 */
struct dispatcher_args {
    struct loop *loop;
    struct store *store;
    struct workers *cpu;
    struct run_table *runs;
    struct gates *gates;
    struct sender *sender;
    uint64_t owner;
    int64_t lease_stale_ms; /* a lease whose beat is older may be taken; 0 = any (embedded store) */
};

struct dispatcher *dispatcher_create(const struct dispatcher_args *args);
/** After the workers have been drained. */
void dispatcher_free(struct dispatcher **d);
/** Look for runs that can be planned. */
void dispatcher_kick(struct dispatcher *d);
/** Start scheduled runs whose time has come (or pause them as missed), now; any failure is tried again
 * at the next call. */
void dispatcher_start_due(struct dispatcher *d);
/** Call dispatcher_start_due() at `at_ms` (wall clock), if that is earlier than what is set. Any
 * thread. */
void dispatcher_wake_at(struct dispatcher *d, int64_t at_ms);
/** Pages planned and still being read or written. */
unsigned dispatcher_busy(const struct dispatcher *d);

#endif
