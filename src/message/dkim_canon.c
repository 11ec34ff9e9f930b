/*
 * Canonical forms of DKIM (RFC 6376 §3.4): what is hashed in place of the bytes sent.
 *
 * simple keeps everything but empty lines at the end of the body. relaxed also shrinks each run of
 * blanks to one and drops blanks at line ends. Bodies that have nothing to shrink (all that are
 * base64, most that are quoted-printable) have the same bytes in both forms: one pass that compilers
 * vectorise finds that out, and the hash then runs over the message itself.
 */
#include "message/dkim_internal.h"

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/** Without empty lines at the end: the last byte kept is the last of a line with content. */
static struct slice
drop_last_lines(struct slice body)
{
    while (slice_ends(body, SLICE_LIT("\r\n\r\n")))
        body.n -= 2;
    if (body.n == 2 && body.p[0] == '\r' && body.p[1] == '\n')
        body.n = 0;
    return body;
}

/** Is there a tab, a blank before a blank, or a blank before CR? */
static bool
needs_shrinking(struct slice s)
{
    const char *p = s.p;
    unsigned found = 0;

    for (size_t i = 0; i + 1 < s.n; i++)
        found |=
            (unsigned)((p[i] == '\t') | ((p[i] == ' ') & ((p[i + 1] == ' ') | (p[i + 1] == '\r') |
                                                             (p[i + 1] == '\t'))));
    return found != 0 || (s.n > 0 && is_blank(p[s.n - 1]));
}

/** Runs of blanks become one; blanks before CRLF and at the end go. */
static void
shrink(struct slice s, struct buf *out)
{
    char *dst = buf_reserve(out, s.n), *p = dst;
    size_t i = 0;

    while (i < s.n) {
        if (!is_blank(s.p[i])) {
            *p++ = s.p[i++];
            continue;
        }
        while (i < s.n && is_blank(s.p[i]))
            i++;
        if (i < s.n && !(s.p[i] == '\r' && i + 1 < s.n && s.p[i + 1] == '\n'))
            *p++ = ' ';
    }
    out->n += (size_t)(p - dst);
}

void
dkim_body_hash(struct slice body, enum dkim_canon canon, uint8_t out[CRYPTO_SHA256_SIZE])
{
    struct crypto_sha256_ctx *c = crypto_sha256_create();
    struct buf shrunk = BUF_INIT;
    struct slice form = body;

    if (canon == DKIM_RELAXED && needs_shrinking(body)) {
        shrink(body, &shrunk);
        form = buf_slice(&shrunk);
    }
    form = drop_last_lines(form);
    crypto_sha256_update(c, form);
    if (form.n == 0 ? canon == DKIM_SIMPLE : !slice_ends(form, SLICE_LIT("\r\n")))
        crypto_sha256_update(c, SLICE_LIT("\r\n"));
    crypto_sha256_final(&c, out);
    buf_deinit(&shrunk);
}

/** Name in lower case, ':' and the value on one line, its blanks shrunk, none at its ends. */
static void
relax_field(struct slice field, struct buf *out)
{
    ptrdiff_t colon = slice_find_char(field, ':');
    struct slice name = slice_trim(slice_make(field.p, (size_t)colon));
    struct slice value = slice_trim(slice_from(field, (size_t)colon + 1));
    bool was_blank = false;

    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        buf_append_char(out, c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c);
    }
    buf_append_char(out, ':');
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];

        if (c == '\r' || c == '\n')
            continue;
        if (is_blank(c)) {
            was_blank = true;
            continue;
        }
        if (was_blank)
            buf_append_char(out, ' ');
        was_blank = false;
        buf_append_char(out, c);
    }
    buf_append_str(out, "\r\n");
}

void
dkim_canon_field(struct slice field, enum dkim_canon canon, struct buf *out)
{
    if (canon == DKIM_SIMPLE)
        buf_append_slice(out, field);
    else
        relax_field(field, out);
}
