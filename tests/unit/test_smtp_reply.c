/*
 * The parsers of what an SMTP server says: replies in any cut, EHLO keywords; and the cutting of a
 * message into dot-stuffed pieces.
 */
#include "../support/suite.h"
#include "base/buf.h"
#include "transport/smtp_dots.h"
#include "transport/smtp_ehlo.h"
#include "transport/smtp_reply.h"

struct reply_case {
    const char *in;
    enum smtp_reply_status status;
    int code, enhanced;
    const char *text;
};

static const struct reply_case replies[] = {
    {"250 ok\r\n", SMTP_REPLY_DONE, 250, 0, "ok"},
    {"250\r\n", SMTP_REPLY_DONE, 250, 0, ""},
    {"250 \r\n", SMTP_REPLY_DONE, 250, 0, ""},
    {"250 ok\n", SMTP_REPLY_DONE, 250, 0, "ok"},
    {"220-a\r\n220-b\r\n220 c\r\n", SMTP_REPLY_DONE, 220, 0, "a\nb\nc"},
    {"250-\r\n250\r\n", SMTP_REPLY_DONE, 250, 0, "\n"},
    {"550 5.1.1 No such user\r\n", SMTP_REPLY_DONE, 550, 50101, "5.1.1 No such user"},
    {"550-5.1.1 The email\r\n550 5.1.1 account\r\n", SMTP_REPLY_DONE, 550, 50101,
        "5.1.1 The email\n5.1.1 account"},
    {"550-Sorry\r\n550 5.7.26 no\r\n", SMTP_REPLY_DONE, 550, 50726, "Sorry\n5.7.26 no"},
    {"550 4.1.1 contradiction\r\n", SMTP_REPLY_DONE, 550, 0, "4.1.1 contradiction"},
    {"550 5.1.1\r\n", SMTP_REPLY_DONE, 550, 50101, "5.1.1"},
    {"550 5.1.1: no\r\n", SMTP_REPLY_DONE, 550, 50101, "5.1.1: no"},
    {"550 5.1.1.1 no\r\n", SMTP_REPLY_DONE, 550, 0, "5.1.1.1 no"},
    {"550 5.1 no\r\n", SMTP_REPLY_DONE, 550, 0, "5.1 no"},
    {"550 5.1.1234 no\r\n", SMTP_REPLY_DONE, 550, 0, "5.1.1234 no"},
    {"550 5.100.1 no\r\n", SMTP_REPLY_DONE, 550, 0, "5.100.1 no"},
    {"550 3.1.1 no\r\n", SMTP_REPLY_DONE, 550, 0, "3.1.1 no"},
    {"250-a\r\n", SMTP_REPLY_MORE, 0, 0, NULL},
    {"250 ok", SMTP_REPLY_MORE, 0, 0, NULL},
    {"", SMTP_REPLY_MORE, 0, 0, NULL},
    {"\r\n", SMTP_REPLY_BAD, 0, 0, NULL},
    {"25\r\n", SMTP_REPLY_BAD, 0, 0, NULL},
    {"250x\r\n", SMTP_REPLY_BAD, 0, 0, NULL},
    {"2500 ok\r\n", SMTP_REPLY_BAD, 0, 0, NULL},
    {"150 ok\r\n", SMTP_REPLY_BAD, 0, 0, NULL},
    {"650 ok\r\n", SMTP_REPLY_BAD, 0, 0, NULL},
    {"2a0 ok\r\n", SMTP_REPLY_BAD, 0, 0, NULL},
    {"HTTP/1.1 200 OK\r\n", SMTP_REPLY_BAD, 0, 0, NULL},
    {"250-a\r\n251 b\r\n", SMTP_REPLY_BAD, 0, 0, NULL},
};

START_TEST(test_replies)
{
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        const struct reply_case *c = &replies[i];

        /* Whole, and in cuts of every size: the result must be the same. */
        for (size_t cut = 1; cut <= strlen(c->in) + 1; cut++) {
            enum smtp_reply_status status = SMTP_REPLY_MORE;
            struct smtp_reply r = {0};
            struct buf in = BUF_INIT;
            size_t used;

            for (size_t at = 0; at < strlen(c->in) && status == SMTP_REPLY_MORE; at += cut) {
                size_t left = strlen(c->in) - at;

                buf_append(&in, c->in + at, left < cut ? left : cut);
                status = smtp_reply_feed(&r, buf_slice(&in), &used);
                buf_consume(&in, used);
            }
            ck_assert_msg(status == c->status, "\"%s\": %d", c->in, status);
            if (status == SMTP_REPLY_DONE) {
                ck_assert_int_eq(r.code, c->code);
                ck_assert_msg(r.enhanced == c->enhanced, "\"%s\": %d", c->in, r.enhanced);
                ck_assert_str_eq(buf_cstr(&r.text), c->text);
                ck_assert_uint_eq(in.n, 0);
            }
            buf_deinit(&in);
            smtp_reply_deinit(&r);
        }
    }
}
END_TEST

