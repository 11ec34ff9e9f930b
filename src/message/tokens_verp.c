/*
 * References in the envelope and the header: VERP return paths and Message-IDs.
 *
 * Mail systems on the way may change the case of a local part, and it may have 64 bytes at most. So
 * VERP uses lower-case Crockford base32 (five bits a character): 30 bytes become 48 characters,
 * "b+" makes 50. Reading accepts either case but no other spelling.
 */
#include "message/tokens.h"

#include "base/id.h"
#include "crypto/crypto.h"
#include "message/tokens_internal.h"

#define GENERATION_SIZE 4
#define VERP_SIZE       (TOKEN_HEAD_SIZE + GENERATION_SIZE + TOKEN_MAC_CLICK)
#define VERP_TEXT       (VERP_SIZE * 8 / 5)
#define ID_CHARS        (ID_TEXT_SIZE - 1)

_Static_assert(VERP_SIZE % 5 == 0, "VERP tokens have no spare bits");

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

static void
base32_append(struct slice bytes, struct buf *out)
{
    char *p = buf_reserve(out, bytes.n / 5 * 8);

    for (size_t i = 0; i < bytes.n; i += 5) {
        uint64_t v = token_get(bytes, i, 5);

        for (int shift = 35; shift >= 0; shift -= 5)
            *p++ = alphabet[v >> shift & 31];
    }
    out->n += bytes.n / 5 * 8;
}

static bool
base32_read(struct slice text, uint8_t *bytes)
{
    for (size_t i = 0; i < text.n; i += 8) {
        uint64_t v = 0;

        for (size_t k = 0; k < 8; k++) {
            char c = text.p[i + k];
            const char *at = memchr(alphabet, c >= 'A' && c <= 'Z' ? c | 0x20 : c, 32);

            if (at == NULL)
                return false;
            v = v << 5 | (uint64_t)(at - alphabet);
        }
        for (size_t k = 0; k < 5; k++)
            *bytes++ = (uint8_t)(v >> 8 * (4 - k));
    }
    return true;
}

void
token_verp_make(
    const struct crypto_keys *k, const struct token_send *s, uint32_t generation, struct buf *out)
{
    uint8_t memory[TOKEN_LABEL_SIZE + TOKEN_HEAD_SIZE + GENERATION_SIZE + CRYPTO_SHA256_SIZE];
    struct token_writer w;

    token_start(&w, memory, TOKEN_VERP, s);
    token_put(&w, generation, GENERATION_SIZE);
    buf_append_str(out, "b+");
    base32_append(token_finish(&w, k, TOKEN_MAC_CLICK), out);
}

bool
token_verp_verify(const struct crypto_keys *k, struct slice local_part, struct token_send *s_r,
    uint32_t *generation_r)
{
    uint8_t bytes[VERP_SIZE];
    struct slice body;

    if (local_part.n != 2 + VERP_TEXT || !slice_istarts(local_part, SLICE_LIT("b+")) ||
        !base32_read(slice_from(local_part, 2), bytes) ||
        !token_check(k, slice_make(bytes, sizeof bytes), TOKEN_VERP, TOKEN_MAC_CLICK, &body))
        return false;
    *s_r = token_get_send(body);
    *generation_r = (uint32_t)token_get(body, TOKEN_HEAD_SIZE, GENERATION_SIZE);
    return true;
}

void
token_message_id(
    const struct token_send *s, uint32_t generation, struct slice domain, struct buf *out)
{
    char id[ID_TEXT_SIZE];

    buf_append_str(out, id_text(s->send, id));
    buf_append_char(out, '.');
    buf_append_u64(out, generation);
    buf_append_char(out, '.');
    buf_append_str(out, id_text(s->broadcast, id));
    buf_append_char(out, '@');
    buf_append_slice(out, domain);
}

/** An id, or thirteen zeros for "none". */
static bool
id_or_none(struct slice text, uint64_t *id_r)
{
    if (slice_eq_str(text, "0000000000000")) {
        *id_r = 0;
        return true;
    }
    return id_parse(text, id_r);
}

bool
token_message_id_parse(struct slice message_id, struct token_send *s_r, uint32_t *generation_r)
{
    struct slice rest = message_id, send, generation, broadcast;
    uint64_t n;

    if (slice_starts(rest, SLICE_LIT("<")))
        rest = slice_from(rest, 1);
    if (!slice_cut(&rest, '.', &send) || !slice_cut(&rest, '.', &generation) ||
        rest.n <= ID_CHARS || rest.p[ID_CHARS] != '@')
        return false;
    broadcast = slice_make(rest.p, ID_CHARS);
    if (!id_parse(send, &s_r->send) || !id_or_none(broadcast, &s_r->broadcast) ||
        !slice_u64(generation, &n) || n > UINT32_MAX)
        return false;
    *generation_r = (uint32_t)n;
    return true;
}
