#ifndef MODEL_AUDIT_H
#define MODEL_AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"

struct store;
struct store_batch;

#define AUDIT_COLL "audit"

/** Who did what to which thing. Append only; never an address, a token or a secret in it. */
struct audit_entry {
    struct slice actor;       /* "agent:deploy-bot", "system:dispatch" */
    struct slice action;      /* "broadcast.schedule" */
    struct slice resource;    /* "broadcasts"; empty = none */
    struct slice resource_id; /* id text, slug or hash; empty = none */
    struct slice summary;     /* one line for people, ≤ 1024 bytes; longer is cut */
    struct slice request_id;  /* empty = none */
    int64_t at_ms;
};

/** Add the entry to a batch, so that it stands or falls with what it describes. */
void audit_add_op(struct store_batch *b, const struct audit_entry *e);
/** Entries of one resource (or all, when `resource` is empty), newest first, before `before_id` (0 =
 * newest), limit 1..500. Blocking. Appends JSON objects as elements of an open array. `next_r` (may be
 * NULL) is the `before_id` of the next page, 0 when there is none. */
int audit_list(struct store *st, struct slice resource, struct slice resource_id,
    uint64_t before_id, unsigned limit, struct arena *a, struct json_writer *w, uint64_t *next_r,
    struct err *err);

#endif
