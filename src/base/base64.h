#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/slice.h"

/** RFC 4648 §4 with padding, no line breaks. */
void base64_encode(struct slice in, struct buf *out);
/** RFC 2045 §6.8: lines of 76 characters, each ended by CRLF. */
void base64_encode_mime(struct slice in, struct buf *out);
/** RFC 4648 §5 (URL-safe alphabet) without padding. */
void base64url_encode(struct slice in, struct buf *out);
/** As above into memory of at least 4 * ceil(n / 3) bytes; returns the length. No NUL. */
size_t base64url_encode_to(const void *in, size_t n, char *out);
/** Strict decoders, appending to `out`: wrong alphabet, wrong length or padding, non-zero spare bits
 * are refused (false, and `out` holds what it held). */
bool base64_decode(struct slice in, struct buf *out);
bool base64url_decode(struct slice in, struct buf *out);

/** Lower-case hexadecimal. */
void hex_encode(struct slice in, struct buf *out);
/** Either case; an odd length or another character is refused (false, `out` as it was). */
bool hex_decode(struct slice in, struct buf *out);

#endif
