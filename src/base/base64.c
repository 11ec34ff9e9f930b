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

static int
sextet(char c, char c62, char c63)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == c62 ? 62 : c == c63 ? 63 : -1;
}

/* `in` without padding. On a fault `out` is left as it was. */
static bool
decode_bare(struct slice in, char c62, char c63, struct buf *out)
{
    char *at = buf_reserve(out, in.n / 4 * 3 + 2);
    char *start = at;
    uint32_t bits = 0;
    unsigned held = 0;

    if (in.n % 4 == 1)
        return false;
    for (size_t i = 0; i < in.n; i++) {
        int v = sextet(in.p[i], c62, c63);

        if (v < 0)
            return false;
        bits = bits << 6 | (uint32_t)v;
        held += 6;
        if (held >= 8) {
            held -= 8;
            *at++ = (char)(bits >> held);
        }
    }
    if ((bits & ((1u << held) - 1)) != 0)
        return false;
    out->n += (size_t)(at - start);
    return true;
}

bool
base64_decode(struct slice in, struct buf *out)
{
    if (in.n % 4 != 0)
        return false;
    if (in.n != 0 && in.p[in.n - 1] == '=')
        in.n -= in.p[in.n - 2] == '=' ? 2 : 1;
    return decode_bare(in, '+', '/', out);
}

bool
base64url_decode(struct slice in, struct buf *out)
{
    return decode_bare(in, '-', '_', out);
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
