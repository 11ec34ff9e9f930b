/*
 * What a person gives when a profile is made: defaults by kind, JSON, checks. A password is refused
 * where it would travel in clear (no TLS, not a loopback address).
 */
#include "model/profile.h"

#include <string.h>

#include "message/address.h"
#include "model/slug.h"

void
profile_input_init(struct profile_input *in, enum profile_kind kind)
{
    memset(in, 0, sizeof(*in));
    in->p.kind = kind;
    in->p.tls_verify = true;
    in->p.doubt_bulk = PROFILE_DOUBT_LEAVE;
    in->p.doubt_immediate = PROFILE_DOUBT_REPEAT;
    if (kind == PROFILE_SMTP) {
        in->p.port = 587;
        in->p.tls = PROFILE_TLS_STARTTLS;
        in->p.pace_per_s = 10;
        in->p.max_sessions = 10;
    } else {
        in->p.max_sessions = 8;
    }
}

/* ---- from JSON ------------------------------------------------------------------------------- */

static int
read_text(const struct json *body, const char *name, struct slice *out, struct err *err)
{
    const struct json *j = json_get(body, name);

    if (j == NULL)
        return 0;
    if (!json_is(j, JSON_STRING) && !json_is(j, JSON_NULL))
        return err_field(err, name, "must be a string");
    *out = json_is(j, JSON_STRING) ? json_str(j) : SLICE_LIT("");
    return 0;
}

static int
read_uint(const struct json *body, const char *name, unsigned max, uint32_t *out, struct err *err)
{
    const struct json *j = json_get(body, name);
    int64_t v;

    if (j == NULL)
        return 0;
    if (!json_int(j, &v) || v < 0 || v > (int64_t)max)
        return err_field(err, name, "must be an integer from 0 to %u", max);
    *out = (uint32_t)v;
    return 0;
}

/* A text that must be one of `names`; its index goes to `out`. */
static int
read_choice(const struct json *body, const char *name, const char *const *names, size_t n, int *out,
    struct err *err)
{
    const struct json *j = json_get(body, name);

    if (j == NULL)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (slice_eq_str(json_str(j), names[i])) {
            *out = (int)i;
            return 0;
        }
    }
    return err_field(err, name, "must be one of the documented words");
}

static int
read_dkim(const struct json *body, struct profile_input *in, struct err *err)
{
    const struct json *list = json_get(body, "dkim");
    size_t n = 0;

    if (list == NULL)
        return 0;
    if (!json_is(list, JSON_ARRAY) || json_count(list) > PROFILE_MAX_DKIM)
        return err_field(err, "dkim", "must be a list of at most %d signatures", PROFILE_MAX_DKIM);
    for (const struct json *e = json_first(list); e != NULL; e = json_next(e), n++) {
        memset(&in->p.dkim[n], 0, sizeof(in->p.dkim[n]));
        in->dkim_pem[n] = SLICE_NONE;
        if (!json_is(e, JSON_OBJECT))
            return err_field(err, "dkim", "must be a list of objects");
        if (read_text(e, "domain", &in->p.dkim[n].domain, err) != 0 ||
            read_text(e, "selector", &in->p.dkim[n].selector, err) != 0 ||
            read_text(e, "privateKey", &in->dkim_pem[n], err) != 0)
            return -1;
    }
    in->p.n_dkim = n;
    return 0;
}

