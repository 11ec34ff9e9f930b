/*
 * From the connection to the first mail: TLS both ways, AUTH both ways, and all that can go wrong there.
 * Trouble before a mail ends the session with a reason, and no mail is touched.
 */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include <arpa/inet.h>

#include "../support/suite.h"
#include "driver.h"

#define HELLO PEER_SEND("220 mx.example ESMTP\r\n"), PEER_EXPECT("EHLO client.example")
#define ENVELOPE                                                                                   \
    PEER_EXPECT("MAIL FROM:<b+1@ex.org>"), PEER_EXPECT("RCPT TO:<u@ex.net>"), PEER_EXPECT("DATA")
#define MESSAGE PEER_BODY("Subject: x\r\n\r\nhello\r\n.\r\n")
#define ONE_MAIL                                                                                   \
    ENVELOPE, PEER_SEND("250 ok\r\n250 ok\r\n354 go\r\n"), MESSAGE, PEER_SEND("250 ok\r\n"),       \
        PEER_EXPECT("QUIT"), PEER_SEND("221 bye\r\n"), PEER_END
#define PIPELINING PEER_SEND("250-mx.example\r\n250 PIPELINING\r\n")

#define NETWORK(t)                                                                                 \
    {                                                                                              \
        .is_set = true, .outcome = TRANSPORT_DEFERRED, .fail_class = FAIL_NETWORK, .text = t       \
    }
#define ACCOUNT(c, t)                                                                              \
    {                                                                                              \
        .is_set = true, .outcome = TRANSPORT_DEFERRED, .scope = TRANSPORT_SCOPE_ACCOUNT,           \
        .fail_class = FAIL_ACCOUNT, .code = c, .text = t                                           \
    }

static const struct peer_step closes_at_once[] = {PEER_CLOSE, PEER_END};
static const struct peer_step resets_at_once[] = {PEER_RESET, PEER_END};
static const struct peer_step closes_after_ehlo[] = {HELLO, PEER_CLOSE, PEER_END};
static const struct peer_step silent[] = {PEER_END};
static const struct peer_step silent_after_ehlo[] = {HELLO, PEER_END};
static const struct peer_step half_reply[] = {HELLO, PEER_SEND("250-mx\r\n"), PEER_END};
static const struct peer_step http_server[] = {
    PEER_SEND("HTTP/1.1 400 Bad Request\r\n\r\n"), PEER_END};
static const struct peer_step other_codes[] = {
    HELLO, PEER_SEND("250-mx\r\n251 SIZE\r\n"), PEER_END};
static const struct peer_step overloaded[] = {
    PEER_SEND("421 4.7.0 too many connections\r\n"), PEER_END};
static const struct peer_step no_service[] = {
    PEER_SEND("554 5.7.1 no service for you\r\n"), PEER_END};
static struct peer_step long_line[] = {HELLO, PEER_SEND(NULL), PEER_END};

static const struct scenario trouble[] = {
    {"nobody listens", NULL, .down = NETWORK("refused")},
    {"closed at once", closes_at_once, .down = NETWORK("closed the connection")},
    {"reset at once", resets_at_once, .down = NETWORK("reset")},
    {"closed after EHLO", closes_after_ehlo, .down = NETWORK("EHLO")},
    {"no greeting", silent, .settings.greeting_ms = 100, .down = NETWORK("time-out (greeting)")},
    {"no answer to EHLO", silent_after_ehlo, .settings.command_ms = 100,
        .down = NETWORK("time-out (EHLO)")},
    {"half an answer to EHLO", half_reply, .settings.command_ms = 100,
        .down = NETWORK("time-out (EHLO)")},
    {"no SMTP server", http_server, .down = NETWORK("no SMTP reply")},
    {"codes that differ in one reply", other_codes, .down = NETWORK("no SMTP reply")},
    {"a line too long", long_line, .down = NETWORK("no SMTP reply")},
    {"421 as the greeting", overloaded,
        .down = {.is_set = true,
            .outcome = TRANSPORT_DEFERRED,
            .scope = TRANSPORT_SCOPE_PROFILE,
            .fail_class = FAIL_THROTTLED,
            .code = 421}},
    {"554 as the greeting", no_service, .down = ACCOUNT(554, "no service")},
};

