#ifndef MESSAGE_HTML_ENTITY_H
#define MESSAGE_HTML_ENTITY_H

#include "base/buf.h"
#include "base/slice.h"

/**
 * Append `s` with its character references decoded, in one pass: decimal, hexadecimal, and the named
 * ones of HTML 4 that occur in mail. A reference needs its semicolon; what is no known reference
 * stays as written. Numbers that name no character give U+FFFD.
 */
void html_entity_decode(struct slice s, struct buf *out);

#endif
