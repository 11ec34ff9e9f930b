#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/**
 * Time-ordered 64-bit ids: 41 bits of milliseconds since 2024-01-01T00:00:00Z, 10 bits of instance
 * number, 12 bits of sequence; the top bit is 0, so they fit a signed integer. Shown as 13
 * characters of Crockford base32, upper case on output, either case (and O, I, L) on input.
 */
#define ID_TEXT_SIZE 14
#define ID_EPOCH_MS  INT64_C(1704067200000)

/** Set the instance number (0–1023) and the lowest millisecond to use (a stored high-water mark). */
void id_init(unsigned instance, int64_t floor_ms);
/** A new id, greater than every id this process has made. Thread-safe, never blocks: when the
 * sequence of a millisecond is used up, or the clock stepped back, it borrows from the next. */
uint64_t id_next(void);
/** `n` ids with consecutive sequence are not promised; ids_next fills `out` in rising order. */
void id_next_many(uint64_t *out, unsigned n);
/** Highest millisecond used so far, for the stored high-water mark. */
int64_t id_high_water_ms(void);
/** Milliseconds since the Unix epoch at which the id was made. */
int64_t id_time_ms(uint64_t id);

char *id_text(uint64_t id, char out[ID_TEXT_SIZE]);
/** Exactly 13 characters, value below 2^63 and not 0; false otherwise. */
bool id_parse(struct slice s, uint64_t *id_r);

#endif
