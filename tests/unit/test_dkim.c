/*
 * DKIM: body hashes of published examples, signatures checked by an independent verifier, what a
 * change after signing must break, and the trials on dots and on the unsubscribe fields. The signed
 * messages are left in the scratch folder, where dkim_check.py reads them with a foreign library.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "crypto/crypto.h"
#include "message/dkim.h"
#include "message/mime.h"
#include "support/dkim_verifier.h"
#include "support/mime_reader.h"
#include "support/suite.h"

struct key {
    struct crypto_signer *signer;
    struct buf dns; /* p= */
};

static struct key
key_make(unsigned bits)
{
    struct buf pem = BUF_INIT;
    struct key k = {NULL, BUF_INIT};

    ck_assert_int_eq(crypto_generate_key(bits, &pem, NULL), 0);
    ck_assert_ptr_nonnull(k.signer = crypto_signer_create(buf_slice(&pem), NULL));
    ck_assert_int_eq(crypto_signer_public(k.signer, &k.dns, NULL), 0);
    buf_deinit(&pem);
    return k;
}

static void
key_drop(struct key *k)
{
    crypto_signer_free(&k->signer);
    buf_deinit(&k->dns);
}

static struct dkim_params
params(const struct key *k, enum dkim_canon header, enum dkim_canon body)
{
    return (struct dkim_params){.signer = k->signer,
        .domain = SLICE_LIT("example.com"),
        .selector = SLICE_LIT("s1"),
        .header_canon = header,
        .body_canon = body,
        .time_ms = INT64_C(1780394400000)};
}

static void
sign(const struct dkim_params *p, size_t n, struct slice message, struct buf *out)
{
    struct err err = {0};

    buf_clear(out);
    ck_assert_msg(dkim_sign(p, n, message, out, &err) == 0, "%s", err.text);
    ck_assert(slice_ends(buf_slice(out), message));
    reader_check_lines(buf_slice(out));
}

static void
assert_body_hash(const struct key *k, const char *body, enum dkim_canon canon, const char *want)
{
    struct dkim_params p = params(k, DKIM_RELAXED, canon);
    struct buf message = BUF_INIT, out = BUF_INIT, bh = BUF_INIT;

    buf_printf(&message, "From: a@example.com\r\n\r\n%s", body);
    ck_assert_int_eq(dkim_sign(&p, 1, buf_slice(&message), &out, NULL), 0);
    ck_assert(dkim_tag(buf_slice(&out), 0, "bh", &bh));
    ck_assert_str_eq(buf_cstr(&bh), want);
    buf_deinit(&message);
    buf_deinit(&out);
    buf_deinit(&bh);
}

