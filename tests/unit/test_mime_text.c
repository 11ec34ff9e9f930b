/*
 * Header text: what stays plain, what becomes encoded words, folding, and the property that reading
 * gives back the same text, over generated subjects of many scripts.
 */
#include <string.h>

#include "base/rand.h"
#include "base/utf8.h"
#include "message/mime.h"
#include "support/mime_reader.h"
#include "support/suite.h"

/** Encode behind "Subject: ", check every line, decode, and compare. */
static void
assert_reads_back(struct slice text)
{
    struct buf entity = BUF_INIT, value = BUF_INIT, read = BUF_INIT;
    struct err err = {0};

    buf_append_str(&entity, "Subject: ");
    ck_assert_msg(mime_encode_text(text, entity.n, &entity, &err) == 0, "%s", err.text);
    buf_append_str(&entity, "\r\nContent-Transfer-Encoding: 7bit\r\n\r\n");
    reader_check_lines(buf_slice(&entity));
    ck_assert(reader_field(buf_slice(&entity), "Subject", &value));
    reader_words(buf_slice(&value), &read);
    ck_assert_msg(slice_eq(buf_slice(&read), text), "wrote [%.*s], read [%s]", SLICE_FMT(text),
        buf_cstr(&read));
    buf_deinit(&entity);
    buf_deinit(&value);
    buf_deinit(&read);
}

START_TEST(exact_forms)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {"Spring sale", "Spring sale"},
        {"two  blanks", "two  blanks"},
        {"Grüße", "=?UTF-8?Q?Gr=C3=BC=C3=9Fe?="},
        {"Hello Zoë and all", "Hello =?UTF-8?Q?Zo=C3=AB?= and all"},
        {"a é b é c", "a =?UTF-8?Q?=C3=A9_b_=C3=A9?= c"},
        {"é", "=?UTF-8?B?w6k=?="},
        {"a  é  b", "a =?UTF-8?Q?_=C3=A9_?= b"},
        {" lead", "=?UTF-8?Q?_lead?="},
        {"trail ", "=?UTF-8?Q?trail_?="},
        {"x =?UTF-8?Q?y?= z", "x =?UTF-8?Q?=3D=3FUTF-8=3FQ=3Fy=3F=3D?= z"},
        {"Ωμέγα", "=?UTF-8?B?zqnOvM6tzrPOsQ==?="},
    };
    struct buf out = BUF_INIT;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_clear(&out);
        ck_assert_int_eq(mime_encode_text(slice_str(cases[i].text), 9, &out, NULL), 0);
        ck_assert_str_eq(buf_cstr(&out), cases[i].want);
        assert_reads_back(slice_str(cases[i].text));
    }
    buf_deinit(&out);
}
END_TEST

START_TEST(t04_long_mixed_subject)
{
    struct buf text = BUF_INIT, out = BUF_INIT;

    for (int i = 0; i < 40; i++)
        buf_append_char(&text, (char)('a' + i % 26));
    buf_append_char(&text, ' ');
    for (int i = 0; i < 90; i++)
        utf8_append(&text, 0x3b1 + (uint32_t)(i % 24));
    buf_append_char(&text, ' ');
    utf8_append(&text, 0x1f389);
    utf8_append(&text, 0x1f680);
    utf8_append(&text, 0x1f44b);
    buf_append_str(&text, " end");
    assert_reads_back(buf_slice(&text));
    ck_assert_int_eq(mime_encode_text(buf_slice(&text), 9, &out, NULL), 0);
    ck_assert(slice_starts(
        buf_slice(&out), SLICE_LIT("abcdefghijklmnopqrstuvwxyzabcdefghijklmn\r\n =?UTF-8?B?")));
    ck_assert(slice_ends(buf_slice(&out), SLICE_LIT("?= end")));
    for (struct slice rest = buf_slice(&out), line; slice_cut(&rest, '\n', &line);)
        ck_assert_uint_le(line.n, 77); /* 76 and CR */
    buf_deinit(&text);
    buf_deinit(&out);
}
END_TEST

