#ifndef SUPPORT_MIME_READER_H
#define SUPPORT_MIME_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/slice.h"

/**
 * A small reader of mail for tests, written from the reader's side of the RFCs and sharing nothing
 * with the writer under test. It ends the test on anything ill-formed.
 */

/** Value of the first field of that name in an entity, unfolded (RFC 5322 §2.2.3), into `out`, which
 * is cleared first. False when there is none. */
bool reader_field(struct slice entity, const char *name, struct buf *out);
/** How many fields of that name the header has. */
size_t reader_count(struct slice entity, const char *name);
/** What stands behind the blank line. */
struct slice reader_body(struct slice entity);
/** Decode the encoded words of an unfolded value (RFC 2047), appended to `out`. Checks that each is
 * at most 75 characters long and holds whole UTF-8 characters. */
void reader_words(struct slice value, struct buf *out);
/** Decode a body by its Content-Transfer-Encoding, appended to `out`. */
void reader_decode(struct slice entity, struct buf *out);
/** Child `i` of a multipart entity; ends the test when it has none. */
struct slice reader_part(struct slice entity, size_t i);
size_t reader_n_parts(struct slice entity);
/** Value of a parameter: plain, quoted, or by RFC 2231 (`name*` and `name*N*` forms). */
bool reader_param(struct slice field_value, const char *name, struct buf *out);
/** Every line ends with CRLF and is within 998; no NUL; header lines with encoded words and lines of
 * encoded bodies are within 76. Walks multiparts. */
void reader_check_lines(struct slice entity);
/** Take off the dots that the wire added; the terminating line must be there. */
void reader_unstuff(struct slice wire, struct buf *out);

#endif
