#ifndef MESSAGE_VALUE_TEXT_H
#define MESSAGE_VALUE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/slice.h"
#include "message/value.h"

/** Room for the text of any value that is neither string nor array. */
#define VALUE_TEXT_SIZE 40

/**
 * Text of a value: "" for undefined, null and objects; true, false; numbers in shortest form; dates
 * as ISO 8601 in UTC; elements of an array joined by `separator`, nested arrays by ",". The result
 * points into `v`, static storage, `tmp`, or (arrays only) into `a`. False when the text of an array
 * would take more than `max_bytes`.
 */
bool value_text(const struct value *v, struct slice separator, size_t max_bytes,
    char tmp[VALUE_TEXT_SIZE], struct arena *a, struct slice *text_r);

/** Shortest decimal text that reads back as the same double: no point for whole numbers, exponent
 * form below 1e-6 and from 1e21 on, NaN and Infinity by name. Writes to `out`, returns a view. */
struct slice value_number_text(double d, char out[VALUE_TEXT_SIZE]);

/** The number a value stands for in comparisons and helpers: null and "" are 0, booleans 0 and 1,
 * dates their milliseconds, decimal text its number; NaN for everything else. */
double value_to_number(const struct value *v);

#endif
