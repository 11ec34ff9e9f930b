#include "http/internal.h"

#include <stdint.h>
#include <string.h>

/*
 * The framing guard. A reverse proxy in front of us and the HTTP library behind this file must
 * agree on where a request ends; where they might not, the request is refused and the connection
 * closed, so that no byte of it is ever read as a second request (RFC 9112 §6.3 and §11.2).
 *
 * The library takes header lines apart in place, inside one block of memory. That gives an exact
 * test for lines it was too kind about: method, target, version, and each name and value must
 * follow one another with precisely the bytes the grammar puts between them, and the end of the
 * last one must be the end of the head. A folded line, a bare LF, a NUL or a blank too many leaves
 * a gap of another size, or, where two of them make up for one another, a gap in which something is
 * left: the library has put NUL for each CR and LF. What looks the same nevertheless, a NUL for a CR or
 * a line of nothing but ":" with a bare LF, is passed on by no proxy. If a later version of the library copies header lines elsewhere, every
 * request is refused and the tests say so at once.
 */

struct walk {
    const char *end; /* first byte behind the previous element */
    bool is_broken;
    unsigned n_length, n_encoding, n_host, n_expect;
    struct slice length, encoding, expect;
};

static bool
is_token_char(unsigned char c)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr(others, c) != NULL);
}

static bool
name_is_token(struct slice name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!is_token_char((unsigned char)name.p[i]))
            return false;
    return name.n > 0;
}

/** RFC 9110 §5.5: visible characters, blanks, tabs and bytes from 0x80. */
static bool
value_is_text(struct slice value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];

        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static void
note_framing(struct walk *w, struct slice name, struct slice value)
{
    if (slice_ieq(name, SLICE_LIT("Content-Length"))) {
        w->n_length++;
        w->length = value;
    } else if (slice_ieq(name, SLICE_LIT("Transfer-Encoding"))) {
        w->n_encoding++;
        w->encoding = value;
    } else if (slice_ieq(name, SLICE_LIT("Host"))) {
        w->n_host++;
    } else if (slice_ieq(name, SLICE_LIT("Expect"))) {
        w->n_expect++;
        w->expect = value;
    }
}

/** Nothing is left of `n` bytes that were CR and LF. */
static bool
is_blanked(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != '\0')
            return false;
    return true;
}

/** One header line: CRLF before the name, colon and blanks before the value. */
static enum MHD_Result
walk_header(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_n, const char *value,
    size_t value_n)
{
    struct walk *w = arg;
    struct slice n = slice_make(name, name_n), v = slice_make(value, value_n);

    if (kind != MHD_HEADER_KIND)
        return MHD_YES;
    if (value == NULL || (uintptr_t)name != (uintptr_t)w->end + 2 || !is_blanked(w->end, 2) ||
        (uintptr_t)value < (uintptr_t)name + name_n + 1 || !name_is_token(n) || !value_is_text(v)) {
        w->is_broken = true;
        return MHD_NO;
    }
    w->end = value + value_n;
    note_framing(w, n, slice_trim(v));
    return MHD_YES;
}

/** Does every byte of the head belong to exactly one element? */
static bool
head_is_exact(struct http_request *r, const char *method, const char *version, struct walk *w,
    size_t *head_n_r)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->conn, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    uintptr_t start = (uintptr_t)method, target = (uintptr_t)r->target;

    *head_n_r = info != NULL ? info->header_size : SIZE_MAX;
    w->end = version + strlen(version);
    if (target != start + strlen(method) + 1 || (uintptr_t)version != target + r->target_n + 1)
        return false;
    MHD_get_connection_values_n(r->conn, MHD_HEADER_KIND, walk_header, w);
    return !w->is_broken && (uintptr_t)w->end + 4 == start + *head_n_r && is_blanked(w->end, 4);
}

static unsigned
refuse(
    unsigned status, const char *code, const char *text, const char **code_r, const char **text_r)
{
    *code_r = code;
    *text_r = text;
    return status;
}

static unsigned
check_method(struct slice method, const char **code_r, const char **text_r)
{
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (slice_eq_str(method, known[i]))
            return 0;
    if (slice_eq_str(method, "TRACE") || slice_eq_str(method, "CONNECT"))
        return refuse(405, "method_not_allowed", "this method is not served", code_r, text_r);
    return refuse(501, "not_implemented", "unknown method", code_r, text_r);
}

/** The body's framing, which must leave no choice. */
static bool
read_framing(struct http_request *r, const struct walk *w, bool is_http10)
{
    if (w->n_length > 1 || w->n_encoding > 1 || (w->n_length > 0 && w->n_encoding > 0))
        return false;
    if (w->n_encoding == 1) {
        if (is_http10 || !slice_ieq(w->encoding, SLICE_LIT("chunked")))
            return false;
        r->is_chunked = true;
        r->has_body = true;
        /* The library forgives bare LF between chunks. Nothing may follow on such a connection. */
        r->must_close = true;
    }
    if (w->n_length == 1) {
        if (!slice_u64(w->length, &r->declared_bytes))
            return false;
        r->has_body = r->declared_bytes > 0;
    }
    return true;
}

unsigned
http_guard_check(struct http_request *r, const char *method, const char *version,
    const char **code_r, const char **text_r)
{
    struct walk w = {0};
    size_t head_n;
    bool is_http10 = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
    unsigned status;

    if (!head_is_exact(r, method, version, &w, &head_n))
        return refuse(400, "bad_request", "malformed request head", code_r, text_r);
    if (head_n > HTTP_HEAD_BYTES)
        return refuse(431, "head_too_large", "request head is too large", code_r, text_r);
    if (w.n_host > 1 || (w.n_host == 0 && !is_http10))
        return refuse(400, "bad_request", "exactly one Host is needed", code_r, text_r);
    if (!read_framing(r, &w, is_http10))
        return refuse(400, "bad_request", "ambiguous message length", code_r, text_r);
    if ((status = check_method(r->method, code_r, text_r)) != 0)
        return status;
    if (w.n_expect > 0) {
        if (w.n_expect > 1 || !slice_ieq(w.expect, SLICE_LIT("100-continue")))
            return refuse(417, "expectation_failed", "unknown expectation", code_r, text_r);
        /* Not for the sender to ask (RFC 9110 §10.1.1). The library would say 100, take the first byte
         * of the next request for one of this body, and close without the answer. */
        if (!r->has_body)
            return refuse(
                417, "expectation_failed", "there is no body to wait for", code_r, text_r);
        r->expects_continue = true;
    }
    return 0;
}
