#include "http/internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "loop/loop.h"

/*
 * The HTTP library inside our loop. Its epoll descriptor is watched by ours; since its own sockets
 * are edge-triggered in there, its time-out must be asked before each wait (a hook of the loop),
 * or uploads stall. It runs only when its descriptor fired, its time is up, or a connection was
 * resumed, so that a loop busy with other things does not pay for it.
 *
 * Stop: quiesce (no new connections) → the owner waits for http_server_in_work() to fall → free
 * answers what is left, resumes every connection and lets answers go out. Stopping the library
 * with a suspended connection would end the process.
 */

#define POOL_BYTES    8192
#define SWEEP_MS      1000
#define FLUSH_ROUNDS  100
#define FLUSH_WAIT_MS 10
#define MIN_IDLE_MS   1000
#define DEFAULT_CONNS 1024

__attribute__((format(printf, 2, 0))) static void
on_log(void *arg, const char *fmt, va_list ap)
{
    char line[256];

    if (!log_enabled(LOG_DEBUG))
        return;
    vsnprintf(line, sizeof line, fmt, ap);
    log_debug(NULL, "http.library", "text=\"%s\"", line);
}

static void
on_panic(void *arg, const char *file, unsigned line, const char *reason)
{
    log_error(NULL, "http.panic", "line=%u reason=\"%s\"", line, reason != NULL ? reason : "");
    abort();
}

/** Leave the target as it came: it is taken apart in uri.c. */
static size_t
no_unescape(void *arg, struct MHD_Connection *conn, char *s)
{
    return strlen(s);
}

static void
on_ready(unsigned events, void *arg)
{
    struct http_server *s = arg;

    s->is_ready = true;
}

static int
hook_timeout(void *arg)
{
    struct http_server *s = arg;
    MHD_UNSIGNED_LONG_LONG ms;

    if (s->is_ready)
        return 0;
    if (MHD_get_timeout(s->mhd, &ms) != MHD_YES) {
        s->run_at_ms = -1;
        return -1;
    }
    if (ms > INT_MAX)
        ms = INT_MAX;
    s->run_at_ms = clock_mono_ms() + (int64_t)ms;
    return (int)ms;
}

static void
hook_run(void *arg)
{
    struct http_server *s = arg;

    if (!s->is_ready && (s->run_at_ms < 0 || clock_mono_ms() < s->run_at_ms))
        return;
    s->is_ready = false;
    MHD_run(s->mhd);
}

static void
on_sweep(void *arg)
{
    struct http_server *s = arg;

    http_conn_sweep(s);
    s->sweep = loop_timer_start(s->loop, SWEEP_MS, on_sweep, s);
}

static void
register_metrics(struct http_server *s)
{
    const char *labels = s->unix_path != NULL ? "listener=\"control\"" : "listener=\"tcp\"";

    s->requests = metric_counter("mailshot_http_requests_total", "Requests read.", labels);
    s->refused = metric_counter(
        "mailshot_http_refused_total", "Requests refused for their form or framing.", labels);
    s->late = metric_counter("mailshot_http_late_total",
        "Requests that were not answered, or not sent, within their deadline.", labels);
    s->connections = metric_gauge("mailshot_http_connections", "Connections open.", labels);
}

static struct MHD_Daemon *
start_library(struct http_server *s, unsigned max_connections)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    unsigned idle_s = (unsigned)((s->idle_timeout_ms + 999) / 1000);

    MHD_set_panic_func(on_panic, NULL);
    return MHD_start_daemon(flags, 0, NULL, NULL, http_conn_access, s, MHD_OPTION_EXTERNAL_LOGGER,
        on_log, NULL, MHD_OPTION_LISTEN_SOCKET, s->listen_fd, MHD_OPTION_CONNECTION_LIMIT,
        max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_UNESCAPE_CALLBACK, no_unescape, NULL, MHD_OPTION_URI_LOG_CALLBACK,
        http_conn_target, s, MHD_OPTION_NOTIFY_CONNECTION, http_conn_notify, s,
        MHD_OPTION_NOTIFY_COMPLETED, http_conn_completed, s, MHD_OPTION_END);
}

