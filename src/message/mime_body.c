/*
 * Text bodies: which transfer encoding, and writing it.
 *
 * 7bit when every byte, every line length and every line start is safe on any relay, so that a
 * server without 8BITMIME gets the same bytes as any other. Else quoted-printable or base64,
 * whichever comes out shorter: each byte that quoted-printable must encode costs two more, base64
 * costs a third of everything.
 *
 * The choice reads the text once in a form that compilers turn into vector code, because most texts
 * are large, ASCII, and need nothing.
 */
#include "message/mime.h"

#include <string.h>

#include "base/base64.h"
#include "message/mime_internal.h"

#define BODY_LINE_MAX 998
#define COUNT_BLOCK   255 /* what an 8-bit counter can hold */

struct body_count {
    size_t odd;    /* bytes that no line may carry as they are */
    size_t equals; /* '=' is encoded by quoted-printable only */
};

static struct body_count
body_count(struct slice text)
{
    struct body_count n = {0, 0};

    for (size_t at = 0; at < text.n; at += COUNT_BLOCK) {
        const unsigned char *s = (const unsigned char *)text.p + at;
        size_t len = text.n - at < COUNT_BLOCK ? text.n - at : COUNT_BLOCK;
        uint8_t odd = 0, equals = 0;

        for (size_t i = 0; i < len; i++) {
            unsigned char c = s[i];

            odd += (uint8_t)((c > 126) | ((c < 32) & (c != '\t') & (c != '\r') & (c != '\n')));
            equals += (uint8_t)(c == '=');
        }
        n.odd += odd;
        n.equals += equals;
    }
    return n;
}

static size_t
count_char(struct slice text, char c)
{
    size_t n = 0;

    for (size_t at = 0; at < text.n; at += COUNT_BLOCK) {
        size_t len = text.n - at < COUNT_BLOCK ? text.n - at : COUNT_BLOCK;
        uint8_t found = 0;

        for (size_t i = 0; i < len; i++)
            found += (uint8_t)(text.p[at + i] == c);
        n += found;
    }
    return n;
}

/** A CR that no LF follows ends a line too, but the line loop below looks for LF only. */
static bool
has_bare_cr(struct slice text)
{
    const char *s = text.p, *end = text.p + text.n;

    while ((s = memchr(s, '\r', (size_t)(end - s))) != NULL)
        if (++s == end || *s != '\n')
            return true;
    return false;
}

/** Are all lines short enough, and does none start with what mail stores or our boundaries use? */
static bool
lines_are_safe(struct slice text)
{
    const char *s = text.p, *end = text.p + text.n;

    while (s < end) {
        const char *eol = memchr(s, '\n', (size_t)(end - s));
        const char *stop = eol != NULL ? eol : end;
        struct slice line = slice_make(s, (size_t)(stop - s));

        if (line.n > BODY_LINE_MAX || slice_starts(line, SLICE_LIT("From ")) ||
            slice_starts(line, SLICE_LIT("--" MIME_BOUNDARY_PREFIX)))
            return false;
        s = stop + 1;
    }
    return !has_bare_cr(text);
}

enum mime_encoding
mime_body_choose(struct slice text)
{
    struct body_count n = body_count(text);
    size_t qp, base64;

    if (n.odd == 0 && lines_are_safe(text))
        return MIME_7BIT;
    qp = text.n + 2 * (n.odd + n.equals);
    qp += qp / 75 * 3;
    base64 = (text.n + 2) / 3 * 4;
    base64 += base64 / 76 * 2;
    return qp <= base64 ? MIME_QP : MIME_BASE64;
}

/** Copy text without CR, each LF written as CRLF: one pass into room made beforehand. */
static void
append_lf_text(struct slice text, size_t n_lines, struct buf *out)
{
    const char *s = text.p, *end = text.p + text.n;
    char *to = buf_reserve(out, text.n + n_lines);

    while (s < end) {
        const char *eol = memchr(s, '\n', (size_t)(end - s));
        size_t n = (size_t)((eol != NULL ? eol : end) - s);

        memcpy(to, s, n);
        to += n;
        if (eol == NULL)
            break;
        *to++ = '\r';
        *to++ = '\n';
        s = eol + 1;
    }
    out->n = (size_t)(to - out->p);
}

/** Copy with every line end (CR, LF, CRLF) written as CRLF. */
static void
append_crlf(struct slice text, struct buf *out)
{
    const char *s = text.p, *end = text.p + text.n;

    if (text.n == 0)
        return;
    if (memchr(s, '\r', text.n) == NULL) {
        append_lf_text(text, count_char(text, '\n'), out);
        return;
    }
    buf_reserve(out, text.n + text.n / 16);
    while (s < end) {
        const char *eol = memchr(s, '\n', (size_t)(end - s));
        const char *stop = eol != NULL ? eol : end;
        const char *cr;

        while ((cr = memchr(s, '\r', (size_t)(stop - s))) != NULL) {
            buf_append(out, s, (size_t)(cr - s));
            s = cr + 1;
            if (s < stop || eol == NULL) /* a CR alone; CR before LF falls to the LF */
                buf_append_str(out, "\r\n");
        }
        buf_append(out, s, (size_t)(stop - s));
        if (eol == NULL)
            break;
        buf_append_str(out, "\r\n");
        s = eol + 1;
    }
}

static void
append_base64(struct slice text, struct buf *out)
{
    struct buf canonical = BUF_INIT;

    append_crlf(text, &canonical); /* line ends are part of what is encoded: RFC 2045 §6.8 */
    base64_encode_mime(buf_slice(&canonical), out);
    buf_deinit(&canonical);
}

void
mime_body_append(struct slice text, const char *subtype, struct buf *out)
{
    static const char *const names[] = {"7bit", "quoted-printable", "base64"};
    enum mime_encoding how = mime_body_choose(text);

    buf_append_str(out, "Content-Type: text/");
    buf_append_str(out, subtype);
    buf_append_str(out, "; charset=utf-8\r\nContent-Transfer-Encoding: ");
    buf_append_str(out, names[how]);
    buf_append_str(out, "\r\n\r\n");
    switch (how) {
    case MIME_7BIT: append_crlf(text, out); break;
    case MIME_QP: mime_encode_qp(text, out); break;
    case MIME_BASE64: append_base64(text, out); break;
    }
}
