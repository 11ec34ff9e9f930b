/*
 * Everything that exists in a running daemon, built top to bottom and taken down bottom to top. Reading
 * build() from its first line to its last is reading what the process is made of.
 *
 * The order of the start is the safety of it: the loop does not turn, so nothing can be claimed, until
 * the past has been settled (start.c); and nobody is answered before that either.
 */
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "api/dispatch.h"
#include "api/ready.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "broadcast/count_jobs.h"
#include "broadcast/dispatch.h"
#include "control/gates.h"
#include "control/run_closer.h"
#include "control/run_table.h"
#include "daemon/backends.h"
#include "daemon/config.h"
#include "daemon/daemon_internal.h"
#include "daemon/datadir.h"
#include "daemon/installation.h"
#include "daemon/notify_socket.h"
#include "daemon/serve.h"
#include "daemon/silence.h"
#include "feedback/engagement.h"
#include "feedback/opt_out_intake.h"
#include "http/server.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "mailshot/exit.h"
#include "public/public.h"
#include "queue/queue.h"
#include "send/sender.h"
#include "tick/disk_watch.h"
#include "tick/ticker.h"

#define CPU_QUEUE_LIMIT 256
#define MINUTE_MS       INT64_C(60000)
#define DAY_MS          (INT64_C(24) * 60 * MINUTE_MS)
#define DRAIN_MS        5000
#define JOURNAL_FOLDER  "journal"

/* Few arenas and early returns to the kernel: the working set is small and lives long. */
static void
tame_malloc(void)
{
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    mallopt(M_TRIM_THRESHOLD, 256 * 1024);
}

static struct sender *
build_sender(struct daemon *d)
{
    const struct config *c = d->boot;
    struct sender_args args = {
        .loop = d->loop,
        .store = d->home->store,
        .cpu = d->cpu,
        .queue = d->queue,
        .keys = d->home->keys,
        .gates = d->gates,
        .runs = d->runs,
        .owner = d->home->instance.incarnation,
        .public_url = c->public_url,
        .sender_address = c->sender_address,
        .ehlo_name = c->ehlo_name,
        .unsubscribe_lifetime_ms = c->unsubscribe_lifetime_days * DAY_MS,
        .n_workers = (unsigned)c->cpu_workers,
        .may_commit = silence_may_commit,
        .may_commit_arg = d->silence,
    };

    return sender_create(&args);
}

static struct dispatcher *
build_dispatcher(struct daemon *d)
{
    struct dispatcher_args args = {
        .loop = d->loop,
        .store = d->home->store,
        .cpu = d->cpu,
        .runs = d->runs,
        .gates = d->gates,
        .sender = d->sender,
        .owner = d->home->instance.incarnation,
        .lease_stale_ms = 0, /* the folder lock proves every other owner dead */
    };

    return dispatcher_create(&args);
}

/* Opt-outs and their journal, opens and clicks. */
static int
build_feedback(struct daemon *d, struct err *err)
{
    struct buf folder = BUF_INIT;
    struct opt_out_intake_args opt_outs = {.loop = d->loop,
        .store = d->home->store,
        .gates = d->gates,
        .runs = d->runs,
        .cpu = d->cpu};
    struct engagements_args engagements = {
        .loop = d->loop, .store = d->home->store, .runs = d->runs};

    if (datadir_mkdir(d->home->dir, JOURNAL_FOLDER, err) != 0)
        return -1;
    datadir_join(d->home->dir->path, JOURNAL_FOLDER, &folder);
    opt_outs.journal_folder = buf_cstr(&folder);
    d->opt_outs = opt_out_intake_create(&opt_outs);
    d->engagements = engagements_create(&engagements);
    buf_deinit(&folder);
    return 0;
}

static struct public_site *
build_site(struct daemon *d)
{
    struct public_args args = {
        .loop = d->loop,
        .store = d->home->store,
        .cpu = d->cpu,
        .keys = d->home->keys,
        .opt_outs = d->opt_outs,
        .engagements = d->engagements,
        .legacy_secret = d->boot->legacy_unsubscribe_secret,
    };

    return public_create(&args);
}

/* A full disk holds mail back, not opt-outs: said by /readyz, which stays good. */
static void
show_disk(bool is_full, void *arg)
{
    struct daemon *d = arg;

    api_ready_note(d->ready, "disk", !is_full, gates_why(d->gates, GATE_SCOPE_ALL, GATE_DISK));
}

static struct disk_watch *
build_disk_watch(struct daemon *d)
{
    struct disk_watch_args args = {
        .loop = d->loop,
        .store = d->home->store,
        .gates = d->gates,
        .path = d->home->dir->path,
        .min_free_bytes = d->boot->min_free_bytes,
        .changed = show_disk,
        .arg = d,
    };

    show_disk(false, d); /* the watch tells of changes only */
    return disk_watch_create(&args);
}

static void
build_api(struct daemon *d)
{
    daemon_env_init(&d->env, d->boot, d->home);
    d->env.daemon = d;
    d->env.api.loop = d->loop;
    d->env.api.sender = d->sender;
    d->env.api.ticker = d->ticker;
    d->env.api.gates = d->gates;
    d->env.api.ready = d->ready;
    d->env.broadcasts.loop = d->loop;
    d->env.broadcasts.runs = d->runs;
    d->env.broadcasts.sender = d->sender;
    d->env.broadcasts.counts = d->counts;
    d->env.broadcasts.dispatcher = d->dispatcher;
    d->routes = daemon_routes_create();
    d->api = api_create(d->loop, &d->env.api, d->routes);
}

