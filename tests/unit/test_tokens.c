/*
 * Tokens: the vectors of docs/tokens.md, round trips, and what must be refused: every changed bit,
 * every other length, other keys, other kinds.
 */
#include <string.h>

#include "base/base64.h"
#include "base/file.h"
#include "crypto/crypto.h"
#include "message/tokens.h"
#include "support/suite.h"

/* The keys and ids of docs/tokens.md. */
static uint8_t token_key[CRYPTO_KEY_SIZE], other_key[CRYPTO_KEY_SIZE];
static const struct token_send send_1 = {
    UINT64_C(0x0123456789abcdef), UINT64_C(0x0fedcba987654321)};
static const struct slice legacy_secret = SLICE_LIT("0123456789abcdef0123456789abcdef");

/* Texts of the earlier system, not made by legacy_make() below. */
static const char *const earlier[] = {
    "eyJlIjoiYUBleGFtcGxlLmNvbSIsInMiOiJtYXJrZXRpbmciLCJ4IjoxOTAwMDAwMDAwMDAwfQ."
    "80LOqqg1beGZKgLfKRgGy7hiGo_eGW7at_wqr2sQrlU",
    "eyJlIjoiYUBleGFtcGxlLmNvbSIsInMiOiJtYXJrZXRpbmciLCJ4IjoxOTAwMDAwMDAwMDAwLCJpIjoiNjVmMGMwZm"
    "Zl"
    "ZTY1ZjBjMGZmZWUwMDAxIn0.zvnjz1A6-pu39t2VVNpvnQ7gh0Q9Hg9juGrRvAT-k9U",
};

static struct crypto_keys *
make_keys(void)
{
    for (size_t i = 0; i < CRYPTO_KEY_SIZE; i++) {
        token_key[i] = (uint8_t)i;
        other_key[i] = 0x55;
    }
    return crypto_keys_create(token_key, other_key, other_key);
}

static struct token_unsub
sample_unsub(void)
{
    return (struct token_unsub){.send = send_1,
        .scope = TOKEN_SCOPE_MARKETING,
        .expires_ms = INT64_C(1900000000000),
        .address_key = SLICE_LIT("ana@example.org")};
}

/** The line "`<name>` | `<text>`" must stand in the page. */
static void
assert_vector(struct slice page, const char *name, struct slice text)
{
    struct buf line = BUF_INIT;

    buf_printf(&line, "| %s | `%.*s` |\n", name, SLICE_FMT(text));
    ck_assert_msg(
        slice_find(page, buf_slice(&line)) >= 0, "docs/tokens.md lacks: %s", buf_cstr(&line));
    buf_deinit(&line);
}

START_TEST(vectors_of_the_page)
{
    struct crypto_keys *k = make_keys();
    struct token_unsub unsub = sample_unsub();
    struct buf page = BUF_INIT, path = BUF_INIT, out = BUF_INIT;
    const char *root = getenv("MAILSHOT_SOURCE_DIR");
    uint8_t mac[CRYPTO_SHA256_SIZE];

    ck_assert_ptr_nonnull(root);
    buf_printf(&path, "%s/docs/tokens.md", root);
    ck_assert_int_eq(file_read(buf_cstr(&path), 1 << 20, &page, NULL), 0);

    token_open_make(k, &send_1, &out);
    assert_vector(buf_slice(&page), "open", buf_slice(&out));
    buf_clear(&out);
    token_click_make(k, &send_1, 3, &out);
    assert_vector(buf_slice(&page), "click, link 3", buf_slice(&out));
    buf_clear(&out);
    token_click_dynamic_make(k, &send_1, 4, SLICE_LIT("https://example.com/a?b=1&c=2"), &out);
    assert_vector(
        buf_slice(&page), "click, link 4 to `https://example.com/a?b=1&c=2`", buf_slice(&out));
    buf_clear(&out);
    token_unsub_make(k, &unsub, &out);
    assert_vector(buf_slice(&page), "unsubscribe", buf_slice(&out));
    buf_clear(&out);
    token_verp_make(k, &send_1, 2, &out);
    assert_vector(buf_slice(&page), "return path, generation 2", buf_slice(&out));
    buf_clear(&out);
    token_message_id(&send_1, 2, SLICE_LIT("mail.example.com"), &out);
    assert_vector(buf_slice(&page), "Message-ID, generation 2", buf_slice(&out));
    buf_clear(&out);
    crypto_address_mac(k, SLICE_LIT("ana@example.org"), mac);
    hex_encode(slice_make(mac, sizeof mac), &out);
    assert_vector(buf_slice(&page), "address hash", buf_slice(&out));
    buf_clear(&out);
    buf_append_i64(&out, crypto_address_hash(k, SLICE_LIT("ana@example.org")));
    assert_vector(buf_slice(&page), "row hash", buf_slice(&out));
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_ge(slice_find(buf_slice(&page), slice_str(earlier[i])), 0);
    buf_deinit(&page);
    buf_deinit(&path);
    buf_deinit(&out);
    crypto_keys_free(&k);
}
END_TEST

