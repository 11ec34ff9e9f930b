#ifndef BASE_TIMEFMT_H
#define BASE_TIMEFMT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/** Broken-down UTC time, proleptic Gregorian; month 1–12, wday 0 = Sunday. */
struct civil {
    int year, month, day, hour, minute, second, ms, wday;
};

/** `c_r` is filled whole. Any instant of the years 0–9999. */
void civil_from_ms(int64_t ms, struct civil *c_r);
/** The inverse; `wday` is not read. Members must be in range. */
int64_t civil_to_ms(const struct civil *c);

#define TIMEFMT_ISO_SIZE  32
#define TIMEFMT_MAIL_SIZE 40
/** "2026-06-02T10:00:00.000Z" into `out`. Returns `out`. */
char *timefmt_iso(int64_t ms, char out[TIMEFMT_ISO_SIZE]);
/** RFC 5322 §3.3 date-time in UTC: "Tue, 2 Jun 2026 10:00:00 +0000". Returns `out`. */
char *timefmt_mail(int64_t ms, char out[TIMEFMT_MAIL_SIZE]);
/** RFC 3339 with an explicit offset or Z, fraction up to nine digits (cut to milliseconds), years
 * 1970–9999; false otherwise. A leap second (":60") is refused. */
bool timefmt_parse(struct slice s, int64_t *ms_r);

#endif
