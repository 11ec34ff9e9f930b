#ifndef API_ERROR_H
#define API_ERROR_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/** HTTP status of an error: by its sub-code where one code stands for a status of its own, else by
 * its class. */
unsigned api_error_status(const struct err *err);
/** The word programs see: the sub-code, else a name for the class. Static or inside `err`. */
const char *api_error_word(const struct err *err);
/** Is the text for the log only? Our own mistakes and missing permissions of ours are. */
bool api_error_is_hidden(const struct err *err);

/**
 * Append the error object: error, message, field (when named), requestId (when hidden), and the
 * members of `details`, an open JSON object without its closing brace (empty = none). `message`
 * takes the place of err->text when it is not empty.
 */
void api_error_write(const struct err *err, struct slice message, struct slice details,
    const char *request_id, struct buf *out);

#endif
