#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "net/net_conn.h"
#include "transport/smtp_internal.h"

/*
 * AUTH PLAIN (RFC 4616) and LOGIN with the profile's credentials. They are sent under TLS or to
 * loopback only, never logged, and blotted out of whatever a server says before anybody keeps it.
 */

/* Commands longer than this wait for a 334 first (RFC 4954 §4, RFC 5321 §4.5.3.1.4). */
#define INITIAL_RESPONSE_MAX 480
/* Shorter credentials are not blotted out: their removal would garble any text. */
#define SCRUB_MIN 4

static char *
encode(const void *p, size_t n)
{
    struct buf b = BUF_INIT;

    base64_encode(slice_make(p, n), &b);
    buf_cstr(&b);
    return buf_take(&b, &(size_t){0});
}

void
smtp_auth_init(struct smtp_transport *t, const char *username, const char *password)
{
    size_t user_n = strlen(username), password_n = strlen(password);
    struct buf plain = BUF_INIT;

    t->username = mem_strdup(username);
    t->password = mem_strdup(password);
    t->auth_user = encode(username, user_n);
    t->auth_password = encode(password, password_n);
    buf_append_char(&plain, '\0');
    buf_append(&plain, username, user_n);
    buf_append_char(&plain, '\0');
    buf_append(&plain, password, password_n);
    t->auth_plain = encode(plain.p, plain.n);
    mem_wipe(plain.p, plain.n);
    buf_deinit(&plain);
}

static void
wipe(char **s)
{
    if (*s != NULL)
        mem_wipe(*s, strlen(*s));
    mem_free(*s);
    *s = NULL;
}

void
smtp_auth_deinit(struct smtp_transport *t)
{
    wipe(&t->username);
    wipe(&t->password);
    wipe(&t->auth_plain);
    wipe(&t->auth_user);
    wipe(&t->auth_password);
}

void
smtp_auth_start(struct smtp_session *s)
{
    struct smtp_transport *t = smtp_transport_of(s);
    struct buf line = BUF_INIT;

    if (!net_conn_is_tls(s->conn) && !s->is_loopback) {
        smtp_session_fail_text(s, TRANSPORT_SCOPE_ACCOUNT,
            "a password is not sent without TLS: set the profile to STARTTLS or TLS");
        return;
    }
    if (!s->caps.has_auth_plain && !s->caps.has_auth_login) {
        smtp_session_fail_text(
            s, TRANSPORT_SCOPE_ACCOUNT, "the server offers neither AUTH PLAIN nor AUTH LOGIN");
        return;
    }
    buf_append_str(&line, s->caps.has_auth_plain ? "AUTH PLAIN" : "AUTH LOGIN");
    if (s->caps.has_auth_plain && strlen(t->auth_plain) <= INITIAL_RESPONSE_MAX)
        buf_printf(&line, " %s", t->auth_plain);
    smtp_command(s, SMTP_AUTH, buf_slice(&line), t->timeouts.command);
    mem_wipe(line.p, line.n);
    buf_deinit(&line);
}

/* A 334 asks for the next response. */
static void
challenge(struct smtp_session *s)
{
    struct smtp_transport *t = smtp_transport_of(s);
    const char *answer = NULL;
    enum smtp_state next = SMTP_AUTH_PASSWORD;

    if (s->state == SMTP_AUTH && s->caps.has_auth_plain) {
        if (strlen(t->auth_plain) > INITIAL_RESPONSE_MAX)
            answer = t->auth_plain;
    } else if (s->state == SMTP_AUTH) {
        answer = t->auth_user;
        next = SMTP_AUTH_USER;
    } else if (s->state == SMTP_AUTH_USER) {
        answer = t->auth_password;
    }
    if (answer == NULL)
        smtp_session_fail_text(
            s, TRANSPORT_SCOPE_ACCOUNT, "the server asks for more than user and password");
    else
        smtp_command(s, next, slice_str(answer), t->timeouts.command);
}

void
smtp_auth_reply(struct smtp_session *s)
{
    if (s->reply.code == 334) {
        challenge(s);
    } else if (s->reply.code == 235 && s->state != SMTP_AUTH_USER) {
        smtp_session_ready(s);
    } else {
        smtp_session_fail_reply(s, REPLY_AUTH);
    }
}

static void
scrub_one(char *text, const char *secret)
{
    size_t n = secret != NULL ? strlen(secret) : 0;
    char *at = text;

    if (n < SCRUB_MIN)
        return;
    while ((at = strstr(at, secret)) != NULL) {
        memset(at, '*', n);
        at += n;
    }
}

void
smtp_auth_scrub(const struct smtp_transport *t, char *text)
{
    if (t->username == NULL)
        return;
    scrub_one(text, t->auth_plain);
    scrub_one(text, t->auth_password);
    scrub_one(text, t->auth_user);
    scrub_one(text, t->password);
    scrub_one(text, t->username);
}