START_TEST(published_body_hashes)
{
    struct key k = key_make(0);

    /* RFC 6376 §3.4.3 and §3.4.4: the empty body */
    assert_body_hash(&k, "", DKIM_SIMPLE, "frcCV1k9oG9oKj3dpUqdJg1PxRT2RSN/XKdLCPjaYaY=");
    assert_body_hash(&k, "", DKIM_RELAXED, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    assert_body_hash(&k, "\r\n\r\n", DKIM_SIMPLE, "frcCV1k9oG9oKj3dpUqdJg1PxRT2RSN/XKdLCPjaYaY=");
    assert_body_hash(
        &k, " \r\n\t\r\n", DKIM_RELAXED, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    /* RFC 8463 §A.3 */
    assert_body_hash(&k, "Hi.\r\n\r\nWe lost the game.  Are you hungry yet?\r\n\r\nJoe.\r\n",
        DKIM_RELAXED, "2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=");
    key_drop(&k);
}
END_TEST

/** Header and body that have something for each rule of the canonical forms. */
static const char *const awkward[] = {
    "From: a@example.com\r\nSubject: x\r\n\r\nbody\r\n",
    "FROM :  A   <a@example.com>\t\r\nSubject:  two \r\n\t lines  \r\nTo:b@example.org\r\n"
    "X-Other: 1\r\nTo: c@example.org\r\n\r\n a  b\t\tc \r\n\r\n\t \r\nd  \r\n\r\n\r\n",
    "From: a@example.com\r\n\r\n",
    "From: a@example.com\r\n\r\n\r\n\r\n",
    "From: a@example.com\r\n\r\nno line end",
    "From: a@example.com\r\n\r\nblank at end ",
    "From: a@example.com\r\n\r\na \r\n",
    "From: a@example.com\r\n\r\n \r\n \r\na\r\n \r\n",
};

START_TEST(signatures_verify_in_every_form)
{
    struct key keys[2] = {key_make(1024), key_make(0)};
    struct buf out = BUF_INIT;

    for (size_t i = 0; i < sizeof awkward / sizeof awkward[0]; i++) {
        for (unsigned form = 0; form < 8; form++) {
            struct key *k = &keys[form >> 2];
            struct dkim_params p =
                params(k, (enum dkim_canon)(form & 1), (enum dkim_canon)(form >> 1 & 1));

            buf_clear(&out);
            ck_assert_int_eq(dkim_sign(&p, 1, slice_str(awkward[i]), &out, NULL), 0);
            ck_assert_msg(
                dkim_verify(buf_slice(&out), 0, buf_slice(&k->dns)), "%zu, form %u", i, form);
        }
    }
    buf_deinit(&out);
    key_drop(&keys[0]);
    key_drop(&keys[1]);
}
END_TEST

static void
build_mail(bool is_marketing, struct slice text, struct buf *out)
{
    static const struct mime_header list[] = {
        {SLICE_LIT("List-Unsubscribe"), SLICE_LIT("<https://mail.example.com/m/unsub/abcdef>")},
        {SLICE_LIT("List-Unsubscribe-Post"), SLICE_LIT("List-Unsubscribe=One-Click")}};
    struct mime_message m = {
        .date_ms = INT64_C(1780394400000),
        .from_name = SLICE_LIT("Zoë"),
        .from_address = SLICE_LIT("news@example.com"),
        .to_address = SLICE_LIT("ana@example.org"),
        .subject = SLICE_LIT("A subject that is long enough to be folded once, and then some more"),
        .message_id = SLICE_LIT("1.0.2@example.com"),
        .text = text,
        .html =
            SLICE_LIT("<p>Zoë  says\t<a href=\"https://mail.example.com/m/click/x\">hi</a></p>"),
        .extra = list,
        .n_extra = is_marketing ? 2 : 0,
    };
    bool needs_smtputf8;

    buf_clear(out);
    ck_assert_int_eq(mime_build(&m, out, &needs_smtputf8, NULL), 0);
}

/** Leave a signed message and its key for the check with a foreign library. */
static void
save(const char *name, const struct buf *message, const struct key *k)
{
    bool is_ed = crypto_signer_alg(k->signer) == CRYPTO_SIGN_ED25519;
    struct buf record = BUF_INIT;
    char file[64];

    snprintf(file, sizeof file, "%s.eml", name);
    ck_assert_int_eq(file_write(suite_path(file), buf_slice(message), 0644, NULL), 0);
    snprintf(file, sizeof file, "%s.dns", name);
    buf_printf(&record, "v=DKIM1; k=%s; p=", is_ed ? "ed25519" : "rsa");
    buf_append_slice(&record, buf_slice(&k->dns));
    ck_assert_int_eq(file_write(suite_path(file), buf_slice(&record), 0644, NULL), 0);
    buf_deinit(&record);
}

START_TEST(built_mail_verifies)
{
    struct key keys[2] = {key_make(2048), key_make(0)};
    struct buf mail = BUF_INIT, out = BUF_INIT;
    char name[32];

    build_mail(true, SLICE_LIT("Hi Zoë,\n\n  indented \ttext \n\n\n"), &mail);
    for (unsigned form = 0; form < 8; form++) {
        struct key *k = &keys[form >> 2];
        struct dkim_params p =
            params(k, (enum dkim_canon)(form & 1), (enum dkim_canon)(form >> 1 & 1));

        sign(&p, 1, buf_slice(&mail), &out);
        ck_assert(dkim_verify(buf_slice(&out), 0, buf_slice(&k->dns)));
        snprintf(name, sizeof name, "form-%u", form);
        save(name, &out, k);
    }
    buf_deinit(&mail);
    buf_deinit(&out);
    key_drop(&keys[0]);
    key_drop(&keys[1]);
}
END_TEST

START_TEST(two_signatures_over_the_same_bytes)
{
    struct key rsa = key_make(2048), ed = key_make(0);
    struct dkim_params p[2] = {
        params(&rsa, DKIM_RELAXED, DKIM_RELAXED), params(&ed, DKIM_RELAXED, DKIM_SIMPLE)};
    struct buf mail = BUF_INIT, out = BUF_INIT, tag = BUF_INIT;

    p[1].selector = SLICE_LIT("s2");
    build_mail(true, SLICE_LIT("text\n"), &mail);
    sign(p, 2, buf_slice(&mail), &out);
    ck_assert_uint_eq(reader_count(buf_slice(&out), "DKIM-Signature"), 2);
    ck_assert(dkim_verify(buf_slice(&out), 0, buf_slice(&rsa.dns)));
    ck_assert(dkim_verify(buf_slice(&out), 1, buf_slice(&ed.dns)));
    ck_assert(dkim_tag(buf_slice(&out), 1, "s", &tag));
    ck_assert_str_eq(buf_cstr(&tag), "s2");
    ck_assert(dkim_tag(buf_slice(&out), 0, "t", &tag));
    ck_assert_str_eq(buf_cstr(&tag), "1780394400");
    buf_deinit(&mail);
    buf_deinit(&out);
    buf_deinit(&tag);
    key_drop(&rsa);
    key_drop(&ed);
}
END_TEST

/** Put `bytes` before the first place where `before` stands, and verify. */
static bool
verifies_with_insert(
    const struct buf *signed_mail, const char *before, const char *bytes, const struct key *k)
{
    struct buf changed = BUF_INIT;
    ptrdiff_t at = slice_find(buf_slice(signed_mail), slice_str(before));
    bool is_ok;

    ck_assert_int_ge(at, 0);
    buf_append(&changed, signed_mail->p, (size_t)at);
    buf_append_str(&changed, bytes);
    buf_append_slice(&changed, slice_from(buf_slice(signed_mail), (size_t)at));
    is_ok = dkim_verify(buf_slice(&changed), 0, buf_slice(&k->dns));
    buf_deinit(&changed);
    return is_ok;
}

START_TEST(changes_break_the_signature)
{
    struct key k = key_make(0), other = key_make(0);
    struct dkim_params p = params(&k, DKIM_RELAXED, DKIM_RELAXED);
    struct buf mail = BUF_INIT, out = BUF_INIT;

    build_mail(true, SLICE_LIT("text\n"), &mail);
    sign(&p, 1, buf_slice(&mail), &out);
    ck_assert(!dkim_verify(buf_slice(&out), 0, buf_slice(&other.dns)));
    ck_assert(!verifies_with_insert(&out, "ana@example.org", "x", &k));   /* To */
    ck_assert(!verifies_with_insert(&out, "A subject", "x", &k));         /* Subject */
    ck_assert(!verifies_with_insert(&out, "One-Click", "x", &k));         /* List-… */
    ck_assert(!verifies_with_insert(&out, "text\r\n", "x", &k));          /* body */
    ck_assert(!verifies_with_insert(&out, "d=example.com", "t=1; ", &k)); /* the field itself */
    ck_assert(
        !verifies_with_insert(&out, "From: =?", "From: e@example.com\r\n", &k)); /* a 2nd From */
    /* what a relay may do */
    ck_assert(verifies_with_insert(&out, "DKIM-Sig", "Received: from x by y\r\n", &k));
    ck_assert(verifies_with_insert(&out, "A subject", "  ", &k));
    buf_deinit(&mail);
    buf_deinit(&out);
    key_drop(&k);
    key_drop(&other);
}
END_TEST

START_TEST(t06_dots_are_signed_unstuffed)
{
    struct key k = key_make(2048);
    struct dkim_params p = params(&k, DKIM_SIMPLE, DKIM_SIMPLE);
    struct buf mail = BUF_INIT, out = BUF_INIT, wire = BUF_INIT, back = BUF_INIT;
    struct mime_message m = {
        .date_ms = INT64_C(1780394400000),
        .from_address = SLICE_LIT("news@example.com"),
        .to_address = SLICE_LIT("ana@example.org"),
        .subject = SLICE_LIT("dots"),
        .message_id = SLICE_LIT("1.0.2@example.com"),
        .text = SLICE_LIT(".\n..x\n.hidden\nend"),
    };
    bool needs_smtputf8;

    ck_assert_int_eq(mime_build(&m, &mail, &needs_smtputf8, NULL), 0);
    sign(&p, 1, buf_slice(&mail), &out);
    mime_dot_stuff(buf_slice(&out), &wire);
    ck_assert(
        slice_ends(buf_slice(&wire), SLICE_LIT("\r\n\r\n..\r\n...x\r\n..hidden\r\nend\r\n.\r\n")));
    reader_unstuff(buf_slice(&wire), &back);
    ck_assert(slice_eq(buf_slice(&back), buf_slice(&out)));
    ck_assert(dkim_verify(buf_slice(&back), 0, buf_slice(&k.dns)));
    save("dots", &out, &k);
    buf_deinit(&mail);
    buf_deinit(&out);
    buf_deinit(&wire);
    buf_deinit(&back);
    key_drop(&k);
}
END_TEST

/** Is `name` in h= of the first signature? How often? */
static size_t
times_covered(struct slice message, const char *name)
{
    struct buf names = BUF_INIT;
    struct slice rest, item;
    size_t n = 0;

    ck_assert(dkim_tag(message, 0, "h", &names));
    rest = buf_slice(&names);
    while (slice_cut(&rest, ':', &item))
        n += slice_ieq(item, slice_str(name));
    buf_deinit(&names);
    return n;
}

START_TEST(t19_both_list_fields_are_covered)
{
    struct key k = key_make(0);
    struct dkim_params p = params(&k, DKIM_RELAXED, DKIM_RELAXED);
    struct buf mail = BUF_INIT, out = BUF_INIT, value = BUF_INIT;

    build_mail(true, SLICE_LIT("text\n"), &mail);
    sign(&p, 1, buf_slice(&mail), &out);
    ck_assert_uint_eq(reader_count(buf_slice(&out), "List-Unsubscribe"), 1);
    ck_assert_uint_eq(reader_count(buf_slice(&out), "List-Unsubscribe-Post"), 1);
    ck_assert(reader_field(buf_slice(&out), "List-Unsubscribe", &value));
    ck_assert_str_eq(buf_cstr(&value), "<https://mail.example.com/m/unsub/abcdef>");
    ck_assert_uint_eq(times_covered(buf_slice(&out), "List-Unsubscribe"), 1);
    ck_assert_uint_eq(times_covered(buf_slice(&out), "List-Unsubscribe-Post"), 1);
    ck_assert_uint_eq(times_covered(buf_slice(&out), "From"), 2);
    ck_assert(dkim_verify(buf_slice(&out), 0, buf_slice(&k.dns)));

    build_mail(false, SLICE_LIT("text\n"), &mail);
    sign(&p, 1, buf_slice(&mail), &out);
    ck_assert_uint_eq(reader_count(buf_slice(&out), "List-Unsubscribe"), 0);
    ck_assert_uint_eq(times_covered(buf_slice(&out), "List-Unsubscribe"), 0);
    ck_assert_uint_eq(times_covered(buf_slice(&out), "List-Unsubscribe-Post"), 0);
    ck_assert(dkim_verify(buf_slice(&out), 0, buf_slice(&k.dns)));
    buf_deinit(&mail);
    buf_deinit(&out);
    buf_deinit(&value);
    key_drop(&k);
}
END_TEST

START_TEST(what_cannot_be_signed)
{
    static const char *const bad[] = {"", "From: a@example.com\r\n", "To: a@example.com\r\n\r\nx",
        "From: a@example.com\n\nx", "no colon\r\n\r\nx", " From: a@example.com\r\n\r\nx",
        ": x\r\n\r\n", "From: a@example.com\r\nx\r\n\r\n"};
    static const struct slice names[] = {SLICE_LIT(""), SLICE_LIT("a;b"), SLICE_LIT("a\r\nb"),
        SLICE_LIT(".a"), SLICE_LIT("a."), SLICE_LIT("a..b"), SLICE_LIT("ä.example")};
    struct key k = key_make(0);
    struct dkim_params p = params(&k, DKIM_RELAXED, DKIM_RELAXED);
    struct slice good = SLICE_LIT("From: a@example.com\r\n\r\nx\r\n");
    struct buf out = BUF_INIT;
    struct err err = {0};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(dkim_sign(&p, 1, slice_str(bad[i]), &out, &err) == -1, "%s", bad[i]);
        ck_assert_int_eq(err.code, ERR_INVALID);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct dkim_params q[2] = {p, p};

        q[1].domain = names[i];
        ck_assert_int_eq(dkim_sign(q, 2, good, &out, &err), -1);
        q[1] = p;
        q[1].selector = names[i];
        ck_assert_int_eq(dkim_sign(q, 2, good, &out, &err), -1);
    }
    ck_assert_uint_eq(out.n, 0);
    buf_deinit(&out);
    key_drop(&k);
}
END_TEST

SUITE_MAIN("dkim", published_body_hashes, signatures_verify_in_every_form, built_mail_verifies,
    two_signatures_over_the_same_bytes, changes_break_the_signature, t06_dots_are_signed_unstuffed,
    t19_both_list_fields_are_covered, what_cannot_be_signed)
