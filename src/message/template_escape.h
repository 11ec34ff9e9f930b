#ifndef MESSAGE_TEMPLATE_ESCAPE_H
#define MESSAGE_TEMPLATE_ESCAPE_H

#include "base/buf.h"
#include "base/slice.h"

/** How the value of a placeholder is written into its place. */
enum template_escape {
    ESCAPE_NONE,   /* as it is: text parts and triple-stash */
    ESCAPE_HTML,   /* text, quoted attributes */
    ESCAPE_BARE,   /* attribute value without quotes: HTML, and blanks as references */
    ESCAPE_PERCENT /* behind '?' in a URL attribute: percent-encoding, which HTML need not escape */
};

/** Append `s` to `out` in the form that `how` asks for. */
void template_escape_append(struct buf *out, struct slice s, enum template_escape how);

/** Percent-encode `s` to `to`, which has room for three times its length. Returns the end. */
char *template_escape_percent(struct slice s, char *to);

#endif
