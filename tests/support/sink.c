/*
 * smtp_sink: an SMTP server for tests and measurements that takes mail, counts it and throws it away.
 * One thread, epoll, listens on 127.0.0.1.
 *
 *   smtp_sink [--port N] [--delay-ms N] [--rt-delay-ms N] [--log FILE] [--store DIR]
 *             [--script FILE] [--auth USER:PASSWORD] [--no-extensions]
 *
 *   --port N         0 (default) takes a free one; the first line on stdout is "port N"
 *   --delay-ms N     wait before the reply to the final dot
 *   --rt-delay-ms N  wait before the replies to whatever came in one read: a round trip
 *   --log FILE       append "<epoch ms> <recipient> <bytes>" per recipient, after the final reply has
 *                    been written to the socket and never before
 *   --store DIR      keep each mail as NNNNNN.eml (dots taken out) and NNNNNN.env: "ehlo NAME",
 *                    "from <ADDRESS>", and a line per recipient
 *   --script FILE    rules, see below
 *   --auth U:P       offer AUTH PLAIN and accept these credentials
 *   --no-extensions  a small, chatty server: greets in three lines, answers EHLO with a bare 250 and
 *                    MAIL FROM with any parameter with 501
 *
 * Signals: SIGUSR1 dies as a server would (closes everything, refuses connections), SIGUSR2 comes back
 * on the same port, SIGHUP reads the script again, SIGTERM and SIGINT print the counters and end:
 *   mails=… recipients=… bytes=… connections=… max_sessions=… refused=… dropped=… cpu_us=…
 *
 * Script: one rule a line, "#" begins a comment, the first rule that matches decides.
 *   [after=N] [every=N] [times=N] [for=DURATION] STAGE PATTERN ACTION
 *     STAGE     greeting ehlo auth mail rcpt data body data-end (PATTERN is "*" before mail)
 *     PATTERN   an address, @domain, or *; the sender at mail, the (first) recipient afterwards
 *     ACTION    CODE TEXT (421 closes) | drop | stall | delay DURATION | trickle DURATION (per byte)
 *               | greylist DURATION (451 until that long after the address was first seen)
 *     after=N   only once N mails have been accepted;  every=N  only each Nth time it is met
 *     times=N   only N times;  for=DURATION  only that long after it first applied
 *   close-idle DURATION   close a session that has been idle so long, without a word
 *   max-sessions N        answer further connections with 421
 *   DURATION is "300s", "20ms" or a number of seconds.
 * Examples:
 *   rcpt user@dead.example 550 5.1.1 No such user here
 *   after=20 for=30s data-end * 454 4.7.0 Throttling failure: Maximum sending rate exceeded
 *   rcpt @grey.example greylist 300s
 *   every=100 data-end * drop
 */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base64.h"
#include "sink_session.h"

struct program {
    struct sink sink;
    const char *script;
    unsigned port;
    int listen_fd, signal_fd;
    bool is_listening;
    struct buf auth;
};

/* Markers for the two descriptors that are no sessions. */
static char listen_mark, signal_mark;

static void
die(const char *what)
{
    fprintf(stderr, "smtp_sink: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void
set_auth(struct program *p, const char *text)
{
    struct slice all = slice_str(text), user;
    struct buf plain = BUF_INIT;

    slice_cut(&all, ':', &user);
    buf_append_char(&plain, '\0');
    buf_append_slice(&plain, user);
    buf_append_char(&plain, '\0');
    buf_append_slice(&plain, all);
    base64_encode(buf_slice(&plain), &p->auth);
    p->sink.auth = buf_cstr(&p->auth);
    buf_deinit(&plain);
}

static int64_t
number(const char *text)
{
    uint64_t n;

    if (!slice_u64(slice_str(text), &n) || n > 86400000) {
        fprintf(stderr, "smtp_sink: \"%s\" is no number that makes sense here\n", text);
        exit(EXIT_FAILURE);
    }
    return (int64_t)n;
}

static void
parse_options(struct program *p, int argc, char **argv)
{
    static const struct option options[] = {{"port", required_argument, NULL, 'p'},
        {"delay-ms", required_argument, NULL, 'd'}, {"rt-delay-ms", required_argument, NULL, 'r'},
        {"log", required_argument, NULL, 'l'}, {"store", required_argument, NULL, 's'},
        {"script", required_argument, NULL, 'x'}, {"auth", required_argument, NULL, 'a'},
        {"no-extensions", no_argument, NULL, 'n'}, {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 'p': p->port = (unsigned)number(optarg); break;
        case 'd': p->sink.delay_ms = number(optarg); break;
        case 'r': p->sink.rt_delay_ms = number(optarg); break;
        case 'l':
            p->sink.log_fd = open(optarg, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
            if (p->sink.log_fd < 0)
                die(optarg);
            break;
        case 's':
            p->sink.store_dir = optarg;
            if (mkdir(optarg, 0755) != 0 && errno != EEXIST)
                die(optarg);
            break;
        case 'x': p->script = optarg; break;
        case 'a': set_auth(p, optarg); break;
        case 'n': p->sink.has_extensions = false; break;
        default: exit(EXIT_FAILURE);
        }
    }
}

static void
add_fd(struct program *p, int fd, void *mark)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = mark};

    if (epoll_ctl(p->sink.epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
        die("epoll");
}

static int
bind_port(unsigned port, unsigned *port_r)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof(in)) != 0)
        die("bind");
    getsockname(fd, (struct sockaddr *)&in, &len);
    *port_r = ntohs(in.sin_port);
    return fd;
}

