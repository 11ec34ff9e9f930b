#include "sink_session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "sink_mail.h"

/*
 * One session of the sink. Input is read into one shared buffer and consumed at once: commands line by
 * line (a partial one is kept), message bytes by a scanner that looks for CR LF . CR LF across reads and
 * keeps them only when mail is stored. Replies to everything that came in one read leave in one write,
 * after the delays asked for; nothing is read meanwhile.
 *
 * The promise the tests rest on: `unlogged` is appended to the log only by reply_gone(), when the final
 * reply has been written to the socket in full.
 */

#define READ_BYTES     262144
#define LINE_MAX       4096
#define RECIPIENTS_MAX 1000

enum mode { MODE_COMMAND, MODE_AUTH, MODE_DATA, MODE_STALLED };

struct sink_session {
    struct heap_node timer;
    struct list node;
    struct sink *sink;
    int fd;
    enum mode mode;
    unsigned events; /* asked of epoll */
    bool is_held;    /* replies wait for a timer */
    bool is_trickling;
    bool is_closing;   /* close when the replies are out */
    bool is_body_seen; /* the rule for the body has been asked */
    int64_t hold_ms, trickle_ms;
    struct buf line, out;
    size_t out_off;
    struct buf client_name; /* as given at EHLO or HELO */
    struct sink_mail mail;
    unsigned match; /* bytes of CR LF . CR LF seen */
    struct buf unlogged;
    unsigned n_unlogged;
};

static char shared[READ_BYTES];

