/*
 * Many sessions against smtp_sink, a server in a process of its own: every mail has one result, and the
 * sink's log agrees with it: accepted mails are in it once, refused and doubtful ones never. The sink
 * limits sessions, drops mails after the dot, throttles, dies and comes back.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/suite.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "transport/transport.h"

#define MAILS_MAX 2000
#define LIMIT_MS  120000

struct mail {
    struct transport_mail mail;
    char to[40];
    bool is_done;
    struct transport_result result;
    unsigned n_logged;
};

struct pool {
    pid_t sink;
    FILE *sink_out;
    char log[512], script[512];
    struct loop *loop;
    struct workers *workers;
    struct transport *t;
    struct mail mails[MAILS_MAX];
    unsigned n_mails, n_given, n_done, n_down, n_trouble;
    struct transport_result trouble;
    unsigned max_sessions_seen;
    void (*on_each)(struct pool *p); /* after each result */
    bool is_idle;                    /* give no mail */
};

/* ---- the sink ------------------------------------------------------------------------------ */

static unsigned
start_sink(struct pool *p, const char *script)
{
    char line[64] = "";
    unsigned port = 0;
    int fds[2];

    snprintf(p->log, sizeof(p->log), "%s", suite_path("sink.log"));
    snprintf(p->script, sizeof(p->script), "%s", suite_path("sink.script"));
    unlink(p->log);
    ck_assert_int_eq(file_write(p->script, slice_str(script), 0600, NULL), 0);
    ck_assert_int_eq(pipe(fds), 0);
    if ((p->sink = fork()) == 0) {
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        execl(SMTP_SINK, "smtp_sink", "--log", p->log, "--script", p->script, (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    p->sink_out = fdopen(fds[0], "r");
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), p->sink_out));
    ck_assert_int_eq(sscanf(line, "port %u", &port), 1);
    return port;
}

/* End the sink; returns the counter named `name=` from its last words. */
static unsigned long
stop_sink(struct pool *p, const char *name)
{
    char line[512] = "";
    int status;
    const char *at;

    kill(p->sink, SIGTERM);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), p->sink_out));
    fclose(p->sink_out);
    waitpid(p->sink, &status, 0);
    ck_assert_int_eq(status, 0);
    ck_assert_ptr_nonnull(at = strstr(line, name));
    return strtoul(at + strlen(name), NULL, 10);
}

static void
read_log(struct pool *p)
{
    struct buf text = BUF_INIT;
    struct slice rest, line, word;

    ck_assert_int_eq(file_read(p->log, 10000000, &text, NULL), 0);
    rest = buf_slice(&text);
    while (slice_cut(&rest, '\n', &line)) {
        unsigned long i;

        if (line.n == 0)
            continue;
        ck_assert(slice_cut(&line, ' ', &word) && slice_cut(&line, ' ', &word));
        i = strtoul(word.p + 1, NULL, 10); /* u<i>@... */
        ck_assert_uint_lt(i, p->n_mails);
        p->mails[i].n_logged++;
    }
    buf_deinit(&text);
}

/* ---- the transport ------------------------------------------------------------------------- */

static void
on_ready(struct transport_session *s, void *arg)
{
    struct pool *p = arg;

    if (transport_sessions(p->t) > p->max_sessions_seen)
        p->max_sessions_seen = transport_sessions(p->t);
    if (p->is_idle)
        return;
    if (p->n_given < p->n_mails)
        transport_send(s, &p->mails[p->n_given++].mail);
    else
        transport_want(p->t, 0);
}

static void
on_done(struct transport_session *s, const struct transport_mail *mail,
    const struct transport_result *result, void *arg)
{
    struct pool *p = arg;
    struct mail *m = mail->tag;

    ck_assert(!m->is_done);
    m->is_done = true;
    m->result = *result;
    p->n_done++;
    if (p->on_each != NULL)
        p->on_each(p);
}

static void
on_down(struct transport_session *s, const struct transport_result *why, void *arg)
{
    struct pool *p = arg;

    p->n_down++;
    if (why != NULL) {
        p->n_trouble++;
        p->trouble = *why;
    }
}

