#ifndef MESSAGE_MIME_INTERNAL_H
#define MESSAGE_MIME_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct mime_file;

/** Header lines are folded to end at or before this column (RFC 5322 §2.1.1). */
#define MIME_FOLD 76
/** The longest run without a blank that is left in one header line; far below 998. */
#define MIME_RUN_MAX 900

/** Every boundary starts with these bytes; bodies that hold them after "--" are never sent as they
 * are, and quoted-printable or base64 text cannot contain "=_" (RFC 2045 §6.7). */
#define MIME_BOUNDARY_PREFIX "=_"

/** Copy printable ASCII, breaking lines before blanks so that they end near MIME_FOLD. `column` is
 * where the text starts and is moved to where it ends. */
void mime_text_fold(struct slice ascii, size_t *column, struct buf *out);

/** Well-formed UTF-8 as a row of encoded words, all of it (RFC 2047 §2), folded between words. */
void mime_text_words(struct slice utf8, size_t *column, struct buf *out);

/** As mime_encode_text(), with the column kept. */
int mime_text_encode(struct slice text, size_t *column, struct buf *out, struct err *err);

enum mime_encoding { MIME_7BIT, MIME_QP, MIME_BASE64 };

/** The shortest encoding that is safe on any relay for this text; by size estimate, one pass. */
enum mime_encoding mime_body_choose(struct slice text);
/** "Content-Type: text/<subtype>…" with its encoding, the blank line, and the body. The body does
 * not end with a line end unless the text does. */
void mime_body_append(struct slice text, const char *subtype, struct buf *out);

/** ERR_INVALID when a name, type or content id cannot stand in a header. */
int mime_file_check(const struct mime_file *f, struct err *err);
/** The headers of a checked file, the blank line, and its data in base64. */
void mime_file_append(const struct mime_file *f, struct buf *out);

#endif