int
profile_input_from_json(const struct json *body, struct profile_input *in, struct err *err)
{
    static const char *const kinds[] = {"smtp", "capture"};
    static const char *const tls[] = {"none", "starttls", "implicit"};
    static const char *const doubt[] = {"leave", "repeat"};
    struct profile *p = &in->p;
    int kind = (int)p->kind, mode, bulk, immediate;
    uint32_t port;

    if (read_choice(body, "kind", kinds, 2, &kind, err) != 0)
        return -1;
    if (kind != (int)p->kind)
        profile_input_init(in, (enum profile_kind)kind);
    mode = (int)p->tls;
    bulk = (int)p->doubt_bulk;
    immediate = (int)p->doubt_immediate;
    port = p->port;
    if (read_text(body, "slug", &p->slug, err) != 0 ||
        read_text(body, "name", &p->name, err) != 0 ||
        read_text(body, "host", &p->host, err) != 0 ||
        read_text(body, "username", &p->username, err) != 0 ||
        read_text(body, "password", &in->password, err) != 0 ||
        read_text(body, "fromName", &p->from_name, err) != 0 ||
        read_text(body, "fromEmail", &p->from_email, err) != 0 ||
        read_text(body, "ehloName", &p->ehlo_name, err) != 0 ||
        read_text(body, "bounceDomain", &p->bounce_domain, err) != 0 ||
        read_text(body, "captureDir", &p->capture_dir, err) != 0 ||
        read_uint(body, "port", 65535, &port, err) != 0 ||
        read_uint(body, "pacePerSecond", 1000000, &p->pace_per_s, err) != 0 ||
        read_uint(body, "maxSessions", 1000, &p->max_sessions, err) != 0 ||
        read_choice(body, "tls", tls, 3, &mode, err) != 0 ||
        read_choice(body, "inDoubtBulk", doubt, 2, &bulk, err) != 0 ||
        read_choice(body, "inDoubtImmediate", doubt, 2, &immediate, err) != 0 ||
        read_dkim(body, in, err) != 0)
        return -1;
    if (json_get(body, "tlsVerify") != NULL)
        p->tls_verify = json_bool(json_get(body, "tlsVerify"), true);
    if (json_get(body, "isDefault") != NULL)
        p->is_default = json_bool(json_get(body, "isDefault"), false);
    p->port = port;
    p->tls = (enum profile_tls)mode;
    p->doubt_bulk = (enum profile_doubt)bulk;
    p->doubt_immediate = (enum profile_doubt)immediate;
    return 0;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* A host name or address literal as people write it: no blanks, no control characters. */
static bool
is_host(struct slice s)
{
    if (s.n < 1 || s.n > 253)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                c == '.' || c == '-' || c == ':'))
            return false;
    }
    return true;
}

/* 127.0.0.0/8 as digits and dots: "127.example.org" is a name like any other. */
static bool
is_loopback(struct slice host)
{
    if (slice_ieq(host, SLICE_LIT("localhost")) || slice_eq_str(host, "::1"))
        return true;
    if (!slice_starts(host, SLICE_LIT("127.")))
        return false;
    for (size_t i = 0; i < host.n; i++) {
        if (host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9'))
            return false;
    }
    return true;
}

static int
check_smtp(const struct profile_input *in, struct err *err)
{
    const struct profile *p = &in->p;
    bool has_secret = p->username.n > 0 || in->password.n > 0;

    if (!is_host(p->host))
        return err_field(err, "host", "is no host name");
    if (p->port < 1 || p->port > 65535)
        return err_field(err, "port", "must be between 1 and 65535");
    if (p->tls == PROFILE_TLS_NONE && has_secret && !is_loopback(p->host))
        return err_field(
            err, "tls", "a password never travels in clear: choose starttls or implicit");
    if (p->pace_per_s < 1)
        return err_field(err, "pacePerSecond", "must be at least 1");
    if (text_check("username", p->username, 0, 256, false, err) != 0)
        return -1;
    return text_check("password", in->password, 0, 1024, false, err);
}

static int
check_dkim(const struct profile_input *in, struct err *err)
{
    for (size_t i = 0; i < in->p.n_dkim; i++) {
        const struct profile_dkim *d = &in->p.dkim[i];

        if (!is_host(d->domain) || slice_find_char(d->domain, ':') >= 0)
            return err_field(err, "dkim", "domain is no domain name");
        if (!is_host(d->selector) || slice_find_char(d->selector, ':') >= 0)
            return err_field(err, "dkim", "selector is no name");
        if (in->dkim_pem[i].n > 16384)
            return err_field(err, "dkim", "privateKey is too large");
    }
    return 0;
}

int
profile_input_check(const struct profile_input *in, struct err *err)
{
    const struct profile *p = &in->p;
    struct address parsed;
    struct err why;

    err_clear(&why);
    if (slug_check("slug", p->slug, err) != 0 ||
        text_check("name", p->name, 1, 200, false, err) != 0 ||
        text_check("fromName", p->from_name, 0, 200, false, err) != 0)
        return -1;
    if (address_parse(p->from_email, &parsed, &why) != 0)
        return err_field(err, "fromEmail", "no valid address: %s", why.text);
    if (p->ehlo_name.n > 0 && !is_host(p->ehlo_name))
        return err_field(err, "ehloName", "is no host name");
    if (p->bounce_domain.n > 0 && !is_host(p->bounce_domain))
        return err_field(err, "bounceDomain", "is no domain name");
    if (p->max_sessions < 1 || p->max_sessions > 1000)
        return err_field(err, "maxSessions", "must be between 1 and 1000");
    if (check_dkim(in, err) != 0)
        return -1;
    if (p->kind == PROFILE_SMTP)
        return check_smtp(in, err);
    return text_check("captureDir", p->capture_dir, 1, 1024, false, err);
}