static struct pool *
pool_create(unsigned n_mails, unsigned n_sessions, const char *script)
{
    static const struct transport_events events = {on_ready, on_done, on_down, NULL};
    struct transport_settings settings = {.kind = "smtp",
        .host = "127.0.0.1",
        .ehlo_name = "client.example",
        .max_sessions = n_sessions};
    struct pool *p = calloc(1, sizeof(*p));
    struct err err;

    p->n_mails = n_mails;
    for (unsigned i = 0; i < n_mails; i++) {
        struct mail *m = &p->mails[i];

        snprintf(m->to, sizeof(m->to), "u%u@d%u.example", i, i % 10);
        m->mail = (struct transport_mail){.send = i + 1,
            .env_from = SLICE_LIT("b@ex.org"),
            .env_to = slice_str(m->to),
            .data = SLICE_LIT("Subject: x\r\n\r\nhello\r\n"),
            .tag = m};
    }
    settings.port = start_sink(p, script);
    p->loop = loop_create();
    p->workers = workers_create(p->loop, "pool", 1, 16);
    p->t = transport_create(p->loop, p->workers, &settings, &events, p, &err);
    ck_assert_msg(p->t != NULL, "%s", err.text);
    transport_want(p->t, n_sessions);
    return p;
}

static void
run(struct pool *p)
{
    int64_t limit_ms = clock_mono_ms() + LIMIT_MS;

    while (p->n_done < p->n_mails) {
        loop_turn(p->loop, 50);
        ck_assert_msg(clock_mono_ms() < limit_ms, "%u of %u done", p->n_done, p->n_mails);
    }
}

static void
pool_free(struct pool *p)
{
    transport_free(&p->t);
    workers_free(&p->workers);
    loop_free(&p->loop);
    free(p);
}

/* The log holds exactly the accepted ones; doubtful ones may be there, once. Returns the accepted. */
static unsigned
check_log(struct pool *p, bool is_doubt_logged)
{
    unsigned n = 0;

    read_log(p);
    for (unsigned i = 0; i < p->n_mails; i++) {
        const struct mail *m = &p->mails[i];
        bool is_accepted = m->result.outcome == TRANSPORT_ACCEPTED;

        ck_assert(m->is_done);
        n += is_accepted;
        if (m->result.outcome == TRANSPORT_IN_DOUBT && is_doubt_logged)
            ck_assert_uint_le(m->n_logged, 1);
        else
            ck_assert_msg(m->n_logged == is_accepted, "mail %u: outcome %d, %u times in the log", i,
                m->result.outcome, m->n_logged);
    }
    return n;
}

START_TEST(test_many)
{
    struct pool *p = pool_create(MAILS_MAX, 8, "");

    run(p);
    ck_assert_uint_eq(check_log(p, false), MAILS_MAX);
    ck_assert_uint_eq(p->n_trouble, 0);
    ck_assert_uint_eq(p->max_sessions_seen, 8);
    ck_assert_uint_eq(stop_sink(p, "connections="), 8);
    pool_free(p);
}
END_TEST

/* The relay takes three sessions: the others are given up without slowing those three down. */
START_TEST(test_relay_limit)
{
    struct pool *p = pool_create(1000, 8, "max-sessions 3\n");

    run(p);
    ck_assert_uint_eq(check_log(p, false), 1000);
    ck_assert_uint_eq(p->max_sessions_seen, 3);
    ck_assert_uint_ge(p->n_trouble, 1);
    ck_assert_uint_le(p->n_trouble, 8);
    ck_assert_int_eq(p->trouble.scope, TRANSPORT_SCOPE_MAIL);
    ck_assert_int_eq(p->trouble.reply_code, 421);
    stop_sink(p, "mails=");
    pool_free(p);
}
END_TEST

