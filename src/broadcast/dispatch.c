/*
 * Dispatch: rows for everybody the eligible stream yields, once.
 *
 *   idle ─► lease ─► load ─► read page ─► write its slices ─► read page ─► … ─► last slice: dispatchedAt
 *
 * The next page is read while the slices of this one are written. A slice is conditional on the fence
 * and on the cursor, so whatever dies in between, a successor continues exactly where the last slice
 * that is in the store ended, and nothing is planned twice. A pause or cancel makes the next slice not
 * match: the plan is dropped, the cursor stays.
 */
#include "broadcast/dispatch.h"

#include <stdio.h>
#include <string.h>

#include "audience/eligible.h"
#include "audience/segment.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "broadcast/dispatch_internal.h"
#include "control/gates.h"
#include "control/run_control.h"
#include "control/run_table.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "model/broadcast_doc.h"
#include "model/template_doc.h"
#include "send/sender.h"
#include "store/sends.h"
#include "store/store.h"

#define SLICE_ROWS 100
#define RETRY_MS   1000
#define MAX_SLICES (ELIGIBLE_PAGE_MAX / SLICE_ROWS + 1)

/* One page on its way from the stream to the store. */
struct page {
    struct plan *plan;
    struct arena *arena;
    struct eligible_page got;
    struct slice cursor_before; /* in the arena */
    size_t n_rows;              /* eligible contacts */
    int rc;
    struct err err;
};

enum plan_state { PLAN_LEASE, PLAN_LOAD, PLAN_READY, PLAN_DROPPED };

struct plan {
    struct dispatcher *d;
    uint64_t broadcast;
    enum plan_state state;
    uint64_t fence;
    struct segment *segment;
    enum mail_kind kind;
    uint64_t profile;
    int64_t due_at_ms;
    int64_t planned, growth_limit; /* rows so far, and where planning stops to ask */
    uint32_t page_no;
    struct slice cursor; /* behind the last page read; memory of its own */
    struct page *reading, *ready, *writing;
    unsigned n_slices; /* of `writing`, not yet answered */
    bool is_missed;    /* a slice did not match */
    bool is_retry;     /* a slice failed for now: read again from the store's cursor */
    bool is_end_read;
    struct loop_timer *timer;
    int64_t keep_until_ms; /* monotonic: a dropped plan stays that long */
    unsigned op;
    int rc;
    struct err err;
};

struct slice_ref {
    struct plan *plan;
    unsigned op;
};

static void plan_advance(struct plan *p);

/* ---- life ------------------------------------------------------------------------------------ */

static void
page_free(struct page **pp)
{
    if (*pp == NULL)
        return;
    arena_free(&(*pp)->arena);
    mem_free(*pp);
    *pp = NULL;
}

static void
plan_set_cursor(struct plan *p, struct slice cursor)
{
    char *copy = mem_alloc(cursor.n + 1);

    if (cursor.n > 0)
        memcpy(copy, cursor.p, cursor.n);
    mem_free((void *)(uintptr_t)p->cursor.p);
    p->cursor = slice_make(copy, cursor.n);
}

static void
plan_free(struct plan *p)
{
    loop_timer_cancel(&p->timer);
    page_free(&p->reading);
    page_free(&p->ready);
    page_free(&p->writing);
    segment_free(&p->segment);
    mem_free((void *)(uintptr_t)p->cursor.p);
    mem_free(p);
}

/* Stop planning this run. The plan goes when nothing of it is in the hands of a worker or the store any
 * more, and not before the end of the turn: the caller may be deep inside it. */
static void
plan_drop(struct plan *p)
{
    p->state = PLAN_DROPPED;
    dispatcher_kick(p->d);
}

/* Begin again from the lease in a second. Until then the dropped plan stands in the way of a new one. */
static void
plan_restart_later(struct plan *p)
{
    p->keep_until_ms = clock_mono_ms() + RETRY_MS;
    plan_drop(p);
    dispatcher_retry_later(p->d);
}

