#ifndef NET_NET_TLS_INTERNAL_H
#define NET_NET_TLS_INTERNAL_H

#include <openssl/ssl.h>

#include "base/err.h"
#include "net/net_tls.h"

/** A client session over the non-blocking socket `fd` to `host` (name or address literal; used for
 * SNI and for the check of the certificate). NULL with err on failure. The caller frees it. */
SSL *net_tls_session(struct net_tls *t, int fd, const char *host, struct err *err);

/** Fill `err` (ERR_TEMP) with what went wrong in `ssl`: the verdict on the certificate when there is
 * one, else the library's reason. Empties the library's error queue. Returns -1. */
int net_tls_error(SSL *ssl, const char *what, struct err *err);

#endif