START_TEST(test_pipelined)
{
    struct slice in = SLICE_LIT("250 a\r\n550 5.1.1 b\r\n354 c\r\n25");
    static const int codes[] = {250, 550, 354};
    struct smtp_reply r = {0};
    size_t used;

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(smtp_reply_feed(&r, in, &used), SMTP_REPLY_DONE);
        ck_assert_int_eq(r.code, codes[i]);
        in = slice_from(in, used);
    }
    ck_assert_int_eq(r.enhanced, 0);
    ck_assert_int_eq(smtp_reply_feed(&r, in, &used), SMTP_REPLY_MORE);
    ck_assert_uint_eq(used, 0);
    smtp_reply_deinit(&r);
}
END_TEST

START_TEST(test_bounds)
{
    struct smtp_reply r = {0};
    struct buf in = BUF_INIT;
    size_t used;

    /* A line that is too long, without its end and with it. */
    buf_append_str(&in, "250 ");
    while (in.n <= SMTP_REPLY_LINE_MAX)
        buf_append_char(&in, 'x');
    ck_assert_int_eq(smtp_reply_feed(&r, buf_slice(&in), &used), SMTP_REPLY_BAD);
    buf_append_str(&in, "\r\n");
    ck_assert_int_eq(smtp_reply_feed(&r, buf_slice(&in), &used), SMTP_REPLY_BAD);
    smtp_reply_deinit(&r);

    buf_clear(&in);
    for (unsigned i = 0; i <= SMTP_REPLY_LINES_MAX; i++)
        buf_append_str(&in, "250-x\r\n");
    ck_assert_int_eq(smtp_reply_feed(&r, buf_slice(&in), &used), SMTP_REPLY_BAD);
    smtp_reply_deinit(&r);

    buf_clear(&in);
    while (in.n <= SMTP_REPLY_TEXT_MAX + 1000)
        buf_printf(&in, "250-%0500d\r\n", 0);
    ck_assert_int_eq(smtp_reply_feed(&r, buf_slice(&in), &used), SMTP_REPLY_BAD);
    smtp_reply_deinit(&r);
    buf_deinit(&in);
}
END_TEST

START_TEST(test_ehlo)
{
    struct smtp_caps c;

    smtp_ehlo_parse(SLICE_LIT("PIPELINING greets you\nsize 1000\n8bitmime\nSmtpUtf8\nSTARTTLS\n"
                              "AUTH GSSAPI login PLAIN\npipelining\nX-UNKNOWN 1"),
        &c);
    ck_assert(c.has_pipelining && c.has_8bitmime && c.has_smtputf8 && c.has_starttls && c.has_size);
    ck_assert(c.has_auth_plain && c.has_auth_login);
    ck_assert_uint_eq(c.size_max, 1000);

    smtp_ehlo_parse(SLICE_LIT("PIPELINING\nPIPELINING-NOT\nSIZE\nAUTH=PLAIN"), &c);
    ck_assert(!c.has_pipelining && c.has_size && c.has_auth_plain && !c.has_auth_login);
    ck_assert_uint_eq(c.size_max, 0);

    smtp_ehlo_parse(SLICE_LIT("a\nSIZE 99999999999999999999999\n\n \n=\nAUTH"), &c);
    ck_assert(c.has_size && !c.has_auth_plain);
    ck_assert_uint_eq(c.size_max, 0);

    smtp_ehlo_parse(SLICE_NONE, &c);
    ck_assert(!c.has_pipelining && !c.has_size);
}
END_TEST

static const char *const messages[] = {"", ".", "..", ".\r\n", "a\r\n.\r\nb\r\n", "\r\n.",
    ".a\r\n..b\r\n", "a.b\r\nc.\r\n.d", "\r\n\r\n.\r\n.\r\n.\r\n", "no dots at all\r\n",
    "x\r\n.y\r\n.z\r\nend"};

START_TEST(test_dots)
{
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        for (size_t max = 1; max < 12; max++) {
            struct buf got = BUF_INIT, want = BUF_INIT;
            struct slice message = slice_str(messages[i]), piece;
            struct smtp_dots d;
            bool is_dot;

            smtp_dots_init(&d, message);
            while (smtp_dots_next(&d, max, &piece, &is_dot)) {
                ck_assert_uint_ge(piece.n, 1);
                ck_assert_uint_le(piece.n, max);
                if (is_dot)
                    buf_append_char(&got, '.');
                buf_append_slice(&got, piece);
            }
            for (size_t k = 0; k < message.n; k++) {
                if (message.p[k] == '.' && (k == 0 || message.p[k - 1] == '\n'))
                    buf_append_char(&want, '.');
                buf_append_char(&want, message.p[k]);
            }
            ck_assert_str_eq(buf_cstr(&got), buf_cstr(&want));
            buf_deinit(&got);
            buf_deinit(&want);
        }
    }
}
END_TEST

SUITE_MAIN("smtp_reply", test_replies, test_pipelined, test_bounds, test_ehlo, test_dots)
