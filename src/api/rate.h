#ifndef API_RATE_H
#define API_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

struct rate_table;

/**
 * Token buckets by name (an actor, a client address): each starts full with `burst` tokens and
 * gains `per_minute` tokens a minute. At most `max_names` are remembered; full buckets are
 * forgotten first, and when none is full a new name finds no token. One thread.
 */
struct rate_table *rate_table_create(unsigned per_minute, unsigned burst, size_t max_names);
void rate_table_free(struct rate_table **t);
/** Take one token. Returns 0, or the milliseconds to wait (> 0) without taking. */
int64_t rate_table_take(struct rate_table *t, struct slice name, int64_t now_ms);
/** Would a token be there? Takes nothing and remembers nothing. */
int64_t rate_table_peek(const struct rate_table *t, struct slice name, int64_t now_ms);

#endif
