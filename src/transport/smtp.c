#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "net/net_conn.h"
#include "net/net_tls.h"
#include "transport/smtp_internal.h"

/*
 * The SMTP kind of transport: checks the settings and keeps what its sessions share: resolver, TLS
 * settings, encoded credentials, time-outs. Sessions live in smtp_session.c and smtp_txn.c.
 */

#define HOST_MAX       253
#define CREDENTIAL_MAX 1024
#define CONNECT_MS     30000
#define GREETING_MS    300000 /* this and the next ones: RFC 5321 §4.5.3.2 */
#define COMMAND_MS     300000
#define DATA_START_MS  120000
#define DATA_BLOCK_MS  180000
#define DATA_END_MS    600000
#define IDLE_MS        30000

static int64_t
or_default(int64_t value_ms, int64_t default_ms)
{
    return value_ms > 0 ? value_ms : default_ms;
}

/* Host names go into commands and queries: printable ASCII without blanks. */
static bool
is_host(const char *s)
{
    size_t n = s != NULL ? strlen(s) : 0;

    if (n == 0 || n > HOST_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] <= ' ' || s[i] > '~' || strchr("<>@/\\\"", s[i]) != NULL)
            return false;
    }
    return true;
}

static int
check_settings(const struct transport_settings *s, struct err *err)
{
    if (!is_host(s->host))
        return err_field(err, "host", "must be a host name or an address");
    if (s->port < 1 || s->port > 65535)
        return err_field(err, "port", "must be between 1 and 65535");
    if (!is_host(s->ehlo_name))
        return err_field(err, "ehlo_name", "must be the name of this host");
    if ((s->username == NULL) != (s->password == NULL))
        return err_field(err, "username", "user name and password go together");
    if (s->username != NULL &&
        (strlen(s->username) > CREDENTIAL_MAX || strlen(s->password) > CREDENTIAL_MAX))
        return err_field(err, "password", "user name or password is too long");
    return 0;
}

static struct transport_session *
smtp_open(struct transport *t)
{
    struct smtp_session *s = mem_zalloc(sizeof(*s));

    s->base.t = t;
    smtp_session_connect(s);
    return &s->base;
}

static void
smtp_send(struct transport_session *base)
{
    struct smtp_session *s = (struct smtp_session *)(void *)base;

    loop_timer_cancel(&s->more_timer);
    s->txn.is_replaced = false;
    if (s->state == SMTP_NO_CONN)
        smtp_session_connect(s);
    else
        smtp_txn_start(s);
}

static void
smtp_close(struct transport_session *base)
{
    smtp_session_quit((struct smtp_session *)(void *)base);
}

static void
smtp_touch(struct transport_session *base)
{
    struct smtp_session *s = (struct smtp_session *)(void *)base;

    loop_timer_cancel(&s->more_timer);
    if (s->state == SMTP_IDLE) {
        smtp_deadline(s, smtp_transport_of(s)->timeouts.idle);
    } else if (base->state == SESSION_READY) {
        /* Released after the peer had closed it: end at the next turn. */
        smtp_session_expire(s);
    }
}

static void
smtp_free_session(struct transport_session *base)
{
    struct smtp_session *s = (struct smtp_session *)(void *)base;

    smtp_session_disconnect(s);
    mem_free(s);
}

static void
smtp_free(struct transport *base)
{
    struct smtp_transport *t = (struct smtp_transport *)(void *)base;

    net_resolver_free(&t->resolver);
    net_tls_free(&t->tls);
    smtp_auth_deinit(t);
    mem_free(t->host);
    mem_free(t->ehlo_name);
    mem_free(t);
}

static const struct transport_ops smtp_ops = {
    .open = smtp_open,
    .send = smtp_send,
    .close = smtp_close,
    .touch = smtp_touch,
    .free_session = smtp_free_session,
    .free = smtp_free,
};

struct transport *
transport_smtp_create(struct loop *l, struct workers *cpu,
    const struct transport_settings *settings, const struct transport_events *events, void *arg,
    struct err *err)
{
    struct smtp_transport *t;
    struct net_tls *tls = NULL;

    if (check_settings(settings, err) != 0)
        return NULL;
    if (settings->tls != TRANSPORT_TLS_NONE &&
        (tls = net_tls_create(settings->ca_file, settings->tls_verify, err)) == NULL)
        return NULL;
    t = mem_zalloc(sizeof(*t));
    transport_setup(&t->base, &smtp_ops, l, cpu, settings, events, arg);
    t->tls = tls;
    t->tls_mode = settings->tls;
    t->resolver = net_resolver_create(l, cpu);
    t->host = mem_strdup(settings->host);
    t->port = settings->port;
    t->ehlo_name = mem_strdup(settings->ehlo_name);
    if (settings->username != NULL)
        smtp_auth_init(t, settings->username, settings->password);
    t->timeouts = (struct smtp_timeouts){
        .connect = or_default(settings->connect_ms, CONNECT_MS),
        .greeting = or_default(settings->greeting_ms, GREETING_MS),
        .command = or_default(settings->command_ms, COMMAND_MS),
        .data_start = or_default(settings->data_start_ms, DATA_START_MS),
        .data_block = or_default(settings->data_block_ms, DATA_BLOCK_MS),
        .data_end = or_default(settings->data_end_ms, DATA_END_MS),
        .idle = or_default(settings->idle_ms, IDLE_MS),
    };
    return &t->base;
}