START_TEST(test_refusals)
{
    struct pool *p = pool_create(500, 4,
        "rcpt @d3.example 550 5.1.1 No such user\n"
        "every=10 data-end @d4.example drop\n"
        "rcpt @d5.example greylist 300s\n"
        "data-end @d6.example trickle 1ms\n"
        "every=5 body @d7.example drop\n");
    unsigned n[4] = {0};

    run(p);
    check_log(p, false);
    for (unsigned i = 0; i < p->n_mails; i++) {
        const struct transport_result *r = &p->mails[i].result;

        n[r->outcome]++;
        ck_assert_int_eq(r->outcome == TRANSPORT_REFUSED, i % 10 == 3);
        if (i % 10 == 5)
            ck_assert_int_eq(r->retry_after_ms, 300000);
    }
    ck_assert_uint_eq(n[TRANSPORT_REFUSED], 50);
    ck_assert_uint_eq(n[TRANSPORT_IN_DOUBT], 5 + 10);
    ck_assert_uint_eq(n[TRANSPORT_DEFERRED], 50);
    ck_assert_uint_eq(n[TRANSPORT_ACCEPTED], 500 - 50 - 15 - 50);
    stop_sink(p, "mails=");
    pool_free(p);
}
END_TEST

static void
kill_in_the_middle(struct pool *p)
{
    if (p->n_done != p->n_mails / 2)
        return;
    kill(p->sink, SIGUSR1);
}

/* The server dies in the middle and comes back: what was under way is deferred or in doubt, what comes
 * after waits for the backoff and goes. */
START_TEST(test_death)
{
    struct pool *p = pool_create(1000, 6, "");
    int64_t limit_ms = clock_mono_ms() + LIMIT_MS;
    unsigned n_unsettled = 0;

    p->on_each = kill_in_the_middle;
    while (transport_backoff_ms(p->t) == 0) {
        loop_turn(p->loop, 50);
        ck_assert(clock_mono_ms() < limit_ms && p->n_done < p->n_mails);
    }
    ck_assert_uint_eq(transport_sessions(p->t), 0);
    /* Each failure makes the next wait longer, up to a minute. */
    for (int i = 0; i < 8; i++) {
        unsigned before = p->n_trouble;
        int64_t backoff_ms = transport_backoff_ms(p->t);

        ck_assert_int_le(backoff_ms, 60000);
        clock_step(backoff_ms);
        while (p->n_trouble == before)
            loop_turn(p->loop, 50);
        ck_assert_int_ge(transport_backoff_ms(p->t) + 100, backoff_ms < 60000 ? backoff_ms : 59000);
    }
    kill(p->sink, SIGUSR2);
    usleep(100000);
    clock_step(61000);
    run(p);
    check_log(p, true);
    for (unsigned i = 0; i < p->n_mails; i++)
        n_unsettled += p->mails[i].result.outcome != TRANSPORT_ACCEPTED;
    ck_assert_uint_le(n_unsettled, 12); /* one per session, and one per session just opened */
    stop_sink(p, "mails=");
    pool_free(p);
}
END_TEST

/* Sessions that the server closes after a while without a word cost no mail. */
START_TEST(test_close_idle)
{
    struct pool *p = pool_create(40, 4, "close-idle 30ms\n");

    p->n_mails = 20;
    run(p);
    for (int i = 0; i < 20; i++)
        loop_turn(p->loop, 10);
    p->n_mails = 40;
    transport_want(p->t, 4);
    run(p);
    ck_assert_uint_eq(check_log(p, false), 40);
    ck_assert_uint_eq(p->n_trouble, 0);
    stop_sink(p, "mails=");
    pool_free(p);
}
END_TEST

/* A server that hangs up as soon as it has greeted is not called again and again. */
START_TEST(test_hang_up)
{
    struct pool *p =
        pool_create(0, 1, "close-idle 60ms\n"); /* behind EHLO, also on a busy machine */

    p->is_idle = true;
    for (int i = 0; i < 60; i++)
        loop_turn(p->loop, 5);
    ck_assert_uint_ge(p->n_down, 1);
    ck_assert_uint_le(p->n_down, 2);
    ck_assert_uint_eq(p->n_trouble, 0);
    ck_assert_int_gt(transport_backoff_ms(p->t), 0);
    stop_sink(p, "mails=");
    pool_free(p);
}
END_TEST

SUITE_MAIN("smtp_pool", test_many, test_relay_limit, test_refusals, test_death, test_close_idle,
    test_hang_up)
