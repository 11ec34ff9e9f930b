#ifndef DAEMON_SILENCE_H
#define DAEMON_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct run_table;
struct silence;
struct store;

/**
 * Watches for time in which this process did not live: the machine slept, or its state was frozen and
 * brought back. When the wall clock has moved on further than a running broadcast tolerates, the
 * broadcast is paused `missed_start`, because the world it was confirmed for is gone. Loop thread.
 */
struct silence *silence_create(
    struct loop *l, struct store *st, struct run_table *runs, int64_t default_lateness_ms);
void silence_free(struct silence **s);

/** The sender's question before the final dot of a mail: false from a long silence until the watch has
 * dealt with it. */
bool silence_may_commit(void *silence);

#endif
