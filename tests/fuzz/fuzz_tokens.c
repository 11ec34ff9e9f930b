/*
 * Tokens: the first byte picks a verifier, the rest is the token. What one of them takes must be
 * exactly what the maker writes for the values read; anything else would be a second spelling.
 * Tokens of the earlier system are JSON inside, so for them only the absence of faults is asked.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/base64.h"
#include "crypto/crypto.h"
#include "message/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t zeros[CRYPTO_KEY_SIZE];

static void
require_ends(const struct buf *made, struct slice token)
{
    if (!slice_ends(buf_slice(made), token))
        abort();
}

static void
check_track(const struct crypto_keys *k, struct slice token)
{
    struct buf target = BUF_INIT, made = BUF_INIT;
    struct token_send s;
    uint32_t number;

    if (token_click_verify(k, token, &s, &number, &target)) {
        if (target.n > 0)
            token_click_dynamic_make(k, &s, number, buf_slice(&target), &made);
        else
            token_click_make(k, &s, number, &made);
        require_ends(&made, token);
    }
    if (token_open_verify(k, token, &s)) {
        token_open_make(k, &s, &made);
        made.n -= 4; /* ".png" */
        require_ends(&made, token);
    }
    if (token_message_id_parse(token, &s, &number))
        token_message_id(&s, number, SLICE_LIT("example.com"), &made);
    if (token_verp_verify(k, token, &s, &number)) {
        buf_clear(&made);
        token_verp_make(k, &s, number, &made);
        if (!slice_ieq(buf_slice(&made), token))
            abort();
    }
    buf_deinit(&target);
    buf_deinit(&made);
}

static void
check_unsub(const struct crypto_keys *k, struct slice token)
{
    struct buf scratch = BUF_INIT, made = BUF_INIT;
    struct token_unsub t;

    if (token_unsub_verify(k, SLICE_LIT("secret"), token, &scratch, &t) &&
        slice_find_char(token, '.') < 0) {
        token_unsub_make(k, &t, &made);
        require_ends(&made, token);
    }
    buf_deinit(&scratch);
    buf_deinit(&made);
}

/** Behind a right MAC lies the JSON reader: sign the input, so that fuzzing gets there. */
static void
check_legacy_content(const struct crypto_keys *k, struct slice json)
{
    struct buf token = BUF_INIT;
    uint8_t mac[CRYPTO_SHA256_SIZE];

    base64url_encode(json, &token);
    crypto_hmac(SLICE_LIT("secret"), buf_slice(&token), mac);
    buf_append_char(&token, '.');
    base64url_encode(slice_make(mac, sizeof mac), &token);
    check_unsub(k, buf_slice(&token));
    buf_deinit(&token);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct crypto_keys *k;
    struct slice token;

    if (size == 0)
        return 0;
    k = crypto_keys_create(zeros, zeros, zeros);
    token = slice_make(data + 1, size - 1);
    switch (data[0] % 3) {
    case 0: check_track(k, token); break;
    case 1: check_unsub(k, token); break;
    default: check_legacy_content(k, token); break;
    }
    crypto_keys_free(&k);
    return 0;
}
