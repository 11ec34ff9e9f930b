#ifndef CLI_DEMO_H
#define CLI_DEMO_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct cli;
struct config_flag;
struct json;

/* The parts of `mailshotd demo`: its folder, its people, its daemon, and what it makes through the API.
 * Single-threaded; everything may block. */

/* ---- demo_folder.c --------------------------------------------------------------------------- */

/** Everything a demo writes is in here. Paths are absolute and owned. */
struct demo_folder {
    char *root;
    char *data;   /* the daemon's data folder */
    char *config; /* its configuration file */
    char *people; /* CSV */
    char *mails;  /* a folder of .eml files per broadcast */
    char *log;    /* of the daemon */
    char *token;  /* for the API */
    unsigned port;
};

/** Make the folder, or take one that a demo has made, and write the configuration with a port of
 * 127.0.0.1 that is free now (that of the last time, if it is). ERR_REFUSED when the folder holds
 * anything and no demo made it, ERR_CONFLICT when a daemon works in it. `f_r` is filled in both cases;
 * free it with demo_folder_deinit(). */
int demo_folder_open(const char *path, struct demo_folder *f_r, struct err *err);
void demo_folder_deinit(struct demo_folder *f);

/** Number of .eml files in a folder; 0 when there is none. */
int demo_folder_count_mails(const char *path, int64_t *n_r, struct err *err);

/* ---- demo_people.c --------------------------------------------------------------------------- */

/** The first line of the CSV file. */
void demo_people_header(struct buf *out);
/** Append the line of person `i` (from 0). The same number is always the same person. */
void demo_people_row(int64_t i, struct buf *out);
/** Write the file with `n` people. */
int demo_people_write(const char *path, int64_t n, struct err *err);

/* ---- demo_child.c ---------------------------------------------------------------------------- */

/** The daemon, a child in a process group of its own, so that Ctrl-C reaches us first. */
struct demo_child {
    pid_t pid; /* 0 = not running */
    int code;  /* exit code, once it has ended */
    sigset_t watched, before;
};

enum demo_event { DEMO_NOTHING, DEMO_STOP_WANTED, DEMO_CHILD_ENDED };

/** Start "mailshotd serve" on the folder and wait until it listens. From here on SIGINT, SIGTERM, SIGHUP
 * and SIGCHLD are blocked and only seen by demo_child_wait(). ERR_PERM when it ended instead. */
int demo_child_start(struct demo_child *ch, const struct demo_folder *f,
    const struct config_flag *options, size_t n_options, struct err *err);
/** Wait for a signal to us, or the end of the child. */
enum demo_event demo_child_wait(struct demo_child *ch, int64_t timeout_ms);
/** SIGTERM (SIGKILL when somebody asks us again) and wait; returns its exit code. Signals are as before
 * afterwards. Does nothing but that when the child has ended. */
int demo_child_stop(struct demo_child *ch);

/* ---- demo_setup.c ---------------------------------------------------------------------------- */

/** Where the mail goes. */
struct demo_target {
    const char *capture_dir; /* NULL = SMTP */
    const char *host;
    unsigned port;
};

/** "HOST:PORT" into `host_r` and `port_r`; only this machine is taken, because the people are made up
 * and their mail must not leave it. -1 after filling `err`. */
int demo_setup_parse_smtp(const char *text, struct buf *host_r, unsigned *port_r, struct err *err);

/** Each returns an exit code, having said what went wrong. */
int demo_setup_import(struct cli *c, const struct demo_folder *f);
/** A profile for one broadcast: what an interrupted run has left goes on into its own folder. */
int demo_setup_profile(struct cli *c, const char *slug, const struct demo_target *t);
int demo_setup_template(struct cli *c);
/** The first of demo-1, demo-2, ... that no broadcast has. Appends. */
int demo_setup_slug(struct cli *c, struct buf *slug);
/** Its profile has the same slug. */
int demo_setup_broadcast(struct cli *c, const char *slug);
/** The token of an earlier run, or a new one, kept in the folder. Appends. */
int demo_setup_token(struct cli *c, const struct demo_folder *f, struct buf *token);

#endif
