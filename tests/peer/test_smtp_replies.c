/*
 * What a server answers to a mail, and what becomes of the mail and of the session: refusals at every
 * stage with and without PIPELINING, dialects of small servers, messages that may not go at all.
 */
#include "../support/suite.h"
#include "driver.h"

#define HELLO      PEER_SEND("220 mx.example ESMTP\r\n"), PEER_EXPECT("EHLO client.example")
#define PIPELINING PEER_SEND("250-mx.example\r\n250 PIPELINING\r\n")
#define BARE       PEER_SEND("250 mx.example\r\n")
#define FROM       PEER_EXPECT("MAIL FROM:<b+1@ex.org>")
#define TO         PEER_EXPECT("RCPT TO:<u@ex.net>")
#define ENVELOPE   FROM, TO, PEER_EXPECT("DATA")
#define MESSAGE    PEER_BODY("Subject: x\r\n\r\nhello\r\n.\r\n")
#define BYE        PEER_EXPECT("QUIT"), PEER_SEND("221 bye\r\n"), PEER_END

static const struct peer_step plain_pipelined[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE, PEER_SEND("250 2.0.0 queued as 1\r\n"),
    BYE};
static const struct peer_step plain_steps[] = {HELLO, BARE, FROM, PEER_SEND("250 ok\r\n"), TO,
    PEER_SEND("250 ok\r\n"), PEER_EXPECT("DATA"), PEER_SEND("354 go\r\n"), MESSAGE,
    PEER_SEND("250 2.0.0 queued as 1\r\n"), BYE};
