#ifndef CRYPTO_CRYPTO_H
#define CRYPTO_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define CRYPTO_SHA256_SIZE 32
#define CRYPTO_KEY_SIZE    32

/** The secrets of one installation, 32 bytes each. Threads share it; it never changes. */
struct crypto_keys;

/** Copy the three keys. The caller wipes its own copies. */
struct crypto_keys *crypto_keys_create(const uint8_t token_key[CRYPTO_KEY_SIZE],
    const uint8_t seal_key[CRYPTO_KEY_SIZE], const uint8_t address_key[CRYPTO_KEY_SIZE]);
void crypto_keys_free(struct crypto_keys **k);
/** First 16 hex characters of a hash over all three keys, NUL-terminated: stored in the database so
 * that a database with other keys is recognised. */
void crypto_keys_fingerprint(const struct crypto_keys *k, char out[17]);

/** Plain SHA-256; any thread. */
void crypto_sha256(struct slice data, uint8_t out[CRYPTO_SHA256_SIZE]);
/** Incremental SHA-256. */
struct crypto_sha256_ctx;
struct crypto_sha256_ctx *crypto_sha256_create(void);
void crypto_sha256_update(struct crypto_sha256_ctx *c, struct slice data);
/** Ends and frees the context. */
void crypto_sha256_final(struct crypto_sha256_ctx **c, uint8_t out[CRYPTO_SHA256_SIZE]);

/** HMAC-SHA256 with an arbitrary key; for vectors and legacy secrets. */
void crypto_hmac(struct slice key, struct slice data, uint8_t out[CRYPTO_SHA256_SIZE]);
/** HMAC-SHA256 of `data` under the token key: keyed once per thread, then about 0.2 µs. */
void crypto_token_mac(
    const struct crypto_keys *k, struct slice data, uint8_t out[CRYPTO_SHA256_SIZE]);
/** HMAC-SHA256 of an address key (docs/tokens.md) under the address key: the stored hash. The first
 * eight bytes, big-endian with the top bit cleared, are the 63-bit row hash, never 0. */
void crypto_address_mac(
    const struct crypto_keys *k, struct slice address_key, uint8_t out[CRYPTO_SHA256_SIZE]);
int64_t crypto_address_hash(const struct crypto_keys *k, struct slice address_key);

/** Equal, in time that depends on the lengths only. */
bool crypto_equal(struct slice a, struct slice b);

/**
 * AES-256-GCM under the sealing key with a random nonce; `context` is bound, not stored (say where
 * the secret belongs, e.g. "profile:<id>:password"). Output: version byte, nonce, ciphertext, tag.
 * `plain` has at most 1 MiB.
 */
void crypto_seal(
    const struct crypto_keys *k, struct slice context, struct slice plain, struct buf *out);
/** ERR_PERM when the bytes, the key or the context do not fit. */
int crypto_unseal(const struct crypto_keys *k, struct slice context, struct slice sealed,
    struct buf *plain, struct err *err);

/** scrypt (N=2^15, r=8, p=1), printable "scrypt$15$8$1$<salt>$<hash>". Slow by design: workers. */
void crypto_password_hash(struct slice password, struct buf *out);
bool crypto_password_verify(struct slice password, struct slice stored);

enum crypto_sign_alg { CRYPTO_SIGN_RSA_SHA256, CRYPTO_SIGN_ED25519 };
/** A private key for DKIM. Shared by threads once created. */
struct crypto_signer;
/** PEM (PKCS#1 or PKCS#8). RSA below 1024 bits, and other key types, are ERR_INVALID. */
struct crypto_signer *crypto_signer_create(struct slice pem, struct err *err);
void crypto_signer_free(struct crypto_signer **s);
enum crypto_sign_alg crypto_signer_alg(const struct crypto_signer *s);
/** Sign a SHA-256 digest: RSA PKCS#1 v1.5, or Ed25519 over the digest bytes (RFC 8463 §3). */
int crypto_signer_sign(const struct crypto_signer *s, const uint8_t digest[CRYPTO_SHA256_SIZE],
    struct buf *sig, struct err *err);
/** Public key as base64 for the DNS record's p= (SubjectPublicKeyInfo for RSA, raw for Ed25519). */
int crypto_signer_public(const struct crypto_signer *s, struct buf *out, struct err *err);
/** A new private key as PEM (PKCS#8): RSA of `bits`, or Ed25519 when bits is 0. */
int crypto_generate_key(unsigned bits, struct buf *pem, struct err *err);

#endif
