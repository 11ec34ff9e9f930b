#include "base/utf8.h"

#include <glib.h>
#include <string.h>

/*
 * UTF-8 by RFC 3629. Most text is ASCII, so the scanners step over eight bytes at a time while no
 * top bit is set. Decoding has one function, utf8_decode(); all others are loops around it.
 */

#define TOP_BITS UINT64_C(0x8080808080808080)

/* Position of the first byte with the top bit set at or after `i`, or s.n. */
static size_t
skip_ascii(struct slice s, size_t i)
{
    while (i + 8 <= s.n) {
        uint64_t word;

        memcpy(&word, s.p + i, 8);
        if ((word & TOP_BITS) != 0)
            break;
        i += 8;
    }
    while (i < s.n && (unsigned char)s.p[i] < 0x80)
        i++;
    return i;
}

/* Length of the well-formed character at `p` (n > 0 bytes left), or 0. RFC 3629 §4. */
static size_t
utf8_decode(const unsigned char *p, size_t n, uint32_t *cp_r)
{
    /* The second byte has a narrower range after E0, ED, F0 and F4. */
    unsigned char lo = 0x80, hi = 0xbf;
    size_t len;
    uint32_t cp;

    if (p[0] < 0x80) {
        *cp_r = p[0];
        return 1;
    }
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    if (p[0] < 0xe0) {
        len = 2;
        cp = p[0] & 0x1f;
    } else if (p[0] < 0xf0) {
        len = 3;
        cp = p[0] & 0x0f;
        lo = p[0] == 0xe0 ? 0xa0 : lo;
        hi = p[0] == 0xed ? 0x9f : hi;
    } else {
        len = 4;
        cp = p[0] & 0x07;
        lo = p[0] == 0xf0 ? 0x90 : lo;
        hi = p[0] == 0xf4 ? 0x8f : hi;
    }
    if (n < len || p[1] < lo || p[1] > hi)
        return 0;
    cp = cp << 6 | (p[1] & 0x3f);
    for (size_t i = 2; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        cp = cp << 6 | (p[i] & 0x3f);
    }
    *cp_r = cp;
    return len;
}

bool
utf8_valid(struct slice s)
{
    size_t i = 0;

    while ((i = skip_ascii(s, i)) < s.n) {
        uint32_t cp;
        size_t len = utf8_decode((const unsigned char *)s.p + i, s.n - i, &cp);

        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

bool
utf8_is_ascii(struct slice s)
{
    return skip_ascii(s, 0) == s.n;
}

uint32_t
utf8_next(struct slice s, size_t *pos)
{
    uint32_t cp;
    size_t len;

    if (*pos >= s.n)
        return 0xfffd;
    len = utf8_decode((const unsigned char *)s.p + *pos, s.n - *pos, &cp);
    if (len == 0) {
        ++*pos;
        return 0xfffd;
    }
    *pos += len;
    return cp;
}

void
utf8_append(struct buf *b, uint32_t cp)
{
    char out[4];
    size_t n;

    if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        cp = 0xfffd;
    if (cp < 0x80) {
        out[0] = (char)cp;
        n = 1;
    } else if (cp < 0x800) {
        out[0] = (char)(0xc0 | cp >> 6);
        n = 2;
    } else if (cp < 0x10000) {
        out[0] = (char)(0xe0 | cp >> 12);
        n = 3;
    } else {
        out[0] = (char)(0xf0 | cp >> 18);
        n = 4;
    }
    for (size_t i = 1; i < n; i++)
        out[i] = (char)(0x80 | (cp >> (6 * (n - 1 - i)) & 0x3f));
    buf_append(b, out, n);
}

size_t
utf8_count(struct slice s)
{
    size_t count = 0;

    for (size_t pos = 0; pos < s.n; count++)
        utf8_next(s, &pos);
    return count;
}

bool
utf8_has_control(struct slice s)
{
    for (size_t pos = 0; pos < s.n;) {
        uint32_t cp = utf8_next(s, &pos);

        if (cp < 0x20 || (cp >= 0x7f && cp <= 0x9f) || cp == 0x2028 || cp == 0x2029)
            return true;
    }
    return false;
}

/* Below U+0300 every character is its own NFC form and nothing combines. */
static bool
is_nfc_by_range(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] >= 0xcc)
            return false;
    return true;
}

void
utf8_nfc(struct slice s, struct buf *out)
{
    if (is_nfc_by_range(s)) {
        buf_append_slice(out, s);
        return;
    }
    /* GLib stops at a NUL, so the pieces between them are handed over one by one. */
    for (struct slice piece; slice_cut(&s, '\0', &piece);) {
        char *form = g_utf8_normalize(piece.p, (gssize)piece.n, G_NORMALIZE_NFC);

        if (form != NULL)
            buf_append_str(out, form);
        else
            buf_append_slice(out, piece); /* ill-formed: as it came */
        g_free(form);
        if (s.p != NULL)
            buf_append_char(out, '\0');
    }
}