/** The bare token of a path. */
static struct slice
bare(const struct buf *path)
{
    struct slice s = buf_slice(path);

    s = slice_from(s, (size_t)slice_rfind_char(s, '/') + 1);
    if (slice_ends(s, SLICE_LIT(".png")))
        s.n -= 4;
    return s;
}

/** What a verifier under test sees; true when it takes the token. */
typedef bool verify_fn(const struct crypto_keys *k, struct slice token);

static bool
takes_open(const struct crypto_keys *k, struct slice token)
{
    struct token_send s;

    return token_open_verify(k, token, &s);
}

static bool
takes_click(const struct crypto_keys *k, struct slice token)
{
    struct buf target = BUF_INIT;
    struct token_send s;
    uint32_t ordinal;
    bool is_ok = token_click_verify(k, token, &s, &ordinal, &target);

    buf_deinit(&target);
    return is_ok;
}

static bool
takes_unsub(const struct crypto_keys *k, struct slice token)
{
    struct buf scratch = BUF_INIT;
    struct token_unsub t;
    bool is_ok = token_unsub_verify(k, legacy_secret, token, &scratch, &t);

    buf_deinit(&scratch);
    return is_ok;
}

static bool
takes_verp(const struct crypto_keys *k, struct slice token)
{
    struct token_send s;
    uint32_t generation;

    return token_verp_verify(k, token, &s, &generation);
}

/** One token of each kind, and the verifier that must take it. */
static size_t
all_kinds(const struct crypto_keys *k, struct buf tokens[6], verify_fn *verifiers[6])
{
    struct token_unsub unsub = sample_unsub();
    struct buf path = BUF_INIT;

    memset(tokens, 0, 6 * sizeof tokens[0]);
    token_open_make(k, &send_1, &path);
    buf_append_slice(&tokens[0], bare(&path));
    verifiers[0] = takes_open;
    buf_clear(&path);
    token_click_make(k, &send_1, 3, &path);
    buf_append_slice(&tokens[1], bare(&path));
    verifiers[1] = takes_click;
    buf_clear(&path);
    token_click_dynamic_make(k, &send_1, 4, SLICE_LIT("https://example.com/"), &path);
    buf_append_slice(&tokens[2], bare(&path));
    verifiers[2] = takes_click;
    token_unsub_make(k, &unsub, &tokens[3]);
    verifiers[3] = takes_unsub;
    token_verp_make(k, &send_1, 2, &tokens[4]);
    verifiers[4] = takes_verp;
    buf_append_str(&tokens[5],
        "eyJlIjoiYUBleGFtcGxlLmNvbSIsInMiOiJtYXJrZXRpbmciLCJ4IjoxOTAwMDAwMDAwMDAwfQ."
        "80LOqqg1beGZKgLfKRgGy7hiGo_eGW7at_wqr2sQrlU");
    verifiers[5] = takes_unsub;
    buf_deinit(&path);
    return 6;
}

