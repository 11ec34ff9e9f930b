#include "net/net_tls.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/mem.h"
#include "net/net_tls_internal.h"

/*
 * One SSL_CTX per profile: what is trusted, which versions. Each connection takes a session from it
 * and sets the name to be checked. An end of file without close_notify counts as an ordinary one:
 * every reply of the protocols spoken here says itself where it ends, and many servers just close.
 */

struct net_tls {
    SSL_CTX *ctx;
};

/* The library's first queued reason; empties the queue, so that the next call starts clean. */
static const char *
take_reason(void)
{
    unsigned long e = ERR_get_error();
    const char *reason = e != 0 ? ERR_reason_error_string(e) : NULL;

    ERR_clear_error();
    return reason != NULL ? reason : "unknown reason";
}

struct net_tls *
net_tls_create(const char *ca_file, bool is_verified, struct err *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    struct net_tls *t;

    if (ctx == NULL) {
        err_set(err, ERR_INTERNAL, "TLS context: %s", take_reason());
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to the socket with write(2) */
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20");
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(ctx, 1);
    if (is_verified) {
        int ok = ca_file != NULL ? SSL_CTX_load_verify_file(ctx, ca_file)
                                 : SSL_CTX_set_default_verify_paths(ctx);

        if (ok != 1) {
            err_set(err, ERR_INVALID, "certificates of trusted authorities: %s", take_reason());
            SSL_CTX_free(ctx);
            return NULL;
        }
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    }
    t = mem_zalloc(sizeof(*t));
    t->ctx = ctx;
    return t;
}

void
net_tls_free(struct net_tls **tp)
{
    struct net_tls *t = *tp;

    if (t == NULL)
        return;
    *tp = NULL;
    SSL_CTX_free(t->ctx);
    mem_free(t);
}

static bool
is_address_literal(const char *host)
{
    unsigned char raw[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, raw) == 1 || inet_pton(AF_INET6, host, raw) == 1;
}

SSL *
net_tls_session(struct net_tls *t, int fd, const char *host, struct err *err)
{
    SSL *ssl = SSL_new(t->ctx);
    int ok;

    if (ssl == NULL) {
        err_set(err, ERR_TEMP, "TLS session: %s", take_reason());
        return NULL;
    }
    SSL_set_connect_state(ssl);
    ok = SSL_set_fd(ssl, fd);
    if (is_address_literal(host)) {
        ok &= X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
    } else {
        SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        ok &= SSL_set1_host(ssl, host);
        ok &= (int)SSL_set_tlsext_host_name(ssl, host);
    }
    if (ok != 1) {
        err_set(err, ERR_INVALID, "TLS session for this host name: %s", take_reason());
        SSL_free(ssl);
        return NULL;
    }
    return ssl;
}

int
net_tls_error(SSL *ssl, const char *what, struct err *err)
{
    long verdict = SSL_get_verify_result(ssl);

    if (verdict != X509_V_OK && SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE) {
        ERR_clear_error();
        return err_set(err, ERR_TEMP, "%s: certificate refused: %s", what,
            X509_verify_cert_error_string(verdict));
    }
    if (ERR_peek_error() == 0)
        return err_set(err, ERR_TEMP, "%s: connection lost", what);
    return err_set(err, ERR_TEMP, "%s: %s", what, take_reason());
}
