#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct client;
struct config;

/**
 * A caller of the API of one data folder. Which way a call goes is decided once, at the first one: over
 * the control socket when a process holds the folder's lock, else in this process, which then holds it
 * until client_free(). Both ways run the same handlers. `c` must outlive the client. Blocking.
 */
struct client *client_create(const struct config *c);
void client_free(struct client **cl);

/** Bodies that are not JSON, and calls that take long. */
struct client_options {
    const char *content_type; /* NULL = application/json */
    int64_t timeout_ms;       /* 0 = two minutes */
};

/**
 * One call. `target` is a path with an optional query. The status is success whatever it is; the body
 * is appended to `out`. Errors: ERR_CONFLICT "locked" when another process holds the folder and does not
 * answer, ERR_NOTFOUND "no_store" when there is no database, and those of installation_open().
 * `o` may be NULL.
 */
int client_call(struct client *cl, const char *method, const char *target, struct slice body,
    const struct client_options *o, unsigned *status_r, struct buf *out, struct err *err);

/** Does a daemon answer the calls? Decides, if that has not been done. */
int client_connect(struct client *cl, bool *is_daemon_r, struct err *err);

#endif