/* AUTH: "user" and "secret-word". */
#define CREDENTIALS .settings.username = "user", .settings.password = "secret-word"
#define PLAIN64     "AHVzZXIAc2VjcmV0LXdvcmQ="

static const struct peer_step auth_plain[] = {HELLO,
    PEER_SEND("250-mx\r\n250-AUTH LOGIN PLAIN\r\n250 PIPELINING\r\n"),
    PEER_EXPECT("AUTH PLAIN " PLAIN64), PEER_SEND("235 2.7.0 ok\r\n"), ONE_MAIL};
static const struct peer_step auth_login[] = {HELLO,
    PEER_SEND("250-mx\r\n250-AUTH=LOGIN CRAM-MD5\r\n250 PIPELINING\r\n"), PEER_EXPECT("AUTH LOGIN"),
    PEER_SEND("334 VXNlcm5hbWU6\r\n"), PEER_EXPECT("dXNlcg=="), PEER_SEND("334 UGFzc3dvcmQ6\r\n"),
    PEER_EXPECT("c2VjcmV0LXdvcmQ="), PEER_SEND("235 ok\r\n"), ONE_MAIL};
static const struct peer_step auth_wrong[] = {HELLO, PEER_SEND("250-mx\r\n250 AUTH PLAIN\r\n"),
    PEER_EXPECT("AUTH PLAIN " PLAIN64),
    PEER_SEND("535 5.7.8 wrong: secret-word as " PLAIN64 "\r\n"), PEER_END};
static const struct peer_step auth_later[] = {HELLO, PEER_SEND("250-mx\r\n250 AUTH PLAIN\r\n"),
    PEER_EXPECT("AUTH PLAIN " PLAIN64), PEER_SEND("454 4.7.0 no directory\r\n"), PEER_END};
static const struct peer_step auth_other[] = {
    HELLO, PEER_SEND("250-mx\r\n250 AUTH CRAM-MD5\r\n"), PEER_END};
static const struct peer_step auth_none[] = {HELLO, PEER_SEND("250 mx\r\n"), PEER_END};
static const struct peer_step auth_asks_on[] = {HELLO, PEER_SEND("250-mx\r\n250 AUTH PLAIN\r\n"),
    PEER_PREFIX("AUTH PLAIN "), PEER_SEND("334 more\r\n"), PEER_END};

static const struct scenario auth[] = {
    {"AUTH PLAIN", auth_plain, CREDENTIALS, .mails = {EXPECT_OK}},
    {"AUTH LOGIN", auth_login, CREDENTIALS, .mails = {EXPECT_OK}},
    {"AUTH refused, credentials blotted out", auth_wrong, CREDENTIALS,
        .down = ACCOUNT(535, "wrong: *********** as ************************")},
    {"AUTH put off", auth_later, CREDENTIALS, .down = ACCOUNT(454, "no directory")},
    {"AUTH by other means only", auth_other, CREDENTIALS, .down = ACCOUNT(0, "neither")},
    {"AUTH not offered", auth_none, CREDENTIALS, .down = ACCOUNT(0, "neither")},
    {"AUTH asks for more", auth_asks_on, CREDENTIALS, .down = ACCOUNT(0, "more than")},
};

/* TLS. The certificate names 127.0.0.1. */
static const struct peer_step starttls[] = {HELLO, PEER_SEND("250-mx\r\n250 STARTTLS\r\n"),
    PEER_EXPECT("STARTTLS"), PEER_SEND("220 go\r\n"), PEER_TLS, PEER_EXPECT("EHLO client.example"),
    PIPELINING, ONE_MAIL};
static const struct peer_step implicit[] = {PEER_TLS, HELLO, PIPELINING, ONE_MAIL};
static const struct peer_step no_starttls[] = {HELLO, PIPELINING, PEER_END};
static const struct peer_step starttls_refused[] = {HELLO, PEER_SEND("250-mx\r\n250 STARTTLS\r\n"),
    PEER_EXPECT("STARTTLS"), PEER_SEND("454 4.7.0 TLS not available\r\n"), PEER_END};
static const struct peer_step injected[] = {HELLO, PEER_SEND("250-mx\r\n250 STARTTLS\r\n"),
    PEER_EXPECT("STARTTLS"), PEER_SEND("220 go\r\n250-evil\r\n250 AUTH PLAIN\r\n"), PEER_END};
