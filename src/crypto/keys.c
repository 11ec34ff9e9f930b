/*
 * The keys of one installation.
 *
 * Three independent keys, so that a leak of one use tells nothing about another: tokens that leave
 * the house, sealing of stored secrets, and the hash of addresses. The object never changes after
 * creation, which is why threads share it without a lock.
 *
 * The fingerprint lets a database say "these are not the keys I was written with" without holding
 * anything that helps to guess them: 64 bits of a labelled hash over 96 random bytes.
 */
#include "crypto/crypto_internal.h"

#include <stdatomic.h>
#include <string.h>

#include <openssl/crypto.h>

#include "base/mem.h"

static atomic_uint_fast64_t last_serial;

struct crypto_keys *
crypto_keys_create(const uint8_t token_key[CRYPTO_KEY_SIZE],
    const uint8_t seal_key[CRYPTO_KEY_SIZE], const uint8_t address_key[CRYPTO_KEY_SIZE])
{
    struct crypto_keys *k = mem_alloc(sizeof *k);

    k->serial = atomic_fetch_add(&last_serial, 1) + 1;
    memcpy(k->token, token_key, CRYPTO_KEY_SIZE);
    memcpy(k->seal, seal_key, CRYPTO_KEY_SIZE);
    memcpy(k->address, address_key, CRYPTO_KEY_SIZE);
    return k;
}

void
crypto_keys_free(struct crypto_keys **k)
{
    if (*k == NULL)
        return;
    mem_wipe(*k, sizeof **k);
    mem_free(*k);
    *k = NULL;
}

void
crypto_keys_fingerprint(const struct crypto_keys *k, char out[17])
{
    static const char hex[] = "0123456789abcdef";
    struct crypto_sha256_ctx *c = crypto_sha256_create();
    uint8_t sum[CRYPTO_SHA256_SIZE];

    crypto_sha256_update(c, SLICE_LIT("mailshot key fingerprint 1"));
    crypto_sha256_update(c, slice_make(k->token, CRYPTO_KEY_SIZE));
    crypto_sha256_update(c, slice_make(k->seal, CRYPTO_KEY_SIZE));
    crypto_sha256_update(c, slice_make(k->address, CRYPTO_KEY_SIZE));
    crypto_sha256_final(&c, sum);
    for (size_t i = 0; i < 8; i++) {
        out[2 * i] = hex[sum[i] >> 4];
        out[2 * i + 1] = hex[sum[i] & 15];
    }
    out[16] = '\0';
}

bool
crypto_equal(struct slice a, struct slice b)
{
    return a.n == b.n && (a.n == 0 || CRYPTO_memcmp(a.p, b.p, a.n) == 0);
}
