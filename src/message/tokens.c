/*
 * Signed references in mail: the common frame, open pixels and clicks.
 *
 * Frame: kind byte, broadcast id, send id, what the kind adds, truncated HMAC. The MAC is taken over
 * an eight-byte label of the kind followed by the body; both lie next to each other in memory, and a
 * label with a pixel's or click's body fits one block of the hash, which is where the cost is.
 *
 * Nothing is looked up: a token is right or wrong by itself. Decoding is strict, so one reference
 * has one spelling only. docs/tokens.md has the formats and their vectors.
 */
#include "message/tokens.h"

#include <assert.h>

#include "base/base64.h"
#include "crypto/crypto.h"
#include "message/tokens_internal.h"

#define ORDINAL_SIZE 4
#define TARGET_MAX   8192
#define OPEN_SIZE    (TOKEN_HEAD_SIZE + TOKEN_MAC_OPEN)
#define CLICK_SIZE   (TOKEN_HEAD_SIZE + ORDINAL_SIZE + TOKEN_MAC_CLICK)
#define DYNAMIC_MAX  (TOKEN_HEAD_SIZE + ORDINAL_SIZE + TARGET_MAX + TOKEN_MAC_LONG)
/** Characters of base64url without padding. */
#define TEXT_SIZE(n) (((n)*4 + 2) / 3)

/** By the low half of the kind. */
static const char labels[16][TOKEN_LABEL_SIZE + 1] = {
    [TOKEN_OPEN & 15] = "MSopen1:",
    [TOKEN_CLICK & 15] = "MSclick:",
    [TOKEN_CLICK_DYNAMIC & 15] = "MSclkdy:",
    [TOKEN_UNSUB & 15] = "MSunsub:",
    [TOKEN_VERP & 15] = "MSverp1:",
};

void
token_start(
    struct token_writer *w, uint8_t *memory, enum token_kind kind, const struct token_send *s)
{
    memcpy(memory, labels[kind & 15], TOKEN_LABEL_SIZE);
    w->p = memory + TOKEN_LABEL_SIZE;
    w->n = 0;
    token_put(w, kind, 1);
    token_put(w, s->broadcast, 8);
    token_put(w, s->send, 8);
}

void
token_put(struct token_writer *w, uint64_t v, size_t size)
{
    for (size_t i = 0; i < size; i++)
        w->p[w->n++] = (uint8_t)(v >> 8 * (size - 1 - i));
}

void
token_put_bytes(struct token_writer *w, struct slice s)
{
    if (s.n > 0)
        memcpy(w->p + w->n, s.p, s.n);
    w->n += s.n;
}

struct slice
token_finish(struct token_writer *w, const struct crypto_keys *k, size_t mac_size)
{
    struct slice input = slice_make(w->p - TOKEN_LABEL_SIZE, TOKEN_LABEL_SIZE + w->n);

    crypto_token_mac(k, input, w->p + w->n);
    return slice_make(w->p, w->n + mac_size);
}

bool
token_check(const struct crypto_keys *k, struct slice bytes, enum token_kind kind, size_t mac_size,
    struct slice *body_r)
{
    uint8_t input[TOKEN_LABEL_SIZE + DYNAMIC_MAX], mac[CRYPTO_SHA256_SIZE];
    size_t n;

    if (bytes.n < TOKEN_HEAD_SIZE + mac_size || bytes.n > DYNAMIC_MAX ||
        (uint8_t)bytes.p[0] != kind)
        return false;
    n = bytes.n - mac_size;
    memcpy(input, labels[kind & 15], TOKEN_LABEL_SIZE);
    memcpy(input + TOKEN_LABEL_SIZE, bytes.p, n);
    crypto_token_mac(k, slice_make(input, TOKEN_LABEL_SIZE + n), mac);
    *body_r = slice_make(bytes.p, n);
    return crypto_equal(slice_make(mac, mac_size), slice_from(bytes, n));
}

uint64_t
token_get(struct slice body, size_t at, size_t size)
{
    uint64_t v = 0;

    for (size_t i = 0; i < size; i++)
        v = v << 8 | (uint8_t)body.p[at + i];
    return v;
}

