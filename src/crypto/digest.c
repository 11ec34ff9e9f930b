/*
 * SHA-256 and the algorithms every other file here needs.
 *
 * OpenSSL 3 looks an algorithm up by name in its providers on each use unless it was fetched
 * before, which costs more than hashing forty bytes. So each is fetched once per process, under
 * pthread_once, and never freed: the objects are immutable and shared by all threads.
 */
#include "crypto/crypto_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

struct crypto_sha256_ctx {
    EVP_MD_CTX *md;
};

static pthread_once_t fetched = PTHREAD_ONCE_INIT;
static EVP_MD *sha256;
static EVP_MAC *hmac;
static EVP_CIPHER *gcm;

_Noreturn void
crypto_die(const char *what)
{
    fprintf(stderr, "crypto: %s failed, cannot go on\n", what);
    abort();
}

static void
fetch_all(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    if (sha256 == NULL || hmac == NULL || gcm == NULL)
        crypto_die("fetching SHA256, HMAC and AES-256-GCM");
}

const EVP_MD *
crypto_md_sha256(void)
{
    pthread_once(&fetched, fetch_all);
    return sha256;
}

EVP_MAC *
crypto_mac_hmac(void)
{
    pthread_once(&fetched, fetch_all);
    return hmac;
}

const EVP_CIPHER *
crypto_cipher_gcm(void)
{
    pthread_once(&fetched, fetch_all);
    return gcm;
}

void
crypto_sha256(struct slice data, uint8_t out[CRYPTO_SHA256_SIZE])
{
    struct crypto_sha256_ctx *c = crypto_sha256_create();

    crypto_sha256_update(c, data);
    crypto_sha256_final(&c, out);
}

struct crypto_sha256_ctx *
crypto_sha256_create(void)
{
    struct crypto_sha256_ctx *c = mem_alloc(sizeof *c);

    c->md = EVP_MD_CTX_new();
    if (c->md == NULL || EVP_DigestInit_ex2(c->md, crypto_md_sha256(), NULL) != 1)
        crypto_die("SHA-256");
    return c;
}

void
crypto_sha256_update(struct crypto_sha256_ctx *c, struct slice data)
{
    if (data.n > 0 && EVP_DigestUpdate(c->md, data.p, data.n) != 1)
        crypto_die("SHA-256");
}

void
crypto_sha256_final(struct crypto_sha256_ctx **c, uint8_t out[CRYPTO_SHA256_SIZE])
{
    if (EVP_DigestFinal_ex((*c)->md, out, NULL) != 1)
        crypto_die("SHA-256");
    EVP_MD_CTX_free((*c)->md);
    mem_free(*c);
    *c = NULL;
}
