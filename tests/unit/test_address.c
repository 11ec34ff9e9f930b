/*
 * Addresses: what is taken and refused, the key, the wire form, and mailboxes in header fields.
 */
#include <string.h>

#include "message/address.h"
#include "message/mime.h"
#include "support/mime_reader.h"
#include "support/suite.h"

static const struct {
    const char *text, *key, *wire;
    bool is_utf8;
} good[] = {
    {"ana@example.org", "ana@example.org", "ana@example.org", false},
    {"  Ana.B@Example.ORG\t", "ana.b@example.org", "Ana.B@example.org", false},
    {"o'hara+tag@sub.example.com", "o'hara+tag@sub.example.com", "o'hara+tag@sub.example.com",
        false},
    {"!#$%&'*+-/=?^_`{|}~@example.org", "!#$%&'*+-/=?^_`{|}~@example.org",
        "!#$%&'*+-/=?^_`{|}~@example.org", false},
    /* quoting that changes nothing does not make a second person */
    {"\"Ana.B\"@example.org", "ana.b@example.org", "\"Ana.B\"@example.org", false},
    {"\"a\\na\"@example.org", "ana@example.org", "\"a\\na\"@example.org", false},
    {"\"An a@x\"@example.org", "\"an a@x\"@example.org", "\"An a@x\"@example.org", false},
    {"\"a\\\"b\\\\\"@example.org", "\"a\\\"b\\\\\"@example.org", "\"a\\\"b\\\\\"@example.org",
        false},
    {"\".a\"@example.org", "\".a\"@example.org", "\".a\"@example.org", false},
    /* international domains: U-label, A-label and other spellings are one address */
    {"info@bücher.example.org", "info@xn--bcher-kva.example.org", "info@xn--bcher-kva.example.org",
        false},
    {"info@BÜCHER.example.org", "info@xn--bcher-kva.example.org", "info@xn--bcher-kva.example.org",
        false},
    {"info@bu\xcc\x88"
     "cher.example.org",
        "info@xn--bcher-kva.example.org", "info@xn--bcher-kva.example.org", false},
    {"info@XN--BCHER-KVA.example.org", "info@xn--bcher-kva.example.org",
        "info@xn--bcher-kva.example.org", false},
    {"a@straße.example", "a@xn--strae-oqa.example", "a@xn--strae-oqa.example", false},
    {"a@例え。テスト", "a@xn--r8jz45g.xn--zckzah", "a@xn--r8jz45g.xn--zckzah", false},
    {"José@example.org", "josé@example.org", "José@example.org", true},
    {"a@1.example.4u", "a@1.example.4u", "a@1.example.4u", false},
};

static const char *const bad[] = {"", " ", "@", "a@", "@b.example", "a", "a b@example.org",
    "a@b@example.org", ".a@example.org", "a.@example.org", "a..b@example.org", "a@example..org",
    "a@.example.org", "a@example.org.", "a@-x.example", "a@x-.example", "a@ex_ample.org",
    "a@localhost", "a@127.0.0.1", "a@[127.0.0.1]", "a@[IPv6:::1]", "a(c)@example.org",
    "a@example.org (c)", "Ana <a@example.org>", "a@example.org, b@example.org", "\"a@example.org",
    "\"\"@example.org", "\"a\"b@example.org", "\"a\\\"@example.org", "\"a\"example.org",
    "a\r\nb@example.org", "a@example.org\r\nRCPT TO:<x@y.example>", "a\tb@example.org",
    "a\x7f@example.org", "a\xc2\x85@example.org", "a\xff@example.org", "a\xc0\xaf@example.org",
    "a@exa mple.org", "a@xn--\xc3\xbc.org",
    "a@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.org",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@example.org",
    "a@\xe2\x80\x8b.example", "a@example.org\xe2\x80\xa8"};

START_TEST(good_addresses)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct buf key = BUF_INIT, wire = BUF_INIT, again = BUF_INIT;
        struct err err = {0};
        struct address a;

        ck_assert_msg(address_parse(slice_str(good[i].text), &a, &err) == 0, "%s: %s", good[i].text,
            err.text);
        address_key(&a, &key);
        address_wire(&a, &wire);
        ck_assert_str_eq(buf_cstr(&key), good[i].key);
        ck_assert_str_eq(buf_cstr(&wire), good[i].wire);
        ck_assert_int_eq(a.is_local_utf8, good[i].is_utf8);
        /* a key is an address with itself as key */
        ck_assert_int_eq(address_key_of(buf_slice(&key), &again, NULL), 0);
        ck_assert_str_eq(buf_cstr(&again), good[i].key);
        buf_deinit(&key);
        buf_deinit(&wire);
        buf_deinit(&again);
    }
}
END_TEST

