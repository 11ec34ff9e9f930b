#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"

/**
 * Is `text` one JSON text by the grammar of RFC 8259, with at most `max_nodes` values, nested at
 * most `max_depth` (≤ 1024) deep, its strings well-formed UTF-8 with paired surrogate escapes and
 * without U+0000, its numbers at most
 * 63 characters long? Builds nothing, allocates nothing. -1 with ERR_INVALID "invalid_json" and the
 * offset of the fault.
 */
int json_scan(struct slice text, unsigned max_depth, unsigned max_nodes, struct err *err);

#endif
