/*
 * SIGHUP reads the settings again; SIGTERM and SIGINT end the process in order; a second one at once.
 *
 *   gates shut ─► ports quiet ─► open transactions end (≤ 30 s) ─► loop ends ─► wiring takes down
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/dispatch.h"
#include "api/ready.h"
#include "base/log.h"
#include "control/gates.h"
#include "daemon/config.h"
#include "daemon/daemon_internal.h"
#include "daemon/notify_socket.h"
#include "http/server.h"
#include "loop/loop.h"
#include "mailshot/exit.h"
#include "send/sender.h"
#include "tick/ticker.h"

#define STOP_MS 30000

static void
on_sender_stopped(void *arg)
{
    struct daemon *d = arg;

    loop_stop(d->loop);
}

static void
on_stop(int signo, void *arg)
{
    struct daemon *d = arg;

    if (d->is_stopping || d->control == NULL) { /* for the second time, or taken down already */
        log_warn(NULL, "daemon.killed", "signal=%d", signo);
        _exit(EXIT_FAILED);
    }
    d->is_stopping = true;
    log_info(NULL, "daemon.stopping", "signal=%d", signo);
    notify_socket_send("STOPPING=1");
    api_ready_set(d->ready, "serving", false, "the daemon is stopping");
    gates_set(d->gates, GATE_SCOPE_ALL, GATE_STOP, true, "the daemon is stopping");
    ticker_stop(d->ticker);
    http_server_quiesce(d->http);
    http_server_quiesce(d->control);
    api_quiesce(d->api);
    sender_stop(d->sender, STOP_MS, on_sender_stopped, d);
}

/* Takes over the settings that can change while running. */
static void
apply(struct daemon *d, struct config *now)
{
    struct buf changed = BUF_INIT, restart = BUF_INIT;

    config_compare(d->current, now, &changed, &restart);
    log_set_level(now->log_level);
    log_set_pii(now->log_pii);
    ticker_set_interval(d->ticker, now->tick_interval_s * 1000);
    log_info(NULL, "config.reloaded", "changed=\"%s\"", buf_cstr(&changed));
    if (restart.n > 0)
        log_warn(NULL, "config.needs_restart", "options=\"%s\"", buf_cstr(&restart));
    buf_deinit(&changed);
    buf_deinit(&restart);
    if (d->current != d->boot)
        config_free(&d->current);
    d->current = now;
}

static void
on_reload(int signo, void *arg)
{
    struct daemon *d = arg;
    struct config *now;
    struct err err = {0};

    if (d->control == NULL)
        return; /* on its way down */
    notify_socket_send("RELOADING=1");
    if ((now = config_load(d->sources, &err)) != NULL)
        apply(d, now);
    else
        log_error(NULL, "config.refused", "kept=\"the settings that run\" error=\"%s\"", err.text);
    notify_socket_send("READY=1");
}

void
daemon_add_signals(struct daemon *d)
{
    signal(SIGPIPE, SIG_IGN);
    loop_signal_add(d->loop, SIGTERM, on_stop, d);
    loop_signal_add(d->loop, SIGINT, on_stop, d);
    loop_signal_add(d->loop, SIGHUP, on_reload, d);
}
