/*
 * Verifying DKIM signatures for tests: RFC 6376 §3.4 (canonical forms), §3.5 (tags), §3.7 (hashes),
 * §5.4.2 (fields from the bottom), RFC 8463 for Ed25519.
 */
#include "support/dkim_verifier.h"

#include <check.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#include "base/base64.h"

#define FIELDS_MAX 64

struct message {
    struct slice fields[FIELDS_MAX];
    bool is_used[FIELDS_MAX];
    size_t n_fields;
    struct slice body;
};

static void
parse(struct slice text, struct message *m)
{
    size_t pos = 0;

    memset(m, 0, sizeof *m);
    while (text.p[pos] != '\r') {
        size_t end = pos;

        do {
            while (text.p[end] != '\n')
                end++;
            end++;
        } while (text.p[end] == ' ' || text.p[end] == '\t');
        ck_assert_uint_lt(m->n_fields, FIELDS_MAX);
        m->fields[m->n_fields++] = slice_make(text.p + pos, end - pos);
        pos = end;
    }
    m->body = slice_from(text, pos + 2);
}

static bool
is_named(struct slice field, struct slice name)
{
    ptrdiff_t colon = slice_find_char(field, ':');

    return colon > 0 && slice_ieq(slice_trim(slice_make(field.p, (size_t)colon)), name);
}

static struct slice
signature_field(const struct message *m, size_t i)
{
    for (size_t f = 0; f < m->n_fields; f++)
        if (is_named(m->fields[f], SLICE_LIT("DKIM-Signature")) && i-- == 0)
            return m->fields[f];
    ck_abort_msg("no such DKIM-Signature");
    return SLICE_NONE;
}

bool
dkim_tag(struct slice message, size_t i, const char *tag, struct buf *out)
{
    struct message m;
    struct slice rest, item;

    parse(message, &m);
    rest = signature_field(&m, i);
    rest = slice_from(rest, strlen("DKIM-Signature:"));
    buf_clear(out);
    while (slice_cut(&rest, ';', &item)) {
        item = slice_trim(item);
        if (!slice_starts(item, slice_str(tag)) || item.p[strlen(tag)] != '=')
            continue;
        for (size_t k = strlen(tag) + 1; k < item.n; k++)
            if (strchr(" \t\r\n", item.p[k]) == NULL)
                buf_append_char(out, item.p[k]);
        return true;
    }
    return false;
}

/** §3.4.2: lower-case name, unfolded, runs of blanks as one, none around the colon or at the end. */
static void
relaxed_field(struct slice field, struct buf *out)
{
    size_t colon = (size_t)slice_find_char(field, ':'), start;

    for (size_t i = 0; i < colon && field.p[i] != ' '; i++)
        buf_append_char(out, field.p[i] >= 'A' && field.p[i] <= 'Z' ? field.p[i] + 32 : field.p[i]);
    buf_append_char(out, ':');
    start = out->n;
    for (size_t i = colon + 1; i < field.n; i++) {
        char c = field.p[i];

        if (c == '\r' || c == '\n')
            continue;
        if (c == '\t')
            c = ' ';
        if (c == ' ' && (out->n == start || out->p[out->n - 1] == ' '))
            continue;
        buf_append_char(out, c);
    }
    while (out->n > start && out->p[out->n - 1] == ' ')
        out->n--;
    buf_append_str(out, "\r\n");
}

/** §3.4.3 and §3.4.4, line by line. */
static void
canonical_body(struct slice body, bool is_relaxed, struct buf *out)
{
    size_t keep = 0;

    while (body.n > 0) {
        ptrdiff_t at = slice_find(body, SLICE_LIT("\r\n"));
        size_t n = at < 0 ? body.n : (size_t)at, line = out->n;

        for (size_t i = 0; i < n; i++) {
            char c = is_relaxed && body.p[i] == '\t' ? ' ' : body.p[i];

            if (is_relaxed && c == ' ' && out->n > line && out->p[out->n - 1] == ' ')
                continue;
            buf_append_char(out, c);
        }
        if (is_relaxed && out->n > line && out->p[out->n - 1] == ' ')
            out->n--;
        if (out->n > line)
            keep = out->n + 2;
        buf_append_str(out, "\r\n");
        body = slice_from(body, n + 2);
    }
    out->n = keep;
    if (keep == 0 && !is_relaxed)
        buf_append_str(out, "\r\n");
}

