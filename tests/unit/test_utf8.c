/* UTF-8: well-formedness by RFC 3629, decoding with faults, controls, NFC. */
#include <string.h>

#include "base/utf8.h"

#include "../support/suite.h"

START_TEST(well_formed_or_not)
{
    static const struct {
        struct slice s;
        bool is_valid;
    } rows[] = {{SLICE_LIT(""), true}, {SLICE_LIT("plain ascii, longer than a word"), true},
        {SLICE_LIT("\xc2\x80"), true}, {SLICE_LIT("\xdf\xbf"), true},
        {SLICE_LIT("\xe0\xa0\x80"), true}, {SLICE_LIT("\xed\x9f\xbf"), true},
        {SLICE_LIT("\xee\x80\x80"), true}, {SLICE_LIT("\xef\xbf\xbf"), true},
        {SLICE_LIT("\xf0\x90\x80\x80"), true}, {SLICE_LIT("\xf4\x8f\xbf\xbf"), true},
        {SLICE_LIT("12345678\xc3\xa9"), true}, {SLICE_LIT("\0"), true}, {SLICE_LIT("\x80"), false},
        {SLICE_LIT("\xc0\x80"), false}, {SLICE_LIT("\xc1\xbf"), false},
        {SLICE_LIT("\xe0\x9f\xbf"), false}, {SLICE_LIT("\xed\xa0\x80"), false},
        {SLICE_LIT("\xed\xbf\xbf"), false}, {SLICE_LIT("\xf0\x8f\xbf\xbf"), false},
        {SLICE_LIT("\xf4\x90\x80\x80"), false}, {SLICE_LIT("\xf5\x80\x80\x80"), false},
        {SLICE_LIT("\xff"), false}, {SLICE_LIT("\xc3"), false}, {SLICE_LIT("\xe2\x82"), false},
        {SLICE_LIT("\xf0\x9f\x98"), false}, {SLICE_LIT("\xc3("), false},
        {SLICE_LIT("\xe2\x82\xc3"), false}, {SLICE_LIT("12345678\xc3"), false}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(utf8_valid(rows[i].s) == rows[i].is_valid, "row %zu", i);
    ck_assert(utf8_valid(SLICE_NONE));
}
END_TEST

START_TEST(every_character_round_trips)
{
    struct buf b = BUF_INIT;

    for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
        size_t pos = 0;

        if (cp == 0xd800)
            cp = 0xe000;
        buf_clear(&b);
        utf8_append(&b, cp);
        if (utf8_next(buf_slice(&b), &pos) != cp || pos != b.n || !utf8_valid(buf_slice(&b)))
            ck_abort_msg("U+%04X", cp);
    }
    buf_clear(&b);
    utf8_append(&b, 0xdfff);
    utf8_append(&b, 0x110000);
    ck_assert_str_eq(buf_cstr(&b), "\xef\xbf\xbd\xef\xbf\xbd");
    buf_deinit(&b);
}
END_TEST

START_TEST(faults_advance_one_byte)
{
    struct slice s = SLICE_LIT("\xe2\x82z");
    size_t pos = 0;

    ck_assert_uint_eq(utf8_next(s, &pos), 0xfffd);
    ck_assert_uint_eq(pos, 1);
    ck_assert_uint_eq(utf8_next(s, &pos), 0xfffd);
    ck_assert_uint_eq(utf8_next(s, &pos), 'z');
    ck_assert_uint_eq(utf8_next(s, &pos), 0xfffd);
    ck_assert_uint_eq(pos, 3);
    ck_assert_uint_eq(utf8_count(SLICE_LIT("a\xc3\xa9\xf0\x9f\x98\x80")), 3);
}
END_TEST

START_TEST(ascii_and_controls)
{
    ck_assert(utf8_is_ascii(SLICE_LIT("0123456789abcdef\x7f")));
    ck_assert(!utf8_is_ascii(SLICE_LIT("0123456789abcdef\x80")));
    ck_assert(!utf8_has_control(SLICE_LIT("Gr\xc3\xbc\xc3\x9f"
                                          "e \xe2\x80\xaa")));
    ck_assert(utf8_has_control(SLICE_LIT("a\n")));
    ck_assert(utf8_has_control(SLICE_LIT("a\0")));
    ck_assert(utf8_has_control(SLICE_LIT("\x7f")));
    ck_assert(utf8_has_control(SLICE_LIT("\xc2\x85")));
    ck_assert(utf8_has_control(SLICE_LIT("\xe2\x80\xa8")));
    ck_assert(utf8_has_control(SLICE_LIT("\xe2\x80\xa9")));
}
END_TEST

START_TEST(nfc_composes)
{
    static const struct {
        struct slice in, out;
    } rows[] = {{SLICE_LIT("plain"), SLICE_LIT("plain")}, {SLICE_LIT(""), SLICE_LIT("")},
        {SLICE_LIT("\xc3\xa9"), SLICE_LIT("\xc3\xa9")},
        {SLICE_LIT("e\xcc\x81"), SLICE_LIT("\xc3\xa9")},
        {SLICE_LIT("\xe2\x84\xab"), SLICE_LIT("\xc3\x85")}, /* ANGSTROM SIGN */
        {SLICE_LIT("\xe1\x84\x80\xe1\x85\xa1"), SLICE_LIT("\xea\xb0\x80")},
        {SLICE_LIT("a\0e\xcc\x81\0"), SLICE_LIT("a\0\xc3\xa9\0")}};
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        buf_clear(&b);
        utf8_nfc(rows[i].in, &b);
        ck_assert_msg(slice_eq(buf_slice(&b), rows[i].out), "row %zu", i);
    }
    buf_deinit(&b);
}
END_TEST

SUITE_MAIN("utf8", well_formed_or_not, every_character_round_trips, faults_advance_one_byte,
    ascii_and_controls, nfc_composes)
