#ifndef NET_NET_TLS_H
#define NET_NET_TLS_H

#include <stdbool.h>

#include "base/err.h"

struct net_tls;

/**
 * Settings for TLS as a client, shared by many connections of one loop thread: TLS 1.2 or newer,
 * forward-secret suites. With `is_verified` the certificate must chain to `ca_file` (NULL = the
 * system's store) and name the host (RFC 6125). ERR_INVALID when the file cannot be used.
 */
struct net_tls *net_tls_create(const char *ca_file, bool is_verified, struct err *err);
/** Connections that still use it keep it alive. */
void net_tls_free(struct net_tls **t);

#endif
