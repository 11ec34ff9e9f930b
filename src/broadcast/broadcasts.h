#ifndef BROADCAST_BROADCASTS_H
#define BROADCAST_BROADCASTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "model/broadcast_doc.h"
#include "model/template_doc.h"
#include "store/runs.h"

struct broadcasts;
struct count_jobs;
struct crypto_keys;
struct dispatcher;
struct gates;
struct loop;
struct profile;
struct run_table;
struct sender;
struct store;

/** Broadcasts as people and programs act on them. The functions of this header block on the store and
 * run on API workers, or in a tool without a daemon (then loop, runs, sender, counts and dispatcher
 * are NULL and what they would do happens at the next start of the daemon). */
struct broadcasts {
    struct store *store;
    const struct crypto_keys *keys;
    const char *public_url; /* "" = not configured */
    const char *data_dir;
    int64_t max_lateness_ms; /* default of a broadcast */
    unsigned growth_pct;     /* default tolerated growth */
    struct loop *loop;
    struct run_table *runs;
    struct sender *sender;
    struct count_jobs *counts;
    struct dispatcher *dispatcher;
};

/** Who acts, and where results live. */
struct broadcast_call {
    struct broadcasts *b;
    struct slice actor;
    struct arena *arena;
    int64_t now_ms;
};

/** A broadcast with its live record. */
struct broadcast_view {
    struct broadcast_doc doc;
    struct run_record run;
};

/** ERR_NOTFOUND "not_found". */
int broadcast_read(
    const struct broadcast_call *c, struct slice slug, struct broadcast_view *v_r, struct err *err);
/** Create a draft. `d` as in model/broadcast_doc.h; an empty segment becomes "all subscribed". Checks the
 * segment, the subscribed rule and, when the template exists already, that it is marketing. */
int broadcast_create(const struct broadcast_call *c, struct broadcast_doc *d,
    struct broadcast_view *v_r, struct err *err);
int broadcast_patch(const struct broadcast_call *c, struct slice slug,
    const struct broadcast_doc *d, unsigned set, struct broadcast_view *v_r, struct err *err);
int broadcast_delete(const struct broadcast_call *c, struct slice slug, struct err *err);

struct broadcast_schedule {
    int64_t scheduled_at_ms;
    struct slice count_token;
    int64_t confirmed_count;
};
/** draft → scheduled, version pinned. Takes a count made for `schedule` (count_jobs.h) and the number a
 * person typed. */
int broadcast_schedule(const struct broadcast_call *c, struct slice slug,
    const struct broadcast_schedule *s, struct broadcast_view *v_r, struct err *err);
/** scheduled → draft. ERR_CONFLICT "not_scheduled". */
int broadcast_unschedule(
    const struct broadcast_call *c, struct slice slug, struct broadcast_view *v_r, struct err *err);

/** ERR_CONFLICT "not_pausable", also when it is paused by hand already. */
int broadcast_pause(const struct broadcast_call *c, struct slice slug, struct slice reason,
    struct broadcast_view *v_r, struct err *err);

struct broadcast_resume {
    struct slice count_token;
    int64_t confirmed_count;
};
/** Clears all reasons. `confirmed_count` = people still to be planned + rows held. */
int broadcast_resume(const struct broadcast_call *c, struct slice slug,
    const struct broadcast_resume *r, struct broadcast_view *v_r, struct err *err);
/** `cancelled_r`: rows that will not go. Cancelling twice is 200 with 0; ERR_CONFLICT
 * "already_finished" for a sent one. */
int broadcast_cancel(const struct broadcast_call *c, struct slice slug, int64_t *cancelled_r,
    struct broadcast_view *v_r, struct err *err);

/** The profile a broadcast goes through: its own, else the template's, else the default. */
int broadcast_profile(const struct broadcast_call *c, const struct broadcast_doc *d,
    const struct template_content *t, struct profile *p_r, struct err *err);
/** The published version a schedule would pin. ERR_CONFLICT "template_not_found",
 * "template_not_published", "template_not_marketing". */
int broadcast_template(const struct broadcast_call *c, const struct broadcast_doc *d,
    struct template_version *v_r, struct err *err);

/** Rows of a run that wait: queued and stored held. */
int64_t broadcast_held_rows(const struct run_record *r);
/** confirmed + pct % + min(100, confirmed); pct 0 = confirmed itself. */
int64_t broadcast_growth_limit(int64_t confirmed, int64_t pct);

#endif
