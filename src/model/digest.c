/* One place turns digests into the hex form that stored definitions, tokens and addresses have. */
#include "model/digest.h"

#include "crypto/crypto.h"

void
digest_hex_of(const uint8_t sum[32], char out[65])
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < 32; i++) {
        out[2 * i] = hex[sum[i] >> 4];
        out[2 * i + 1] = hex[sum[i] & 15];
    }
    out[64] = '\0';
}

void
digest_hex(struct slice bytes, char out[65])
{
    uint8_t sum[CRYPTO_SHA256_SIZE];

    crypto_sha256(bytes, sum);
    digest_hex_of(sum, out);
}