static void
on_retry(void *arg)
{
    struct plan *p = arg;

    p->timer = NULL;
    plan_advance(p);
}

static bool
plan_is_over(const struct plan *p)
{
    return p->state == PLAN_DROPPED && p->reading == NULL && p->n_slices == 0 &&
           clock_mono_ms() >= p->keep_until_ms;
}

void
dispatch_plans_sweep(struct dispatcher *d)
{
    size_t it = 0;
    uint64_t key;
    void *p;

    while (map_u64_next(d->plans, &it, &key, &p)) {
        const struct plan *plan = p;

        if (!plan_is_over(plan)) {
            if (plan->state == PLAN_DROPPED && clock_mono_ms() < plan->keep_until_ms)
                dispatcher_retry_later(d);
            continue;
        }
        map_u64_del(d->plans, key);
        plan_free(p);
        it = 0;
    }
}

/* The plan stays dropped for a second: a pause that the store has not written, or could not, must not
 * make us plan and pause in circles. */
static void
plan_pause(struct plan *p, enum pause_reason code, const char *message)
{
    run_pause_submit(p->d->args.store, p->d->args.runs, p->broadcast,
        &(struct run_reason){.code = code, .message = message, .actor = "system:dispatch"});
    plan_restart_later(p);
}

static void
plan_failed(struct plan *p, const struct err *err)
{
    struct log_ctx ctx = {.broadcast = p->broadcast};

    if (err->code == ERR_TEMP) {
        log_warn(&ctx, "dispatch.retry", "error=\"%s\"", err->text);
        plan_restart_later(p);
        return;
    }
    log_error(&ctx, "dispatch.failed", "error=\"%s\"", err->text);
    plan_pause(p, PAUSE_DISPATCH_ERROR, err->text);
}

/* ---- lease and load -------------------------------------------------------------------------- */

static void
on_lease(struct store_batch *b, void *arg)
{
    struct plan *p = arg;
    const struct err *err = store_batch_err(b);
    const struct run_result *r = err == NULL ? runs_result(b, p->op) : NULL;

    p->d->n_busy--;
    p->state = PLAN_READY;
    if (err != NULL) {
        plan_failed(p, err);
    } else if (!r->matched || r->n_runs == 0) {
        plan_drop(p);
    } else {
        const struct run_record *run = &r->runs[0];

        p->fence = run->fence;
        p->profile = run->profile;
        p->page_no = run->page;
        p->planned = run_rows(&run->n);
        p->growth_limit = run->growth_limit;
        p->due_at_ms = run->started_at_ms;
        plan_set_cursor(p, run->cursor);
        run_table_update(p->d->args.runs, r->runs, r->n_runs);
        p->state = PLAN_LOAD;
        plan_advance(p);
    }
    store_batch_free(&b);
}

static void
plan_lease(struct plan *p)
{
    const struct dispatcher_args *a = &p->d->args;
    struct store_batch *b = store_batch_create(a->store, STORE_URGENT);
    struct run_change c = {
        .broadcast = p->broadcast,
        .if_states = 1u << RUN_SENDING,
        .if_reasons_absent = ~0u,
        .stale_before_ms = a->lease_stale_ms == 0 ? INT64_MAX : clock_now_ms() - a->lease_stale_ms,
        .set = RUN_TAKE_LEASE,
    };

    c.to.lease_owner = a->owner;
    c.to.lease_beat_ms = clock_now_ms();
    p->op = runs_change(b, &c);
    p->d->n_busy++;
    store_submit(b, on_lease, p);
}

static void
load_run(void *arg)
{
    struct plan *p = arg;
    struct arena *a = arena_create(0);
    struct broadcast_doc doc;
    struct run_record run;
    struct template_version v;

    p->rc = -1;
    if (broadcast_doc_get_id(p->d->args.store, p->broadcast, a, &doc, &run, &p->err) == 0 &&
        template_version_get(p->d->args.store, doc.template_slug, (uint32_t)run.template_version, a,
            &v, &p->err) == 0 &&
        (p->segment = segment_from_bson(doc.segment, &p->err)) != NULL) {
        p->kind = v.content.kind;
        p->rc = 0;
    }
    arena_free(&a);
}

