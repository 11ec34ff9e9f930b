/*
 * HMAC-SHA256, keyed once per thread.
 *
 * Keying an HMAC context hashes two blocks and, in OpenSSL 3, crosses several provider calls: five
 * times the cost of the MAC over a short token. So each thread keeps two contexts keyed with the
 * token and the address key, and one that is re-keyed per call for foreign secrets. An init with a
 * NULL key goes back to the keyed state (needs OpenSSL 3.0.3).
 *
 * Invariant: the keyed contexts of a thread belong to the keys object whose serial is in `serial`;
 * another object (tests, `keys import`) re-keys them. They end with their thread.
 */
#include "crypto/crypto_internal.h"

#include <pthread.h>

#include <openssl/core_names.h>
#include <openssl/params.h>

#include "base/mem.h"

struct mac_thread {
    uint64_t serial;
    EVP_MAC_CTX *token, *address, *any;
};

static pthread_once_t slot_once = PTHREAD_ONCE_INIT;
static pthread_key_t slot;
static _Thread_local struct mac_thread *mine;

static void
thread_end(void *arg)
{
    struct mac_thread *t = arg;

    EVP_MAC_CTX_free(t->token);
    EVP_MAC_CTX_free(t->address);
    EVP_MAC_CTX_free(t->any);
    mem_free(t);
}

static void
slot_create(void)
{
    if (pthread_key_create(&slot, thread_end) != 0)
        crypto_die("pthread_key_create");
}

static EVP_MAC_CTX *
ctx_create(void)
{
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(crypto_mac_hmac());

    if (ctx == NULL)
        crypto_die("HMAC");
    return ctx;
}

static void
ctx_key(EVP_MAC_CTX *ctx, const void *key, size_t n)
{
    char md[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, md, 0), OSSL_PARAM_END};

    if (EVP_MAC_init(ctx, key, n, params) != 1)
        crypto_die("HMAC");
}

static void
ctx_run(EVP_MAC_CTX *ctx, struct slice data, uint8_t out[CRYPTO_SHA256_SIZE])
{
    size_t n = 0;

    if ((data.n > 0 && EVP_MAC_update(ctx, (const unsigned char *)data.p, data.n) != 1) ||
        EVP_MAC_final(ctx, out, &n, CRYPTO_SHA256_SIZE) != 1 || n != CRYPTO_SHA256_SIZE)
        crypto_die("HMAC");
}

static struct mac_thread *
thread_get(void)
{
    if (mine == NULL) {
        pthread_once(&slot_once, slot_create);
        mine = mem_zalloc(sizeof *mine);
        mine->token = ctx_create();
        mine->address = ctx_create();
        mine->any = ctx_create();
        if (pthread_setspecific(slot, mine) != 0)
            crypto_die("pthread_setspecific");
    }
    return mine;
}

static struct mac_thread *
thread_keyed(const struct crypto_keys *k)
{
    struct mac_thread *t = thread_get();

    if (t->serial != k->serial) {
        ctx_key(t->token, k->token, CRYPTO_KEY_SIZE);
        ctx_key(t->address, k->address, CRYPTO_KEY_SIZE);
        t->serial = k->serial;
    }
    return t;
}

static void
keyed_run(EVP_MAC_CTX *ctx, struct slice data, uint8_t out[CRYPTO_SHA256_SIZE])
{
    if (EVP_MAC_init(ctx, NULL, 0, NULL) != 1)
        crypto_die("HMAC");
    ctx_run(ctx, data, out);
}

void
crypto_hmac(struct slice key, struct slice data, uint8_t out[CRYPTO_SHA256_SIZE])
{
    static const uint8_t empty[1];
    struct mac_thread *t = thread_get();

    /* A NULL key would mean "the key set before". */
    ctx_key(t->any, key.n > 0 ? (const void *)key.p : empty, key.n);
    ctx_run(t->any, data, out);
}

void
crypto_token_mac(const struct crypto_keys *k, struct slice data, uint8_t out[CRYPTO_SHA256_SIZE])
{
    keyed_run(thread_keyed(k)->token, data, out);
}

void
crypto_address_mac(
    const struct crypto_keys *k, struct slice address_key, uint8_t out[CRYPTO_SHA256_SIZE])
{
    keyed_run(thread_keyed(k)->address, address_key, out);
}

int64_t
crypto_address_hash(const struct crypto_keys *k, struct slice address_key)
{
    uint8_t mac[CRYPTO_SHA256_SIZE];
    uint64_t v = 0;

    crypto_address_mac(k, address_key, mac);
    for (size_t i = 0; i < 8; i++)
        v = v << 8 | mac[i];
    v &= INT64_MAX;
    return v != 0 ? (int64_t)v : 1;
}
