#ifndef HTTP_PROXY_H
#define HTTP_PROXY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"

struct sockaddr;
struct http_proxies;

/** Longest address text with its NUL (INET6_ADDRSTRLEN). */
#define HTTP_ADDR_SIZE 46

/** An address in network order; IPv4 is kept as ::ffff:a.b.c.d, so that both forms are equal. */
struct http_addr {
    unsigned char b[16];
};

/** Parse a list of addresses and CIDR blocks ("10.0.0.0/8", "::1"). ERR_INVALID names the entry. */
struct http_proxies *http_proxies_create(const char *const *blocks, size_t n, struct err *err);
void http_proxies_free(struct http_proxies **p);
bool http_proxies_trusts(const struct http_proxies *p, const struct http_addr *a);

/** Address text, also in brackets and with a port behind it as proxies write it. */
bool http_addr_parse(struct slice text, struct http_addr *a_r);
/** False for a family that is neither IPv4 nor IPv6. */
bool http_addr_from_sockaddr(const struct sockaddr *sa, struct http_addr *a_r);
bool http_addr_is_loopback(const struct http_addr *a);
/** Canonical text; IPv4 in dotted form. Returns `out`. */
char *http_addr_text(const struct http_addr *a, char out[HTTP_ADDR_SIZE]);

/**
 * The client behind a chain of proxies. `peer` is who connected, `forwarded` the X-Forwarded-For
 * values joined by commas in order of arrival. Entries are believed from the right for as long as
 * the one who wrote them is trusted; the first untrusted one is the client. An entry that is no
 * address ends the walk, and the last believed one counts.
 */
struct http_addr http_proxies_client(
    const struct http_proxies *p, const struct http_addr *peer, struct slice forwarded);

#endif
