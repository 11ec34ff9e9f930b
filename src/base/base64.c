#include "base/base64.h"

/*
 * Base64 in its two alphabets, and hexadecimal. Encoders write into reserved memory three bytes at
 * a time; decoders are strict, because tokens and signatures must have one spelling only: padding
 * where it belongs, nothing behind it, and unused low bits zero.
 */

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#define LINE_CHARS 76
#define LINE_BYTES (LINE_CHARS / 4 * 3)

/* Whole groups and the rest of one or two bytes, without padding. Returns the length written. */
static size_t
encode_bare(const unsigned char *in, size_t n, const char *alphabet, char *out)
{
    char *at = out;

    for (; n >= 3; in += 3, n -= 3, at += 4) {
        at[0] = alphabet[in[0] >> 2];
        at[1] = alphabet[(in[0] & 3) << 4 | in[1] >> 4];
        at[2] = alphabet[(in[1] & 15) << 2 | in[2] >> 6];
        at[3] = alphabet[in[2] & 63];
    }
    if (n >= 1) {
        unsigned second = n == 2 ? in[1] : 0;

        *at++ = alphabet[in[0] >> 2];
        *at++ = alphabet[(in[0] & 3u) << 4 | second >> 4];
        if (n == 2)
            *at++ = alphabet[(second & 15) << 2];
    }
    return (size_t)(at - out);
}

static size_t
encode_padded(const char *in, size_t n, char *out)
{
    size_t len = encode_bare((const unsigned char *)in, n, standard, out);

    while (len % 4 != 0)
        out[len++] = '=';
    return len;
}

void
base64_encode(struct slice in, struct buf *out)
{
    char *at = buf_reserve(out, (in.n + 2) / 3 * 4);

    out->n += encode_padded(in.p, in.n, at);
}

void
base64_encode_mime(struct slice in, struct buf *out)
{
    size_t lines = (in.n + LINE_BYTES - 1) / LINE_BYTES;
    char *at = buf_reserve(out, (in.n + 2) / 3 * 4 + 2 * lines);
    char *start = at;

    for (size_t done = 0; done < in.n; done += LINE_BYTES) {
        size_t n = in.n - done < LINE_BYTES ? in.n - done : LINE_BYTES;

        at += encode_padded(in.p + done, n, at);
        *at++ = '\r';
        *at++ = '\n';
    }
    out->n += (size_t)(at - start);
}

size_t
base64url_encode_to(const void *in, size_t n, char *out)
{
    return encode_bare(in, n, url_safe, out);
}

void
base64url_encode(struct slice in, struct buf *out)
{
    char *at = buf_reserve(out, (in.n + 2) / 3 * 4);

    out->n += base64url_encode_to(in.p, in.n, at);
}

/* Value + 1 of each character, 0 for those outside of the alphabet. */
#define LETTERS_AND_DIGITS                                                                         \
    ['A'] = 1, ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 5, ['F'] = 6, ['G'] = 7, ['H'] = 8,        \
    ['I'] = 9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16, \
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23,            \
    ['X'] = 24, ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30,            \
    ['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37,            \
    ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44,            \
    ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48, ['w'] = 49, ['x'] = 50, ['y'] = 51,            \
    ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56, ['4'] = 57, ['5'] = 58,            \
    ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62

static const unsigned char standard_values[256] = {LETTERS_AND_DIGITS, ['+'] = 63, ['/'] = 64};
static const unsigned char url_safe_values[256] = {LETTERS_AND_DIGITS, ['-'] = 63, ['_'] = 64};

/* 0 to 63, or a number above for a character outside of the alphabet. */
static inline uint32_t
sextet(const unsigned char values[256], char c)
{
    return values[(unsigned char)c] - 1u;
}

/* The last group of two or three characters. */
static bool
decode_rest(const char *in, size_t n, const unsigned char values[256], char *at)
{
    uint32_t a = sextet(values, in[0]), b = sextet(values, in[1]);
    uint32_t c = n == 3 ? sextet(values, in[2]) : 0;
    uint32_t unused = n == 3 ? c & 3 : b & 15;

    if ((a | b | c) > 63 || unused != 0)
        return false;
    at[0] = (char)(a << 2 | b >> 4);
    at[1] = (char)(b << 4 | c >> 2);
    return true;
}

/* `in` without padding. On a fault `out` is left as it was. */
static bool
decode_bare(struct slice in, const unsigned char values[256], struct buf *out)
{
    size_t rest = in.n % 4;
    char *start = buf_reserve(out, in.n / 4 * 3 + 2);
    char *at = start;

    if (rest == 1)
        return false;
    for (size_t i = 0; i + 4 <= in.n; i += 4, at += 3) {
        uint32_t a = sextet(values, in.p[i]), b = sextet(values, in.p[i + 1]);
        uint32_t c = sextet(values, in.p[i + 2]), d = sextet(values, in.p[i + 3]);

        if ((a | b | c | d) > 63)
            return false;
        at[0] = (char)(a << 2 | b >> 4);
        at[1] = (char)(b << 4 | c >> 2);
        at[2] = (char)(c << 6 | d);
    }
    if (rest != 0 && !decode_rest(in.p + in.n - rest, rest, values, at))
        return false;
    out->n += (size_t)(at - start) + (rest != 0 ? rest - 1 : 0);
    return true;
}

bool
base64_decode(struct slice in, struct buf *out)
{
    if (in.n % 4 != 0)
        return false;
    if (in.n != 0 && in.p[in.n - 1] == '=')
        in.n -= in.p[in.n - 2] == '=' ? 2 : 1;
    return decode_bare(in, standard_values, out);
}

bool
base64url_decode(struct slice in, struct buf *out)
{
    return decode_bare(in, url_safe_values, out);
}

void
hex_encode(struct slice in, struct buf *out)
{
    static const char digits[] = "0123456789abcdef";
    char *at = buf_reserve(out, in.n * 2);

    for (size_t i = 0; i < in.n; i++) {
        unsigned char c = (unsigned char)in.p[i];

        at[2 * i] = digits[c >> 4];
        at[2 * i + 1] = digits[c & 15];
    }
    out->n += in.n * 2;
}

static int
nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
hex_decode(struct slice in, struct buf *out)
{
    char *at = buf_reserve(out, in.n / 2);

    if (in.n % 2 != 0)
        return false;
    for (size_t i = 0; i < in.n; i += 2) {
        int hi = nibble(in.p[i]), lo = nibble(in.p[i + 1]);

        if (hi < 0 || lo < 0)
            return false;
        at[i / 2] = (char)(hi << 4 | lo);
    }
    out->n += in.n / 2;
    return true;
}
