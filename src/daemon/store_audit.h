#ifndef DAEMON_STORE_AUDIT_H
#define DAEMON_STORE_AUDIT_H

#include "base/buf.h"
#include "base/err.h"

struct store;

/**
 * Look for what should not be: damaged pages and documents (store_check()), and broadcasts whose
 * counters differ from a recount of their rows. Appends one line per finding to `report`; none is good
 * news. Blocking, walks everything; `n_runs_r` says how many broadcasts were recounted.
 */
int store_audit(struct store *st, struct buf *report, unsigned *n_runs_r, struct err *err);

#endif
