/*
 * Escaping of template output.
 *
 * HTML: & < > " ' ` = become references; that is enough for text and quoted attributes, and the last
 * two keep old clients from ending an attribute early. Percent-encoding leaves only the unreserved
 * characters of RFC 3986 §2.3, so a value can neither end its query parameter nor the attribute.
 * All forms copy runs of plain bytes at once: most values hold nothing to escape.
 */
#include "message/template_escape.h"

#include <stdint.h>

/* What each byte becomes: 0 stays, else an index into `references`. From FIRST_BLANK on a reference is
 * used only where a blank would end the value. */
#define FIRST_BLANK 8

static const uint8_t classes[256] = {
    ['&'] = 1,
    ['<'] = 2,
    ['>'] = 3,
    ['"'] = 4,
    ['\''] = 5,
    ['`'] = 6,
    ['='] = 7,
    [' '] = FIRST_BLANK,
    ['\t'] = 9,
    ['\n'] = 10,
    ['\f'] = 11,
    ['\r'] = 12,
};

static const char references[][8] = {"", "&amp;", "&lt;", "&gt;", "&quot;", "&#x27;", "&#x60;",
    "&#x3D;", "&#x20;", "&#x9;", "&#xA;", "&#xC;", "&#xD;"};

/* Escape bytes of the classes below `limit`; runs of others are copied at once. */
static void
append_references(struct buf *out, struct slice s, unsigned limit)
{
    size_t from = 0;

    for (size_t i = 0; i < s.n; i++) {
        unsigned class = classes[(uint8_t)s.p[i]];

        if (class == 0 || class >= limit)
            continue;
        buf_append(out, s.p + from, i - from);
        buf_append_str(out, references[class]);
        from = i + 1;
    }
    if (from < s.n)
        buf_append(out, s.p + from, s.n - from);
}

static bool
is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

char *
template_escape_percent(struct slice s, char *to)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = (uint8_t)s.p[i];

        if (is_unreserved(s.p[i])) {
            *to++ = s.p[i];
        } else {
            *to++ = '%';
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        }
    }
    return to;
}

void
template_escape_append(struct buf *out, struct slice s, enum template_escape how)
{
    switch (how) {
    case ESCAPE_NONE: buf_append_slice(out, s); break;
    case ESCAPE_HTML: append_references(out, s, FIRST_BLANK); break;
    case ESCAPE_BARE: append_references(out, s, UINT8_MAX); break;
    case ESCAPE_PERCENT:
        if (s.n > 0)
            out->n = (size_t)(template_escape_percent(s, buf_reserve(out, s.n * 3)) - out->p);
        break;
    }
}
