#ifndef MESSAGE_TOKENS_H
#define MESSAGE_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct crypto_keys;

/**
 * Signed references that leave the house; formats and vectors are in docs/tokens.md. All are
 * base64url text (VERP: base32, since local parts may change case) of a binary body followed by a
 * truncated HMAC (keyed, separated by a label per kind); verification is constant-time and bounds
 * the length first. Any thread. A token handed to a verify function is the bare token: what stands
 * between the slashes of the path, without ".png".
 */
struct token_send {
    uint64_t broadcast; /* 0 for one-off mail */
    uint64_t send;
};

/** "/m/open/<token>.png", "/m/click/<token>": appended to `out` without the base URL. The target of a
 * dynamic link has 1 to 8192 bytes. */
void token_open_make(const struct crypto_keys *k, const struct token_send *s, struct buf *out);
void token_click_make(
    const struct crypto_keys *k, const struct token_send *s, uint32_t ordinal, struct buf *out);
void token_click_dynamic_make(const struct crypto_keys *k, const struct token_send *s,
    uint32_t ordinal, struct slice target, struct buf *out);
/** False for anything that is not exactly a token we made. */
bool token_open_verify(const struct crypto_keys *k, struct slice token, struct token_send *s_r);
/** For a dynamic link the target goes to `target` (appended); for a static one it stays empty. */
bool token_click_verify(const struct crypto_keys *k, struct slice token, struct token_send *s_r,
    uint32_t *ordinal_r, struct buf *target);

/** Scope of an opt-out. */
enum token_scope { TOKEN_SCOPE_ALL = 0, TOKEN_SCOPE_MARKETING = 1, TOKEN_SCOPE_TRANSACTIONAL = 2 };

struct token_unsub {
    struct token_send send; /* zero ids when the token names no mail */
    enum token_scope scope;
    int64_t expires_ms;       /* limits what the page shows, never the opt-out itself */
    struct slice address_key; /* verify: points into the caller's scratch buffer */
};

/** The bare token appended: it stands in more than one path ("/m/unsub/<token>"). The address key has
 * 1 to ADDRESS_MAX bytes. */
void token_unsub_make(const struct crypto_keys *k, const struct token_unsub *t, struct buf *out);
/** False for anything that is not authentic; the expiry is not judged. The address key is appended to
 * `scratch`. Also accepts the two-part JSON format of an earlier system when `legacy_secret` is not empty. */
bool token_unsub_verify(const struct crypto_keys *k, struct slice legacy_secret, struct slice token,
    struct buf *scratch, struct token_unsub *t_r);

/** VERP return path "b+<token>@domain": local part appended. */
void token_verp_make(
    const struct crypto_keys *k, const struct token_send *s, uint32_t generation, struct buf *out);
bool token_verp_verify(const struct crypto_keys *k, struct slice local_part, struct token_send *s_r,
    uint32_t *generation_r);

/** Message-ID "<send>.<generation>.<broadcast>@domain" without <>; stable over attempts. */
void token_message_id(
    const struct token_send *s, uint32_t generation, struct slice domain, struct buf *out);
/** Read one back, with or without <>, in either case; not authenticated, so whoever acts on it must
 * also compare the recipient. */
bool token_message_id_parse(
    struct slice message_id, struct token_send *s_r, uint32_t *generation_r);

#endif
