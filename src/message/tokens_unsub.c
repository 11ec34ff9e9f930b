/*
 * Unsubscribe tokens: everything an opt-out needs is inside, so it works without any row.
 *
 * Ours: kind, broadcast, send, scope, expiry (six bytes of milliseconds), address key, 12 bytes of
 * MAC. The expiry is handed on, never enforced here: an authentic opt-out always counts.
 *
 * The earlier format is "<body>.<mac>" with body = base64url of a JSON object and mac = base64url of
 * HMAC-SHA256(secret, body text). Members: e address, s scope, x expiry in ms, optionally i (send id
 * of another shape, ignored) and c (category; the scope stays as it is, so more is opted out than
 * asked, never less). A dot cannot occur in a token of ours, so the two never meet.
 */
#include "message/tokens.h"

#include <assert.h>

#include "base/base64.h"
#include "base/json.h"
#include "crypto/crypto.h"
#include "message/address.h"
#include "message/tokens_internal.h"

#define SCOPE_SIZE   1
#define EXPIRES_SIZE 6
#define EXPIRES_MAX  ((INT64_C(1) << 48) - 1)
#define UNSUB_FIXED  (TOKEN_HEAD_SIZE + SCOPE_SIZE + EXPIRES_SIZE)
#define UNSUB_MAX    (UNSUB_FIXED + ADDRESS_MAX + TOKEN_MAC_LONG)
#define TEXT_MAX     ((UNSUB_MAX * 4 + 2) / 3)
#define LEGACY_MAX   2048

void
token_unsub_make(const struct crypto_keys *k, const struct token_unsub *t, struct buf *out)
{
    uint8_t memory[TOKEN_LABEL_SIZE + UNSUB_MAX + CRYPTO_SHA256_SIZE];
    struct token_writer w;
    struct slice bytes;
    int64_t expires = t->expires_ms;

    assert(t->address_key.n > 0 && t->address_key.n <= ADDRESS_MAX);
    if (expires < 0)
        expires = 0;
    if (expires > EXPIRES_MAX)
        expires = EXPIRES_MAX;
    token_start(&w, memory, TOKEN_UNSUB, &t->send);
    token_put(&w, t->scope, SCOPE_SIZE);
    token_put(&w, (uint64_t)expires, EXPIRES_SIZE);
    token_put_bytes(&w, t->address_key);
    bytes = token_finish(&w, k, TOKEN_MAC_LONG);
    out->n += base64url_encode_to(bytes.p, bytes.n, buf_reserve(out, bytes.n / 3 * 4 + 4));
}

static bool
own_verify(
    const struct crypto_keys *k, struct slice token, struct buf *scratch, struct token_unsub *t_r)
{
    struct buf bytes = BUF_INIT;
    struct slice body = SLICE_NONE, key;
    uint64_t scope;
    bool is_ok = token.n <= TEXT_MAX && base64url_decode(token, &bytes) &&
                 token_check(k, buf_slice(&bytes), TOKEN_UNSUB, TOKEN_MAC_LONG, &body) &&
                 body.n > UNSUB_FIXED;

    if (is_ok) {
        scope = token_get(body, TOKEN_HEAD_SIZE, SCOPE_SIZE);
        is_ok = scope <= TOKEN_SCOPE_TRANSACTIONAL;
        t_r->send = token_get_send(body);
        t_r->scope = (enum token_scope)scope;
        t_r->expires_ms = (int64_t)token_get(body, TOKEN_HEAD_SIZE + SCOPE_SIZE, EXPIRES_SIZE);
        key = slice_from(body, UNSUB_FIXED);
        buf_append_slice(scratch, key);
        t_r->address_key = slice_make(scratch->p + scratch->n - key.n, key.n);
    }
    buf_deinit(&bytes);
    return is_ok;
}

/** Slugs of lower-case letters, digits and hyphens, joined by dots. */
static bool
category_is_valid(struct slice c)
{
    bool was_dot = true;

    for (size_t i = 0; i < c.n; i++) {
        char x = c.p[i];
        bool is_slug = (x >= 'a' && x <= 'z') || (x >= '0' && x <= '9') || x == '-';

        if (!is_slug && (x != '.' || was_dot))
            return false;
        was_dot = x == '.';
    }
    return !was_dot;
}

static bool
legacy_scope(struct slice s, enum token_scope *scope_r)
{
    static const char *const names[] = {
        [TOKEN_SCOPE_ALL] = "all",
        [TOKEN_SCOPE_MARKETING] = "marketing",
        [TOKEN_SCOPE_TRANSACTIONAL] = "transactional",
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (slice_eq_str(s, names[i])) {
            *scope_r = (enum token_scope)i;
            return true;
        }
    }
    return false;
}

static bool
legacy_read(const struct json *j, struct buf *scratch, struct token_unsub *t_r)
{
    const struct json *category = json_get(j, "c");
    size_t start = scratch->n;
    double expires;

    if (!json_is(j, JSON_OBJECT) || !json_is(json_get(j, "e"), JSON_STRING) ||
        !json_is(json_get(j, "x"), JSON_NUMBER) ||
        !legacy_scope(json_str(json_get(j, "s")), &t_r->scope))
        return false;
    if (category != NULL && !category_is_valid(json_str(category)))
        return false;
    if (address_key_of(json_str(json_get(j, "e")), scratch, NULL) != 0)
        return false;
    expires = json_num(json_get(j, "x"), 0);
    t_r->send = (struct token_send){0, 0};
    t_r->expires_ms = expires >= (double)EXPIRES_MAX ? EXPIRES_MAX
                      : expires > 0                  ? (int64_t)expires
                                                     : 0;
    t_r->address_key = slice_from(buf_slice(scratch), start);
    return true;
}

static bool
legacy_verify(struct slice secret, struct slice token, struct buf *scratch, struct token_unsub *t_r)
{
    struct slice rest = token, body, mac, extra;
    struct buf got = BUF_INIT, text = BUF_INIT;
    uint8_t want[CRYPTO_SHA256_SIZE];
    struct json *j = NULL;
    bool is_ok = false;

    if (token.n > LEGACY_MAX || !slice_cut(&rest, '.', &body) || !slice_cut(&rest, '.', &mac) ||
        slice_cut(&rest, '.', &extra))
        return false;
    crypto_hmac(secret, body, want);
    if (base64url_decode(mac, &got) &&
        crypto_equal(buf_slice(&got), slice_make(want, sizeof want)) &&
        base64url_decode(body, &text) && (j = json_parse(buf_slice(&text), 4, 64, NULL)) != NULL)
        is_ok = legacy_read(j, scratch, t_r);
    json_free(&j);
    buf_deinit(&got);
    buf_deinit(&text);
    return is_ok;
}

bool
token_unsub_verify(const struct crypto_keys *k, struct slice legacy_secret, struct slice token,
    struct buf *scratch, struct token_unsub *t_r)
{
    if (slice_find_char(token, '.') < 0)
        return own_verify(k, token, scratch, t_r);
    return legacy_secret.n > 0 && legacy_verify(legacy_secret, token, scratch, t_r);
}