struct token_send
token_get_send(struct slice body)
{
    return (struct token_send){token_get(body, 1, 8), token_get(body, 9, 8)};
}

static void
append_text(struct slice bytes, struct buf *out)
{
    out->n += base64url_encode_to(bytes.p, bytes.n, buf_reserve(out, bytes.n / 3 * 4 + 4));
}

void
token_open_make(const struct crypto_keys *k, const struct token_send *s, struct buf *out)
{
    uint8_t memory[TOKEN_LABEL_SIZE + TOKEN_HEAD_SIZE + CRYPTO_SHA256_SIZE];
    struct token_writer w;

    token_start(&w, memory, TOKEN_OPEN, s);
    buf_append_str(out, "/m/open/");
    append_text(token_finish(&w, k, TOKEN_MAC_OPEN), out);
    buf_append_str(out, ".png");
}

void
token_click_make(
    const struct crypto_keys *k, const struct token_send *s, uint32_t ordinal, struct buf *out)
{
    uint8_t memory[TOKEN_LABEL_SIZE + TOKEN_HEAD_SIZE + ORDINAL_SIZE + CRYPTO_SHA256_SIZE];
    struct token_writer w;

    token_start(&w, memory, TOKEN_CLICK, s);
    token_put(&w, ordinal, ORDINAL_SIZE);
    buf_append_str(out, "/m/click/");
    append_text(token_finish(&w, k, TOKEN_MAC_CLICK), out);
}

void
token_click_dynamic_make(const struct crypto_keys *k, const struct token_send *s, uint32_t ordinal,
    struct slice target, struct buf *out)
{
    uint8_t memory[TOKEN_LABEL_SIZE + DYNAMIC_MAX + CRYPTO_SHA256_SIZE];
    struct token_writer w;

    assert(target.n > 0 && target.n <= TARGET_MAX);
    token_start(&w, memory, TOKEN_CLICK_DYNAMIC, s);
    token_put(&w, ordinal, ORDINAL_SIZE);
    token_put_bytes(&w, target);
    buf_append_str(out, "/m/click/");
    append_text(token_finish(&w, k, TOKEN_MAC_LONG), out);
}

bool
token_open_verify(const struct crypto_keys *k, struct slice token, struct token_send *s_r)
{
    struct buf bytes = BUF_INIT;
    struct slice body;
    bool is_ok = token.n == TEXT_SIZE(OPEN_SIZE) && base64url_decode(token, &bytes) &&
                 token_check(k, buf_slice(&bytes), TOKEN_OPEN, TOKEN_MAC_OPEN, &body);

    if (is_ok)
        *s_r = token_get_send(body);
    buf_deinit(&bytes);
    return is_ok;
}

bool
token_click_verify(const struct crypto_keys *k, struct slice token, struct token_send *s_r,
    uint32_t *ordinal_r, struct buf *target)
{
    struct buf bytes = BUF_INIT;
    struct slice body;
    bool is_static, is_ok;

    if (token.n < TEXT_SIZE(CLICK_SIZE) || token.n > TEXT_SIZE(DYNAMIC_MAX) ||
        !base64url_decode(token, &bytes)) {
        buf_deinit(&bytes);
        return false;
    }
    is_static = (uint8_t)bytes.p[0] == TOKEN_CLICK;
    is_ok = is_static
                ? bytes.n == CLICK_SIZE &&
                      token_check(k, buf_slice(&bytes), TOKEN_CLICK, TOKEN_MAC_CLICK, &body)
                : bytes.n > TOKEN_HEAD_SIZE + ORDINAL_SIZE + TOKEN_MAC_LONG &&
                      token_check(k, buf_slice(&bytes), TOKEN_CLICK_DYNAMIC, TOKEN_MAC_LONG, &body);
    if (is_ok) {
        *s_r = token_get_send(body);
        *ordinal_r = (uint32_t)token_get(body, TOKEN_HEAD_SIZE, ORDINAL_SIZE);
        buf_append_slice(target, slice_from(body, TOKEN_HEAD_SIZE + ORDINAL_SIZE));
    }
    buf_deinit(&bytes);
    return is_ok;
}
