#ifndef CLI_BROADCAST_CALLS_H
#define CLI_BROADCAST_CALLS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/slice.h"

struct cli;

/* Calls about broadcasts that more than one sub-command makes. Each returns an exit code, having said
 * what went wrong; answers are the caller's to free. */

/** A draft to be. */
struct broadcast_draft {
    const char *slug, *name, *template_slug;
    const char *profile;  /* NULL = the template's or the default one */
    struct slice segment; /* JSON object of its definition; empty = everybody subscribed */
};

int broadcast_calls_create(
    struct cli *c, const struct broadcast_draft *draft, struct json **answer_r);

/** Count the recipients and wait until that is done, however long it takes. */
int broadcast_calls_count(struct cli *c, const char *slug, struct json **answer_r);

/** Schedule with the token of a count and its number; `at` is "now" or a time (RFC 3339). */
int broadcast_calls_schedule(struct cli *c, const char *slug, const char *at, struct slice token,
    int64_t confirmed, struct json **answer_r);

/** GET /agent/broadcasts/:slug. */
int broadcast_calls_get(struct cli *c, const char *slug, const char *query, struct json **answer_r);

/** "/agent/broadcasts/<slug><rest>". Appends. */
void broadcast_calls_target(struct buf *target, const char *slug, const char *rest);

#endif
