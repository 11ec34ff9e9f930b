/* Base64 and hexadecimal: the vectors of RFC 4648 §10, both alphabets, strictness. */
#include <string.h>

#include "base/base64.h"

#include "../support/suite.h"

static void
assert_buf(struct buf *b, const char *expected)
{
    ck_assert_str_eq(buf_cstr(b), expected);
    buf_clear(b);
}

START_TEST(rfc4648_vectors)
{
    static const char *const rows[][3] = {{"", "", ""}, {"f", "Zg==", "66"}, {"fo", "Zm8=", "666f"},
        {"foo", "Zm9v", "666f6f"}, {"foob", "Zm9vYg==", "666f6f62"},
        {"fooba", "Zm9vYmE=", "666f6f6261"}, {"foobar", "Zm9vYmFy", "666f6f626172"}};
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        base64_encode(slice_str(rows[i][0]), &b);
        assert_buf(&b, rows[i][1]);
        ck_assert(base64_decode(slice_str(rows[i][1]), &b));
        assert_buf(&b, rows[i][0]);
        hex_encode(slice_str(rows[i][0]), &b);
        assert_buf(&b, rows[i][2]);
        ck_assert(hex_decode(slice_str(rows[i][2]), &b));
        assert_buf(&b, rows[i][0]);
    }
    buf_deinit(&b);
}
END_TEST

START_TEST(url_alphabet_without_padding)
{
    struct buf b = BUF_INIT;
    char direct[8];
    size_t n = base64url_encode_to("\xfb\xff\xfe\xff", 4, direct);

    base64url_encode(SLICE_LIT("\xfb\xff\xfe\xff"), &b);
    ck_assert(slice_eq(buf_slice(&b), slice_make(direct, n)));
    assert_buf(&b, "-__-_w");
    ck_assert(base64url_decode(SLICE_LIT("-__-_w"), &b));
    ck_assert(slice_eq(buf_slice(&b), SLICE_LIT("\xfb\xff\xfe\xff")));
    buf_deinit(&b);
}
END_TEST

START_TEST(faults_are_refused_and_leave_the_buffer)
{
    static const char *const standard[] = {"Zg=", "Zg",
        "Zg===", "Z===", "====", "Zh==", "Zm9=", "Zm9v\n", "Zm 9v", "Zg==Zg==", "-__-", "=Zm9"};
    static const char *const url[] = {"Zg==", "Z", "Zh", "Zm9", "+//+", "Zm9v=", "Zm9v\xc3"};
    static const char *const hex[] = {"6", "6g", "0x66", " 66", "66 "};
    struct buf b = BUF_INIT;

    buf_append_str(&b, "kept");
    for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++)
        ck_assert_msg(!base64_decode(slice_str(standard[i]), &b), "%s", standard[i]);
    for (size_t i = 0; i < sizeof url / sizeof url[0]; i++)
        ck_assert_msg(!base64url_decode(slice_str(url[i]), &b), "%s", url[i]);
    for (size_t i = 0; i < sizeof hex / sizeof hex[0]; i++)
        ck_assert_msg(!hex_decode(slice_str(hex[i]), &b), "%s", hex[i]);
    assert_buf(&b, "kept");
    ck_assert(hex_decode(SLICE_LIT("aBCd"), &b));
    ck_assert(slice_eq(buf_slice(&b), SLICE_LIT("\xab\xcd")));
    buf_deinit(&b);
}
END_TEST

START_TEST(mime_lines_have_76_characters)
{
    char zeros[58] = {0};
    struct buf b = BUF_INIT;

    base64_encode_mime(SLICE_NONE, &b);
    ck_assert_uint_eq(b.n, 0);
    base64_encode_mime(slice_make(zeros, 57), &b);
    ck_assert_uint_eq(b.n, 78);
    ck_assert(slice_ends(buf_slice(&b), SLICE_LIT("A\r\n")));
    buf_clear(&b);
    base64_encode_mime(slice_make(zeros, 58), &b);
    ck_assert_uint_eq(b.n, 78 + 6);
    ck_assert(slice_ends(buf_slice(&b), SLICE_LIT("A\r\nAA==\r\n")));
    buf_deinit(&b);
}
END_TEST

START_TEST(every_length_round_trips)
{
    unsigned char in[300];
    struct buf text = BUF_INIT, back = BUF_INIT;

    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)(i * 37 + 11);
    for (size_t n = 0; n <= sizeof in; n++) {
        buf_clear(&text);
        buf_clear(&back);
        base64url_encode(slice_make(in, n), &text);
        ck_assert(base64url_decode(buf_slice(&text), &back));
        ck_assert(slice_eq(buf_slice(&back), slice_make(in, n)));
    }
    buf_deinit(&text);
    buf_deinit(&back);
}
END_TEST

SUITE_MAIN("base64", rfc4648_vectors, url_alphabet_without_padding,
    faults_are_refused_and_leave_the_buffer, mime_lines_have_76_characters,
    every_length_round_trips)
