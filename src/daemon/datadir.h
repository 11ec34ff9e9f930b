#ifndef DAEMON_DATADIR_H
#define DAEMON_DATADIR_H

#include <stdbool.h>

#include "base/err.h"
#include "base/buf.h"

struct crypto_keys;

#define DATADIR_SOCKET_SIZE 108

/**
 * The data folder of one installation: mailshot.db, keys/, journal/, control.sock, and the lock that
 * says whose it is at the moment. Holding the lock is what proves that no other process works with the
 * database. Blocking; start and stop only.
 */
struct datadir {
    char *path; /* absolute */
    int folder_fd, lock_fd;
    char fingerprint[65]; /* of the folder: another one after a copy */
};

/** Make the folder if it is missing (0700), take its lock, and read or make its id. ERR_CONFLICT
 * "locked" when another process holds it, ERR_NOTFOUND "no_folder" when it is missing and `create` is
 * false. Nothing but the lock file is touched before the lock is held. */
int datadir_open(const char *path, bool create, struct datadir **d_r, struct err *err);
/** Gives the lock back. */
void datadir_close(struct datadir **d);
/** Does another process hold the lock? `pid_r` (may be NULL) is 0 when it did not say. */
bool datadir_is_locked(const char *path, long *pid_r);

bool datadir_has_database(const char *path);
/** "<path>/<name>". Appends. */
void datadir_join(const char *path, const char *name, struct buf *out);
/** Make a folder inside it (0700) unless it is there. */
int datadir_mkdir(const struct datadir *d, const char *name, struct err *err);

/**
 * The address of the control socket. Socket addresses are short: where the path does not fit, it leads
 * through /proc and the folder's descriptor `folder_fd`, which must stay open while it is used.
 */
int datadir_socket(const char *path, int folder_fd, char out[DATADIR_SOCKET_SIZE], struct err *err);

#endif