START_TEST(plain_text_folds_between_words)
{
    struct buf text = BUF_INIT, out = BUF_INIT;

    for (int i = 0; i < 100; i++)
        buf_printf(&text, "%sword%d", i > 0 ? " " : "", i);
    ck_assert_int_eq(mime_encode_text(buf_slice(&text), 9, &out, NULL), 0);
    for (struct slice rest = buf_slice(&out), line; slice_cut(&rest, '\n', &line);)
        ck_assert_uint_le(line.n, 77);
    ck_assert_int_lt((int)slice_find(buf_slice(&out), SLICE_LIT("=?")), 0);
    assert_reads_back(buf_slice(&text));
    buf_deinit(&text);
    buf_deinit(&out);
}
END_TEST

START_TEST(long_runs_are_encoded)
{
    struct buf text = BUF_INIT;

    for (int i = 0; i < 2000; i++)
        buf_append_char(&text, 'x');
    assert_reads_back(buf_slice(&text));
    buf_clear(&text);
    buf_append_char(&text, 'a');
    for (int i = 0; i < 2000; i++)
        buf_append_char(&text, ' ');
    buf_append_char(&text, 'b');
    assert_reads_back(buf_slice(&text));
    buf_deinit(&text);
}
END_TEST

START_TEST(hostile_text_is_refused)
{
    static const char *const texts[] = {"a\r\nBcc: eve@example.com", "a\nb", "a\rb", "a\tb",
        "a\x01", "a\x7f", "a\xc2\x80", "a\xe2\x80\xa9", "a\xff", "\xed\xa0\x80"};
    struct buf out = BUF_INIT, text = BUF_INIT;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct err err = {0};

        ck_assert_int_eq(mime_encode_text(slice_str(texts[i]), 9, &out, &err), -1);
        ck_assert_int_eq(err.code, ERR_INVALID);
    }
    ck_assert_int_eq(mime_encode_text(SLICE_LIT("a\0b"), 9, &out, NULL), -1);
    for (int i = 0; i < 4097; i++)
        buf_append_char(&text, 'x');
    ck_assert_int_eq(mime_encode_text(buf_slice(&text), 9, &out, NULL), -1);
    ck_assert_uint_eq(out.n, 0);
    buf_deinit(&out);
    buf_deinit(&text);
}
END_TEST

/** A character that header text may have, from one of several scripts. */
static uint32_t
some_character(void)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {{' ', ' '}, {' ', '~'}, {'a', 'z'}, {0xc0, 0xff}, {0x391, 0x3c9}, {0x410, 0x44f},
        {0x5d0, 0x5ea}, {0x4e00, 0x4eff}, {0x1f600, 0x1f64f}, {'=', '?'}};
    size_t i = (size_t)rand_below(sizeof ranges / sizeof ranges[0]);

    return ranges[i].from + (uint32_t)rand_below(ranges[i].to - ranges[i].from + 1);
}

START_TEST(generated_subjects_read_back)
{
    struct buf text = BUF_INIT;

    rand_seed(20260603);
    for (int round = 0; round < 4000; round++) {
        size_t n = (size_t)rand_below(round % 10 == 0 ? 400 : 60) + 1;
        bool is_ascii = round % 5 == 0;

        buf_clear(&text);
        while (n-- > 0) {
            uint32_t cp = some_character();

            utf8_append(&text, is_ascii && cp > '~' ? 'a' + cp % 26 : cp);
        }
        assert_reads_back(buf_slice(&text));
    }
    buf_deinit(&text);
}
END_TEST

SUITE_MAIN("mime_text", exact_forms, t04_long_mixed_subject, plain_text_folds_between_words,
    long_runs_are_encoded, hostile_text_is_refused, generated_subjects_read_back)
