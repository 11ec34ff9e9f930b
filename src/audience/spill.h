#ifndef AUDIENCE_SPILL_H
#define AUDIENCE_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/**
 * Sorts any number of 64-bit values in flat memory: 64 Ki at a time are sorted and appended to an
 * unlinked temporary file, and read back merged. Write all, then read all. One thread.
 */
struct spill;

struct spill *spill_create(const char *dir);
void spill_free(struct spill **s);
/** Add a value; -1 when the disk refuses (ERR_TEMP "disk_full"). */
int spill_add(struct spill *s, uint64_t v, struct err *err);
/** Values added. */
uint64_t spill_count(const struct spill *s);
/** End of writing: from here on spill_next(). */
int spill_sort(struct spill *s, struct err *err);
/** The next value in rising order (repeats included): 1, 0 at the end, -1 on a read error. */
int spill_next(struct spill *s, uint64_t *v_r, struct err *err);

#endif
