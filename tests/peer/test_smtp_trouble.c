/*
 * Connections that break or stall in the middle of a mail. What matters: before the final dot is out the
 * mail is DEFERRED, after it only a reply can say, so it is IN_DOUBT; and a session that the server has
 * closed while it was idle costs nothing but another connection.
 */
#include <string.h>

#include "../support/suite.h"
#include "driver.h"

#define HELLO      PEER_SEND("220 mx.example ESMTP\r\n"), PEER_EXPECT("EHLO client.example")
#define PIPELINING PEER_SEND("250-mx.example\r\n250 PIPELINING\r\n")
#define BARE       PEER_SEND("250 mx.example\r\n")
#define FROM       PEER_EXPECT("MAIL FROM:<b+1@ex.org>")
#define TO         PEER_EXPECT("RCPT TO:<u@ex.net>")
#define ENVELOPE   FROM, TO, PEER_EXPECT("DATA")
#define GO         PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n")
#define MESSAGE    PEER_BODY("Subject: x\r\n\r\nhello\r\n.\r\n")
#define BYE        PEER_EXPECT("QUIT"), PEER_SEND("221 bye\r\n"), PEER_END

#define DEFERRED(t)                                                                                \
    {                                                                                              \
        .is_set = true, .outcome = TRANSPORT_DEFERRED, .fail_class = FAIL_NETWORK, .text = t       \
    }
#define IN_DOUBT(t)                                                                                \
    {                                                                                              \
        .is_set = true, .outcome = TRANSPORT_IN_DOUBT, .fail_class = FAIL_NETWORK, .text = t       \
    }

static const struct peer_step stall_mail[] = {HELLO, BARE, FROM, PEER_END};
static const struct peer_step stall_rcpt[] = {
    HELLO, BARE, FROM, PEER_SEND("250 ok\r\n"), TO, PEER_END};
static const struct peer_step stall_data[] = {HELLO, BARE, FROM, PEER_SEND("250 ok\r\n"), TO,
    PEER_SEND("250 ok\r\n"), PEER_EXPECT("DATA"), PEER_END};
static const struct peer_step stall_end[] = {HELLO, PIPELINING, ENVELOPE, GO, MESSAGE, PEER_END};
static const struct peer_step stall_rset[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n550 5.1.1 no\r\n503 no\r\n"), PEER_EXPECT("RSET"), PEER_END};

static const struct scenario stalls[] = {
    {"stall at MAIL", stall_mail, .settings.command_ms = 150, .mails = {DEFERRED("(MAIL)")}},
    {"stall at RCPT", stall_rcpt, .settings.command_ms = 150, .mails = {DEFERRED("(RCPT)")}},
    {"stall at DATA", stall_data, .settings.data_start_ms = 150, .mails = {DEFERRED("(DATA)")}},
    {"stall after the dot", stall_end, .settings.data_end_ms = 150,
        .mails = {IN_DOUBT("does not answer (data end)")}},
    {"stall at RSET", stall_rset, .settings.command_ms = 150,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_REFUSED,
            .fail_class = FAIL_RECIPIENT,
            .bounce = BOUNCE_HARD,
            .is_suppress = true,
            .code = 550}}},
};

static const struct peer_step drop_mail[] = {HELLO, PIPELINING, ENVELOPE, PEER_CLOSE, PEER_END};
static const struct peer_step drop_rcpt[] = {
    HELLO, PIPELINING, ENVELOPE, PEER_SEND("250 ok\r\n"), PEER_RESET, PEER_END};
static const struct peer_step drop_after_550[] = {
    HELLO, PIPELINING, ENVELOPE, PEER_SEND("250 ok\r\n550 5.1.1 no\r\n"), PEER_CLOSE, PEER_END};
static const struct peer_step drop_end[] = {
    HELLO, PIPELINING, ENVELOPE, GO, MESSAGE, PEER_CLOSE, PEER_END};
static const struct peer_step reset_end[] = {
    HELLO, PIPELINING, ENVELOPE, GO, MESSAGE, PEER_RESET, PEER_END};
static const struct peer_step garbage_mail[] = {
    HELLO, PIPELINING, ENVELOPE, PEER_SEND("\x01\x02\r\n"), PEER_END};
static const struct peer_step garbage_end[] = {
    HELLO, PIPELINING, ENVELOPE, GO, MESSAGE, PEER_SEND("ok, thanks\r\n"), PEER_END};
static const struct peer_step senseless_end[] = {
    HELLO, PIPELINING, ENVELOPE, GO, MESSAGE, PEER_SEND("354 go\r\n"), PEER_END};
static const struct peer_step data_250[] = {
    HELLO, PIPELINING, ENVELOPE, PEER_SEND("250 ok\r\n250 ok\r\n250 ok\r\n"), PEER_END};
