#ifndef TRANSPORT_PACE_H
#define TRANSPORT_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "mailshot/states.h"

struct pace;

/**
 * How fast one profile sends: a token bucket at the configured rate that adapts to the far side.
 * A throttle reply halves the current rate, at most once a second, since replies to mails that were
 * already on the wire say nothing new; each second without one gives 5 % of the configured rate back.
 * An unlimited profile, or one whose rate is more than ten times what it really sent in the last second,
 * gets half of the latter instead, 5 % of it back each second, and loses the limit again once it has
 * grown to four times that, or to the configured rate. Loop thread; time from base/clock.
 * `per_second` 0 = unlimited. `burst` 0 = a fifth of a second's worth, at least 1.
 */
struct pace *pace_create(double per_second, unsigned burst);
void pace_free(struct pace **p);
/** Another configured rate: new settings, or this instance's share. What was learnt from throttle
 * replies stays, capped at the new rate. */
void pace_set_rate(struct pace *p, double per_second);
/**
 * Take one token. Returns 0, or the milliseconds to wait (> 0) without taking. LANE_IMMEDIATE may
 * overdraw the bucket by one second's worth, so that a bulk flood never delays it; bulk pays it back.
 */
int64_t pace_take(struct pace *p, enum send_lane lane);
/** Put back a token that was not used (the claim was refused). */
void pace_untake(struct pace *p);
/** A throttle reply came (TRANSPORT_SCOPE_PROFILE). `retry_after_ms` (0 = none named) holds
 * everything for that long, at most five minutes. */
void pace_throttled(struct pace *p, int64_t retry_after_ms);
/** Mails per second allowed now; 0 = unlimited. */
double pace_rate(const struct pace *p);
/** Is the rate below the configured one because the relay asked for it ("limited by the relay")? */
bool pace_is_limited(const struct pace *p);

#endif
