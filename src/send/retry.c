/*
 * The retry schedule.
 *
 * Only planned delays count towards the limit: a pause, a closed window or the tail of a slow broadcast
 * is not the receiver's fault and must not expire a row.
 */
#include "send/retry.h"

#include "base/rand.h"

#define MINUTE_MS INT64_C(60000)

int64_t
retry_delay_ms(uint32_t attempt, int64_t retry_after_ms)
{
    int64_t base = attempt >= 7 ? 60 : INT64_C(1) << (attempt > 0 ? attempt - 1 : 0);
    int64_t spread = base * MINUTE_MS * 2 / 5; /* 40 % of the base, centred on it */
    int64_t delay = base * MINUTE_MS - spread / 2 + (int64_t)rand_below((uint64_t)spread + 1);

    /* A named delay is a floor; the jitter above it keeps many rows from coming back at once. */
    if (delay < retry_after_ms)
        delay = retry_after_ms + (int64_t)rand_below((uint64_t)(retry_after_ms / 5) + 1);
    return delay;
}

bool
retry_is_expired(uint32_t delay_min)
{
    return delay_min > RETRY_LIMIT_MIN;
}

uint32_t
retry_delay_min(int64_t delay_ms)
{
    return (uint32_t)((delay_ms + MINUTE_MS - 1) / MINUTE_MS);
}
