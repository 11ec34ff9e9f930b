/*
 * Private keys for DKIM: reading, signing, publishing, making.
 *
 * A signer wraps one EVP_PKEY that never changes; threads share it and make a short-lived context
 * per signature (a microsecond beside 281 for RSA-2048 and 35 for Ed25519). Callers hand in a
 * SHA-256 digest: RSA signs it with PKCS#1 v1.5 padding (RFC 8301 §3.1), Ed25519 signs the digest
 * bytes as its message (RFC 8463 §3).
 */
#include "crypto/crypto_internal.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "base/base64.h"
#include "base/mem.h"

#define SIGN_MIN_RSA_BITS 1024
#define SIGN_MAX_RSA_BITS 8192
#define SIGN_MAX_PEM      (64 * 1024)

struct crypto_signer {
    EVP_PKEY *key;
    enum crypto_sign_alg alg;
};

/** The library would otherwise ask for a pass phrase on the terminal. */
static int
no_passphrase(char *out, int size, int is_write, void *arg)
{
    return -1;
}

static int
check_key(EVP_PKEY *key, enum crypto_sign_alg *alg_r, struct err *err)
{
    int bits = EVP_PKEY_get_bits(key);

    if (EVP_PKEY_is_a(key, "ED25519")) {
        *alg_r = CRYPTO_SIGN_ED25519;
        return 0;
    }
    if (!EVP_PKEY_is_a(key, "RSA"))
        return err_set(err, ERR_INVALID, "signing key is neither RSA nor Ed25519");
    if (bits < SIGN_MIN_RSA_BITS || bits > SIGN_MAX_RSA_BITS)
        return err_set(err, ERR_INVALID, "RSA signing key has %d bits, need %d to %d", bits,
            SIGN_MIN_RSA_BITS, SIGN_MAX_RSA_BITS);
    *alg_r = CRYPTO_SIGN_RSA_SHA256;
    return 0;
}

struct crypto_signer *
crypto_signer_create(struct slice pem, struct err *err)
{
    struct crypto_signer *s;
    enum crypto_sign_alg alg = CRYPTO_SIGN_RSA_SHA256;
    EVP_PKEY *key = NULL;
    BIO *bio;

    if (pem.n == 0 || pem.n > SIGN_MAX_PEM) {
        err_set(err, ERR_INVALID, "signing key is empty or too long");
        return NULL;
    }
    if ((bio = BIO_new_mem_buf(pem.p, (int)pem.n)) == NULL)
        crypto_die("BIO_new_mem_buf");
    key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    BIO_free(bio);
    ERR_clear_error();
    if (key == NULL) {
        err_set(err, ERR_INVALID, "signing key is no unencrypted PEM private key");
        return NULL;
    }
    if (check_key(key, &alg, err) != 0) {
        EVP_PKEY_free(key);
        return NULL;
    }
    s = mem_alloc(sizeof *s);
    s->key = key;
    s->alg = alg;
    return s;
}

void
crypto_signer_free(struct crypto_signer **s)
{
    if (*s == NULL)
        return;
    EVP_PKEY_free((*s)->key);
    mem_free(*s);
    *s = NULL;
}

enum crypto_sign_alg
crypto_signer_alg(const struct crypto_signer *s)
{
    return s->alg;
}

static bool
sign_rsa(EVP_PKEY *key, const uint8_t *digest, unsigned char *sig, size_t *n)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    bool is_ok = ctx != NULL && EVP_PKEY_sign_init(ctx) == 1 &&
                 EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) == 1 &&
                 EVP_PKEY_CTX_set_signature_md(ctx, crypto_md_sha256()) == 1 &&
                 EVP_PKEY_sign(ctx, sig, n, digest, CRYPTO_SHA256_SIZE) == 1;

    EVP_PKEY_CTX_free(ctx);
    return is_ok;
}

static bool
sign_ed25519(EVP_PKEY *key, const uint8_t *digest, unsigned char *sig, size_t *n)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool is_ok = ctx != NULL && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
                 EVP_DigestSign(ctx, sig, n, digest, CRYPTO_SHA256_SIZE) == 1;

    EVP_MD_CTX_free(ctx);
    return is_ok;
}

int
crypto_signer_sign(const struct crypto_signer *s, const uint8_t digest[CRYPTO_SHA256_SIZE],
    struct buf *sig, struct err *err)
{
    size_t n = (size_t)EVP_PKEY_get_size(s->key);
    unsigned char *dst = (unsigned char *)buf_reserve(sig, n);
    bool is_ok = s->alg == CRYPTO_SIGN_RSA_SHA256 ? sign_rsa(s->key, digest, dst, &n)
                                                  : sign_ed25519(s->key, digest, dst, &n);

    if (!is_ok) {
        ERR_clear_error();
        return err_set(err, ERR_PERM, "the signing key does not sign");
    }
    sig->n += n;
    return 0;
}

int
crypto_signer_public(const struct crypto_signer *s, struct buf *out, struct err *err)
{
    unsigned char raw[32], *der = NULL;
    size_t n_raw = sizeof raw;
    int n_der;

    if (s->alg == CRYPTO_SIGN_ED25519) {
        if (EVP_PKEY_get_raw_public_key(s->key, raw, &n_raw) != 1)
            goto fail;
        base64_encode(slice_make(raw, n_raw), out);
        return 0;
    }
    if ((n_der = i2d_PUBKEY(s->key, &der)) <= 0)
        goto fail;
    base64_encode(slice_make(der, (size_t)n_der), out);
    OPENSSL_free(der);
    return 0;

fail:
    ERR_clear_error();
    return err_set(err, ERR_INTERNAL, "cannot write the public key");
}

int
crypto_generate_key(unsigned bits, struct buf *pem, struct err *err)
{
    EVP_PKEY *key;
    BIO *bio = NULL;
    char *text;
    long n;

    if (bits != 0 && (bits < SIGN_MIN_RSA_BITS || bits > SIGN_MAX_RSA_BITS))
        return err_set(
            err, ERR_INVALID, "RSA keys have %d to %d bits", SIGN_MIN_RSA_BITS, SIGN_MAX_RSA_BITS);
    key = bits == 0 ? EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")
                    : EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)bits);
    if (key == NULL || (bio = BIO_new(BIO_s_secmem())) == NULL ||
        PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
        goto fail;
    n = BIO_get_mem_data(bio, &text);
    buf_append(pem, text, (size_t)n);
    BIO_free(bio);
    EVP_PKEY_free(key);
    return 0;

fail:
    BIO_free(bio);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return err_set(err, ERR_INTERNAL, "cannot make a signing key");
}