static void
load_done(void *arg)
{
    struct plan *p = arg;

    p->d->n_busy--;
    p->state = PLAN_READY;
    if (p->rc != 0)
        plan_failed(p, &p->err);
    else
        plan_advance(p);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void
read_run(void *arg)
{
    struct page *pg = arg;
    struct eligible_query q = {
        .segment = pg->plan->segment,
        .kind = pg->plan->kind,
        .now_ms = clock_now_ms(),
        .limit = ELIGIBLE_PAGE_MAX,
    };

    pg->rc = eligible_read_page(
        pg->plan->d->args.store, &q, pg->cursor_before, pg->arena, &pg->got, &pg->err);
    for (size_t i = 0; pg->rc == 0 && i < pg->got.n; i++)
        pg->n_rows += pg->got.contacts[i].verdict < 0;
}

static void
read_done(void *arg)
{
    struct page *pg = arg;
    struct plan *p = pg->plan;

    p->d->n_busy--;
    p->reading = NULL;
    if (p->state == PLAN_DROPPED) {
        page_free(&pg);
        plan_drop(p);
        return;
    }
    if (pg->rc != 0) {
        p->err = pg->err;
        page_free(&pg);
        if (p->n_slices > 0)
            p->is_retry = true; /* once the slices are answered */
        else
            plan_failed(p, &p->err);
        return;
    }
    plan_set_cursor(p, pg->got.cursor);
    p->is_end_read = pg->got.is_last;
    p->ready = pg;
    plan_advance(p);
}

static void
plan_read(struct plan *p)
{
    struct page *pg = mem_zalloc(sizeof(*pg));

    pg->plan = p;
    pg->arena = arena_create(32 * 1024);
    pg->cursor_before = arena_dup(pg->arena, p->cursor);
    if (!workers_submit(p->d->args.cpu, read_run, read_done, pg)) {
        page_free(&pg);
        if (p->timer == NULL)
            p->timer = loop_timer_start(p->d->args.loop, RETRY_MS, on_retry, p);
        return;
    }
    p->d->n_busy++;
    p->reading = pg;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void
page_written(struct plan *p)
{
    uint64_t broadcast = p->broadcast;
    bool is_end = p->writing->got.is_last;

    page_free(&p->writing);
    sender_rows_added(p->d->args.sender, broadcast);
    if (p->is_retry) { /* slices behind a failed one did not match, which says nothing */
        plan_failed(p, &p->err);
        return;
    }
    if (p->is_missed || is_end || p->state == PLAN_DROPPED) {
        plan_drop(p);
        return;
    }
    plan_advance(p);
}

static void
on_slice(struct store_batch *b, void *arg)
{
    struct slice_ref *ref = arg;
    struct plan *p = ref->plan;
    const struct err *err = store_batch_err(b);

    p->d->n_busy--;
    p->n_slices--;
    if (err != NULL) {
        p->is_retry = true;
        p->err = *err;
    } else {
        const struct sends_result *r = sends_result(b, ref->op);

        if (r->matched)
            p->planned += (int64_t)r->count;
        else
            p->is_missed = true;
        run_table_update(p->d->args.runs, r->runs, r->n_runs);
    }
    mem_free(ref);
    store_batch_free(&b);
    if (p->n_slices == 0)
        page_written(p);
}

/* Contacts [from, to) of the page as one slice. */
static void
write_slice(struct plan *p, const struct page *pg, size_t from, size_t to, struct slice before,
    struct slice after, bool is_last)
{
    struct store_batch *b = store_batch_create(p->d->args.store, STORE_BULK);
    struct sends_plan_row rows[SLICE_ROWS];
    struct sends_plan_exclusion excluded[SLICE_ROWS];
    struct sends_plan s = {
        .broadcast = p->broadcast,
        .fence = p->fence,
        .profile = p->profile,
        .lane = LANE_BULK,
        .page = p->page_no,
        .now_ms = clock_now_ms(),
        .rows = rows,
        .excluded = excluded,
        .cursor_before = before,
        .cursor_after = after,
        .is_last = is_last,
    };
    struct slice_ref *ref = mem_alloc(sizeof(*ref));

    for (size_t i = from; i < to; i++) {
        const struct eligible_contact *c = &pg->got.contacts[i];

        if (c->verdict >= 0)
            excluded[s.n_excluded++] =
                (struct sends_plan_exclusion){c->contact, (enum exclusion_reason)c->verdict};
        else
            rows[s.n_rows++] = (struct sends_plan_row){
                id_next(), c->contact, c->address, c->address_hash, p->due_at_ms};
    }
    ref->plan = p;
    ref->op = sends_plan(b, &s);
    p->n_slices++;
    p->d->n_busy++;
    store_submit(b, on_slice, ref);
}

static void
plan_write(struct plan *p)
{
    struct page *pg = p->ready;
    struct slice before = pg->cursor_before;
    size_t from = 0;

    p->ready = NULL;
    p->writing = pg;
    p->page_no++;
    do {
        size_t to = pg->got.n - from > SLICE_ROWS ? from + SLICE_ROWS : pg->got.n;
        bool is_end = to == pg->got.n;
        struct slice after = pg->got.cursor;

        if (!is_end) {
            char *text = arena_alloc(pg->arena, ELIGIBLE_CURSOR_MAX);

            after = slice_make(text, eligible_cursor_make(pg->got.contacts[to - 1].contact, text));
        }
        write_slice(p, pg, from, to, before, after, is_end && pg->got.is_last);
        before = after;
        from = to;
    } while (from < pg->got.n);
}

static void
pause_grown(struct plan *p)
{
    char text[160];

    snprintf(text, sizeof(text),
        "the audience grew: planning would pass %lld recipients, the limit set at confirmation",
        (long long)p->growth_limit);
    plan_pause(p, PAUSE_AUDIENCE_GREW, text);
}

/* ---- the plan's next step -------------------------------------------------------------------- */

static void
plan_advance(struct plan *p)
{
    const struct dispatcher_args *a = &p->d->args;

    if (p->state == PLAN_LEASE) {
        plan_lease(p);
        return;
    }
    if (p->state == PLAN_LOAD) {
        if (workers_submit(a->cpu, load_run, load_done, p)) {
            p->d->n_busy++;
        } else {
            plan_restart_later(p);
        }
        return;
    }
    if (p->state == PLAN_DROPPED || gates_closed(a->gates, p->broadcast) != 0)
        return;
    if (p->ready != NULL && p->writing == NULL) {
        if (p->growth_limit >= 0 && p->planned + (int64_t)p->ready->n_rows > p->growth_limit) {
            pause_grown(p);
            return;
        }
        plan_write(p);
    }
    if (p->reading == NULL && p->ready == NULL && !p->is_end_read && p->timer == NULL)
        plan_read(p);
}

void
dispatch_plan_kick(struct dispatcher *d, uint64_t broadcast)
{
    struct plan *p = map_u64_get(d->plans, broadcast);

    if (p != NULL) {
        if (p->state == PLAN_READY)
            plan_advance(p);
        return;
    }
    p = mem_zalloc(sizeof(*p));
    p->d = d;
    p->broadcast = broadcast;
    p->state = PLAN_LEASE;
    map_u64_put(d->plans, broadcast, p);
    plan_advance(p);
}

void
dispatch_plan_stop(struct dispatcher *d, uint64_t broadcast)
{
    struct plan *p = map_u64_get(d->plans, broadcast);

    if (p != NULL && p->state == PLAN_READY)
        plan_drop(p);
}

void
dispatch_plans_free(struct dispatcher *d)
{
    size_t it = 0;
    uint64_t key;
    void *p;

    while (map_u64_next(d->plans, &it, &key, &p))
        plan_free(p);
    map_u64_free(&d->plans);
}