static const struct peer_step no_handshake[] = {HELLO, PEER_SEND("250-mx\r\n250 STARTTLS\r\n"),
    PEER_EXPECT("STARTTLS"), PEER_SEND("220 go\r\n"), PEER_READ(5), PEER_SEND("what is this\r\n"),
    PEER_CLOSE, PEER_END};
static const struct peer_step plain_where_tls[] = {
    PEER_SEND("220 mx.example\r\n"), PEER_READ(5), PEER_CLOSE, PEER_END};
static const struct peer_step clear_auth[] = {
    HELLO, PEER_SEND("250-mx\r\n250 AUTH PLAIN\r\n"), PEER_END};

#define STARTTLS .settings.tls = TRANSPORT_TLS_STARTTLS, .settings.tls_verify = true
#define IMPLICIT .settings.tls = TRANSPORT_TLS_IMPLICIT, .settings.tls_verify = true

static struct scenario tls[] = {
    {"STARTTLS", starttls, STARTTLS, .mails = {EXPECT_OK}},
    {"TLS from the first byte", implicit, IMPLICIT, .mails = {EXPECT_OK}},
    {"STARTTLS not offered", no_starttls, STARTTLS, .down = ACCOUNT(0, "does not offer STARTTLS")},
    {"STARTTLS refused", starttls_refused, STARTTLS, .down = ACCOUNT(454, "not available")},
    {"data before the handshake", injected, STARTTLS, .down = NETWORK("before the TLS handshake")},
    {"no handshake", no_handshake, STARTTLS, .down = NETWORK("TLS")},
    {"no TLS there", plain_where_tls, IMPLICIT, .down = NETWORK("TLS")},
};

START_TEST(test_trouble)
{
    static char line[5000];

    memset(line, 'x', sizeof(line) - 1);
    memcpy(line, "250-", 4);
    long_line[2].text = line;
    driver_run_all(trouble, sizeof(trouble) / sizeof(trouble[0]));
}
END_TEST

START_TEST(test_auth)
{
    driver_run_all(auth, sizeof(auth) / sizeof(auth[0]));
}
END_TEST

START_TEST(test_tls)
{
    const char *ca_file = peer_certificate("127.0.0.1");

    for (size_t i = 0; i < sizeof(tls) / sizeof(tls[0]); i++) {
        tls[i].settings.ca_file = ca_file;
        driver_run(&tls[i]);
    }
}
END_TEST

/* A certificate for another name, and one of an authority that is not trusted. */
START_TEST(test_certificate_refused)
{
    static const struct peer_step refused[] = {PEER_TLS_REFUSED, PEER_END};
    struct scenario s = {"certificate", refused, IMPLICIT, .down = NETWORK("certificate refused")};

    s.settings.ca_file = peer_certificate("mx.other.example");
    driver_run(&s);
    peer_certificate("127.0.0.1");
    s.settings.ca_file = NULL;
    driver_run(&s);
}
END_TEST

START_TEST(test_certificate_unchecked)
{
    struct scenario s = {
        "unchecked", implicit, .settings.tls = TRANSPORT_TLS_IMPLICIT, .mails = {EXPECT_OK}};

    peer_certificate("mx.other.example");
    driver_run(&s);
}
END_TEST

/* An address of this machine that is no loopback one, or NULL. */
static const char *
outer_address(void)
{
    static char text[INET_ADDRSTRLEN];
    struct ifaddrs *list = NULL;
    const char *found = NULL;

    if (getifaddrs(&list) != 0)
        return NULL;
    for (struct ifaddrs *i = list; i != NULL && found == NULL; i = i->ifa_next) {
        const struct sockaddr_in *in = (const void *)i->ifa_addr;

        if (in != NULL && in->sin_family == AF_INET && ntohl(in->sin_addr.s_addr) >> 24 != 127)
            found = inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
    }
    freeifaddrs(list);
    return found;
}

START_TEST(test_password_stays_home)
{
    struct scenario s = {
        "AUTH without TLS", clear_auth, CREDENTIALS, .down = ACCOUNT(0, "not sent without TLS")};

    s.address = outer_address();
    if (s.address != NULL)
        driver_run(&s);
}
END_TEST

SUITE_MAIN("smtp_setup", test_trouble, test_auth, test_tls, test_certificate_refused,
    test_certificate_unchecked, test_password_stays_home)
