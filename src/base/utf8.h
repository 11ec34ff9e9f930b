#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"

/** Well-formed UTF-8 by RFC 3629 (no surrogates, no overlong forms, ≤ U+10FFFF). */
bool utf8_valid(struct slice s);
bool utf8_is_ascii(struct slice s);
/** Decode one character at *pos and advance; returns U+FFFD and advances one byte on a fault. */
uint32_t utf8_next(struct slice s, size_t *pos);
/** A surrogate or a number above U+10FFFF is written as U+FFFD. */
void utf8_append(struct buf *b, uint32_t cp);
/** Number of code points. */
size_t utf8_count(struct slice s);
/** Has a control character: U+0000–U+001F, U+007F–U+009F, U+2028, U+2029. */
bool utf8_has_control(struct slice s);
/** NFC form of well-formed UTF-8 appended to `out` (GLib's tables). */
void utf8_nfc(struct slice s, struct buf *out);

#endif