static int
server_listen(struct http_server *s, const struct http_server_args *args, struct err *err)
{
    if (args->unix_path != NULL) {
        s->unix_path = mem_strdup(args->unix_path);
        s->listen_fd = http_listen_unix(args->unix_path, err);
    } else {
        s->listen_fd = http_listen_tcp(args->host, args->port, &s->port, err);
    }
    return s->listen_fd < 0 ? -1 : 0;
}

/** Close the listening socket, which is ours once the library does not use it. */
static void
stop_listening(struct http_server *s)
{
    if (s->listen_fd < 0)
        return;
    if (s->unix_path != NULL)
        unlink(s->unix_path);
    close(s->listen_fd);
    s->listen_fd = -1;
}

/** Free what a server holds; the library is stopped or was never started. */
static void
server_release(struct http_server *s)
{
    stop_listening(s);
    http_proxies_free(&s->trusted);
    mem_free(s->unix_path);
    mem_free(s);
}

struct http_server *
http_server_start(struct loop *l, const struct http_server_args *args,
    const struct http_handlers *handlers, void *arg, struct err *err)
{
    struct http_server *s = mem_zalloc(sizeof *s);
    const union MHD_DaemonInfo *info;

    s->loop = l;
    s->listen_fd = -1;
    s->handlers = *handlers;
    s->arg = arg;
    s->idle_timeout_ms = args->idle_timeout_ms > MIN_IDLE_MS ? args->idle_timeout_ms : MIN_IDLE_MS;
    s->deadline_ms = args->deadline_ms;
    list_init(&s->idle);
    list_init(&s->sending);
    list_init(&s->working);
    list_init(&s->answering);
    s->trusted = http_proxies_create(args->trusted_proxies, args->n_trusted_proxies, err);
    if (s->trusted == NULL || server_listen(s, args, err) != 0)
        goto fail;
    s->mhd = start_library(s, args->max_connections > 0 ? args->max_connections : DEFAULT_CONNS);
    if (s->mhd == NULL) {
        err_set(err, ERR_INTERNAL, "the HTTP library did not start");
        goto fail;
    }
    register_metrics(s);
    info = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD);
    s->watch = loop_fd_add(l, info->epoll_fd, LOOP_READ, on_ready, s);
    loop_hook_add(l, hook_timeout, hook_run, s);
    s->sweep = loop_timer_start(l, SWEEP_MS, on_sweep, s);
    return s;

fail:
    server_release(s);
    return NULL;
}

unsigned
http_server_port(const struct http_server *s)
{
    return s->port;
}

void
http_server_quiesce(struct http_server *s)
{
    if (s->is_stopping)
        return;
    s->is_stopping = true;
    MHD_quiesce_daemon(s->mhd);
    stop_listening(s);
}

size_t
http_server_in_work(const struct http_server *s)
{
    return s->n_in_work;
}

/** Let answers that are under way go out, for about a second. */
static void
flush(struct http_server *s)
{
    unsigned rounds = FLUSH_ROUNDS;

    do
        MHD_run_wait(s->mhd, FLUSH_WAIT_MS);
    while ((!list_empty(&s->answering) || !list_empty(&s->working)) && rounds-- > 0);
}

void
http_server_free(struct http_server **sp)
{
    struct http_server *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    http_server_quiesce(s);
    s->is_closing = true;
    LIST_EACH(node, tmp, &s->working)
    {
        struct http_request *r = LIST_ENTRY(node, struct http_request, node);

        http_request_cancel(r);
        http_respond_error(r, 503, "stopping", HTTP_STOPPING);
    }
    flush(s);
    loop_timer_cancel(&s->sweep);
    loop_hook_del(s->loop, hook_run, s);
    loop_fd_del(&s->watch);
    MHD_stop_daemon(s->mhd);
    server_release(s);
}
