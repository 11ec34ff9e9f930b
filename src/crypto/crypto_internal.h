#ifndef CRYPTO_INTERNAL_H
#define CRYPTO_INTERNAL_H

#include <stdint.h>

#include <openssl/evp.h>

#include "crypto/crypto.h"

/** Secrets of one installation. `serial` is unique in the process, so a thread can tell whether its
 * keyed contexts belong to this object even when memory is reused. */
struct crypto_keys {
    uint64_t serial;
    uint8_t token[CRYPTO_KEY_SIZE];
    uint8_t seal[CRYPTO_KEY_SIZE];
    uint8_t address[CRYPTO_KEY_SIZE];
};

/** Algorithms fetched once per process; a fetch per use costs five times the hash itself. */
const EVP_MD *crypto_md_sha256(void);
EVP_MAC *crypto_mac_hmac(void);
const EVP_CIPHER *crypto_cipher_gcm(void);

/** A library call that can only fail when the process is beyond repair (no memory, no provider)
 * failed: write a line and end the process. */
_Noreturn void crypto_die(const char *what);

#endif