static bool
body_fits(struct slice message, size_t i, bool is_relaxed)
{
    struct buf body = BUF_INIT, want = BUF_INIT, got = BUF_INIT;
    unsigned char sum[32];
    struct message m;
    bool fits;

    parse(message, &m);
    canonical_body(m.body, is_relaxed, &body);
    SHA256((const unsigned char *)body.p, body.n, sum);
    base64_encode(slice_make(sum, sizeof sum), &got);
    ck_assert(dkim_tag(message, i, "bh", &want));
    fits = slice_eq(buf_slice(&want), buf_slice(&got));
    buf_deinit(&body);
    buf_deinit(&want);
    buf_deinit(&got);
    return fits;
}

/** The signature field with an empty b=. */
static void
without_signature(struct slice field, struct buf *out)
{
    ptrdiff_t at = -1;

    for (size_t i = 1; i + 1 < field.n; i++)
        if (field.p[i] == 'b' && field.p[i + 1] == '=' && strchr(" \t;", field.p[i - 1]) != NULL)
            at = (ptrdiff_t)i;
    ck_assert(at > 0);
    buf_append(out, field.p, (size_t)at + 2);
    for (size_t i = (size_t)at; i < field.n; i++)
        ck_assert_msg(field.p[i] != ';', "b= is expected last");
    buf_append_str(out, "\r\n");
}

static void
header_input(struct slice message, size_t i, bool is_relaxed, struct buf *out)
{
    struct buf names = BUF_INIT, own = BUF_INIT;
    struct slice rest, name;
    struct message m;

    parse(message, &m);
    ck_assert(dkim_tag(message, i, "h", &names));
    rest = buf_slice(&names);
    while (slice_cut(&rest, ':', &name)) {
        for (size_t f = m.n_fields; f > 0; f--) {
            if (m.is_used[f - 1] || !is_named(m.fields[f - 1], name))
                continue;
            m.is_used[f - 1] = true;
            if (is_relaxed)
                relaxed_field(m.fields[f - 1], out);
            else
                buf_append_slice(out, m.fields[f - 1]);
            break;
        }
    }
    without_signature(signature_field(&m, i), &own);
    if (is_relaxed)
        relaxed_field(buf_slice(&own), out);
    else
        buf_append_slice(out, buf_slice(&own));
    out->n -= 2;
    buf_deinit(&names);
    buf_deinit(&own);
}

static bool
signature_fits(struct slice input, struct slice sig, struct slice p, bool is_ed)
{
    struct buf raw = BUF_INIT;
    const unsigned char *der;
    unsigned char sum[32];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY *key;
    bool fits;

    ck_assert(base64_decode(p, &raw));
    der = (const unsigned char *)raw.p;
    key = is_ed ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, der, raw.n)
                : d2i_PUBKEY(NULL, &der, (long)raw.n);
    ck_assert_ptr_nonnull(key);
    ck_assert_int_eq(EVP_DigestVerifyInit(ctx, NULL, is_ed ? NULL : EVP_sha256(), NULL, key), 1);
    SHA256((const unsigned char *)input.p, input.n, sum);
    if (is_ed)
        input = slice_make(sum, sizeof sum);
    fits = EVP_DigestVerify(ctx, (const unsigned char *)sig.p, sig.n,
               (const unsigned char *)input.p, input.n) == 1;
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    buf_deinit(&raw);
    return fits;
}

bool
dkim_verify(struct slice message, size_t i, struct slice p)
{
    struct buf tag = BUF_INIT, sig = BUF_INIT, input = BUF_INIT;
    bool is_header_relaxed, is_body_relaxed, is_ed, fits;

    ck_assert(dkim_tag(message, i, "v", &tag));
    ck_assert_str_eq(buf_cstr(&tag), "1");
    ck_assert(dkim_tag(message, i, "c", &tag));
    is_header_relaxed = slice_starts(buf_slice(&tag), SLICE_LIT("relaxed/"));
    is_body_relaxed = slice_ends(buf_slice(&tag), SLICE_LIT("/relaxed"));
    ck_assert(dkim_tag(message, i, "a", &tag));
    is_ed = slice_eq_str(buf_slice(&tag), "ed25519-sha256");
    ck_assert(is_ed || slice_eq_str(buf_slice(&tag), "rsa-sha256"));
    ck_assert(dkim_tag(message, i, "b", &tag));
    ck_assert(base64_decode(buf_slice(&tag), &sig));
    header_input(message, i, is_header_relaxed, &input);
    fits = body_fits(message, i, is_body_relaxed) &&
           signature_fits(buf_slice(&input), buf_slice(&sig), p, is_ed);
    buf_deinit(&tag);
    buf_deinit(&sig);
    buf_deinit(&input);
    return fits;
}
