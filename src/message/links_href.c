/*
 * What an href points to, judged as a browser would: character references are decoded, blanks at the
 * ends and line ends anywhere are dropped, the scheme is compared without case.
 */
#include "message/links_href.h"

#include "message/html_entity.h"
#include "message/links.h"

#define URL_MAX_BYTES 8192

static bool
is_scheme_char(char c, size_t i)
{
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

    return is_letter || (i > 0 && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'));
}

/* Length of the scheme of a URL (RFC 3986 §3.1) without its colon; 0 when there is none. `open_r` says
 * that the text ended while it could still become one. */
static size_t
scheme_length(struct slice url, bool *open_r)
{
    size_t i = 0;

    while (i < url.n && is_scheme_char(url.p[i], i))
        i++;
    *open_r = i == url.n;
    return i < url.n && url.p[i] == ':' ? i : 0;
}

static bool
is_web_scheme(struct slice scheme)
{
    return slice_ieq(scheme, SLICE_LIT("http")) || slice_ieq(scheme, SLICE_LIT("https"));
}

static bool
is_bad_scheme(struct slice scheme)
{
    return slice_ieq(scheme, SLICE_LIT("javascript")) || slice_ieq(scheme, SLICE_LIT("data")) ||
           slice_ieq(scheme, SLICE_LIT("vbscript"));
}

bool
links_is_http_url(struct slice s)
{
    bool is_open;
    size_t n = scheme_length(s, &is_open), host;

    if (s.n > URL_MAX_BYTES || n == 0 || !is_web_scheme(slice_make(s.p, n)) ||
        !slice_starts(slice_from(s, n), SLICE_LIT("://")))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c <= ' ' || c == 0x7F || c == '\\')
            return false;
    }
    for (host = n + 3; host < s.n && s.p[host] != '/' && s.p[host] != '?' && s.p[host] != '#';
         host++)
        continue;
    return host > n + 3 && s.p[n + 3] != ':' && s.p[host - 1] != '@';
}

/* Decoded form without blanks at the ends, controls dropped, inner blanks as %20. */
static void
decode_url(struct slice value, struct buf *out)
{
    struct buf decoded = BUF_INIT;
    struct slice s;

    html_entity_decode(value, &decoded);
    s = slice_trim(buf_slice(&decoded));
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == ' ')
            buf_append_str(out, "%20");
        else if (s.p[i] != '\t' && s.p[i] != '\n' && s.p[i] != '\r')
            buf_append_char(out, s.p[i]);
    }
    buf_deinit(&decoded);
}

/* Is the whole value one plain expression over one of the URLs we make ourselves? */
static bool
is_reserved(struct slice value)
{
    struct slice s = slice_trim(value);

    if (!slice_starts(s, SLICE_LIT("{{")) || !slice_ends(s, SLICE_LIT("}}")))
        return false;
    while (s.n > 0 && (s.p[0] == '{' || s.p[0] == '&' || s.p[0] == '~'))
        s = slice_from(s, 1);
    while (s.n > 0 && (s.p[s.n - 1] == '}' || s.p[s.n - 1] == '~'))
        s.n--;
    s = slice_trim(s);
    if (slice_starts(s, SLICE_LIT("@root.")))
        s = slice_from(s, 6);
    return slice_eq(s, SLICE_LIT("unsubscribeUrl")) ||
           slice_eq(s, SLICE_LIT("preferenceCenterUrl")) ||
           slice_eq(s, SLICE_LIT("viewInBrowserUrl"));
}

/* With an expression inside, only the text before the first one can be judged. */
static enum links_href_kind
classify_dynamic(struct slice value)
{
    struct buf prefix = BUF_INIT;
    ptrdiff_t hole = slice_find(value, SLICE_LIT("{{"));
    enum links_href_kind kind = HREF_INERT;
    struct slice s, scheme;
    bool is_open;

    decode_url(slice_make(value.p, hole > 0 ? (size_t)hole : 0), &prefix);
    s = buf_slice(&prefix);
    scheme = slice_make(s.p, scheme_length(s, &is_open));
    if (is_open) /* also when nothing stands before the expression */
        kind = HREF_DYNAMIC;
    else if (is_web_scheme(scheme))
        kind = HREF_DYNAMIC;
    else if (is_bad_scheme(scheme))
        kind = HREF_BAD;
    buf_deinit(&prefix);
    return kind;
}

enum links_href_kind
links_href_classify(struct slice value, bool has_hole, struct buf *url)
{
    size_t mark = url->n;
    struct slice s;
    bool is_open;

    if (has_hole)
        return is_reserved(value) ? HREF_RESERVED : classify_dynamic(value);
    decode_url(value, url);
    s = slice_from(buf_slice(url), mark);
    if (links_is_http_url(s))
        return HREF_STATIC;
    s.n = scheme_length(s, &is_open);
    url->n = mark;
    return is_bad_scheme(s) ? HREF_BAD : HREF_INERT;
}