static const struct peer_step half_end[] = {
    HELLO, PIPELINING, ENVELOPE, GO, MESSAGE, PEER_SEND("250 2.0"), PEER_CLOSE, PEER_END};

static const struct scenario drops[] = {
    {"closed at MAIL", drop_mail, .mails = {DEFERRED("closed the connection (MAIL)")}},
    {"reset at RCPT", drop_rcpt, .mails = {DEFERRED("(RCPT)")}},
    {"closed after the refusal", drop_after_550,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_REFUSED,
            .fail_class = FAIL_RECIPIENT,
            .bounce = BOUNCE_HARD,
            .is_suppress = true,
            .code = 550}}},
    {"closed after the dot", drop_end, .mails = {IN_DOUBT("closed the connection (data end)")}},
    {"reset after the dot", reset_end, .mails = {IN_DOUBT("(data end)")}},
    {"garbage at MAIL", garbage_mail, .mails = {DEFERRED("no SMTP reply")}},
    {"garbage after the dot", garbage_end, .mails = {IN_DOUBT("no SMTP reply")}},
    {"354 after the dot", senseless_end, .mails = {IN_DOUBT("makes no sense")}},
    {"half a reply after the dot", half_end, .mails = {IN_DOUBT("closed the connection")}},
    {"250 to DATA", data_250, .mails = {DEFERRED("neither 354")}},
};

/* A message larger than every socket buffer, so that it is never written in one go. */
#define LARGE_BYTES (8u * 1024 * 1024)
static char large[LARGE_BYTES + 1];

static const struct peer_step large_taken[] = {
    HELLO, PIPELINING, ENVELOPE, GO, PEER_BODY(NULL), PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step large_dropped[] = {
    HELLO, PIPELINING, ENVELOPE, GO, PEER_READ(100000), PEER_RESET, PEER_END};
static const struct peer_step large_refused[] = {HELLO, PIPELINING, ENVELOPE, GO, PEER_READ(100000),
    PEER_SEND("552 5.3.4 too much\r\n"), PEER_DRAIN, PEER_END};
static const struct peer_step large_closing[] = {HELLO, PIPELINING, ENVELOPE, GO, PEER_READ(100000),
    PEER_SEND("421 4.3.2 going down\r\n"), PEER_DRAIN, PEER_END};
static const struct peer_step large_stalled[] = {
    HELLO, PIPELINING, ENVELOPE, GO, PEER_READ(100000), PEER_PAUSE(600), PEER_DRAIN, PEER_END};

static struct scenario larges[] = {
    {"large message", large_taken, .mails = {EXPECT_OK}},
    {"reset in the middle of the message", large_dropped, .mails = {DEFERRED("(body)")}},
    {"refused in the middle of the message", large_refused,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_REFUSED,
            .fail_class = FAIL_MESSAGE,
            .code = 552,
            .enhanced = 50304}}},
    {"421 in the middle of the message", large_closing,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_DEFERRED,
            .scope = TRANSPORT_SCOPE_PROFILE,
            .fail_class = FAIL_THROTTLED,
            .code = 421}}},
    {"stall in the middle of the message", large_stalled, .settings.data_block_ms = 200,
        .mails = {DEFERRED("takes no more data")}},
};

/* Idle sessions that the server ends. */
static const struct peer_step closed_between[] = {HELLO, PIPELINING, ENVELOPE, GO, MESSAGE,
    PEER_SEND("250 one\r\n"), PEER_CLOSE, PEER_ACCEPT, HELLO, PIPELINING, ENVELOPE, GO, MESSAGE,
    PEER_SEND("250 two\r\n"), BYE};
static const struct peer_step said_421_between[] = {HELLO, PIPELINING, ENVELOPE, GO, MESSAGE,
    PEER_SEND("250 one\r\n"), PEER_PAUSE(20), PEER_SEND("421 4.4.2 idle too long\r\n"), PEER_CLOSE,
    PEER_ACCEPT, HELLO, PIPELINING, ENVELOPE, GO, MESSAGE, PEER_SEND("250 two\r\n"), BYE};
static const struct peer_step closed_on_mail[] = {HELLO, PIPELINING, ENVELOPE, GO, MESSAGE,
    PEER_SEND("250 one\r\n"), FROM, PEER_CLOSE, PEER_ACCEPT, HELLO, PIPELINING, ENVELOPE, GO,
    MESSAGE, PEER_SEND("250 two\r\n"), BYE};
static const struct peer_step gone_for_good[] = {HELLO, PIPELINING, ENVELOPE, GO, MESSAGE,
    PEER_SEND("250 one\r\n"), FROM, PEER_CLOSE, PEER_ACCEPT, PEER_SEND("554 5.3.0 closed\r\n"),
    PEER_END};
