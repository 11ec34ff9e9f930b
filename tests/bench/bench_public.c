/*
 * The recipients' side as it is in the daemon: pixels and clicks of many mails, which are judged and
 * stored beside the answers, and one-click opt-outs, each durable before its answer. The load is a
 * child process over 64 connections, one request at a time each.
 *
 * A rate is per core: requests by the CPU time of the loop thread, which is what a core would be full
 * with. Opt-outs wait for the disk, so theirs is by the wall clock.
 *
 * Usage: bench_public [requests]. Prints one line per measure: name value unit target ok|short.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "feedback/engagement.h"
#include "http/server.h"
#include "loop/loop.h"
#include "support/public_world.h"
#include "support/suite.h"

#define CONNECTIONS 64
#define MAILS       500

struct load {
    unsigned port;
    const char *name, *method, *headers;
    const char **paths;
    size_t n_paths, requests;
    double p99_target_ms;
};

/* ---- the child ------------------------------------------------------------------------------- */

static int
connect_to(unsigned port)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&sin, sizeof(sin)) != 0) {
        perror("bench_public: connect");
        _exit(1);
    }
    return fd;
}

static int
by_value(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void
ask(const struct load *l, int fd, size_t number)
{
    char request[1024];
    int n = snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: m.example.com\r\n%s\r\n",
        l->method, l->paths[number % l->n_paths], l->headers);

    if (send(fd, request, (size_t)n, 0) != n)
        _exit(1);
}

/* Answers are small and arrive whole: what one recv() gives is one answer. */
static void
run_load(const struct load *l)
{
    struct pollfd p[CONNECTIONS];
    uint64_t since[CONNECTIONS];
    uint32_t *waits_us = mem_array(l->requests, sizeof(*waits_us));
    size_t sent = 0, done = 0;
    char answer[8192];
    double p99_ms;

    for (size_t i = 0; i < CONNECTIONS; i++) {
        p[i] = (struct pollfd){.fd = connect_to(l->port), .events = POLLIN};
        since[i] = clock_mono_us();
        ask(l, p[i].fd, sent++);
    }
    while (done < l->requests) {
        if (poll(p, CONNECTIONS, 10000) <= 0)
            _exit(1);
        for (size_t i = 0; i < CONNECTIONS && done < l->requests; i++) {
            if (p[i].revents == 0)
                continue;
            if (recv(p[i].fd, answer, sizeof(answer), 0) <= 0)
                _exit(1);
            if (strncmp(answer + 9, "200", 3) != 0 && strncmp(answer + 9, "302", 3) != 0)
                _exit(1);
            waits_us[done++] = (uint32_t)(clock_mono_us() - since[i]);
            since[i] = clock_mono_us();
            if (sent < l->requests)
                ask(l, p[i].fd, sent++);
        }
    }
    qsort(waits_us, done, sizeof(*waits_us), by_value);
    p99_ms = waits_us[done * 99 / 100] / 1000.0;
    printf("%s_p99 %.2f ms %.0f %s\n", l->name, p99_ms, l->p99_target_ms,
        p99_ms <= l->p99_target_ms ? "ok" : "short");
    fflush(stdout);
    _exit(0);
}

/* ---- the server ------------------------------------------------------------------------------ */

static uint64_t
thread_cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_THREAD, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void
measure(struct public_world *w, struct load *l, double target, bool is_by_wall)
{
    uint64_t cpu_us, wall_us;
    double rate;
    int status = 1;
    pid_t child;

    l->port = http_server_port(w->server);
    fflush(stdout);
    child = fork();
    if (child == 0)
        run_load(l);
    cpu_us = thread_cpu_us();
    wall_us = clock_mono_us();
    while (waitpid(child, &status, WNOHANG) == 0)
        for (unsigned i = 0; i < 64; i++)
            loop_turn(w->engine.loop, 5);
    cpu_us = thread_cpu_us() - cpu_us;
    wall_us = clock_mono_us() - wall_us;
    if (status != 0) {
        fprintf(stderr, "bench_public: the load of %s broke off\n", l->name);
        exit(1);
    }
    rate = (double)l->requests * 1e6 / (double)(is_by_wall ? wall_us : cpu_us);
    printf("%s_rate %.0f per_s %.0f %s\n", l->name, rate, target, rate >= target ? "ok" : "short");
    fflush(stdout);
}

static void
measure_tracking(struct public_world *w, uint64_t broadcast, size_t n_requests)
{
    const char **opens = mem_array(MAILS, sizeof(char *));
    const char **clicks = mem_array(MAILS, sizeof(char *));
    struct metric *stored =
        metric_counter("mailshot_engagements_stored_total", "Opens and clicks stored.", NULL);
    struct load load = {.method = "GET",
        .headers = "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) Safari/604.1\r\n",
        .n_paths = MAILS,
        .requests = n_requests,
        .p99_target_ms = 5};
    uint64_t start_us;
    int64_t before;

    for (unsigned i = 0; i < MAILS; i++) {
        struct token_send ref = public_world_row(w, broadcast, i);

        opens[i] = public_world_open_path(w, &ref);
        clicks[i] = public_world_click_path(w, &ref, 0, NULL);
    }
    load.name = "pixel";
    load.paths = opens;
    before = metric_value(stored);
    start_us = clock_mono_us();
    measure(w, &load, 60000, false);
    load.name = "click";
    load.paths = clicks;
    measure(w, &load, 40000, false);
    public_world_rest(w);
    printf("engagement_stored_rate %.0f per_s - ok\n",
        (double)(metric_value(stored) - before) * 1e6 / (double)(clock_mono_us() - start_us));
    mem_free((void *)opens);
    mem_free((void *)clicks);
}

static void
measure_opt_outs(struct public_world *w, size_t n_requests)
{
    const char **paths = mem_array(n_requests, sizeof(char *));
    struct load load = {.name = "optout_idle",
        .method = "POST",
        .headers = "Content-Length: 0\r\n",
        .paths = paths,
        .n_paths = n_requests,
        .requests = n_requests,
        .p99_target_ms = 50};

    for (size_t i = 0; i < n_requests; i++) {
        char address[64];

        snprintf(address, sizeof(address), "leaver%zu@example.org", i);
        paths[i] =
            public_world_unsub(w, address, NULL, TOKEN_SCOPE_MARKETING, clock_now_ms() + 86400000);
    }
    measure(w, &load, 3000, true);
    mem_free((void *)paths);
}

/* The world's own assertions want to run inside a suite. */
static size_t requests = 200000;

START_TEST(recipients)
{
    struct public_world w;

    public_world_open(&w, "bench_public");
    measure_tracking(&w, public_world_send(&w, MAILS), requests);
    measure_opt_outs(&w, requests / 20);
    public_world_close(&w);
}
END_TEST

int
main(int argc, char **argv)
{
    const TTest *const tests[] = {recipients};

    if (argc > 1)
        requests = strtoul(argv[1], NULL, 10);
    log_set_level(LOG_ERROR);
    return suite_run("bench_public", tests, 1);
}
