#ifndef FEEDBACK_ENGAGEMENT_H
#define FEEDBACK_ENGAGEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "feedback/engagement_verdict.h"
#include "message/tokens.h"

struct engagements;
struct loop;
struct run_table;
struct store;

#define ENGAGEMENTS_COLL     "engagements"
#define ENGAGEMENT_AGENT_MAX 256
#define ENGAGEMENT_QUEUE     100000
#define ENGAGEMENT_BYTES     (INT64_C(24) * 1024 * 1024)
/** Rows kept of one mail: more is somebody pulling at one address of ours. */
#define ENGAGEMENT_ROWS_OF_SEND 200

/**
 * Opens and clicks on their way to the store. They are recorded after the answer, wait in memory, and
 * are stored in groups on a thread of their own; a crash loses those of the last moment. Equal events
 * of one second are one. A full queue sheds what is new, counted. None of it changes the state of a
 * mail.
 */
struct engagements_args {
    struct loop *loop;
    struct store *store;
    struct run_table *runs;
    size_t queue_limit; /* 0 = ENGAGEMENT_QUEUE */
};
struct engagements *engagements_create(const struct engagements_args *args);
/** After engagements_stop(), when engagements_busy() is 0. */
void engagements_free(struct engagements **q);

struct engagement {
    enum engagement_kind kind;
    struct token_send ref;
    uint32_t ordinal;
    int64_t at_ms;
    struct slice url;        /* of a dynamic link, else empty */
    struct slice user_agent; /* cut to ENGAGEMENT_AGENT_MAX bytes */
};
/** Loop thread; copies. The reference must come from a verified token. */
void engagement_record(struct engagements *q, const struct engagement *e);

/** Store what waits without delay and take nothing more. */
void engagements_stop(struct engagements *q);
/** Events that wait or are being stored. */
size_t engagements_busy(const struct engagements *q);

/** Judge stored events anew, where their verdict comes from other rules than the present ones. A page
 * of at most `limit` (≤ 500) rows behind `after_id`; `next_r` is 0 at the end. Returns the number of
 * verdicts written, or -1. Blocking. */
int64_t engagements_rejudge(
    struct store *st, uint64_t after_id, unsigned limit, uint64_t *next_r, struct err *err);

#endif