static const struct peer_step trickled[] = {PEER_TRICKLE("220-mx\r\n220-be nice\r\n220 ready\r\n"),
    PEER_EXPECT("EHLO client.example"), PEER_TRICKLE("250-mx.example\r\n250 PIPELINING\r\n"),
    ENVELOPE, PEER_TRICKLE("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE,
    PEER_TRICKLE("250-2.0.0 fine\r\n250 ok\r\n"), BYE};
static const struct peer_step two_mails[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE, PEER_SEND("250 one\r\n"), ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE, PEER_SEND("250 two\r\n"), BYE};
static const struct peer_step one_per_session[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE, PEER_SEND("250 one\r\n"),
    PEER_EXPECT("QUIT"), PEER_SEND("221 bye\r\n"), PEER_EOF, PEER_ACCEPT, HELLO, PIPELINING,
    ENVELOPE, PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE, PEER_SEND("250 two\r\n"), BYE};

static const struct peer_step dead_then_good[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n550 5.1.1 No such user here\r\n503 5.5.1 no valid recipient\r\n"),
    PEER_EXPECT("RSET"), PEER_SEND("250 ok\r\n"), ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE, PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step lone_dot[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n550 5.1.1 No such user here\r\n354 go anyway\r\n"), PEER_EXPECT("."),
    PEER_SEND("554 5.5.1 no recipients\r\n"), BYE};
static const struct peer_step greylisted[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_TRICKLE("250 ok\r\n451 4.7.1 Greylisted, please try again in 300 seconds\r\n503 no\r\n"),
    PEER_EXPECT("RSET"), PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step busy_450[] = {HELLO, BARE, FROM, PEER_SEND("250 ok\r\n"), TO,
    PEER_SEND("450 mailbox busy\r\n"), PEER_EXPECT("RSET"), PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step full_552[] = {HELLO, BARE, FROM, PEER_SEND("250 ok\r\n"), TO,
    PEER_SEND("552 5.2.2 over quota\r\n"), PEER_EXPECT("RSET"), PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step too_large[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE,
    PEER_SEND("552 5.3.4 message too big\r\n"), BYE};
static const struct peer_step throttled[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE,
    PEER_SEND("454 4.7.0 Throttling failure: Maximum sending rate exceeded\r\n"), BYE};
static const struct peer_step spam_554[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE, PEER_SEND("554 looks like spam\r\n"),
    BYE};
static const struct peer_step sender_refused[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("550 5.7.1 not your domain\r\n503 no\r\n503 no\r\n"), BYE};
static const struct peer_step auth_needed[] = {
    HELLO, BARE, FROM, PEER_SEND("530 5.7.0 Authentication required\r\n"), BYE};
static const struct peer_step data_refused[] = {HELLO, BARE, FROM, PEER_SEND("250 ok\r\n"), TO,
    PEER_SEND("250 ok\r\n"), PEER_EXPECT("DATA"), PEER_SEND("451 no room\r\n"), PEER_EXPECT("RSET"),
    PEER_SEND("250 ok\r\n"), BYE};

static const struct peer_step closing_mail[] = {
    HELLO, PIPELINING, ENVELOPE, PEER_SEND("421 4.3.2 shutting down\r\n"), PEER_EOF, PEER_END};
static const struct peer_step closing_rcpt[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n421 4.3.2 shutting down\r\n"), PEER_EOF, PEER_END};
static const struct peer_step closing_end[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE, PEER_SEND("421 4.3.2 shutting down\r\n"),
    PEER_EOF, PEER_END};
static const struct peer_step closing_after[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE,
    PEER_SEND("250 ok\r\n421 that was enough\r\n"), PEER_EOF, PEER_END};

#define THROTTLED_421                                                                              \
    {                                                                                              \
        .is_set = true, .outcome = TRANSPORT_DEFERRED, .scope = TRANSPORT_SCOPE_PROFILE,           \
        .fail_class = FAIL_THROTTLED, .code = 421                                                  \
    }
#define DEAD_550                                                                                   \
    {                                                                                              \
        .is_set = true, .outcome = TRANSPORT_REFUSED, .fail_class = FAIL_RECIPIENT,                \
        .bounce = BOUNCE_HARD, .is_suppress = true, .code = 550, .enhanced = 50101,                \
        .text = "No such user"                                                                     \
    }

static const struct scenario answers[] = {
    {"accepted, pipelined", plain_pipelined, .mails = {EXPECT_OK}},
    {"accepted, step by step", plain_steps, .mails = {EXPECT_OK}},
    {"accepted, one byte at a time", trickled, .mails = {EXPECT_OK}},
    {"two mails on one session", two_mails, .n_mails = 2, .mails = {EXPECT_OK, EXPECT_OK}},
    {"one mail per session", one_per_session, .n_mails = 2, .settings.max_mails_per_session = 1,
        .mails = {EXPECT_OK, EXPECT_OK}},
    {"dead address, then a good one", dead_then_good, .n_mails = 2, .mails = {DEAD_550, EXPECT_OK}},
    {"354 without a recipient", lone_dot, .mails = {DEAD_550}},
    {"greylisted", greylisted,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_DEFERRED,
            .scope = TRANSPORT_SCOPE_DOMAIN,
            .fail_class = FAIL_THROTTLED,
            .code = 451,
            .enhanced = 40701,
            .retry_after_ms = 300000}}},
    {"450 at RCPT", busy_450,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_DEFERRED,
            .scope = TRANSPORT_SCOPE_DOMAIN,
            .fail_class = FAIL_THROTTLED,
            .code = 450}}},
    {"mailbox full", full_552,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_REFUSED,
            .fail_class = FAIL_MAILBOX_FULL,
            .bounce = BOUNCE_SOFT,
            .code = 552,
            .enhanced = 50202}}},
    {"message too large", too_large,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_REFUSED,
            .fail_class = FAIL_MESSAGE,
            .code = 552,
            .enhanced = 50304}}},
    {"throttled", throttled,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_DEFERRED,
            .scope = TRANSPORT_SCOPE_PROFILE,
            .fail_class = FAIL_THROTTLED,
            .code = 454,
            .enhanced = 40700}}},
    {"554 after the message", spam_554,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_REFUSED,
            .fail_class = FAIL_MESSAGE,
            .code = 554}}},
    {"sender refused", sender_refused,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_DEFERRED,
            .scope = TRANSPORT_SCOPE_ACCOUNT,
            .fail_class = FAIL_ACCOUNT,
            .code = 550,
            .text = "not your domain"}}},
    {"530 at MAIL", auth_needed,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_DEFERRED,
            .scope = TRANSPORT_SCOPE_ACCOUNT,
            .fail_class = FAIL_ACCOUNT,
            .code = 530}}},
    {"451 at DATA", data_refused,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_DEFERRED,
            .fail_class = FAIL_THROTTLED,
            .code = 451}}},
    {"421 at MAIL", closing_mail, .mails = {THROTTLED_421}},
    {"421 at RCPT", closing_rcpt, .mails = {THROTTLED_421}},
    {"421 after the dot", closing_end, .mails = {THROTTLED_421}},
    {"421 on the heels of the last reply", closing_after, .mails = {EXPECT_OK}},
};

