/*
 * Transparency of the DATA phase (RFC 5321 §4.5.2): a line that starts with a dot gets another one,
 * and a line of one dot ends the message. Done once, on the way to the wire; signatures are made
 * over the bytes before it.
 */
#include "message/mime.h"

void
mime_dot_stuff(struct slice in, struct buf *out)
{
    const char *s = in.p, *end = in.p + in.n, *from = s;

    buf_reserve(out, in.n + 64);
    while (s < end) {
        const char *eol = memchr(s, '\n', (size_t)(end - s));

        if (*s == '.') {
            buf_append(out, from, (size_t)(s - from));
            buf_append_char(out, '.');
            from = s;
        }
        s = eol != NULL ? eol + 1 : end;
    }
    buf_append(out, from, (size_t)(end - from));
    if (in.n > 0 && !slice_ends(in, SLICE_LIT("\r\n")))
        buf_append_str(out, "\r\n");
    buf_append_str(out, ".\r\n");
}
