#ifndef DAEMON_PREFLIGHT_H
#define DAEMON_PREFLIGHT_H

#include "base/buf.h"

struct config;

/**
 * Try everything a start needs without starting: data folder, lock, keys, database, disk, port, and
 * what marketing mail needs. Changes nothing. Appends one line per point to `out` ("ok", "note" or
 * "FAIL", name, detail) and returns the exit code of the first failure, EXIT_OK without.
 */
int preflight(const struct config *c, struct buf *out);

#endif