START_TEST(only_the_token_itself_is_taken)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+=. ";
    struct crypto_keys *k = make_keys();
    struct buf tokens[6];
    verify_fn *verifiers[6];
    size_t n = all_kinds(k, tokens, verifiers);

    for (size_t t = 0; t < n; t++) {
        struct buf copy = BUF_INIT;

        buf_append_slice(&copy, buf_slice(&tokens[t]));
        ck_assert_msg(verifiers[t](k, buf_slice(&copy)), "kind %zu", t);
        for (size_t i = 0; i < copy.n; i++) {
            char was = copy.p[i];

            for (const char *c = alphabet; *c != '\0'; c++) {
                bool is_same = *c == was || (verifiers[t] == takes_verp && (*c | 0x20) == was);

                copy.p[i] = *c;
                ck_assert_msg(
                    verifiers[t](k, buf_slice(&copy)) == is_same, "kind %zu at %zu: %c", t, i, *c);
            }
            copy.p[i] = was;
            ck_assert(!verifiers[t](k, slice_make(copy.p, i)));
            ck_assert(i == 0 || !verifiers[t](k, slice_from(buf_slice(&copy), i)));
        }
        for (const char *c = alphabet; *c != '\0'; c++) {
            buf_append_char(&copy, *c);
            ck_assert(!verifiers[t](k, buf_slice(&copy)));
            copy.n--;
        }
        buf_deinit(&copy);
    }
    for (size_t t = 0; t < n; t++)
        buf_deinit(&tokens[t]);
    crypto_keys_free(&k);
}
END_TEST

START_TEST(no_kind_passes_as_another_nor_under_another_key)
{
    struct crypto_keys *k = make_keys();
    struct crypto_keys *other = crypto_keys_create(other_key, token_key, token_key);
    struct buf tokens[6];
    verify_fn *verifiers[6];
    size_t n = all_kinds(k, tokens, verifiers);

    for (size_t t = 0; t < n; t++) {
        for (size_t v = 0; v < n; v++)
            ck_assert_int_eq(verifiers[v](k, buf_slice(&tokens[t])), verifiers[v] == verifiers[t]);
        if (t != 5) /* the legacy secret is a setting of its own */
            ck_assert(!verifiers[t](other, buf_slice(&tokens[t])));
    }
    /* the kind byte of a click changed to "dynamic" and back: another label, so another MAC */
    for (size_t t = 1; t <= 2; t++) {
        struct buf raw = BUF_INIT, text = BUF_INIT;

        ck_assert(base64url_decode(buf_slice(&tokens[t]), &raw));
        raw.p[0] ^= 1;
        base64url_encode(buf_slice(&raw), &text);
        ck_assert(!takes_click(k, buf_slice(&text)));
        buf_deinit(&raw);
        buf_deinit(&text);
    }
    for (size_t t = 0; t < n; t++)
        buf_deinit(&tokens[t]);
    crypto_keys_free(&k);
    crypto_keys_free(&other);
}
END_TEST

START_TEST(values_come_back)
{
    static const struct token_send sends[] = {
        {0, 1}, {1, 0}, {UINT64_MAX, UINT64_MAX}, {UINT64_C(1) << 62, 77}};
    static const uint32_t numbers[] = {0, 1, 255, 65536, UINT32_MAX};
    struct crypto_keys *k = make_keys();

    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 5; j++) {
            struct buf path = BUF_INIT, target = BUF_INIT;
            struct token_send s = {9, 9};
            uint32_t number = 9;

            token_open_make(k, &sends[i], &path);
            ck_assert(token_open_verify(k, bare(&path), &s));
            ck_assert_mem_eq(&s, &sends[i], sizeof s);
            buf_clear(&path);
            s = (struct token_send){9, 9};
            token_click_make(k, &sends[i], numbers[j], &path);
            ck_assert(token_click_verify(k, bare(&path), &s, &number, &target));
            ck_assert_mem_eq(&s, &sends[i], sizeof s);
            ck_assert_uint_eq(number, numbers[j]);
            ck_assert_uint_eq(target.n, 0);
            buf_clear(&path);
            token_click_dynamic_make(
                k, &sends[i], numbers[j], SLICE_LIT("https://example.com/ü?a=b"), &path);
            ck_assert(token_click_verify(k, bare(&path), &s, &number, &target));
            ck_assert_uint_eq(number, numbers[j]);
            ck_assert(slice_eq(buf_slice(&target), SLICE_LIT("https://example.com/ü?a=b")));
            buf_clear(&path);
            s = (struct token_send){9, 9};
            token_verp_make(k, &sends[i], numbers[j], &path);
            ck_assert_uint_le(path.n, 64);
            ck_assert(token_verp_verify(k, buf_slice(&path), &s, &number));
            ck_assert_mem_eq(&s, &sends[i], sizeof s);
            ck_assert_uint_eq(number, numbers[j]);
            buf_deinit(&path);
            buf_deinit(&target);
        }
    }
    crypto_keys_free(&k);
}
END_TEST

