#include "http/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

/*
 * Who is the client when reverse proxies stand between? The peer of the connection is certain;
 * everything in X-Forwarded-For is hearsay, worth exactly as much as the party that appended it.
 * Anybody may send us a header with invented entries on its left, so the list is read from the
 * right and only while its writers are configured as trusted.
 *
 * Addresses are compared as 128 bits, IPv4 mapped into ::ffff:0:0/96 (RFC 4291 §2.5.5.2).
 */

struct block {
    struct http_addr addr;
    unsigned bits; /* of 128 */
};

struct http_proxies {
    size_t n;
    struct block blocks[];
};

static const unsigned char mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool
is_v4(const struct http_addr *a)
{
    return memcmp(a->b, mapped_prefix, sizeof mapped_prefix) == 0;
}

/** Bare address, no brackets, no port. */
static bool
parse_bare(struct slice text, struct http_addr *a_r)
{
    char s[HTTP_ADDR_SIZE];

    if (text.n == 0 || text.n >= sizeof s || memchr(text.p, '\0', text.n) != NULL)
        return false;
    memcpy(s, text.p, text.n);
    s[text.n] = '\0';
    if (inet_pton(AF_INET6, s, a_r->b) == 1)
        return true;
    memcpy(a_r->b, mapped_prefix, sizeof mapped_prefix);
    return inet_pton(AF_INET, s, a_r->b + sizeof mapped_prefix) == 1;
}

bool
http_addr_parse(struct slice text, struct http_addr *a_r)
{
    ptrdiff_t colon;

    text = slice_trim(text);
    if (text.n > 1 && text.p[0] == '[') {
        ptrdiff_t close = slice_find_char(text, ']');

        return close > 0 && parse_bare(slice_make(text.p + 1, (size_t)close - 1), a_r);
    }
    if (parse_bare(text, a_r))
        return true;
    colon = slice_find_char(text, ':');
    if (colon <= 0 || colon != slice_rfind_char(text, ':'))
        return false;
    return parse_bare(slice_make(text.p, (size_t)colon), a_r);
}

bool
http_addr_from_sockaddr(const struct sockaddr *sa, struct http_addr *a_r)
{
    if (sa == NULL)
        return false;
    if (sa->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;

        memcpy(&in6, sa, sizeof in6);
        memcpy(a_r->b, &in6.sin6_addr, sizeof a_r->b);
        return true;
    }
    if (sa->sa_family == AF_INET) {
        struct sockaddr_in in4;

        memcpy(&in4, sa, sizeof in4);
        memcpy(a_r->b, mapped_prefix, sizeof mapped_prefix);
        memcpy(a_r->b + sizeof mapped_prefix, &in4.sin_addr, 4);
        return true;
    }
    return false;
}

bool
http_addr_is_loopback(const struct http_addr *a)
{
    static const unsigned char one[16] = {[15] = 1};

    return is_v4(a) ? a->b[12] == 127 : memcmp(a->b, one, sizeof one) == 0;
}

char *
http_addr_text(const struct http_addr *a, char out[HTTP_ADDR_SIZE])
{
    const char *s;

    if (is_v4(a))
        s = inet_ntop(AF_INET, a->b + sizeof mapped_prefix, out, HTTP_ADDR_SIZE);
    else
        s = inet_ntop(AF_INET6, a->b, out, HTTP_ADDR_SIZE);
    if (s == NULL)
        out[0] = '\0';
    return out;
}

static bool
parse_block(struct slice text, struct block *b)
{
    ptrdiff_t slash = slice_find_char(text, '/');
    uint64_t bits, max;

    if (slash < 0) {
        b->bits = 128;
        return parse_bare(text, &b->addr);
    }
    if (!parse_bare(slice_make(text.p, (size_t)slash), &b->addr) ||
        !slice_u64(slice_from(text, (size_t)slash + 1), &bits))
        return false;
    /* A mapped block may be written in either notation; the dotted one counts from 96. */
    max = slice_find_char(text, ':') < 0 ? 32 : 128;
    if (bits > max)
        return false;
    b->bits = (unsigned)(128 - max + bits);
    return true;
}

struct http_proxies *
http_proxies_create(const char *const *blocks, size_t n, struct err *err)
{
    struct http_proxies *p = mem_zalloc(sizeof *p + n * sizeof p->blocks[0]);

    for (size_t i = 0; i < n; i++) {
        if (!parse_block(slice_trim(slice_str(blocks[i])), &p->blocks[i])) {
            err_set(err, ERR_INVALID, "\"%s\" is neither an address nor a block", blocks[i]);
            http_proxies_free(&p);
            return NULL;
        }
    }
    p->n = n;
    return p;
}

void
http_proxies_free(struct http_proxies **p)
{
    mem_free(*p);
    *p = NULL;
}

static bool
block_has(const struct block *b, const struct http_addr *a)
{
    unsigned whole = b->bits / 8, rest = b->bits % 8;

    if (memcmp(b->addr.b, a->b, whole) != 0)
        return false;
    return rest == 0 || (b->addr.b[whole] ^ a->b[whole]) >> (8 - rest) == 0;
}

bool
http_proxies_trusts(const struct http_proxies *p, const struct http_addr *a)
{
    for (size_t i = 0; i < p->n; i++)
        if (block_has(&p->blocks[i], a))
            return true;
    return false;
}

struct http_addr
http_proxies_client(
    const struct http_proxies *p, const struct http_addr *peer, struct slice forwarded)
{
    struct http_addr client = *peer, next;

    while (forwarded.n > 0 && http_proxies_trusts(p, &client)) {
        ptrdiff_t comma = slice_rfind_char(forwarded, ',');
        struct slice entry = slice_from(forwarded, (size_t)(comma + 1));

        if (!http_addr_parse(entry, &next))
            break;
        client = next;
        forwarded.n = comma > 0 ? (size_t)comma : 0;
    }
    return client;
}
