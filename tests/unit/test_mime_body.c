/*
 * Bodies: quoted-printable, the choice of encoding, dot stuffing; exact forms and round trips over
 * generated texts.
 */
#include <string.h>

#include "base/rand.h"
#include "base/utf8.h"
#include "message/mime.h"
#include "message/mime_internal.h"
#include "support/mime_reader.h"
#include "support/suite.h"

#define X10 "xxxxxxxxxx"
#define X70 X10 X10 X10 X10 X10 X10 X10

START_TEST(qp_exact_forms)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"", ""},
        {"abc", "abc"},
        {"a=b", "a=3Db"},
        {"Zoë", "Zo=C3=AB"},
        {"a\nb\r\nc\rd", "a\r\nb\r\nc\r\nd"},
        {"\n\n", "\r\n\r\n"},
        {"a \nb\t\n", "a=20\r\nb=09\r\n"},
        {"a ", "a=20"},
        {"a\tb c", "a\tb c"},
        {".\n..x\n.hidden\nend", "=2E\r\n=2E.x\r\n=2Ehidden\r\nend"},
        {"From me\nFrom\n>From x", "=46rom me\r\nFrom\r\n>From x"},
        {"\x01\x7f", "=01=7F"},
        {X70 "12345", X70 "12345"},
        {X70 "123456", X70 "12345=\r\n6"},
        {X70 "1234=", X70 "1234=\r\n=3D"},
        {X70 "12=", X70 "12=3D"},
        {X70 "12345.x", X70 "12345=\r\n=2Ex"},
        {X70 "12345From x", X70 "12345=\r\n=46rom x"},
        {X70 "1234 \n", X70 "1234=\r\n=20\r\n"},
        {X70 "12 \n", X70 "12=20\r\n"},
    };
    struct buf out = BUF_INIT;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_clear(&out);
        mime_encode_qp(slice_str(cases[i].in), &out);
        ck_assert_str_eq(buf_cstr(&out), cases[i].want);
    }
    buf_deinit(&out);
}
END_TEST

/** The text with every line end as CRLF: what reading an encoded body must give. */
static void
canonical(struct slice text, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '\r' && text.p[i] != '\n') {
            buf_append_char(out, text.p[i]);
            continue;
        }
        buf_append_str(out, "\r\n");
        if (text.p[i] == '\r' && i + 1 < text.n && text.p[i + 1] == '\n')
            i++;
    }
}

static void
assert_body_reads_back(struct slice text)
{
    struct buf entity = BUF_INIT, want = BUF_INIT, got = BUF_INIT;

    mime_body_append(text, "plain", &entity);
    canonical(text, &want);
    reader_check_lines(buf_slice(&entity));
    reader_decode(buf_slice(&entity), &got);
    ck_assert(slice_eq(buf_slice(&got), buf_slice(&want)));

    /* quoted-printable of the same text, whatever was chosen */
    buf_clear(&entity);
    buf_clear(&got);
    buf_append_str(&entity, "Content-Transfer-Encoding: quoted-printable\r\n\r\n");
    mime_encode_qp(text, &entity);
    reader_check_lines(buf_slice(&entity));
    ck_assert_int_lt((int)slice_find(buf_slice(&entity), SLICE_LIT("\n.")), 0);
    ck_assert_int_lt((int)slice_find(buf_slice(&entity), SLICE_LIT(" \r\n")), 0);
    reader_decode(buf_slice(&entity), &got);
    ck_assert(slice_eq(buf_slice(&got), buf_slice(&want)));
    buf_deinit(&entity);
    buf_deinit(&want);
    buf_deinit(&got);
}

START_TEST(generated_bodies_read_back)
{
    static const char *const pieces[] = {"\n", "\r\n", "\r", " ", "\t", "=", ".", "From ", "word",
        "<td style=\"a:b\">", "ü", "日本語", "\xf0\x9f\x8e\x89",
        "a rather long run of plain words ", "\x01", "--=_", "&nbsp;"};
    struct buf text = BUF_INIT;

    rand_seed(7);
    for (int round = 0; round < 1500; round++) {
        size_t n = (size_t)rand_below(round % 8 == 0 ? 2500 : 60) + 1;
        size_t first = (size_t)rand_below(4) * 4, kinds = sizeof pieces / sizeof pieces[0] - first;

        buf_clear(&text);
        while (n-- > 0)
            buf_append_str(&text, pieces[first + rand_below(kinds)]);
        assert_body_reads_back(buf_slice(&text));
    }
    buf_deinit(&text);
}
END_TEST