/* The port is taken once and kept: a server that is down must not lose it to another program. Only a
 * port that was asked for by number stays with its socket across a shutdown(), so a free one is found
 * first and then asked for. */
static void
take_port(struct program *p)
{
    int finder = bind_port(p->port, &p->port);

    p->listen_fd = bind_port(p->port, &p->port);
    close(finder);
}

static void
start_listening(struct program *p)
{
    if (p->is_listening)
        return;
    if (listen(p->listen_fd, 1024) != 0)
        die("listen");
    add_fd(p, p->listen_fd, &listen_mark);
    p->is_listening = true;
}

/* Connections are refused from here on; the port stays ours. */
static void
stop_listening(struct program *p)
{
    if (!p->is_listening)
        return;
    epoll_ctl(p->sink.epoll_fd, EPOLL_CTL_DEL, p->listen_fd, NULL);
    if (shutdown(p->listen_fd, SHUT_RDWR) != 0)
        die("shutdown");
    p->is_listening = false;
}

static void
accept_all(struct program *p)
{
    int fd, one = 1;

    while ((fd = accept4(p->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        sink_session_start(&p->sink, fd);
    }
}

static void
print_counters(const struct sink *s)
{
    struct rusage ru;

    getrusage(RUSAGE_SELF, &ru);
    printf("mails=%llu recipients=%llu bytes=%llu connections=%llu max_sessions=%u refused=%llu "
           "dropped=%llu cpu_us=%lld\n",
        (unsigned long long)s->n_mails, (unsigned long long)s->n_recipients,
        (unsigned long long)s->n_bytes, (unsigned long long)s->n_connections, s->max_sessions,
        (unsigned long long)s->n_refused, (unsigned long long)s->n_dropped,
        (long long)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000 + ru.ru_utime.tv_usec +
            ru.ru_stime.tv_usec);
    fflush(stdout);
}

static void
reload(struct program *p)
{
    struct sink_rules *rules;

    if (p->script == NULL || (rules = sink_rules_load(p->script)) == NULL)
        return; /* a broken script leaves the old one in force */
    sink_rules_free(&p->sink.rules);
    p->sink.rules = rules;
}

/* True when the program is to end. */
static bool
on_signal(struct program *p)
{
    struct signalfd_siginfo info;

    if (read(p->signal_fd, &info, sizeof(info)) != sizeof(info))
        return false;
    switch (info.ssi_signo) {
    case SIGUSR1:
        sink_sessions_kill(&p->sink);
        stop_listening(p);
        return false;
    case SIGUSR2: start_listening(p); return false;
    case SIGHUP: reload(p); return false;
    default: return true;
    }
}

static void
run(struct program *p)
{
    struct epoll_event events[256];

    for (;;) {
        int timeout_ms = sink_sessions_tick(&p->sink);
        int n = epoll_wait(p->sink.epoll_fd, events, 256, timeout_ms);
        bool is_signalled = false;

        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == &listen_mark)
                accept_all(p);
            else if (events[i].data.ptr == &signal_mark)
                is_signalled = true;
            else
                sink_session_ready(events[i].data.ptr, events[i].events);
        }
        /* Last, since it may free sessions that `events` still names. */
        if (is_signalled && on_signal(p))
            return;
    }
}

static void
setup_signals(struct program *p)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if ((p->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
        die("signalfd");
    add_fd(p, p->signal_fd, &signal_mark);
}

int
main(int argc, char **argv)
{
    static struct program p = {.sink = {.log_fd = -1, .has_extensions = true}, .listen_fd = -1};

    list_init(&p.sink.sessions);
    heap_init(&p.sink.timers);
    if ((p.sink.epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
        die("epoll");
    parse_options(&p, argc, argv);
    if (p.script != NULL && (p.sink.rules = sink_rules_load(p.script)) == NULL)
        return EXIT_FAILURE;
    setup_signals(&p);
    take_port(&p);
    start_listening(&p);
    printf("port %u\n", p.port);
    fflush(stdout);
    run(&p);
    print_counters(&p.sink);
    sink_sessions_kill(&p.sink);
    sink_rules_free(&p.sink.rules);
    heap_deinit(&p.sink.timers);
    buf_deinit(&p.auth);
    return EXIT_SUCCESS;
}
