#ifndef DAEMON_DAEMON_INTERNAL_H
#define DAEMON_DAEMON_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "daemon/routes.h"

struct api;
struct api_ready;
struct config;
struct config_sources;
struct count_jobs;
struct disk_watch;
struct dispatcher;
struct engagements;
struct gates;
struct http_server;
struct installation;
struct loop;
struct opt_out_intake;
struct public_site;
struct queue;
struct run_closer;
struct run_table;
struct sender;
struct silence;
struct ticker;
struct workers;

/* Everything that lives in a running daemon. Private to wiring.c and the files it is divided into. */
struct daemon {
    /* Settings: `boot` is what the parts were built with; `current` is another one after a reload. */
    struct config *boot, *current;
    const struct config_sources *sources;

    struct loop *loop;
    struct installation *home;
    struct gates *gates;
    struct run_table *runs;
    struct queue *queue;
    struct workers *cpu;
    struct silence *silence;
    struct sender *sender;
    struct dispatcher *dispatcher;
    struct count_jobs *counts;
    struct run_closer *closer;
    struct opt_out_intake *opt_outs;
    struct engagements *engagements;
    struct public_site *site;
    uint64_t rejudged_to; /* old verdicts on opens and clicks: how far housekeeping has looked */
    bool is_rejudged;
    struct ticker *ticker;
    struct disk_watch *disk;
    struct api_ready *ready;
    struct daemon_env env;
    const struct api_route *const *routes;
    struct api *api;
    struct http_server *control, *http;

    bool is_stopping;
};

/* start.c: the steps between a built daemon and one that serves. Blocking; the loop does not turn
 * yet. */
int daemon_settle_past(struct daemon *d, struct err *err);
int daemon_load_runs(struct daemon *d, struct err *err);
int daemon_load_oneoffs(struct daemon *d, struct err *err);

/* listen.c */
int daemon_listen(struct daemon *d, struct err *err);
void daemon_unlisten(struct daemon *d);

/* jobs.c: the periodic work, in order. */
void daemon_add_jobs(struct daemon *d);

/* signals.c: SIGTERM, SIGINT, SIGHUP. */
void daemon_add_signals(struct daemon *d);

#endif