static int
build(struct daemon *d, struct err *err)
{
    d->loop = loop_create();
    daemon_add_signals(d); /* before the first thread, which inherits the mask */
    if (installation_open(d->boot, d->loop, false, &d->home, err) != 0)
        return -1;

    d->ready = api_ready_create();
    api_ready_set(d->ready, "serving", false, "the daemon is starting");
    d->gates = gates_create();
    d->runs = run_table_create(d->loop);
    d->queue = backend_queue_create(d->boot, d->loop);
    d->cpu = workers_create(d->loop, "cpu", (unsigned)d->boot->cpu_workers, CPU_QUEUE_LIMIT);
    d->silence =
        silence_create(d->loop, d->home->store, d->runs, d->boot->max_lateness_min * MINUTE_MS);
    if (build_feedback(d, err) != 0)
        return -1;
    d->site = build_site(d);
    d->sender = build_sender(d);
    d->dispatcher = build_dispatcher(d);
    d->counts = count_jobs_create(d->loop, d->home->store, d->home->dir->path);
    d->closer = run_closer_create(d->loop, d->home->store, d->runs);
    d->disk = build_disk_watch(d);
    d->ticker = ticker_create(d->loop, d->boot->tick_interval_s * 1000);
    daemon_add_jobs(d);
    build_api(d);

    if (daemon_settle_past(d, err) != 0 || daemon_load_runs(d, err) != 0 ||
        daemon_listen(d, err) != 0)
        return -1;
    return daemon_load_oneoffs(d, err);
}

/* ---- taking down ----------------------------------------------------------------------------- */

/* Let what others hold come home: answers to clients, calls on workers, planning, the tick. */
static void
drain(struct daemon *d)
{
    int64_t until = clock_mono_ms() + DRAIN_MS;

    while (http_server_in_work(d->http) + http_server_in_work(d->control) > 0 &&
           clock_mono_ms() < until)
        loop_turn(d->loop, 50);
    daemon_unlisten(d);
    engagements_stop(d->engagements);
    while (api_in_work(d->api) > 0 || ticker_is_running(d->ticker) ||
           dispatcher_busy(d->dispatcher) > 0 || run_table_busy(d->runs) > 0 ||
           opt_out_intake_busy(d->opt_outs) > 0 || engagements_busy(d->engagements) > 0 ||
           workers_busy(d->cpu) > 0)
        loop_turn(d->loop, 50);
}

static void
take_down(struct daemon *d)
{
    daemon_unlisten(d);
    api_free(&d->api);
    mem_free((void *)(uintptr_t)d->routes);
    ticker_free(&d->ticker);
    disk_watch_free(&d->disk);
    run_closer_free(&d->closer);
    count_jobs_free(&d->counts);
    dispatcher_free(&d->dispatcher);
    sender_free(&d->sender);
    public_free(&d->site);
    engagements_free(&d->engagements);
    opt_out_intake_free(&d->opt_outs);
    silence_free(&d->silence);
    workers_free(&d->cpu);
    queue_free(&d->queue);
    run_table_free(&d->runs);
    gates_free(&d->gates);
    api_ready_free(&d->ready);
    installation_close(&d->home);
    loop_free(&d->loop);
    if (d->current != d->boot)
        config_free(&d->current);
    config_free(&d->boot);
}

static void
serve(struct daemon *d)
{
    ticker_start(d->ticker);
    dispatcher_start_due(d->dispatcher);
    api_ready_set(d->ready, "serving", true, NULL);
    log_info(NULL, "daemon.ready", "version=%s host=%s port=%u folder=%s", MAILSHOT_VERSION,
        d->boot->listen_host, http_server_port(d->http), d->home->dir->path);
    notify_socket_send("READY=1");
    loop_run(d->loop);
    if (!sender_is_idle(d->sender)) {
        /* The far side, or the store, did not answer in time. What is on the wire is in doubt whatever we do now,
         * and the next start says so; nothing else is lost by ending here. */
        log_warn(NULL, "daemon.ended", "in_flight=%zu", sender_in_flight(d->sender, 0, NULL, 0));
        _exit(EXIT_OK);
    }
    drain(d);
}

int
daemon_serve(struct config *c, const struct config_sources *sources)
{
    struct daemon d = {.boot = c, .current = c, .sources = sources};
    struct err err = {0};
    int code = EXIT_OK;

    tame_malloc();
    log_set_level(c->log_level);
    log_set_pii(c->log_pii);
    log_info(NULL, "daemon.starting", "version=%s", MAILSHOT_VERSION);
    if (build(&d, &err) == 0) {
        serve(&d);
        log_info(NULL, "daemon.stopped", "exit=0");
    } else {
        code = d.home == NULL ? installation_exit_code(&err) : EXIT_FAILED;
        log_error(NULL, "daemon.failed", "exit=%d error=\"%s\"", code, err.text);
    }
    take_down(&d);
    return code;
}