/* A small and chatty server: nothing offered, parameters refused by another that offers too much. */
static const struct peer_step chatty[] = {
    PEER_SEND("220-relay.example.com\r\n220-be nice\r\n220 ready\r\n"),
    PEER_EXPECT("EHLO client.example"), PEER_SEND("250 relay.example.com\r\n"), FROM,
    PEER_SEND("250 ok\r\n"), TO, PEER_SEND("250 ok\r\n"), PEER_EXPECT("DATA"),
    PEER_SEND("354 go\r\n"), MESSAGE, PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step no_params[] = {HELLO, PEER_SEND("250-mx\r\n250 SIZE\r\n"),
    PEER_EXPECT("MAIL FROM:<b+1@ex.org> SIZE=21"), PEER_SEND("501 what is SIZE\r\n"), FROM,
    PEER_SEND("250 ok\r\n"), TO, PEER_SEND("250 ok\r\n"), PEER_EXPECT("DATA"),
    PEER_SEND("354 go\r\n"), MESSAGE, PEER_SEND("250 ok\r\n"), FROM, PEER_SEND("250 ok\r\n"), TO,
    PEER_SEND("250 ok\r\n"), PEER_EXPECT("DATA"), PEER_SEND("354 go\r\n"), MESSAGE,
    PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step no_params_pipelined[] = {HELLO,
    PEER_SEND("250-mx\r\n250-PIPELINING\r\n250 SIZE 100000\r\n"),
    PEER_EXPECT("MAIL FROM:<b+1@ex.org> SIZE=21"), TO, PEER_EXPECT("DATA"),
    PEER_SEND("555 no parameters\r\n503 no\r\n503 no\r\n"), ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE, PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step twice_501[] = {HELLO, PEER_SEND("250-mx\r\n250 SIZE\r\n"),
    PEER_PREFIX("MAIL FROM:<b+1@ex.org> SIZE="), PEER_SEND("501 no\r\n"), FROM,
    PEER_SEND("501 no\r\n"), BYE};
static const struct peer_step helo[] = {HELLO, PEER_SEND("502 what\r\n"),
    PEER_EXPECT("HELO client.example"), PEER_SEND("250 old.example\r\n"), FROM,
    PEER_SEND("250 ok\r\n"), TO, PEER_SEND("251 will forward\r\n"), PEER_EXPECT("DATA"),
    PEER_SEND("354 go\r\n"), MESSAGE, PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step eight_bit[] = {HELLO,
    PEER_SEND("250-mx\r\n250-8BITMIME\r\n250 PIPELINING\r\n"),
    PEER_EXPECT("MAIL FROM:<b+1@ex.org> BODY=8BITMIME"), TO, PEER_EXPECT("DATA"),
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE, PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step utf8[] = {HELLO,
    PEER_SEND("250-mx\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 PIPELINING\r\n"),
    PEER_EXPECT("MAIL FROM:<b+1@ex.org> SMTPUTF8"), PEER_EXPECT("RCPT TO:<jos\xc3\xa9@ex.net>"),
    PEER_EXPECT("DATA"), PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE,
    PEER_SEND("250 ok\r\n"), BYE};
static const struct peer_step nothing_sent[] = {HELLO, BARE, BYE};
static const struct peer_step size_limit[] = {HELLO, PEER_SEND("250-mx\r\n250 SIZE 20\r\n"), BYE};

/* Lines that begin with dots, a first line too, and a message without a last line end. */
static const struct peer_step dots[] = {HELLO, PIPELINING, ENVELOPE,
    PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"),
    PEER_BODY("A: b\r\n\r\n..\r\n...x\r\n..hidden\r\nend\r\n.\r\n"), PEER_SEND("250 ok\r\n"),
    ENVELOPE, PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), PEER_BODY("..first\r\nlast\r\n.\r\n"),
    PEER_SEND("250 ok\r\n"), BYE};

static const struct scenario dialects[] = {
    {"chatty server without extensions", chatty, .mails = {EXPECT_OK}},
    {"parameters refused, then left off", no_params, .n_mails = 2, .mails = {EXPECT_OK, EXPECT_OK}},
    {"parameters refused, pipelined", no_params_pipelined, .mails = {EXPECT_OK}},
    {"refused without parameters too", twice_501,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_DEFERRED,
            .scope = TRANSPORT_SCOPE_ACCOUNT,
            .fail_class = FAIL_ACCOUNT,
            .code = 501}}},
    {"HELO instead of EHLO", helo, .mails = {EXPECT_OK}},
    {"8BITMIME", eight_bit, .is_8bit = true, .mails = {EXPECT_OK}},
    {"8BITMIME not offered", nothing_sent, .is_8bit = true,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_REFUSED,
            .fail_class = FAIL_MESSAGE,
            .enhanced = 50603}}},
    {"SMTPUTF8", utf8, .needs_smtputf8 = true, .mails = {EXPECT_OK}},
    {"SMTPUTF8 not offered", nothing_sent, .needs_smtputf8 = true,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_REFUSED,
            .fail_class = FAIL_ADDRESS,
            .enhanced = 50607}}},
    {"larger than SIZE", size_limit,
        .mails = {{.is_set = true,
            .outcome = TRANSPORT_REFUSED,
            .fail_class = FAIL_MESSAGE,
            .enhanced = 50304}}},
    {"dots at line starts", dots, .n_mails = 2,
        .data = {"A: b\r\n\r\n.\r\n..x\r\n.hidden\r\nend\r\n", ".first\r\nlast"},
        .mails = {EXPECT_OK, EXPECT_OK}},
};

START_TEST(test_answers)
{
    driver_run_all(answers, sizeof(answers) / sizeof(answers[0]));
}
END_TEST

START_TEST(test_dialects)
{
    driver_run_all(dialects, sizeof(dialects) / sizeof(dialects[0]));
}
END_TEST

SUITE_MAIN("smtp_replies", test_answers, test_dialects)