START_TEST(unsub_values_come_back)
{
    struct crypto_keys *k = make_keys();
    struct buf longest = BUF_INIT;

    while (longest.n < 320)
        buf_append_char(&longest, 'a');
    for (int scope = 0; scope <= 2; scope++) {
        for (int i = 0; i < 4; i++) {
            struct token_unsub in = sample_unsub(), got;
            struct buf text = BUF_INIT, scratch = BUF_INIT;

            in.scope = (enum token_scope)scope;
            if (i == 1)
                in.address_key = buf_slice(&longest);
            if (i == 2)
                in.expires_ms = 1; /* long past: authentic all the same */
            if (i == 3)
                in.expires_ms = INT64_MAX;
            token_unsub_make(k, &in, &text);
            buf_append_str(&scratch, "kept");
            ck_assert(token_unsub_verify(k, SLICE_NONE, buf_slice(&text), &scratch, &got));
            ck_assert_int_eq(got.scope, scope);
            ck_assert(slice_eq(got.address_key, in.address_key));
            ck_assert_mem_eq(&got.send, &send_1, sizeof got.send);
            ck_assert_int_eq(got.expires_ms, i == 3 ? (INT64_C(1) << 48) - 1 : in.expires_ms);
            ck_assert(slice_starts(buf_slice(&scratch), SLICE_LIT("kept")));
            buf_deinit(&text);
            buf_deinit(&scratch);
        }
    }
    buf_deinit(&longest);
    crypto_keys_free(&k);
}
END_TEST

/** body "." mac of the earlier format. */
static void
legacy_make(const char *json, struct buf *out)
{
    uint8_t mac[CRYPTO_SHA256_SIZE];

    base64url_encode(slice_str(json), out);
    crypto_hmac(legacy_secret, buf_slice(out), mac);
    buf_append_char(out, '.');
    base64url_encode(slice_make(mac, sizeof mac), out);
}

START_TEST(legacy_unsubscribe_tokens)
{
    static const struct {
        const char *json;
        bool is_taken;
        enum token_scope scope;
        const char *key;
        int64_t expires_ms;
    } cases[] = {
        {"{\"e\":\"a@example.com\",\"s\":\"marketing\",\"x\":1900000000000}", true,
            TOKEN_SCOPE_MARKETING, "a@example.com", INT64_C(1900000000000)},
        {"{\"e\":\"a@example.com\",\"s\":\"marketing\",\"x\":1900000000000,"
         "\"i\":\"65f0c0ffee65f0c0ffee0001\"}",
            true, TOKEN_SCOPE_MARKETING, "a@example.com", INT64_C(1900000000000)},
        {"{\"x\": 5, \"s\": \"all\", \"e\": \"A@Example.com\"}", true, TOKEN_SCOPE_ALL,
            "a@example.com", 5},
        {"{\"e\":\"a@example.com\",\"s\":\"transactional\",\"x\":1e400}", false, 0, NULL, 0},
        {"{\"e\":\"a@example.com\",\"s\":\"transactional\",\"x\":-1}", true,
            TOKEN_SCOPE_TRANSACTIONAL, "a@example.com", 0},
        {"{\"e\":\"a@example.com\",\"s\":\"marketing\",\"x\":1,\"i\":\"zz\"}", true,
            TOKEN_SCOPE_MARKETING, "a@example.com", 1},
        {"{\"e\":\"a@example.com\",\"s\":\"marketing\",\"x\":1,\"c\":\"news.weekly\"}", true,
            TOKEN_SCOPE_MARKETING, "a@example.com", 1},
        {"{\"e\":\"a@example.com\",\"s\":\"marketing\",\"x\":1,\"c\":\"News!\"}", false, 0, NULL,
            0},
        {"{\"e\":\"a@example.com\",\"s\":\"marketing\",\"x\":1,\"c\":7}", false, 0, NULL, 0},
        {"{\"e\":\"\",\"s\":\"marketing\",\"x\":1}", false, 0, NULL, 0},
        {"{\"e\":\"a@example.com\",\"s\":\"\",\"x\":1}", false, 0, NULL, 0},
        {"{\"e\":\"a@example.com\",\"s\":\"other\",\"x\":1}", false, 0, NULL, 0},
        {"{\"e\":\"a@example.com\",\"s\":\"all\",\"x\":\"1\"}", false, 0, NULL, 0},
        {"{\"e\":\"a@example.com\",\"s\":\"all\"}", false, 0, NULL, 0},
        {"[\"a@example.com\",\"all\",1]", false, 0, NULL, 0},
        {"{\"i\":\"u1\",\"x\":1900000000000,\"k\":\"doi\"}", false, 0, NULL, 0},
    };
    struct crypto_keys *k = make_keys();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf text = BUF_INIT, scratch = BUF_INIT;
        struct token_unsub t;

        legacy_make(cases[i].json, &text);
        ck_assert_msg(token_unsub_verify(k, legacy_secret, buf_slice(&text), &scratch, &t) ==
                          cases[i].is_taken,
            "%s", cases[i].json);
        if (cases[i].is_taken) {
            ck_assert_int_eq(t.scope, cases[i].scope);
            ck_assert(slice_eq_str(t.address_key, cases[i].key));
            ck_assert_int_eq(t.expires_ms, cases[i].expires_ms);
            ck_assert_uint_eq(t.send.broadcast | t.send.send, 0);
        }
        ck_assert(!token_unsub_verify(k, SLICE_NONE, buf_slice(&text), &scratch, &t));
        ck_assert(!token_unsub_verify(k, SLICE_LIT("wrong"), buf_slice(&text), &scratch, &t));
        buf_deinit(&text);
        buf_deinit(&scratch);
    }
    crypto_keys_free(&k);
}
END_TEST

