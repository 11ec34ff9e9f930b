#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

struct config;
struct config_sources;

/**
 * Be the daemon: build everything, serve until SIGTERM or SIGINT, take it down. `c` is taken over;
 * `sources` are read again on SIGHUP and must stay. Returns an exit code (mailshot/exit.h); what went
 * wrong has been logged.
 */
int daemon_serve(struct config *c, const struct config_sources *sources);

#endif
