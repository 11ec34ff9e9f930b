#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "transport/transport_internal.h"

/*
 * `capture` delivers into a folder: one file per mail, named after send, generation and attempt and
 * created with O_EXCL, so that a mail sent twice cannot hide. As a delivery agent would, it writes the
 * envelope as Return-Path and Delivered-To above the message. Files are written by CPU workers; a
 * session is a slot for one file at a time and is always open.
 *
 * A job outlives its transport when that is freed while a worker writes: the back pointer is cleared.
 */

#define BUSY_RETRY_MS 5

struct capture {
    struct transport base;
    char *dir;
};

struct capture_job {
    struct capture_session *session; /* NULL once it is gone */
    char *path;
    struct buf content; /* a copy: a job may outlive its transport and the mail with it */
    uint64_t started_us;
    int error; /* errno, 0 = written */
};

struct capture_session {
    struct transport_session base;
    struct capture_job *job; /* on a worker */
    struct loop_timer *timer;
};

static struct capture_session *
session_of(struct transport_session *s)
{
    return (struct capture_session *)(void *)s;
}

/* ---- one file ------------------------------------------------------------------------------ */

static int
write_all(int fd, struct slice rest)
{
    while (rest.n > 0) {
        ssize_t done = write(fd, rest.p, rest.n);

        if (done < 0 && errno != EINTR)
            return errno;
        if (done > 0)
            rest = slice_from(rest, (size_t)done);
    }
    return 0;
}

static void
job_run(void *arg)
{
    struct capture_job *j = arg;
    int fd = open(j->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0) {
        j->error = errno;
        return;
    }
    j->error = write_all(fd, buf_slice(&j->content));
    if (close(fd) != 0 && j->error == 0)
        j->error = errno;
    if (j->error != 0)
        unlink(j->path);
}

static void
job_result(const struct capture_job *j, struct transport_result *r)
{
    const char *name = strrchr(j->path, '/') + 1;

    memset(r, 0, sizeof(*r));
    r->wire_us = clock_mono_us() - j->started_us;
    if (j->error == 0) {
        r->outcome = TRANSPORT_ACCEPTED;
        r->reply_code = 250;
        snprintf(r->text, sizeof(r->text), "captured as %.200s", name);
    } else if (j->error == EEXIST) {
        r->outcome = TRANSPORT_REFUSED;
        r->fail_class = FAIL_MESSAGE;
        snprintf(r->text, sizeof(r->text), "sent twice: %.200s exists already", name);
    } else {
        r->outcome = TRANSPORT_DEFERRED;
        r->fail_class = FAIL_NETWORK;
        snprintf(r->text, sizeof(r->text), "capture %.200s: %s", name, strerror(j->error));
    }
}

static void
job_free(struct capture_job *j)
{
    mem_free(j->path);
    buf_deinit(&j->content);
    mem_free(j);
}

static void
job_done(void *arg)
{
    struct capture_job *j = arg;
    struct capture_session *s = j->session;
    struct transport_result result;

    if (s != NULL) {
        s->job = NULL;
        job_result(j, &result);
        transport_session_done(&s->base, &result);
        transport_session_up(&s->base);
    }
    job_free(j);
}

/* ---- session ------------------------------------------------------------------------------- */

static struct capture_job *
job_create(struct capture_session *s)
{
    const struct capture *t = (const struct capture *)(const void *)s->base.t;
    const struct transport_mail *mail = s->base.mail;
    struct capture_job *j = mem_zalloc(sizeof(*j));
    size_t size_bytes = strlen(t->dir) + ID_TEXT_SIZE + 32;
    char id[ID_TEXT_SIZE];

    j->session = s;
    j->path = mem_alloc(size_bytes);
    snprintf(j->path, size_bytes, "%s/%s-%u-%u.eml", t->dir, id_text(mail->send, id),
        mail->generation, mail->attempt);
    buf_reserve(&j->content, mail->data.n + mail->env_from.n + mail->env_to.n + 64);
    buf_append_str(&j->content, "Return-Path: <");
    buf_append_slice(&j->content, mail->env_from);
    buf_append_str(&j->content, ">\r\nDelivered-To: ");
    buf_append_slice(&j->content, mail->env_to);
    buf_append_str(&j->content, "\r\n");
    buf_append_slice(&j->content, mail->data);
    j->started_us = clock_mono_us();
    return j;
}

static void
on_submit(void *arg)
{
    struct capture_session *s = arg;
    struct capture_job *j;

    s->timer = NULL;
    if (!transport_may_commit(s->base.t)) {
        struct transport_result result = {.outcome = TRANSPORT_DEFERRED,
            .fail_class = FAIL_NETWORK,
            .text = "held back: this instance may not send now"};

        transport_session_done(&s->base, &result);
        transport_session_up(&s->base);
        return;
    }
    j = job_create(s);
    if (workers_submit(s->base.t->cpu, job_run, job_done, j)) {
        s->job = j;
        return;
    }
    job_free(j);
    s->timer = loop_timer_start(s->base.t->loop, BUSY_RETRY_MS, on_submit, s);
}

static void
capture_send(struct transport_session *base)
{
    struct capture_session *s = session_of(base);

    s->timer = loop_timer_start(base->t->loop, 0, on_submit, s);
}

static void
on_open(void *arg)
{
    struct capture_session *s = arg;

    s->timer = NULL;
    transport_session_up(&s->base);
}

static struct transport_session *
capture_open(struct transport *t)
{
    struct capture_session *s = mem_zalloc(sizeof(*s));

    s->timer = loop_timer_start(t->loop, 0, on_open, s);
    return &s->base;
}

static void
capture_close(struct transport_session *s)
{
    transport_session_gone(s, NULL);
}

static void
capture_free_session(struct transport_session *base)
{
    struct capture_session *s = session_of(base);

    loop_timer_cancel(&s->timer);
    if (s->job != NULL)
        s->job->session = NULL;
    mem_free(s);
}

static void
capture_free(struct transport *base)
{
    struct capture *t = (struct capture *)(void *)base;

    mem_free(t->dir);
    mem_free(t);
}

static const struct transport_ops capture_ops = {
    .open = capture_open,
    .send = capture_send,
    .close = capture_close,
    .free_session = capture_free_session,
    .free = capture_free,
};

struct transport *
transport_capture_create(struct loop *l, struct workers *cpu,
    const struct transport_settings *settings, const struct transport_events *events, void *arg,
    struct err *err)
{
    struct capture *t;

    if (settings->capture_dir == NULL || settings->capture_dir[0] == '\0') {
        err_field(err, "capture_dir", "names the folder for captured mail");
        return NULL;
    }
    if (file_mkdirs(settings->capture_dir, 0700, err) != 0)
        return NULL;
    t = mem_zalloc(sizeof(*t));
    transport_setup(&t->base, &capture_ops, l, cpu, settings, events, arg);
    t->dir = mem_strdup(settings->capture_dir);
    return &t->base;
}
