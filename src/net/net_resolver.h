#ifndef NET_NET_RESOLVER_H
#define NET_NET_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"

struct loop;
struct net_lookup;
struct net_resolver;
struct workers;

#define NET_ADDR_MAX 8

/** Addresses of one host, in the order in which they should be tried (RFC 6724), at most
 * NET_ADDR_MAX. */
struct net_addrs {
    size_t n;
    struct net_addr {
        struct sockaddr_storage sa;
        socklen_t len;
    } a[NET_ADDR_MAX];
};

/** `addrs` is valid during the call; NULL means failure, told by `err`. */
typedef void net_resolver_fn(const struct net_addrs *addrs, const struct err *err, void *arg);

/**
 * Host names to addresses with getaddrinfo on a worker. Answers are kept for 60 s and failures for
 * 5 s, a bounded number of them; lookups of the same name share one question. Loop thread.
 */
struct net_resolver *net_resolver_create(struct loop *l, struct workers *w);
/** Cancels all lookups; a question still on a worker is dropped when it comes back. */
void net_resolver_free(struct net_resolver **r);
/** `fn` comes once, from the loop, never before this returns. `host` is a name or an address literal
 * and is copied; longer than 255 bytes or empty fails. */
struct net_lookup *net_resolver_start(
    struct net_resolver *r, const char *host, unsigned port, net_resolver_fn *fn, void *arg);
/** After this `fn` never comes. NULL inside is accepted. The handle is dead once `fn` has started. */
void net_resolver_cancel(struct net_lookup **l);

/** "192.0.2.1:25" or "[2001:db8::1]:25" into `out`, for logs and texts. */
const char *net_addr_text(const struct net_addr *a, char *out, size_t size_bytes);
/** Is it 127.0.0.0/8 or ::1 (also IPv4-mapped)? */
bool net_addr_is_loopback(const struct net_addr *a);

#endif
