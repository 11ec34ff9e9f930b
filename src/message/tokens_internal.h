#ifndef MESSAGE_TOKENS_INTERNAL_H
#define MESSAGE_TOKENS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "message/tokens.h"

/** First byte of every token: high half the version of the formats, low half the kind. It also picks
 * the label under the MAC, so no token passes as another kind. */
enum token_kind {
    TOKEN_OPEN = 0x11,
    TOKEN_CLICK = 0x12,
    TOKEN_CLICK_DYNAMIC = 0x13,
    TOKEN_UNSUB = 0x14,
    TOKEN_VERP = 0x15
};

#define TOKEN_LABEL_SIZE 8
#define TOKEN_MAC_OPEN   10
#define TOKEN_MAC_CLICK  9
#define TOKEN_MAC_LONG   12
/** Kind, broadcast, send. */
#define TOKEN_HEAD_SIZE 17

/**
 * A token being built: room for the label in front of the body, so that label and body are hashed as
 * they lie. `p` is the caller's memory of TOKEN_LABEL_SIZE + body + CRYPTO_SHA256_SIZE bytes; `n`
 * counts the body.
 */
struct token_writer {
    uint8_t *p;
    size_t n;
};

void token_start(
    struct token_writer *w, uint8_t *memory, enum token_kind kind, const struct token_send *s);
/** Big-endian, `size` bytes. */
void token_put(struct token_writer *w, uint64_t v, size_t size);
void token_put_bytes(struct token_writer *w, struct slice s);
/** Put the first `mac_size` bytes of the MAC behind the body; returns body and MAC. */
struct slice token_finish(struct token_writer *w, const struct crypto_keys *k, size_t mac_size);

/** Does `bytes` (body and MAC) carry the right MAC for its kind? The body goes to `body_r`. */
bool token_check(const struct crypto_keys *k, struct slice bytes, enum token_kind kind,
    size_t mac_size, struct slice *body_r);
uint64_t token_get(struct slice body, size_t at, size_t size);
/** Broadcast and send of a checked body. */
struct token_send token_get_send(struct slice body);

#endif