START_TEST(legacy_vectors)
{
    static const char confirmation[] = "eyJpIjoidTEiLCJ4IjoxOTAwMDAwMDAwMDAwLCJrIjoiZG9pIn0."
                                       "Q8IRlkkZpj6KHbLoXpv12UowJbcfasIFA3Z-3mGpJxY";
    struct crypto_keys *k = make_keys();

    for (size_t i = 0; i < 2; i++) {
        struct buf scratch = BUF_INIT;
        struct token_unsub t;

        ck_assert(token_unsub_verify(k, legacy_secret, slice_str(earlier[i]), &scratch, &t));
        ck_assert(slice_eq_str(t.address_key, "a@example.com"));
        ck_assert_int_eq(t.expires_ms, INT64_C(1900000000000));
        buf_deinit(&scratch);
    }
    ck_assert(!takes_unsub(k, slice_str(confirmation)));
    crypto_keys_free(&k);
}
END_TEST

START_TEST(message_ids_read_back)
{
    static const char *const bad[] = {"", "x@example.com", "0000000000001.0.0000000000000",
        "0000000000000.0.0000000000000@example.com", "0000000000001.x.0000000000000@example.com",
        "0000000000001.4294967296.0000000000000@example.com",
        "0000000000001.0.000000000000@example.com", "0000000000001..0000000000000@example.com"};
    struct token_send s = {0, 77}, got;
    struct buf out = BUF_INIT;
    uint32_t generation;

    for (int i = 0; i < 2; i++) {
        s.broadcast = i == 0 ? 0 : send_1.broadcast;
        buf_clear(&out);
        buf_append_char(&out, '<');
        token_message_id(&s, 5, SLICE_LIT("mail.example.com"), &out);
        buf_append_char(&out, '>');
        ck_assert(token_message_id_parse(buf_slice(&out), &got, &generation));
        ck_assert_mem_eq(&got, &s, sizeof s);
        ck_assert_uint_eq(generation, 5);
        for (size_t c = 0; c < out.n; c++)
            if (out.p[c] >= 'A' && out.p[c] <= 'Z')
                out.p[c] |= 0x20;
        ck_assert(token_message_id_parse(slice_from(buf_slice(&out), 1), &got, &generation));
        ck_assert_mem_eq(&got, &s, sizeof s);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!token_message_id_parse(slice_str(bad[i]), &got, &generation), "%s", bad[i]);
    buf_deinit(&out);
}
END_TEST

SUITE_MAIN("tokens", vectors_of_the_page, only_the_token_itself_is_taken,
    no_kind_passes_as_another_nor_under_another_key, values_come_back, unsub_values_come_back,
    legacy_unsubscribe_tokens, legacy_vectors, message_ids_read_back)
