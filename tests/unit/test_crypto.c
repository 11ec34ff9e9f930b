/*
 * Hashes and MACs against published vectors, the per-thread contexts, sealing, passwords, and
 * signatures checked with OpenSSL's own verifier.
 */
#include <pthread.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/base64.h"
#include "crypto/crypto.h"
#include "support/suite.h"

static const uint8_t key_a[CRYPTO_KEY_SIZE] = {1}, key_b[CRYPTO_KEY_SIZE] = {2},
                     key_c[CRYPTO_KEY_SIZE] = {3};

static void
assert_hex(const uint8_t sum[CRYPTO_SHA256_SIZE], const char *want)
{
    struct buf hex = BUF_INIT;

    hex_encode(slice_make(sum, CRYPTO_SHA256_SIZE), &hex);
    ck_assert_str_eq(buf_cstr(&hex), want);
    buf_deinit(&hex);
}

START_TEST(sha256_vectors)
{
    static const struct {
        const char *text, *sum;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct crypto_sha256_ctx *c = crypto_sha256_create();
        uint8_t sum[CRYPTO_SHA256_SIZE];

        crypto_sha256(slice_str(cases[i].text), sum);
        assert_hex(sum, cases[i].sum);
        for (const char *p = cases[i].text; *p != '\0'; p++)
            crypto_sha256_update(c, slice_make(p, 1));
        crypto_sha256_final(&c, sum);
        ck_assert_ptr_null(c);
        assert_hex(sum, cases[i].sum);
    }
}
END_TEST

