#ifndef DAEMON_INSTALLATION_H
#define DAEMON_INSTALLATION_H

#include <stdbool.h>

#include "base/err.h"
#include "daemon/instance.h"

struct config;
struct crypto_keys;
struct datadir;
struct loop;
struct store;

/**
 * A data folder that is ours: locked, keys read, store open, start registered. What the daemon and a
 * tool without a daemon have in common. Blocking.
 */
struct installation {
    struct datadir *dir;
    struct crypto_keys *keys;
    struct store *store;
    struct instance instance;
    bool is_tool;
};

/**
 * Open in this order: lock, keys, store, instance. `loop` is NULL for a tool, whose store calls block.
 * A missing folder and database are made unless `must_exist`. After a failure everything is as it was
 * found, and installation_exit_code() says how the process should end.
 */
int installation_open(const struct config *c, struct loop *loop, bool must_exist,
    struct installation **i_r, struct err *err);
/** Closes the store and gives the lock back. */
void installation_close(struct installation **i);

/** Exit code for an error of starting or of checking (mailshot/exit.h). */
int installation_exit_code(const struct err *err);

#endif
