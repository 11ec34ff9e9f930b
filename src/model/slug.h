#ifndef MODEL_SLUG_H
#define MODEL_SLUG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"

/** Lower-case letters, digits and inner hyphens, 1–128 characters. */
bool slug_valid(struct slice s);
/** 0, or -1 with a field error. */
int slug_check(const char *field, struct slice s, struct err *err);
/** A text people wrote: well-formed UTF-8, no control character, `min`–`max` characters. `allow_breaks`
 * lets line ends and tabs through. 0, or -1 with a field error. */
int text_check(
    const char *field, struct slice s, size_t min, size_t max, bool allow_breaks, struct err *err);

#endif
