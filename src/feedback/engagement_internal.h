#ifndef FEEDBACK_ENGAGEMENT_INTERNAL_H
#define FEEDBACK_ENGAGEMENT_INTERNAL_H

#include "base/list.h"
#include "feedback/engagement.h"

/* One event in memory; url and agent stand behind it. */
struct engagement_item {
    struct list node;
    struct engagement e;
    uint32_t count; /* equal ones in the same second */
    char text[];
};

struct engagement_stored {
    size_t rows;    /* inserted */
    size_t ignored; /* of mails that were never sent, or that have too many rows */
};

/** Judge and store a group: raw rows, changed verdicts of earlier rows, first times on the sends. New
 * run records are posted to `runs`. Blocking; a worker. On failure nothing was stored. */
int engagement_store_group(struct store *st, struct run_table *runs, const struct list *items,
    size_t n, struct engagement_stored *r, struct err *err);

#endif
