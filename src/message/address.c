/*
 * Addresses: one parser and one key for every place that compares, stores or sends to one.
 *
 * The local part belongs to the receiver and is kept as given; for the key its ASCII letters are
 * lowered and needless quoting is taken off, since `"ana"@…` and `ana@…` name one mailbox (RFC 5321
 * §4.1.2). The domain is brought to lower-case A-labels: ASCII directly, anything else through
 * libidn2 (non-transitional UTS 46, then IDNA2008). A-labels given as such are not decoded: two of
 * them are two names in the DNS, whatever they stand for.
 */
#include "message/address.h"

#include <idn2.h>

#include "base/utf8.h"

#define LOCAL_MAX  64
#define DOMAIN_MAX 253 /* of the A-label form, without the root dot */
#define LABEL_MAX  63

static int
refuse(struct err *err, const char *why)
{
    return err_sub(err, ERR_INVALID, "invalid_address", "address %s", why);
}

/** atext of RFC 5322 §3.2.3, and any byte of a character outside ASCII (RFC 6531 §3.3). */
static bool
is_atext(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c >= 0x80 || (c > 32 && c < 127 && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

static bool
is_dot_atom(struct slice s)
{
    bool was_dot = true;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.' ? was_dot : !is_atext((unsigned char)s.p[i]))
            return false;
        was_dot = s.p[i] == '.';
    }
    return !was_dot;
}

/** Length of the quoted string at the start of `s`, quotes included; 0 when it is none. */
static size_t
quoted_length(struct slice s)
{
    size_t i = 1;

    while (i < s.n && s.p[i] != '"') {
        if (s.p[i] == '\\' && (++i == s.n || (unsigned char)s.p[i] >= 0x80))
            return 0;
        i++;
    }
    return i < s.n ? i + 1 : 0;
}

static int
split(struct slice text, struct address *a, struct err *err)
{
    size_t n;

    if (text.p[0] == '"') {
        if ((n = quoted_length(text)) < 3)
            return refuse(err, "has an open or empty quoted part");
    } else {
        ptrdiff_t at = slice_find_char(text, '@');

        if (at < 0)
            return refuse(err, "has no @");
        n = (size_t)at;
        if (!is_dot_atom(slice_make(text.p, n)))
            return refuse(err, "has an empty, misplaced or forbidden part before the @");
    }
    if (n >= text.n || text.p[n] != '@')
        return refuse(err, "has no @ behind its quoted part");
    if (n > LOCAL_MAX)
        return refuse(err, "has more than 64 bytes before the @");
    a->local = slice_make(text.p, n);
    a->domain = slice_from(text, n + 1);
    a->is_local_utf8 = !utf8_is_ascii(a->local);
    return 0;
}

/** Lower-case letters, digits, hyphens in labels of 1-63, at least two labels, last one no number. */
static int
check_domain(const char *domain, size_t n, struct err *err)
{
    size_t label = 0, n_labels = 1;
    bool is_number = true;

    if (n == 0 || n > DOMAIN_MAX)
        return refuse(err, "has an empty or overlong domain");
    for (size_t i = 0; i <= n; i++) {
        char c = i < n ? domain[i] : '.';

        if (c == '.') {
            if (label == 0 || label > LABEL_MAX || domain[i - 1] == '-')
                return refuse(err, "has an empty, overlong or ill-formed domain label");
            if (i == n)
                break;
            label = 0;
            is_number = true;
            n_labels++;
            continue;
        }
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c == '-' && label > 0)))
            return refuse(err, "has a character that no domain can have");
        if (c < '0' || c > '9')
            is_number = false;
        label++;
    }
    if (n_labels < 2 || is_number)
        return refuse(err, "has no full domain name behind the @");
    return 0;
}

static int
domain_to_ascii(struct address *a, struct err *err)
{
    char copy[sizeof a->ascii_domain];
    uint8_t *converted = NULL;
    size_t n;
    int rc;

    if (a->domain.n >= sizeof copy)
        return refuse(err, "has an empty or overlong domain");
    if (utf8_is_ascii(a->domain)) {
        for (size_t i = 0; i < a->domain.n; i++) {
            char c = a->domain.p[i];

            a->ascii_domain[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
        }
        a->ascii_domain[a->domain.n] = '\0';
        return check_domain(a->ascii_domain, a->domain.n, err);
    }
    memcpy(copy, a->domain.p, a->domain.n);
    copy[a->domain.n] = '\0';
    rc = idn2_lookup_u8((const uint8_t *)copy, &converted,
        IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL | IDN2_USE_STD3_ASCII_RULES);
    if (rc != IDN2_OK)
        return refuse(err, "has a domain that is no valid international name");
    n = strlen((const char *)converted);
    if (n < sizeof a->ascii_domain)
        memcpy(a->ascii_domain, converted, n + 1);
    idn2_free(converted);
    if (n >= sizeof a->ascii_domain)
        return refuse(err, "has an empty or overlong domain");
    return check_domain(a->ascii_domain, n, err);
}

int
address_parse(struct slice text, struct address *a_r, struct err *err)
{
    text = slice_trim(text);
    if (text.n == 0)
        return refuse(err, "is empty");
    if (text.n > ADDRESS_MAX)
        return refuse(err, "is longer than 320 bytes");
    if (!utf8_valid(text))
        return refuse(err, "is not UTF-8");
    if (utf8_has_control(text))
        return refuse(err, "has a control character");
    if (split(text, a_r, err) != 0)
        return -1;
    return domain_to_ascii(a_r, err);
}

static char
lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/** The local part without quotes and escapes, lowered. Returns the length. */
static size_t
local_content(struct slice local, char out[LOCAL_MAX])
{
    bool is_quoted = local.p[0] == '"';
    size_t n = 0;

    for (size_t i = is_quoted; i + is_quoted < local.n; i++) {
        if (is_quoted && local.p[i] == '\\')
            i++;
        out[n++] = lower(local.p[i]);
    }
    return n;
}

void
address_key(const struct address *a, struct buf *out)
{
    char content[LOCAL_MAX];
    size_t n = local_content(a->local, content);

    if (a->local.p[0] != '"' || is_dot_atom(slice_make(content, n))) {
        buf_append(out, content, n);
    } else {
        buf_append_char(out, '"');
        for (size_t i = 0; i < n; i++) {
            if (content[i] == '"' || content[i] == '\\')
                buf_append_char(out, '\\');
            buf_append_char(out, content[i]);
        }
        buf_append_char(out, '"');
    }
    buf_append_char(out, '@');
    buf_append_str(out, a->ascii_domain);
}

int
address_key_of(struct slice text, struct buf *out, struct err *err)
{
    struct address a;

    if (address_parse(text, &a, err) != 0)
        return -1;
    address_key(&a, out);
    return 0;
}

void
address_wire(const struct address *a, struct buf *out)
{
    buf_append_slice(out, a->local);
    buf_append_char(out, '@');
    buf_append_str(out, a->ascii_domain);
}
