#ifndef TRANSPORT_SMTP_DOTS_H
#define TRANSPORT_SMTP_DOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

/**
 * Cuts a message into slices of itself such that a dot has to go before each but the first: dot-stuffing
 * (RFC 5321 §4.5.2) without a copy. A dot after a bare LF is stuffed too, so that no receiver that takes
 * LF for a line end can be led to an end of data that we did not mean.
 */
struct smtp_dots {
    struct slice rest;
    bool is_dot_due; /* `rest` begins with a dot at the start of a line */
};

void smtp_dots_init(struct smtp_dots *d, struct slice message);
/**
 * The next piece, at most `max_bytes` (> 0); false at the end. `is_dot_r`: a dot goes on the wire before
 * it.
 */
bool smtp_dots_next(struct smtp_dots *d, size_t max_bytes, struct slice *piece_r, bool *is_dot_r);

#endif