static const struct peer_step lost_twice[] = {HELLO, PIPELINING, ENVELOPE, GO, MESSAGE,
    PEER_SEND("250 one\r\n"), FROM, PEER_RESET, PEER_ACCEPT, HELLO, PIPELINING, FROM, PEER_RESET,
    PEER_END};
static const struct peer_step idle_quit[] = {HELLO, PIPELINING, PEER_EXPECT("QUIT"),
    PEER_SEND("221 bye\r\n"), PEER_EOF, PEER_ACCEPT, HELLO, PIPELINING, ENVELOPE, GO, MESSAGE,
    PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step held_back[] = {HELLO, PIPELINING, ENVELOPE, GO, PEER_EOF, PEER_END};

static const struct scenario idle[] = {
    {"closed between two mails", closed_between, .n_mails = 2, .is_reserved = true,
        .mails = {EXPECT_OK, EXPECT_OK}},
    {"421 between two mails", said_421_between, .n_mails = 2, .is_reserved = true,
        .mails = {EXPECT_OK, EXPECT_OK}},
    {"closed when the mail arrives", closed_on_mail, .n_mails = 2, .mails = {EXPECT_OK, EXPECT_OK}},
    {"closed, and the next refuses", gone_for_good, .n_mails = 2,
        .mails = {EXPECT_OK, {.is_set = true,
                                 .outcome = TRANSPORT_DEFERRED,
                                 .scope = TRANSPORT_SCOPE_ACCOUNT,
                                 .fail_class = FAIL_ACCOUNT,
                                 .code = 554}}},
    {"lost twice", lost_twice, .n_mails = 2, .mails = {EXPECT_OK, DEFERRED("(MAIL)")}},
    {"fence shut before the dot", held_back, .is_fence_shut = true,
        .mails = {DEFERRED("held back")}},
    {"idle session ended by us", idle_quit, .settings.idle_ms = 60, .is_late = true,
        .mails = {EXPECT_OK}},
};

START_TEST(test_stalls)
{
    driver_run_all(stalls, sizeof(stalls) / sizeof(stalls[0]));
}
END_TEST

START_TEST(test_drops)
{
    driver_run_all(drops, sizeof(drops) / sizeof(drops[0]));
}
END_TEST

START_TEST(test_large)
{
    memset(large, 'a', LARGE_BYTES);
    for (size_t i = 70; i + 3 < LARGE_BYTES; i += 70)
        memcpy(large + i, i % 700 == 0 ? "\r\n." : "\r\nb", 3);
    for (size_t i = 0; i < sizeof(larges) / sizeof(larges[0]); i++) {
        larges[i].data[0] = large;
        larges[i].data_n = LARGE_BYTES;
        driver_run(&larges[i]);
    }
}
END_TEST

/* The same through TLS: records, partial writes, and the peer's end in the middle. */
static const struct peer_step tls_taken[] = {
    PEER_TLS, HELLO, PIPELINING, ENVELOPE, GO, PEER_BODY(NULL), PEER_TRICKLE("250 ok\r\n"), BYE};
static const struct peer_step tls_dropped[] = {
    PEER_TLS, HELLO, PIPELINING, ENVELOPE, GO, PEER_READ(100000), PEER_RESET, PEER_END};
static const struct peer_step tls_doubt[] = {
    PEER_TLS, HELLO, PIPELINING, ENVELOPE, GO, PEER_BODY(NULL), PEER_CLOSE, PEER_END};

static struct scenario tls_larges[] = {
    {"large message through TLS", tls_taken, .mails = {EXPECT_OK}},
    {"reset in the middle, through TLS", tls_dropped, .mails = {DEFERRED("(body)")}},
    {"closed after the dot, through TLS", tls_doubt, .mails = {IN_DOUBT("(data end)")}},
};

START_TEST(test_large_tls)
{
    const char *ca_file = peer_certificate("127.0.0.1");

    for (size_t i = 0; i < sizeof(tls_larges) / sizeof(tls_larges[0]); i++) {
        tls_larges[i].settings.tls = TRANSPORT_TLS_IMPLICIT;
        tls_larges[i].settings.tls_verify = true;
        tls_larges[i].settings.ca_file = ca_file;
        tls_larges[i].data[0] = large;
        tls_larges[i].data_n = LARGE_BYTES;
        driver_run(&tls_larges[i]);
    }
}
END_TEST

START_TEST(test_idle)
{
    driver_run_all(idle, sizeof(idle) / sizeof(idle[0]));
}
END_TEST

SUITE_MAIN("smtp_trouble", test_stalls, test_drops, test_large, test_large_tls, test_idle)
