#ifndef BASE_TZ_H
#define BASE_TZ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timefmt.h"

/** Time zones by IANA name (GLib's GTimeZone decides gaps and overlaps). Names may come from
 * anybody: only [A-Za-z0-9_+-/], no "..", at most 64 characters. Thread-safe; zones are cached. */
bool tz_valid(const char *name);
/** Seconds east of UTC at the instant; 0 for an unknown zone. */
int tz_offset_s(const char *name, int64_t ms);
/**
 * Instant of a local wall time. In a gap the offset in force before the transition is used, in an
 * overlap the earlier instant is taken. False for an unknown zone.
 */
bool tz_local_to_ms(const char *name, const struct civil *local, int64_t *ms_r);

#endif
