/*
 * Password hashes: scrypt (RFC 7914) with 16 random bytes of salt.
 *
 * Stored form "scrypt$<log2 N>$<r>$<p>$<salt>$<hash>", salt and hash in base64url, so parameters can
 * rise later while old hashes still verify. One hash takes about 0.1 s and 32 MiB: callers run it on
 * a worker. Parameters read back are bounded, so a damaged row cannot eat the machine.
 */
#include "crypto/crypto_internal.h"

#include <openssl/kdf.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/rand.h"

#define PASSWORD_LOG_N    15
#define PASSWORD_R        8
#define PASSWORD_P        1
#define PASSWORD_SALT     16
#define PASSWORD_HASH     32
#define PASSWORD_MAX_MEM  (UINT64_C(160) << 20)
#define PASSWORD_MAX_COST (UINT64_C(1) << 20) /* N * r * p, four times what we write */

struct password_params {
    uint64_t log_n, r, p;
};

static bool
derive(struct slice password, struct slice salt, const struct password_params *prm,
    uint8_t out[PASSWORD_HASH])
{
    return EVP_PBE_scrypt(password.p != NULL ? password.p : "", password.n,
               (const unsigned char *)salt.p, salt.n, UINT64_C(1) << prm->log_n, prm->r, prm->p,
               PASSWORD_MAX_MEM, out, PASSWORD_HASH) == 1;
}

void
crypto_password_hash(struct slice password, struct buf *out)
{
    static const struct password_params prm = {PASSWORD_LOG_N, PASSWORD_R, PASSWORD_P};
    uint8_t salt[PASSWORD_SALT], hash[PASSWORD_HASH];

    rand_bytes(salt, sizeof salt);
    if (!derive(password, slice_make(salt, sizeof salt), &prm, hash))
        crypto_die("scrypt");
    buf_printf(out, "scrypt$%d$%d$%d$", PASSWORD_LOG_N, PASSWORD_R, PASSWORD_P);
    base64url_encode(slice_make(salt, sizeof salt), out);
    buf_append_char(out, '$');
    base64url_encode(slice_make(hash, sizeof hash), out);
    mem_wipe(hash, sizeof hash);
}

/** Parameters within what we are willing to compute. */
static bool
params_parse(struct slice *rest, struct password_params *prm)
{
    struct slice t;

    if (!slice_cut(rest, '$', &t) || !slice_eq_str(t, "scrypt") || !slice_cut(rest, '$', &t) ||
        !slice_u64(t, &prm->log_n) || !slice_cut(rest, '$', &t) || !slice_u64(t, &prm->r) ||
        !slice_cut(rest, '$', &t) || !slice_u64(t, &prm->p))
        return false;
    return prm->log_n >= 10 && prm->log_n <= 18 && prm->r >= 1 && prm->r <= 32 && prm->p >= 1 &&
           prm->p <= 16 && (prm->r * prm->p << prm->log_n) <= PASSWORD_MAX_COST;
}

bool
crypto_password_verify(struct slice password, struct slice stored)
{
    struct password_params prm;
    struct slice rest = stored, salt_text, hash_text, end;
    struct buf salt = BUF_INIT, hash = BUF_INIT;
    uint8_t got[PASSWORD_HASH];
    bool is_ok = false;

    if (stored.n > 256 || !params_parse(&rest, &prm) || !slice_cut(&rest, '$', &salt_text) ||
        !slice_cut(&rest, '$', &hash_text) || slice_cut(&rest, '$', &end))
        return false;
    if (base64url_decode(salt_text, &salt) && base64url_decode(hash_text, &hash) && salt.n >= 8 &&
        hash.n == PASSWORD_HASH && derive(password, buf_slice(&salt), &prm, got))
        is_ok = crypto_equal(buf_slice(&hash), slice_make(got, sizeof got));
    mem_wipe(got, sizeof got);
    buf_deinit(&salt);
    buf_deinit(&hash);
    return is_ok;
}
