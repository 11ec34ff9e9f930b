/*
 * Sealing of stored secrets (credentials of profiles) with AES-256-GCM.
 *
 * Layout: version byte, 12-byte random nonce, ciphertext, 16-byte tag. Version byte and context are
 * authenticated too, so a sealed value copied to another field or record does not open there. With
 * random nonces one key is good for 2^32 values; an installation seals a few thousand.
 */
#include "crypto/crypto_internal.h"

#include <string.h>

#include <limits.h>

#include "base/mem.h"
#include "base/rand.h"

#define SEAL_VERSION 1
#define SEAL_NONCE   12
#define SEAL_TAG     16
#define SEAL_HEAD    (1 + SEAL_NONCE)
#define SEAL_MAX     (1 << 20)

/** Feed version and context as additional data. False when the library refuses. */
static bool
bind_context(EVP_CIPHER_CTX *c, struct slice context, bool is_open)
{
    static const unsigned char version[1] = {SEAL_VERSION};
    int n = 0;

    if (context.n > INT_MAX)
        return false;
    if (is_open)
        return EVP_DecryptUpdate(c, NULL, &n, version, 1) == 1 &&
               (context.n == 0 || EVP_DecryptUpdate(c, NULL, &n, (const unsigned char *)context.p,
                                      (int)context.n) == 1);
    return EVP_EncryptUpdate(c, NULL, &n, version, 1) == 1 &&
           (context.n == 0 || EVP_EncryptUpdate(c, NULL, &n, (const unsigned char *)context.p,
                                  (int)context.n) == 1);
}

void
crypto_seal(const struct crypto_keys *k, struct slice context, struct slice plain, struct buf *out)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    unsigned char *dst;
    int n = 0, tail = 0;

    if (c == NULL || plain.n > SEAL_MAX)
        crypto_die("sealing");
    dst = (unsigned char *)buf_reserve(out, SEAL_HEAD + plain.n + SEAL_TAG);
    dst[0] = SEAL_VERSION;
    rand_bytes(dst + 1, SEAL_NONCE);
    if (EVP_EncryptInit_ex2(c, crypto_cipher_gcm(), k->seal, dst + 1, NULL) != 1 ||
        !bind_context(c, context, false) ||
        (plain.n > 0 && EVP_EncryptUpdate(c, dst + SEAL_HEAD, &n, (const unsigned char *)plain.p,
                            (int)plain.n) != 1) ||
        EVP_EncryptFinal_ex(c, dst + SEAL_HEAD + n, &tail) != 1 ||
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG, dst + SEAL_HEAD + plain.n) != 1)
        crypto_die("sealing");
    out->n += SEAL_HEAD + plain.n + SEAL_TAG;
    EVP_CIPHER_CTX_free(c);
}

int
crypto_unseal(const struct crypto_keys *k, struct slice context, struct slice sealed,
    struct buf *plain, struct err *err)
{
    const unsigned char *src = (const unsigned char *)sealed.p;
    unsigned char tag[SEAL_TAG], *dst;
    EVP_CIPHER_CTX *c;
    size_t n_plain;
    int n = 0, tail = 0;
    bool is_ok;

    if (sealed.n < SEAL_HEAD + SEAL_TAG || sealed.n > SEAL_HEAD + SEAL_MAX + SEAL_TAG ||
        src[0] != SEAL_VERSION)
        return err_set(err, ERR_PERM, "sealed value is damaged or of an unknown version");
    n_plain = sealed.n - SEAL_HEAD - SEAL_TAG;
    memcpy(tag, src + SEAL_HEAD + n_plain, SEAL_TAG);
    if ((c = EVP_CIPHER_CTX_new()) == NULL)
        crypto_die("unsealing");
    dst = (unsigned char *)buf_reserve(plain, n_plain + 1);
    is_ok = EVP_DecryptInit_ex2(c, crypto_cipher_gcm(), k->seal, src + 1, NULL) == 1 &&
            bind_context(c, context, true) &&
            (n_plain == 0 || EVP_DecryptUpdate(c, dst, &n, src + SEAL_HEAD, (int)n_plain) == 1) &&
            EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, SEAL_TAG, tag) == 1 &&
            EVP_DecryptFinal_ex(c, dst + n, &tail) == 1;
    EVP_CIPHER_CTX_free(c);
    if (!is_ok) {
        mem_wipe(dst, n_plain); /* unauthenticated plaintext must not stay behind */
        return err_set(err, ERR_PERM, "sealed value does not open with this key and context");
    }
    plain->n += n_plain;
    return 0;
}
