#ifndef SEND_RETRY_H
#define SEND_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/** A row's planned retry delays may add up to this much; then it expires. */
#define RETRY_LIMIT_MIN (24 * 60)

/**
 * Delay before the next attempt of a row that was put back: 1, 2, 4, 8, 16, 32, then every 60 minutes,
 * ±20 % jitter, never shorter than a delay the server named (docs/states.md). `attempt` counts the
 * claims so far, at least 1. Milliseconds.
 */
int64_t retry_delay_ms(uint32_t attempt, int64_t retry_after_ms);

/** Has the row used up its retry time? `delay_min` is the sum so far, the new delay included. */
bool retry_is_expired(uint32_t delay_min);

/** Minutes to add to the row's sum for a delay: rounded up. */
uint32_t retry_delay_min(int64_t delay_ms);

#endif
