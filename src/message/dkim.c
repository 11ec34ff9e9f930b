/*
 * DKIM signatures (RFC 6376; Ed25519 by RFC 8463).
 *
 * Flow: cut the message into fields and body; hash the body once per canonical form asked for; per
 * signature write the field with an empty b=, hash the signed fields and that one, sign, and append
 * the value. The fields of all signatures stand before the message, the first one on top.
 *
 * Invariant: a field named in h= is covered as often as it occurs, bottom first (RFC 6376 §5.4.2),
 * and From is named once more, so that nobody can add a second one under the signature.
 */
#include "message/dkim.h"

#include "base/base64.h"
#include "message/dkim_internal.h"

#define DKIM_FIELDS_MAX 256
#define DKIM_NAME_MAX   253
#define DKIM_FOLD       76

static const char *const signed_names[] = {"From", "To", "Subject", "Date", "Message-ID",
    "Reply-To", "MIME-Version", "Content-Type", "Content-Transfer-Encoding", "List-Unsubscribe",
    "List-Unsubscribe-Post", "List-ID"};

/** A message cut up; everything is borrowed from it. */
struct dkim_view {
    struct slice fields[DKIM_FIELDS_MAX]; /* with folding and CRLF */
    size_t n_fields;
    struct slice body;
    bool has_hash[2];
    uint8_t hash[2][CRYPTO_SHA256_SIZE]; /* by enum dkim_canon */
};

/** End of the field that starts at `from`: behind the first CRLF that no blank follows. */
static size_t
field_end(struct slice message, size_t from)
{
    while (from < message.n) {
        const char *eol = memchr(message.p + from, '\n', message.n - from);

        if (eol == NULL || eol == message.p + from || eol[-1] != '\r')
            return 0;
        from = (size_t)(eol - message.p) + 1;
        if (from == message.n || (message.p[from] != ' ' && message.p[from] != '\t'))
            return from;
    }
    return 0;
}

/** A name on the first line, then a colon (RFC 5322 §2.2). */
static bool
has_name(struct slice field)
{
    ptrdiff_t colon = slice_find_char(field, ':');

    for (ptrdiff_t i = 0; i < colon; i++)
        if ((unsigned char)field.p[i] < 33 && (i == 0 || field.p[i] != ' '))
            return false;
    return colon > 0;
}

static int
view_init(struct dkim_view *v, struct slice message, struct err *err)
{
    size_t pos = 0;

    v->n_fields = 0;
    v->has_hash[DKIM_SIMPLE] = v->has_hash[DKIM_RELAXED] = false;
    while (!slice_starts(slice_from(message, pos), SLICE_LIT("\r\n"))) {
        size_t end = field_end(message, pos);
        struct slice field = slice_make(message.p + pos, end > pos ? end - pos : 0);

        if (!has_name(field))
            return err_set(err, ERR_INVALID, "message to sign has an ill-formed header");
        if (v->n_fields == DKIM_FIELDS_MAX)
            return err_set(err, ERR_INVALID, "message to sign has too many header fields");
        v->fields[v->n_fields++] = field;
        pos = end;
    }
    v->body = slice_from(message, pos + 2);
    return 0;
}

static bool
field_is(struct slice field, struct slice name)
{
    return slice_ieq(slice_trim(slice_make(field.p, (size_t)slice_find_char(field, ':'))), name);
}

static size_t
view_count(const struct dkim_view *v, struct slice name)
{
    size_t n = 0;

    for (size_t i = 0; i < v->n_fields; i++)
        n += field_is(v->fields[i], name);
    return n;
}

/** Letters, digits, hyphens, underscores, dots: what may stand in d= and s=. */
static bool
is_dns_name(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                c == '-' || c == '_' || (c == '.' && i > 0 && s.p[i - 1] != '.')))
            return false;
    }
    return s.n > 0 && s.n <= DKIM_NAME_MAX && s.p[s.n - 1] != '.';
}

/** Text into the signature field, on a new line when it would pass the fold. `line` is where the
 * current line starts in `out`. */
static void
put_folded(const char *text, size_t n, size_t *line, struct buf *out)
{
    if (out->n - *line + n > DKIM_FOLD) {
        buf_append_str(out, "\r\n\t");
        *line = out->n - 1;
    }
    buf_append(out, text, n);
}

