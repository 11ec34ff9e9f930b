/*
 * CPU of the server per request: a shared answer (the pixel), a redirect made for the request (a
 * click), and a small built answer. The load comes from a child process over 64 connections that
 * are kept open, one request at a time each, so that what is measured is the server alone.
 *
 * Usage: bench_http [requests]. Prints one line per measure: name value unit target ok|short.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/server.h"
#include "loop/loop.h"

#define CONNECTIONS 64

static const char gif[43] = "GIF89a";
static struct http_shared *pixel;

static size_t
on_head(struct http_request *r, void *arg)
{
    return 1024;
}

static void
on_body(struct http_request *r, void *arg)
{
    struct slice path = http_request_path(r);

    if (slice_starts(path, SLICE_LIT("/pixel")))
        http_respond_shared(r, pixel);
    else if (slice_starts(path, SLICE_LIT("/click")))
        http_respond_redirect(r, SLICE_LIT("https://example.com/spring?utm_source=mail"));
    else
        http_respond(r, 200, "application/json", NULL, 0, SLICE_LIT("{\"ok\":true}"));
}

/* ---- the load ---------------------------------------------------------------------------------- */

static int
connect_to(unsigned port)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&sin, sizeof sin) != 0) {
        perror("bench_http: connect");
        _exit(1);
    }
    return fd;
}

/** Each answer is small and arrives whole: what one recv() gives is one answer. */
static void
load(unsigned port, const char *path, unsigned long requests)
{
    struct pollfd p[CONNECTIONS];
    char request[256], answer[4096];
    unsigned long sent = 0, done = 0;
    int n = snprintf(request, sizeof request,
        "GET %s HTTP/1.1\r\nHost: m.example.com\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n", path);

    for (unsigned i = 0; i < CONNECTIONS; i++) {
        p[i] = (struct pollfd){.fd = connect_to(port), .events = POLLIN};
        sent += send(p[i].fd, request, (size_t)n, 0) == n;
    }
    while (done < requests) {
        if (poll(p, CONNECTIONS, 10000) <= 0)
            _exit(1);
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            if ((p[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0)
                continue;
            if (recv(p[i].fd, answer, sizeof answer, 0) <= 0)
                _exit(1);
            done++;
            if (sent < requests)
                sent += send(p[i].fd, request, (size_t)n, 0) == n;
        }
    }
    _exit(0);
}

static void
measure(struct loop *l, unsigned port, const char *name, const char *path, unsigned long requests,
    double target_us)
{
    uint64_t cpu_us, wall_us = clock_mono_us();
    double cost;
    int status = 1;
    pid_t child = fork();

    if (child == 0)
        load(port, path, requests);
    cpu_us = clock_cpu_us();
    while (waitpid(child, &status, WNOHANG) == 0)
        for (unsigned i = 0; i < 64; i++)
            loop_turn(l, 10);
    cpu_us = clock_cpu_us() - cpu_us;
    wall_us = clock_mono_us() - wall_us;
    if (status != 0) {
        fprintf(stderr, "bench_http: the load broke off\n");
        exit(1);
    }
    cost = (double)cpu_us / (double)requests;
    printf("%s_cost %.2f us %.2f %s\n", name, cost, target_us, cost <= target_us ? "ok" : "short");
    printf("%s_rate_both_cores %.0f per_s - ok\n", name, (double)requests * 1e6 / (double)wall_us);
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    static const struct http_handlers handlers = {on_head, on_body};
    static const struct http_field fields[] = {{"Cache-Control", "no-store, max-age=0"}};
    struct http_server_args args = {
        .host = "127.0.0.1", .idle_timeout_ms = 60000, .deadline_ms = 10000};
    unsigned long requests = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000;
    struct loop *l = loop_create();
    struct err err = {0};
    struct http_server *s = http_server_start(l, &args, &handlers, NULL, &err);

    if (s == NULL) {
        fprintf(stderr, "bench_http: %s\n", err.text);
        return 1;
    }
    pixel = http_shared_create(200, "image/gif", fields, 1, slice_make(gif, sizeof gif));
    measure(l, http_server_port(s), "http_pixel", "/pixel/0123456789abcdef.png", requests, 5);
    measure(l, http_server_port(s), "http_redirect", "/click/0123456789abcdef", requests, 8);
    measure(l, http_server_port(s), "http_built", "/x", requests, 8);
    http_server_free(&s);
    http_shared_free(&pixel);
    loop_free(&l);
    return 0;
}