START_TEST(hmac_vectors)
{
    uint8_t sum[CRYPTO_SHA256_SIZE], long_key[131];

    /* RFC 4231 §4.3, §4.7 */
    crypto_hmac(SLICE_LIT("Jefe"), SLICE_LIT("what do ya want for nothing?"), sum);
    assert_hex(sum, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(long_key, 0xaa, sizeof long_key);
    crypto_hmac(slice_make(long_key, sizeof long_key),
        SLICE_LIT("Test Using Larger Than Block-Size Key - Hash Key First"), sum);
    assert_hex(sum, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    crypto_hmac(SLICE_NONE, SLICE_NONE, sum);
    assert_hex(sum, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}
END_TEST

/** Both keyed MACs agree with the one-shot form. */
static void
assert_keyed(const struct crypto_keys *k, const uint8_t *token, const uint8_t *address)
{
    uint8_t got[CRYPTO_SHA256_SIZE], want[CRYPTO_SHA256_SIZE];
    struct slice data = SLICE_LIT("ana@example.org");

    crypto_token_mac(k, data, got);
    crypto_hmac(slice_make(token, CRYPTO_KEY_SIZE), data, want);
    ck_assert_mem_eq(got, want, sizeof got);
    crypto_address_mac(k, data, got);
    crypto_hmac(slice_make(address, CRYPTO_KEY_SIZE), data, want);
    ck_assert_mem_eq(got, want, sizeof got);
}

static void *
mac_in_thread(void *arg)
{
    for (int i = 0; i < 1000; i++)
        assert_keyed(arg, key_a, key_c);
    return NULL;
}

START_TEST(keyed_macs_follow_their_keys)
{
    struct crypto_keys *k = crypto_keys_create(key_a, key_b, key_c), *other;
    pthread_t threads[4];

    assert_keyed(k, key_a, key_c);
    assert_keyed(k, key_a, key_c);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, mac_in_thread, k), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    /* Another object on this thread, then memory of a freed one used again. */
    other = crypto_keys_create(key_c, key_b, key_a);
    assert_keyed(other, key_c, key_a);
    assert_keyed(k, key_a, key_c);
    crypto_keys_free(&k);
    for (int i = 0; i < 16; i++) {
        k = crypto_keys_create(i % 2 != 0 ? key_a : key_b, key_b, key_c);
        assert_keyed(k, i % 2 != 0 ? key_a : key_b, key_c);
        crypto_keys_free(&k);
    }
    ck_assert_ptr_null(k);
    crypto_keys_free(&k);
    crypto_keys_free(&other);
}
END_TEST

START_TEST(address_hash_is_63_bits)
{
    struct crypto_keys *k = crypto_keys_create(key_a, key_b, key_c);
    char text[32];
    int seen_high = 0;

    for (int i = 0; i < 500; i++) {
        uint8_t mac[CRYPTO_SHA256_SIZE];
        uint64_t want = 0;

        snprintf(text, sizeof text, "u%d@example.org", i);
        crypto_address_mac(k, slice_str(text), mac);
        for (int b = 0; b < 8; b++)
            want = want << 8 | mac[b];
        seen_high += mac[0] >> 7;
        ck_assert_int_gt(crypto_address_hash(k, slice_str(text)), 0);
        ck_assert_uint_eq((uint64_t)crypto_address_hash(k, slice_str(text)), want & INT64_MAX);
    }
    ck_assert_int_gt(seen_high, 100); /* the cleared bit was set in about half of them */
    crypto_keys_free(&k);
}
END_TEST

START_TEST(fingerprint_depends_on_every_key)
{
    struct crypto_keys *k[4] = {
        crypto_keys_create(key_a, key_b, key_c),
        crypto_keys_create(key_b, key_b, key_c),
        crypto_keys_create(key_a, key_c, key_c),
        crypto_keys_create(key_a, key_b, key_b),
    };
    char prints[4][17], again[17];

    for (int i = 0; i < 4; i++) {
        crypto_keys_fingerprint(k[i], prints[i]);
        ck_assert_uint_eq(strspn(prints[i], "0123456789abcdef"), 16);
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(prints[i], prints[j]);
    }
    crypto_keys_fingerprint(k[0], again);
    ck_assert_str_eq(again, prints[0]);
    for (int i = 0; i < 4; i++)
        crypto_keys_free(&k[i]);
}
END_TEST

START_TEST(equal_compares_all)
{
    ck_assert(crypto_equal(SLICE_LIT("abc"), SLICE_LIT("abc")));
    ck_assert(crypto_equal(SLICE_NONE, SLICE_LIT("")));
    ck_assert(!crypto_equal(SLICE_LIT("abc"), SLICE_LIT("abd")));
    ck_assert(!crypto_equal(SLICE_LIT("abc"), SLICE_LIT("ab")));
}
END_TEST

START_TEST(seal_opens_only_as_sealed)
{
    struct crypto_keys *k = crypto_keys_create(key_a, key_b, key_c);
    struct crypto_keys *wrong = crypto_keys_create(key_a, key_a, key_c);
    struct slice context = SLICE_LIT("profile:1:password"), secret = SLICE_LIT("hunter two");
    struct buf a = BUF_INIT, b = BUF_INIT, plain = BUF_INIT;
    struct err err = {0};

    crypto_seal(k, context, secret, &a);
    crypto_seal(k, context, secret, &b);
    ck_assert(!slice_eq(buf_slice(&a), buf_slice(&b))); /* random nonce */
    ck_assert_int_lt((int)slice_find(buf_slice(&a), SLICE_LIT("hunter")), 0);
    ck_assert_int_eq(crypto_unseal(k, context, buf_slice(&a), &plain, &err), 0);
    ck_assert(slice_eq(buf_slice(&plain), secret));

    ck_assert_int_eq(
        crypto_unseal(k, SLICE_LIT("profile:2:password"), buf_slice(&a), &plain, &err), -1);
    ck_assert_int_eq(err.code, ERR_PERM);
    ck_assert_int_eq(crypto_unseal(wrong, context, buf_slice(&a), &plain, &err), -1);
    for (size_t i = 0; i < a.n; i++) {
        a.p[i] ^= 4;
        ck_assert_int_eq(crypto_unseal(k, context, buf_slice(&a), &plain, &err), -1);
        a.p[i] ^= 4;
    }
    for (size_t n = 0; n < a.n; n++)
        ck_assert_int_eq(crypto_unseal(k, context, slice_make(a.p, n), &plain, &err), -1);
    ck_assert_uint_eq(plain.n, secret.n); /* failures add nothing */

    buf_clear(&a);
    buf_clear(&plain);
    crypto_seal(k, SLICE_NONE, SLICE_NONE, &a);
    ck_assert_int_eq(crypto_unseal(k, SLICE_NONE, buf_slice(&a), &plain, &err), 0);
    ck_assert_uint_eq(plain.n, 0);
    buf_deinit(&a);
    buf_deinit(&b);
    buf_deinit(&plain);
    crypto_keys_free(&k);
    crypto_keys_free(&wrong);
}
END_TEST

START_TEST(password_verifies_and_refuses)
{
    static const char *const damaged[] = {"", "scrypt", "scrypt$15$8$1$abc",
        "scrypt$15$8$1$AAAAAAAAAAAAAAAAAAAAAA$", "bcrypt$15$8$1$AAAAAAAAAAAAAAAAAAAAAA$AAAA",
        /* costs beyond what we compute */
        "scrypt$30$8$1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "scrypt$18$32$16$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "scrypt$15$0$1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
    struct buf a = BUF_INIT, b = BUF_INIT;

    crypto_password_hash(SLICE_LIT("correct horse"), &a);
    crypto_password_hash(SLICE_LIT("correct horse"), &b);
    ck_assert(slice_starts(buf_slice(&a), SLICE_LIT("scrypt$15$8$1$")));
    ck_assert(!slice_eq(buf_slice(&a), buf_slice(&b)));
    ck_assert(crypto_password_verify(SLICE_LIT("correct horse"), buf_slice(&a)));
    ck_assert(!crypto_password_verify(SLICE_LIT("correct hors"), buf_slice(&a)));
    ck_assert(!crypto_password_verify(SLICE_NONE, buf_slice(&a)));
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++)
        ck_assert(!crypto_password_verify(SLICE_LIT("correct horse"), slice_str(damaged[i])));
    buf_append_str(&a, "$x");
    ck_assert(!crypto_password_verify(SLICE_LIT("correct horse"), buf_slice(&a)));
    /* RFC 7914 §12, third vector, first half of its output: parameters other than our own */
    ck_assert(crypto_password_verify(SLICE_LIT("pleaseletmein"),
        SLICE_LIT(
            "scrypt$14$8$1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046_2o-7qQT44-qbVD9lRdofI")));
    buf_deinit(&a);
    buf_deinit(&b);
}
END_TEST

/** The public key as the DNS record gives it. */
static EVP_PKEY *
public_key(const struct crypto_signer *s)
{
    struct buf text = BUF_INIT, raw = BUF_INIT;
    const unsigned char *p;
    EVP_PKEY *key;

    ck_assert_int_eq(crypto_signer_public(s, &text, NULL), 0);
    ck_assert(base64_decode(buf_slice(&text), &raw));
    p = (const unsigned char *)raw.p;
    key = crypto_signer_alg(s) == CRYPTO_SIGN_ED25519
              ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, p, raw.n)
              : d2i_PUBKEY(NULL, &p, (long)raw.n);
    ck_assert_ptr_nonnull(key);
    buf_deinit(&text);
    buf_deinit(&raw);
    return key;
}

START_TEST(signatures_verify)
{
    static const unsigned bits[] = {0, 1024, 2048};
    struct slice message = SLICE_LIT("signed bytes");
    uint8_t digest[CRYPTO_SHA256_SIZE];

    crypto_sha256(message, digest);
    for (size_t i = 0; i < 3; i++) {
        struct buf pem = BUF_INIT, sig = BUF_INIT;
        struct err err = {0};
        struct crypto_signer *s;
        EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        EVP_PKEY *key;
        bool is_ed = bits[i] == 0;
        const void *signed_bytes = is_ed ? (const void *)digest : message.p;
        size_t n_signed = is_ed ? sizeof digest : message.n;

        ck_assert_int_eq(crypto_generate_key(bits[i], &pem, &err), 0);
        s = crypto_signer_create(buf_slice(&pem), &err);
        ck_assert_ptr_nonnull(s);
        ck_assert_int_eq(
            crypto_signer_alg(s), is_ed ? CRYPTO_SIGN_ED25519 : CRYPTO_SIGN_RSA_SHA256);
        ck_assert_int_eq(crypto_signer_sign(s, digest, &sig, &err), 0);
        ck_assert_uint_eq(sig.n, is_ed ? 64 : bits[i] / 8);
        key = public_key(s);
        ck_assert_int_eq(
            EVP_DigestVerifyInit(ctx, NULL, is_ed ? NULL : EVP_sha256(), NULL, key), 1);
        ck_assert_int_eq(
            EVP_DigestVerify(ctx, (unsigned char *)sig.p, sig.n, signed_bytes, n_signed), 1);
        EVP_MD_CTX_free(ctx);
        EVP_PKEY_free(key);
        crypto_signer_free(&s);
        ck_assert_ptr_null(s);
        buf_deinit(&pem);
        buf_deinit(&sig);
    }
}
END_TEST

START_TEST(keys_that_cannot_sign_are_refused)
{
    /* An EC key, an RSA key of 512 bits, a key behind a pass phrase, a public key, and noise. */
    static const char *const pems[] = {
        "-----BEGIN PRIVATE KEY-----\n"
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgiOsa1w2ayBfraKUk\n"
        "fo7N8EDo1OcajxOP7/W1ZcHy2aKhRANCAAQGlS7Biu2qtLK0k6fJJoP+KsLg8EPy\n"
        "58EhE3Fk/shic1yZhea52px6FuzDRshBxaPfuan5KdNLOjo3aIRmrQlE\n"
        "-----END PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\n"
        "MIIBOgIBAAJBALzfnd53O7yQHgU3a3NhA6aWpu34JczQuRuPlD2OFzy98TEUJbTq\n"
        "gzaTyr9SeHLVbHRmM1Oq4GeeWEML1NQQbu8CAwEAAQJAQAfnc2YkwFZzdv1E1kbL\n"
        "gAyO5xo7ZmZUev2AGiYzxolhRO9mbjF1OZ4bOY7xJKmpAHlScjnKg/gQ6t7Y/hvO\n"
        "YQIhANzjglUpDuZMv4dCb10djWf33XR2qO/kmmvpTJvdovMpAiEA2uVVB+dSgW6e\n"
        "WmXXQP4AxKbotvzCjxU5pwubLsQW7FcCIBGUier9OZJayWOahgKDN53uvFFooEl3\n"
        "iFLOXqqJGU8BAiEAhALyuQWE+JIh5hqtKoEFLZQLnO/q1ifS0S9qs1WHDZkCIAv+\n"
        "73Y14mUwXq793xwxCEQbivaiJvoNc3YeoCtYqp90\n"
        "-----END RSA PRIVATE KEY-----\n",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
        "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiCi7MDi2sd4gICCAAw\n"
        "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEDQQOVOUqu8dAwfr4mmYejIEQDpN\n"
        "7OjRmwGsNgsAVO4374mXjsAfTWas5JFpQHVmhDJGZ63bzyU5thRjauYQYCuPyYqc\n"
        "TdhsNUyhuxfN5yByX6I=\n"
        "-----END ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN PUBLIC KEY-----\n"
        "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
        "-----END PUBLIC KEY-----\n",
        "noise", ""};
    static const char *const why[] = {"neither RSA nor Ed25519", "512 bits", "no unencrypted",
        "no unencrypted", "no unencrypted", "empty"};
    struct err err;

    for (size_t i = 0; i < sizeof pems / sizeof pems[0]; i++) {
        err_clear(&err);
        ck_assert_ptr_null(crypto_signer_create(slice_str(pems[i]), &err));
        ck_assert_int_eq(err.code, ERR_INVALID);
        ck_assert_ptr_nonnull(strstr(err.text, why[i]));
    }
    err_clear(&err);
    ck_assert_int_eq(crypto_generate_key(512, NULL, &err), -1);
    ck_assert_int_eq(err.code, ERR_INVALID);
}
END_TEST

SUITE_MAIN("crypto", sha256_vectors, hmac_vectors, keyed_macs_follow_their_keys,
    address_hash_is_63_bits, fingerprint_depends_on_every_key, equal_compares_all,
    seal_opens_only_as_sealed, password_verifies_and_refuses, signatures_verify,
    keys_that_cannot_sign_are_refused)
