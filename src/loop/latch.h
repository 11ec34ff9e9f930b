#ifndef LOOP_LATCH_H
#define LOOP_LATCH_H

#include <stdbool.h>
#include <stdint.h>

struct latch;

/**
 * Opens once; any number of threads may wait for it. Counted, so that the waiter and the opener may
 * let go in any order. For API workers that wait for a job with a bound; never wait in the loop thread.
 */
struct latch *latch_create(void);
struct latch *latch_ref(struct latch *l);
void latch_unref(struct latch **l);
void latch_open(struct latch *l);
/** True when open; false when `timeout_ms` passed first. Real time, not the test clock. */
bool latch_wait(struct latch *l, int64_t timeout_ms);

#endif
