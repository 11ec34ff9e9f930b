#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/buf.h"
#include "base/mem.h"

/*
 * Blocking sockets with a time limit on every read, so that a client which never comes fails the test
 * instead of hanging it.
 */

#define WAIT_S      30
#define RCVBUF_SIZE 65536 /* small, so that large messages have to wait */

struct peer {
    pthread_t thread;
    int listen_fd, fd;
    unsigned port;
    const struct peer_step *steps;
    SSL *ssl;
    struct buf in;
    char failure[400];
};

static EVP_PKEY *server_key;
static X509 *server_cert;

/* ---- certificate --------------------------------------------------------------------------- */

static void
add_extension(X509 *cert, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *ext;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    X509_add_ext(cert, ext, -1);
    X509_EXTENSION_free(ext);
}

static bool
is_address(const char *name)
{
    struct in_addr in;

    return inet_pton(AF_INET, name, &in) == 1;
}

const char *
peer_certificate(const char *name)
{
    static char path[512];
    const char *dir = getenv("MAILSHOT_TEST_DIR");
    char alt[300];
    FILE *f;

    X509_free(server_cert);
    EVP_PKEY_free(server_key);
    server_key = EVP_EC_gen("P-256");
    server_cert = X509_new();
    X509_set_version(server_cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(server_cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(server_cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(server_cert), 86400);
    X509_set_pubkey(server_cert, server_key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(server_cert), "CN", MBSTRING_ASC,
        (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(server_cert, X509_get_subject_name(server_cert));
    snprintf(alt, sizeof(alt), "%s:%s", is_address(name) ? "IP" : "DNS", name);
    add_extension(server_cert, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(server_cert, NID_subject_alt_name, alt);
    X509_sign(server_cert, server_key, EVP_sha256());
    snprintf(path, sizeof(path), "%s/ca.pem", dir != NULL ? dir : "/tmp");
    if ((f = fopen(path, "w")) == NULL)
        return NULL;
    PEM_write_X509(f, server_cert);
    fclose(f);
    return path;
}

/* ---- steps --------------------------------------------------------------------------------- */

static int
fail(struct peer *p, const struct peer_step *step, const char *what)
{
    snprintf(p->failure, sizeof(p->failure), "step %zu: %s (wanted \"%.120s\", have \"%.120s\")",
        (size_t)(step - p->steps), what, step->text != NULL ? step->text : "",
        p->in.n > 0 ? buf_cstr(&p->in) : "");
    return -1;
}

static ssize_t
peer_read(struct peer *p, char *out, size_t n)
{
    if (p->ssl != NULL)
        return SSL_read(p->ssl, out, (int)n);
    return recv(p->fd, out, n, 0);
}

static int
peer_write(struct peer *p, const char *text, size_t n)
{
    if (p->ssl != NULL)
        return SSL_write(p->ssl, text, (int)n) == (int)n ? 0 : -1;
    return send(p->fd, text, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

static void
disconnect(struct peer *p)
{
    if (p->ssl != NULL)
        SSL_free(p->ssl);
    p->ssl = NULL;
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    buf_clear(&p->in);
}

static int
step_accept(struct peer *p, const struct peer_step *step)
{
    struct pollfd poll_fd = {.fd = p->listen_fd, .events = POLLIN};
    struct timeval limit = {.tv_sec = WAIT_S};

    disconnect(p);
    if (poll(&poll_fd, 1, WAIT_S * 1000) != 1 || (p->fd = accept(p->listen_fd, NULL, NULL)) < 0)
        return fail(p, step, "nobody connected");
    setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(p->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    return 0;
}

/* Read more; 0 at the end, -1 on failure. */
static ssize_t
read_more(struct peer *p)
{
    ssize_t n = peer_read(p, buf_reserve(&p->in, 65536), 65536);

    if (n > 0)
        p->in.n += (size_t)n;
    return n;
}

static int
step_line(struct peer *p, const struct peer_step *step)
{
    size_t want = strlen(step->text);
    ptrdiff_t lf;
    bool ok;

    while ((lf = slice_find_char(buf_slice(&p->in), '\n')) < 0) {
        if (read_more(p) <= 0)
            return fail(p, step, "no line came");
    }
    ok = lf > 0 && p->in.p[lf - 1] == '\r' && (size_t)lf - 1 >= want &&
         memcmp(p->in.p, step->text, want) == 0 &&
         (step->kind == PEER_KIND_PREFIX || (size_t)lf - 1 == want);
    if (!ok)
        return fail(p, step, "another line came");
    buf_consume(&p->in, (size_t)lf + 1);
    return 0;
}

static int
step_body(struct peer *p, const struct peer_step *step)
{
    static const struct slice end = {"\r\n.\r\n", 5};
    size_t looked_at = 0;
    struct slice have;
    ptrdiff_t at;

    while ((at = slice_find(slice_from(buf_slice(&p->in), looked_at), end)) < 0) {
        looked_at = p->in.n > end.n ? p->in.n - end.n : 0;
        if (read_more(p) <= 0)
            return fail(p, step, "no end of data came");
    }
    have = slice_make(p->in.p, looked_at + (size_t)at + end.n);
    if (step->text != NULL && !slice_eq_str(have, step->text))
        return fail(p, step, "another message came");
    buf_consume(&p->in, have.n);
    return 0;
}

static int
step_eof(struct peer *p, const struct peer_step *step)
{
    ssize_t n = 0;

    if (p->in.n == 0)
        n = read_more(p);
    /* A client that has not read all we sent closes with a reset. */
    if (n < 0 && errno == ECONNRESET)
        n = 0;
    return n == 0 && p->in.n == 0 ? 0 : fail(p, step, "the client did not close");
}

static int
step_tls(struct peer *p, const struct peer_step *step)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    int rc;

    SSL_CTX_use_certificate(ctx, server_cert);
    SSL_CTX_use_PrivateKey(ctx, server_key);
    p->ssl = SSL_new(ctx);
    SSL_CTX_free(ctx);
    SSL_set_fd(p->ssl, p->fd);
    rc = SSL_accept(p->ssl);
    if (step->kind == PEER_KIND_TLS)
        return rc == 1 ? 0 : fail(p, step, "no TLS handshake");
    /* With TLS 1.3 the server may be done before the client looks at the certificate. */
    if (rc == 1)
        rc = SSL_read(p->ssl, (char[1]){0}, 1);
    disconnect(p);
    return rc != 1 ? 0 : fail(p, step, "the client took the certificate");
}

static int
step_trickle(struct peer *p, const struct peer_step *step)
{
    for (const char *c = step->text; *c != '\0'; c++) {
        if (peer_write(p, c, 1) != 0)
            return fail(p, step, "cannot write");
    }
    return 0;
}

static int
step_read(struct peer *p, const struct peer_step *step)
{
    while (p->in.n < step->n) {
        if (read_more(p) <= 0)
            return fail(p, step, "too few bytes came");
    }
    buf_clear(&p->in);
    return 0;
}

static int
step_drain(struct peer *p)
{
    while (read_more(p) > 0)
        buf_clear(&p->in);
    disconnect(p);
    return 0;
}

static int
play(struct peer *p, const struct peer_step *step)
{
    struct linger reset = {1, 0};

    switch (step->kind) {
    case PEER_KIND_END:
    case PEER_KIND_EOF: return step_eof(p, step);
    case PEER_KIND_SEND:
        return peer_write(p, step->text, strlen(step->text)) == 0 ? 0
                                                                  : fail(p, step, "cannot write");
    case PEER_KIND_TRICKLE: return step_trickle(p, step);
    case PEER_KIND_EXPECT:
    case PEER_KIND_PREFIX: return step_line(p, step);
    case PEER_KIND_BODY: return step_body(p, step);
    case PEER_KIND_READ: return step_read(p, step);
    case PEER_KIND_DRAIN: return step_drain(p);
    case PEER_KIND_PAUSE: usleep((useconds_t)step->n * 1000); return 0;
    case PEER_KIND_RESET:
        setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        disconnect(p);
        return 0;
    case PEER_KIND_CLOSE: disconnect(p); return 0;
    case PEER_KIND_ACCEPT: return step_accept(p, step);
    case PEER_KIND_TLS:
    case PEER_KIND_TLS_REFUSED: return step_tls(p, step);
    }
    return -1;
}

static void *
peer_main(void *arg)
{
    struct peer *p = arg;
    const struct peer_step *step = p->steps;

    if (step_accept(p, step) != 0)
        return NULL;
    while (step->kind != PEER_KIND_END) {
        if (play(p, step) != 0)
            break;
        step++;
    }
    if (step->kind == PEER_KIND_END && p->fd >= 0)
        play(p, step);
    disconnect(p);
    return NULL;
}

struct peer *
peer_start(const char *address, const struct peer_step *steps)
{
    struct peer *p = mem_zalloc(sizeof(*p));
    struct sockaddr_in in = {.sin_family = AF_INET};
    socklen_t len = sizeof(in);
    int rcvbuf = RCVBUF_SIZE;

    signal(SIGPIPE, SIG_IGN);
    inet_pton(AF_INET, address, &in.sin_addr);
    p->steps = steps;
    p->fd = -1;
    p->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(p->listen_fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
    if (bind(p->listen_fd, (struct sockaddr *)&in, sizeof(in)) != 0 || listen(p->listen_fd, 8) != 0)
        abort();
    getsockname(p->listen_fd, (struct sockaddr *)&in, &len);
    p->port = ntohs(in.sin_port);
    pthread_create(&p->thread, NULL, peer_main, p);
    return p;
}

unsigned
peer_port(const struct peer *p)
{
    return p->port;
}

const char *
peer_finish(struct peer **pp)
{
    static char failure[sizeof((*pp)->failure)];
    struct peer *p = *pp;

    *pp = NULL;
    pthread_join(p->thread, NULL);
    close(p->listen_fd);
    memcpy(failure, p->failure, sizeof(failure));
    buf_deinit(&p->in);
    mem_free(p);
    return failure[0] != '\0' ? failure : NULL;
}