/** Every length around the chunk and line limits, so that no boundary is special. */
START_TEST(every_length_reads_back)
{
    struct buf text = BUF_INIT;

    for (int i = 0; i < 4200; i++) {
        buf_append_char(&text, i % 97 == 3 ? '=' : i % 61 == 5 ? ' ' : 'm');
        if (i < 170 || (i > 2030 && i < 2140) || i > 4080)
            assert_body_reads_back(buf_slice(&text));
    }
    buf_deinit(&text);
}
END_TEST

START_TEST(shortest_safe_encoding)
{
    struct buf text = BUF_INIT;

    ck_assert_int_eq(mime_body_choose(SLICE_LIT("plain\nlines\t=\r\n")), MIME_7BIT);
    ck_assert_int_eq(
        mime_body_choose(SLICE_LIT("a long text in which only Zoë is special")), MIME_QP);
    ck_assert_int_eq(mime_body_choose(SLICE_LIT("日本語の本文です")), MIME_BASE64);
    ck_assert_int_eq(mime_body_choose(SLICE_LIT("x\nFrom y")), MIME_QP);
    ck_assert_int_eq(mime_body_choose(SLICE_LIT("x\n--=_m0")), MIME_QP);
    ck_assert_int_eq(mime_body_choose(SLICE_LIT("x\r--=_m0")), MIME_QP);
    ck_assert_int_eq(mime_body_choose(SLICE_LIT("nul \0 byte in a longer text")), MIME_QP);
    for (int i = 0; i < 998; i++)
        buf_append_char(&text, 'x');
    ck_assert_int_eq(mime_body_choose(buf_slice(&text)), MIME_7BIT);
    buf_append_char(&text, 'x');
    ck_assert_int_eq(mime_body_choose(buf_slice(&text)), MIME_QP);
    buf_deinit(&text);
}
END_TEST

START_TEST(chosen_encoding_is_the_shorter)
{
    struct buf text = BUF_INIT, qp = BUF_INIT, chosen = BUF_INIT;

    for (int percent = 0; percent <= 60; percent += 2) {
        size_t n_other;

        buf_clear(&text);
        buf_clear(&qp);
        buf_clear(&chosen);
        for (int i = 0; i < 6000; i++)
            buf_append_str(&text, i * 37 % 100 < percent ? "ж" : "t");
        mime_encode_qp(buf_slice(&text), &qp);
        n_other = (text.n + 2) / 3 * 4;
        n_other += (n_other + 75) / 76 * 2;
        mime_body_append(buf_slice(&text), "plain", &chosen);
        ck_assert_uint_le(
            reader_body(buf_slice(&chosen)).n, (qp.n < n_other ? qp.n : n_other) * 101 / 100);
    }
    buf_deinit(&text);
    buf_deinit(&qp);
    buf_deinit(&chosen);
}
END_TEST

START_TEST(t06_lines_that_start_with_dots)
{
    struct slice body = SLICE_LIT(".\r\n..x\r\n.hidden\r\nend\r\n");
    struct buf wire = BUF_INIT, back = BUF_INIT;

    mime_dot_stuff(body, &wire);
    ck_assert_str_eq(buf_cstr(&wire), "..\r\n...x\r\n..hidden\r\nend\r\n.\r\n");
    reader_unstuff(buf_slice(&wire), &back);
    ck_assert(slice_eq(buf_slice(&back), body));
    buf_deinit(&wire);
    buf_deinit(&back);
}
END_TEST

START_TEST(dot_stuffing_ends_every_message)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"", ".\r\n"},
        {"\r\n", "\r\n.\r\n"},
        {"a", "a\r\n.\r\n"},
        {".", "..\r\n.\r\n"},
        {"a\r\n.", "a\r\n..\r\n.\r\n"},
        {"a.b\r\n c.\r\n", "a.b\r\n c.\r\n.\r\n"},
        {"\r\n.\r\n.\r\n", "\r\n..\r\n..\r\n.\r\n"},
    };
    struct buf out = BUF_INIT;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_clear(&out);
        mime_dot_stuff(slice_str(cases[i].in), &out);
        ck_assert_str_eq(buf_cstr(&out), cases[i].want);
    }
    buf_deinit(&out);
}
END_TEST

SUITE_MAIN("mime_body", qp_exact_forms, generated_bodies_read_back, every_length_reads_back,
    shortest_safe_encoding, chosen_encoding_is_the_shorter, t06_lines_that_start_with_dots,
    dot_stuffing_ends_every_message)
