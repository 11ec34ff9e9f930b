/*
 * Quoted-printable (RFC 2045 §6.7), made for 20 KB of mostly ASCII markup.
 *
 * Stretches of literal bytes are found and copied eight at a time; a 256-byte table gives the class
 * of the byte that stopped one. Output lines are at most 76 long: the soft break "=" takes column 76, so content
 * stops at 75.
 *
 * Three things are encoded though the rule does not ask for it, since they are damaged on the way: a
 * dot at the start of a line (clients that stuff dots twice or not at all), "From " at the start of
 * a line (mail stores), and, as required, a blank at the end of a line.
 */
#include "message/mime.h"

#include <endian.h>

#define QP_LINE 75
/** Input per reservation: keeps the worst case (three times as much) from doubling the buffer. */
#define QP_CHUNK 2048

enum qp_class { QP_ENCODE, QP_LITERAL, QP_EOL };

/* Printable ASCII without '=', and tab, are literal; CR and LF end a line; the rest is encoded. */
static const unsigned char classes[256] = {
    [' ' ... '<'] = QP_LITERAL,
    ['>' ... '~'] = QP_LITERAL,
    ['\t'] = QP_LITERAL,
    ['\r'] = QP_EOL,
    ['\n'] = QP_EOL,
};

static char *
put_hex(char *p, unsigned char c)
{
    static const char hex[] = "0123456789ABCDEF";

    p[0] = '=';
    p[1] = hex[c >> 4];
    p[2] = hex[c & 15];
    return p + 3;
}

static char *
put_soft_break(char *p)
{
    memcpy(p, "=\r\n", 3);
    return p + 3;
}

/** The top bit of the first byte of `w` (in memory order) that is not certainly literal is the lowest
 * one set; 0 when all eight are. Tab counts as not certain. */
static uint64_t
odd_bytes(uint64_t w)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t equals = w ^ ones * '=', del = w ^ ones * 0x7f;

    return (w | ((w - ones * ' ') & ~w) | ((equals - ones) & ~equals) | ((del - ones) & ~del)) &
           tops;
}

/** Copy literal bytes until one is not, at most `max`; eight at a time where possible. */
static size_t
copy_literal(char *dst, const unsigned char *s, size_t max)
{
    size_t n = 0;

    for (;;) {
        while (max - n >= 8) {
            uint64_t w, odd;

            memcpy(&w, s + n, 8);
            memcpy(dst + n, &w, 8);
            odd = odd_bytes(le64toh(w));
            if (odd != 0) {
                n += (size_t)__builtin_ctzll(odd) / 8;
                break;
            }
            n += 8;
        }
        if (n == max || classes[s[n]] != QP_LITERAL)
            return n;
        dst[n] = (char)s[n];
        n++;
    }
}

/** A blank that became the last of its line is written again as hex. `line` is where the line
 * starts. Returns the new end. */
static char *
fix_last_blank(char *line, char *p)
{
    unsigned char c;

    if (p == line || (p[-1] != ' ' && p[-1] != '\t'))
        return p;
    c = (unsigned char)*--p;
    if (p - line + 3 > QP_LINE)
        p = put_soft_break(p);
    return put_hex(p, c);
}

static bool
starts_badly(const unsigned char *s, size_t n)
{
    return s[0] == '.' || (s[0] == 'F' && n >= 5 && memcmp(s, "From ", 5) == 0);
}

/**
 * Encode input from *pos until QP_CHUNK bytes were taken or it ends. `column` bytes of the current
 * line are already in `out`.
 */
static void
encode_chunk(struct slice in, size_t *pos, size_t *column, struct buf *out)
{
    const unsigned char *s = (const unsigned char *)in.p + *pos;
    const unsigned char *end = (const unsigned char *)in.p + in.n;
    const unsigned char *stop = end - s > QP_CHUNK ? s + QP_CHUNK : end;
    char *base = buf_reserve(out, 4 * (size_t)(stop - s) + 16), *p = base;
    char *line = base - *column;

    while (s < stop) {
        size_t room = QP_LINE - (size_t)(p - line), run;

        if (p == line && starts_badly(s, (size_t)(end - s))) {
            p = put_hex(p, *s++);
            continue;
        }
        run = copy_literal(p, s, room < (size_t)(stop - s) ? room : (size_t)(stop - s));
        p += run;
        s += run;
        if (s == stop)
            break;
        if (classes[*s] == QP_EOL) {
            p = fix_last_blank(line, p);
            s += s[0] == '\r' && s + 1 < end && s[1] == '\n' ? 2 : 1;
            memcpy(p, "\r\n", 2);
            line = p += 2;
        } else if (run == room || room - run < 3) {
            line = p = put_soft_break(p);
        } else {
            p = put_hex(p, *s++);
        }
    }
    *pos = (size_t)(s - (const unsigned char *)in.p);
    *column = (size_t)(p - line);
    out->n += (size_t)(p - base);
}

void
mime_encode_qp(struct slice in, struct buf *out)
{
    size_t pos = 0, column = 0;
    char *line, *p;

    while (pos < in.n)
        encode_chunk(in, &pos, &column, out);
    if (column > 0) {
        line = buf_reserve(out, 8) - column;
        p = fix_last_blank(line, line + column);
        out->n = (size_t)(p - out->p);
    }
}