START_TEST(bad_addresses)
{
    struct buf out = BUF_INIT;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};

        ck_assert_msg(address_key_of(slice_str(bad[i]), &out, &err) == -1, "taken: %s", bad[i]);
        ck_assert_int_eq(err.code, ERR_INVALID);
        ck_assert_str_eq(err.sub, "invalid_address");
        if (strlen(bad[i]) > 4)
            ck_assert_ptr_null(strstr(err.text, bad[i]));
    }
    ck_assert_uint_eq(out.n, 0);
    ck_assert_int_eq(address_key_of(SLICE_LIT("a\0b@example.org"), &out, NULL), -1);
    buf_deinit(&out);
}
END_TEST

START_TEST(longest_address)
{
    struct buf text = BUF_INIT;
    struct address a;

    for (int i = 0; i < 64; i++)
        buf_append_char(&text, 'a');
    buf_append_char(&text, '@');
    for (int label = 0; label < 4; label++)
        for (int i = 0; i < 63; i++)
            buf_append_char(&text, i == 62 ? '.' : 'b');
    buf_append_char(&text, 'c');
    ck_assert_int_eq(address_parse(buf_slice(&text), &a, NULL), 0);
    ck_assert_uint_eq(strlen(a.ascii_domain), 253);
    buf_append_char(&text, 'c');
    ck_assert_int_eq(address_parse(buf_slice(&text), &a, NULL), -1);
    buf_deinit(&text);
}
END_TEST

static void
make_mailbox(const char *name, const char *address, struct buf *out)
{
    struct address a;
    struct err err = {0};

    ck_assert_int_eq(address_parse(slice_str(address), &a, NULL), 0);
    buf_clear(out);
    ck_assert_msg(
        address_mailbox(slice_str(name), &a, 4, out, &err) == 0, "%s: %s", name, err.text);
}

START_TEST(mailboxes)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"", "ana@example.org"},
        {"Ana", "\"Ana\" <ana@example.org>"},
        {"  Ana  ", "\"Ana\" <ana@example.org>"},
        {"Ana \"the\" B\\C", "\"Ana \\\"the\\\" B\\\\C\" <ana@example.org>"},
        {"a@b.example, c", "\"a@b.example, c\" <ana@example.org>"},
        {"José", "=?UTF-8?Q?Jos=C3=A9?= <ana@example.org>"},
        {"Ana, José (x)", "=?UTF-8?Q?Ana=2C_Jos=C3=A9_=28x=29?= <ana@example.org>"},
        {"Ωμέγα", "=?UTF-8?B?zqnOvM6tzrPOsQ==?= <ana@example.org>"},
        {"=?UTF-8?Q?x?=", "=?UTF-8?Q?=3D=3FUTF-8=3FQ=3Fx=3F=3D?= <ana@example.org>"},
    };
    struct buf out = BUF_INIT;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_mailbox(cases[i].name, "ana@example.org", &out);
        ck_assert_str_eq(buf_cstr(&out), cases[i].want);
    }
    buf_deinit(&out);
}
END_TEST

START_TEST(long_mailboxes_fold)
{
    struct buf name = BUF_INIT, out = BUF_INIT;

    for (int i = 0; i < 40; i++)
        buf_append_str(&name, i % 2 == 0 ? "Long name " : "and longer, ");
    make_mailbox(buf_cstr(&name), "ana@example.org", &out);
    for (struct slice rest = buf_slice(&out), line; slice_cut(&rest, '\n', &line);)
        ck_assert_uint_le(line.n, 77);
    ck_assert_int_ge(slice_find(buf_slice(&out), SLICE_LIT("\r\n ")), 0);
    buf_deinit(&name);
    buf_deinit(&out);
}
END_TEST

START_TEST(hostile_names)
{
    static const char *const names[] = {"Ana\r\nBcc: eve@example.com", "Ana\nX", "Ana\rX", "a\tb",
        "a\x7f", "a\xe2\x80\xa8", "a\xff"};
    struct buf out = BUF_INIT;
    struct address a;

    ck_assert_int_eq(address_parse(SLICE_LIT("ana@example.org"), &a, NULL), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct err err = {0};

        ck_assert_int_eq(address_mailbox(slice_str(names[i]), &a, 4, &out, &err), -1);
        ck_assert_int_eq(err.code, ERR_INVALID);
    }
    ck_assert_int_eq(address_mailbox(SLICE_LIT("a\0b"), &a, 4, &out, NULL), -1);
    ck_assert_uint_eq(out.n, 0);
    buf_deinit(&out);
}
END_TEST

SUITE_MAIN("address", good_addresses, bad_addresses, longest_address, mailboxes,
    long_mailboxes_fold, hostile_names)