static int64_t
clock_ms(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
sink_wall_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

int64_t
sink_mono_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

static void
watch(struct sink_session *s, unsigned events)
{
    struct epoll_event ev = {.events = events, .data.ptr = s};

    if (events == s->events)
        return;
    epoll_ctl(s->sink->epoll_fd, EPOLL_CTL_MOD, s->fd, &ev);
    s->events = events;
}

static void
session_free(struct sink_session *s)
{
    heap_del(&s->sink->timers, &s->timer);
    list_del(&s->node);
    s->sink->n_sessions--;
    close(s->fd);
    buf_deinit(&s->line);
    buf_deinit(&s->out);
    buf_deinit(&s->client_name);
    sink_mail_deinit(&s->mail);
    buf_deinit(&s->unlogged);
    mem_free(s);
}

static void
set_timer(struct sink_session *s, int64_t delay_ms)
{
    heap_del(&s->sink->timers, &s->timer);
    heap_add(&s->sink->timers, &s->timer, (uint64_t)(sink_mono_ms() + delay_ms));
}

/* ---- mail ---------------------------------------------------------------------------------- */

/* The replies that waited are with the kernel: now the mails they confirmed may be logged. */
static void
reply_gone(struct sink_session *s)
{
    struct sink *sink = s->sink;

    buf_clear(&s->out);
    s->out_off = 0;
    if (s->n_unlogged == 0)
        return;
    sink->n_mails++;
    sink->n_recipients += s->n_unlogged;
    if (sink->log_fd >= 0 &&
        write(sink->log_fd, s->unlogged.p, s->unlogged.n) != (ssize_t)s->unlogged.n)
        fprintf(stderr, "smtp_sink: log: %s\n", strerror(errno));
    buf_clear(&s->unlogged);
    s->n_unlogged = 0;
}

static void
note_mail(struct sink_session *s)
{
    struct sink *sink = s->sink;

    s->n_unlogged += sink_mail_log(&s->mail, sink_wall_ms(), &s->unlogged);
    sink->n_bytes += s->mail.body_bytes;
    if (sink->store_dir != NULL)
        sink_mail_store(&s->mail, sink->store_dir, ++sink->n_stored, buf_slice(&s->client_name));
}

/* ---- replies ------------------------------------------------------------------------------- */

static void
say(struct sink_session *s, const char *reply)
{
    buf_append_str(&s->out, reply);
    buf_append_str(&s->out, "\r\n");
}

/* Apply the script at `stage`. True when the normal reply is to follow. */
static bool
ask_rules(struct sink_session *s, enum sink_stage stage, struct slice address)
{
    struct sink_verdict v = {SINK_NORMAL, NULL, 0};

    if (s->sink->rules != NULL)
        v = sink_rules_ask(s->sink->rules, stage, address, s->sink->n_mails, sink_mono_ms());
    switch (v.action) {
    case SINK_NORMAL: return true;
    case SINK_REPLY:
        say(s, v.reply);
        s->sink->n_refused++;
        if (strncmp(v.reply, "421", 3) == 0)
            s->is_closing = true;
        return false;
    case SINK_DROP:
        buf_clear(&s->out);
        buf_clear(&s->unlogged);
        s->n_unlogged = 0;
        s->sink->n_dropped++;
        s->is_closing = true;
        return false;
    case SINK_STALL: s->mode = MODE_STALLED; return false;
    case SINK_TRICKLE: s->trickle_ms = v.ms; return true;
    case SINK_DELAY: s->hold_ms += v.ms; return true;
    }
    return true;
}

static void
say_ehlo(struct sink_session *s)
{
    if (!s->sink->has_extensions) {
        say(s, "250 sink.example");
        return;
    }
    say(s, "250-sink.example");
    if (s->sink->auth != NULL)
        say(s, "250-AUTH PLAIN LOGIN");
    say(s, "250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 SIZE 52428800");
}

/* ---- commands ------------------------------------------------------------------------------ */

/* The address in "MAIL FROM:<a@b> SIZE=1", with or without brackets. */
static struct slice
path_of(struct slice line)
{
    ptrdiff_t colon = slice_find_char(line, ':'), end;
    struct slice path = slice_trim(slice_from(line, colon < 0 ? line.n : (size_t)colon + 1));

    if (path.n > 0 && path.p[0] == '<') {
        path = slice_from(path, 1);
        end = slice_rfind_char(path, '>');
    } else {
        end = slice_find_char(path, ' ');
    }
    return end < 0 ? path : slice_make(path.p, (size_t)end);
}

static void
command_auth(struct sink_session *s, struct slice line)
{
    struct slice given = slice_trim(slice_from(line, sizeof("AUTH PLAIN") - 1));

    if (!ask_rules(s, SINK_AUTH, SLICE_NONE))
        return;
    if (s->sink->auth == NULL) {
        say(s, "502 5.5.1 no AUTH here");
    } else if (!slice_istarts(line, SLICE_LIT("AUTH PLAIN"))) {
        say(s, "504 5.5.4 PLAIN only");
    } else if (given.n == 0) {
        say(s, "334 ");
        s->mode = MODE_AUTH;
    } else {
        say(s, slice_eq_str(given, s->sink->auth) ? "235 2.7.0 ok" : "535 5.7.8 wrong");
    }
}

static void
command_mail(struct sink_session *s, struct slice line)
{
    struct slice from = path_of(line);

    if (!ask_rules(s, SINK_MAIL, from))
        return;
    if (!s->sink->has_extensions && !slice_ends(slice_trim(line), SLICE_LIT(">"))) {
        say(s, "501 5.5.4 no parameters here");
        s->sink->n_refused++;
        return;
    }
    sink_mail_clear(&s->mail);
    buf_append_char(&s->mail.from, '<');
    buf_append_slice(&s->mail.from, from);
    buf_append_char(&s->mail.from, '>');
    say(s, "250 2.1.0 ok");
}

static void
command_rcpt(struct sink_session *s, struct slice line)
{
    struct slice rcpt = path_of(line);

    if (s->mail.from.n == 0) {
        say(s, "503 5.5.1 MAIL first");
    } else if (s->mail.n_rcpts >= RECIPIENTS_MAX) {
        say(s, "452 4.5.3 too many recipients");
    } else if (ask_rules(s, SINK_RCPT, rcpt)) {
        buf_append_slice(&s->mail.rcpts, rcpt);
        buf_append_char(&s->mail.rcpts, '\n');
        s->mail.n_rcpts++;
        say(s, "250 2.1.5 ok");
    }
}

static void
command_data(struct sink_session *s)
{
    if (s->mail.n_rcpts == 0) {
        say(s, "503 5.5.1 RCPT first");
    } else if (ask_rules(s, SINK_DATA, sink_mail_first_rcpt(&s->mail))) {
        say(s, "354 go ahead");
        s->mode = MODE_DATA;
        s->match = 2; /* the line of DATA ended with CR LF */
        s->mail.body_bytes = 0;
        s->is_body_seen = false;
    }
}

static void
command_hello(struct sink_session *s, struct slice line, bool is_extended)
{
    if (is_extended && !ask_rules(s, SINK_EHLO, SLICE_NONE))
        return;
    buf_clear(&s->client_name);
    buf_append_slice(&s->client_name, slice_trim(slice_from(line, sizeof("EHLO ") - 1)));
    if (is_extended)
        say_ehlo(s);
    else
        say(s, "250 sink.example");
}

static void
command(struct sink_session *s, struct slice line)
{
    if (s->mode == MODE_AUTH) {
        s->mode = MODE_COMMAND;
        say(s, slice_eq_str(line, s->sink->auth) ? "235 2.7.0 ok" : "535 5.7.8 wrong");
    } else if (slice_istarts(line, SLICE_LIT("MAIL FROM:"))) {
        command_mail(s, line);
    } else if (slice_istarts(line, SLICE_LIT("RCPT TO:"))) {
        command_rcpt(s, line);
    } else if (slice_ieq(line, SLICE_LIT("DATA"))) {
        command_data(s);
    } else if (slice_istarts(line, SLICE_LIT("EHLO "))) {
        command_hello(s, line, true);
    } else if (slice_istarts(line, SLICE_LIT("HELO "))) {
        command_hello(s, line, false);
    } else if (slice_istarts(line, SLICE_LIT("AUTH "))) {
        command_auth(s, line);
    } else if (slice_ieq(line, SLICE_LIT("RSET"))) {
        sink_mail_clear(&s->mail);
        say(s, "250 2.0.0 ok");
    } else if (slice_ieq(line, SLICE_LIT("NOOP"))) {
        say(s, "250 2.0.0 ok");
    } else if (slice_ieq(line, SLICE_LIT("QUIT"))) {
        say(s, "221 2.0.0 bye");
        s->is_closing = true;
    } else {
        say(s, "500 5.5.2 unknown command");
    }
}

/* ---- input --------------------------------------------------------------------------------- */

/* Bytes of `in` up to and with the end of data, or all of it; `is_end_r` says which. */
static size_t
scan_data(struct sink_session *s, struct slice in, bool *is_end_r)
{
    static const char end[] = "\r\n.\r\n";
    size_t i = 0;

    *is_end_r = false;
    while (i < in.n) {
        const char *cr;

        if (s->match == 0) {
            if ((cr = memchr(in.p + i, '\r', in.n - i)) == NULL)
                return in.n;
            i = (size_t)(cr - in.p) + 1;
            s->match = 1;
            continue;
        }
        if (in.p[i] == end[s->match])
            s->match++;
        else
            s->match = in.p[i] == '\r' ? 1 : 0;
        i++;
        if (s->match == 5) {
            *is_end_r = true;
            return i;
        }
    }
    return in.n;
}

static size_t
take_data(struct sink_session *s, struct slice in)
{
    bool is_end;
    size_t n = scan_data(s, in, &is_end);

    if (!s->is_body_seen) {
        s->is_body_seen = true;
        if (!ask_rules(s, SINK_BODY, sink_mail_first_rcpt(&s->mail)))
            return in.n;
    }
    s->mail.body_bytes += n;
    if (s->sink->store_dir != NULL)
        buf_append(&s->mail.body, in.p, n);
    if (!is_end)
        return n;
    s->mode = MODE_COMMAND;
    if (ask_rules(s, SINK_DATA_END, sink_mail_first_rcpt(&s->mail))) {
        note_mail(s);
        say(s, "250 2.0.0 queued");
        s->hold_ms += s->sink->delay_ms;
    }
    sink_mail_clear(&s->mail);
    return n;
}

static size_t
take_line(struct sink_session *s, struct slice in)
{
    const char *lf = memchr(in.p, '\n', in.n);
    size_t n = lf != NULL ? (size_t)(lf - in.p) + 1 : in.n;
    struct slice line = slice_make(in.p, n);

    if (lf == NULL || s->line.n > 0) {
        buf_append_slice(&s->line, line);
        if (s->line.n > LINE_MAX) {
            say(s, "500 5.5.2 line too long");
            s->is_closing = true;
        }
        line = buf_slice(&s->line);
    }
    if (lf != NULL) {
        command(s, slice_trim(line));
        buf_clear(&s->line);
    }
    return n;
}

/* ---- output -------------------------------------------------------------------------------- */

/* Write what may leave now. False when the session is gone. */
static bool
flush(struct sink_session *s)
{
    size_t limit = s->is_trickling ? 1 : s->out.n - s->out_off;
    ssize_t n = 0;

    if (limit > 0)
        n = send(s->fd, s->out.p + s->out_off, limit, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) {
        session_free(s);
        return false;
    }
    s->out_off += n > 0 ? (size_t)n : 0;
    if (s->out_off < s->out.n) {
        if (s->is_trickling)
            set_timer(s, s->trickle_ms);
        else
            watch(s, EPOLLOUT);
        return true;
    }
    reply_gone(s);
    s->is_held = s->is_trickling = false;
    s->trickle_ms = 0;
    if (s->is_closing) {
        session_free(s);
        return false;
    }
    watch(s, EPOLLIN);
    if (sink_rules_close_idle_ms(s->sink->rules) > 0 && s->mode == MODE_COMMAND)
        set_timer(s, sink_rules_close_idle_ms(s->sink->rules));
    return true;
}

/* Replies are complete for now: let them go, or hold them as long as asked. */
static bool
answer(struct sink_session *s)
{
    int64_t hold_ms = s->hold_ms;

    s->hold_ms = 0;
    if (s->mode == MODE_STALLED) {
        watch(s, 0);
        return true;
    }
    if (s->out.n == 0 && !s->is_closing)
        return true;
    if (s->out.n > 0)
        hold_ms += s->sink->rt_delay_ms;
    s->is_trickling = s->trickle_ms > 0;
    if (hold_ms == 0 && !s->is_trickling)
        return flush(s);
    s->is_held = true;
    watch(s, 0);
    set_timer(s, hold_ms > 0 ? hold_ms : s->trickle_ms);
    return true;
}

static void
on_readable(struct sink_session *s)
{
    ssize_t n = recv(s->fd, shared, sizeof(shared), 0);
    struct slice in;

    if (n <= 0) {
        if (n == 0 || errno != EAGAIN)
            session_free(s);
        return;
    }
    heap_del(&s->sink->timers, &s->timer); /* no longer idle */
    in = slice_make(shared, (size_t)n);
    while (in.n > 0 && !s->is_closing && s->mode != MODE_STALLED)
        in = slice_from(in, s->mode == MODE_DATA ? take_data(s, in) : take_line(s, in));
    (void)answer(s);
}

void
sink_session_ready(struct sink_session *s, unsigned events)
{
    if (events & EPOLLOUT)
        (void)flush(s);
    else if ((events & EPOLLIN) && (s->events & EPOLLIN))
        on_readable(s);
    else if (events & (EPOLLHUP | EPOLLERR))
        session_free(s);
}

void
sink_session_start(struct sink *sink, int fd)
{
    struct sink_session *s = mem_zalloc(sizeof(*s));
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};
    unsigned limit = sink_rules_max_sessions(sink->rules);

    s->sink = sink;
    s->fd = fd;
    s->events = EPOLLIN;
    list_push_back(&sink->sessions, &s->node);
    epoll_ctl(sink->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
    sink->n_connections++;
    if (++sink->n_sessions > sink->max_sessions)
        sink->max_sessions = sink->n_sessions;
    if (limit > 0 && sink->n_sessions > limit) {
        say(s, "421 4.7.0 too many connections");
        s->is_closing = true;
    } else if (ask_rules(s, SINK_GREETING, SLICE_NONE)) {
        say(s, sink->has_extensions ? "220 sink.example ESMTP"
                                    : "220-sink.example\r\n220-be nice\r\n220 ready");
    }
    (void)answer(s);
}

int
sink_sessions_tick(struct sink *sink)
{
    int64_t now_ms = sink_mono_ms();
    struct heap_node *node;

    while ((node = heap_min(&sink->timers)) != NULL && (int64_t)node->key <= now_ms) {
        struct sink_session *s = LIST_ENTRY(node, struct sink_session, timer);

        heap_del(&sink->timers, node);
        if (s->is_held || s->is_trickling)
            (void)flush(s);
        else
            session_free(s); /* close-idle */
    }
    return node != NULL ? (int)((int64_t)node->key - now_ms) : -1;
}

void
sink_sessions_kill(struct sink *sink)
{
    LIST_EACH(node, next, &sink->sessions)
    session_free(LIST_ENTRY(node, struct sink_session, node));
}