/** h=: each name as often as the message has it, From once more. */
static void
put_names(const struct dkim_view *v, size_t *line, struct buf *out)
{
    const char *separator = "h=";
    char item[48];

    for (size_t i = 0; i < sizeof signed_names / sizeof signed_names[0]; i++) {
        size_t n = view_count(v, slice_str(signed_names[i])) + (i == 0);
        size_t n_item = strlen(separator) + strlen(signed_names[i]);

        for (size_t k = 0; k < n; k++) {
            memcpy(item, separator, strlen(separator));
            memcpy(item + strlen(separator), signed_names[i], strlen(signed_names[i]));
            put_folded(item, n_item, line, out);
            separator = ":";
            n_item = 1 + strlen(signed_names[i]);
        }
    }
    buf_append_char(out, ';');
}

/** The field up to and with "b=", without the line end. */
static void
put_field_head(const struct dkim_view *v, const struct dkim_params *p, struct buf *out)
{
    static const char *const canons[] = {"simple", "relaxed"};
    bool is_rsa = crypto_signer_alg(p->signer) == CRYPTO_SIGN_RSA_SHA256;
    size_t line;

    buf_printf(out, "DKIM-Signature: v=1; a=%s; c=%s/%s;\r\n",
        is_rsa ? "rsa-sha256" : "ed25519-sha256", canons[p->header_canon], canons[p->body_canon]);
    line = out->n;
    buf_append_str(out, "\td=");
    buf_append_slice(out, p->domain);
    put_folded("; s=", 4, &line, out);
    buf_append_slice(out, p->selector);
    buf_printf(out, "; t=%lld;\r\n", (long long)(p->time_ms / 1000));
    line = out->n;
    buf_append_char(out, '\t');
    put_names(v, &line, out);
    buf_append_str(out, "\r\n\tbh=");
    base64_encode(slice_make(v->hash[p->body_canon], CRYPTO_SHA256_SIZE), out);
    buf_append_str(out, ";\r\n\tb=");
}

/** The bytes that the header hash covers: signed fields, then the signature field without CRLF. */
static void
put_hash_input(
    const struct dkim_view *v, const struct dkim_params *p, struct slice head, struct buf *out)
{
    struct buf own = BUF_INIT;

    for (size_t i = 0; i < sizeof signed_names / sizeof signed_names[0]; i++) {
        struct slice name = slice_str(signed_names[i]);

        for (size_t k = v->n_fields; k > 0; k--)
            if (field_is(v->fields[k - 1], name))
                dkim_canon_field(v->fields[k - 1], p->header_canon, out);
    }
    buf_append_slice(&own, head);
    buf_append_str(&own, "\r\n");
    dkim_canon_field(buf_slice(&own), p->header_canon, out);
    out->n -= 2;
    buf_deinit(&own);
}

static int
put_signature(struct dkim_view *v, const struct dkim_params *p, struct buf *out, struct err *err)
{
    struct buf input = BUF_INIT, sig = BUF_INIT, text = BUF_INIT;
    uint8_t digest[CRYPTO_SHA256_SIZE];
    size_t start = out->n, at = 0;
    int rc;

    if (!is_dns_name(p->domain) || !is_dns_name(p->selector))
        return err_set(err, ERR_INVALID, "DKIM domain or selector is no DNS name");
    if (!v->has_hash[p->body_canon]) {
        dkim_body_hash(v->body, p->body_canon, v->hash[p->body_canon]);
        v->has_hash[p->body_canon] = true;
    }
    put_field_head(v, p, out);
    put_hash_input(v, p, slice_from(buf_slice(out), start), &input);
    crypto_sha256(buf_slice(&input), digest);
    if ((rc = crypto_signer_sign(p->signer, digest, &sig, err)) == 0) {
        base64_encode(buf_slice(&sig), &text);
        while (at < text.n) {
            size_t n = text.n - at < DKIM_FOLD - 4 ? text.n - at : DKIM_FOLD - 4;

            if (at > 0)
                buf_append_str(out, "\r\n\t");
            buf_append(out, text.p + at, n);
            at += n;
        }
        buf_append_str(out, "\r\n");
    }
    buf_deinit(&input);
    buf_deinit(&sig);
    buf_deinit(&text);
    return rc;
}

int
dkim_sign(const struct dkim_params *params, size_t n_params, struct slice message, struct buf *out,
    struct err *err)
{
    struct dkim_view v;
    size_t start = out->n;

    if (view_init(&v, message, err) != 0)
        return -1;
    if (view_count(&v, SLICE_LIT("From")) == 0)
        return err_set(err, ERR_INVALID, "message to sign has no From");
    for (size_t i = 0; i < n_params; i++) {
        if (put_signature(&v, &params[i], out, err) != 0) {
            out->n = start;
            return -1;
        }
    }
    buf_append_slice(out, message);
    return 0;
}
