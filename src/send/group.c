/*
 * Groups: where ready ids come from.
 *
 * A group reads its due index in windows and hands the ids to the queue. The position only moves
 * forward; ids that were handed out and came back unsent (a refused claim, a flushed queue), and rows
 * that appear behind it, are found by a rewind to the head, at most once a second, with those skipped
 * that are in work. So the store is the truth and the queue may lose anything at any time.
 *
 *   new ──load──► ready ──feed──► exhausted ──rows added / due time / rewind──► ready
 *
 * One timer serves every reason to look again, and the earliest wins: it always begins at the head and
 * learns the next due time anew. A group that is closed (paused, cancelled, sent) stays until nothing
 * that was lent comes back to it, and may be opened again before that.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/gates.h"
#include "control/run_control.h"
#include "control/run_table.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "queue/queue.h"
#include "send/internal.h"
#include "store/store.h"

#define REWIND_MS 1000
/* Rows that the counters know and nobody here has in work are looked for this often. */
#define FORGOTTEN_MS 10000
/* After this many failures to load the content of a broadcast it is paused (dispatch_error). */
#define MAX_LOAD_FAILURES 5

struct load_job {
    struct group *group;
    struct content *content;
    struct err err;
    int rc;
};

struct feed_job {
    struct group *group;
    unsigned op;
};

/* ---- life ------------------------------------------------------------------------------------ */

struct group *
group_of(struct sender *s, uint64_t id, bool is_broadcast, uint64_t profile)
{
    struct group *g = map_u64_get(s->groups, id);

    if (g != NULL) {
        if (g->is_closed) { /* resumed before everything lent had come back */
            g->is_closed = false;
            group_rewind(g);
        }
        return g;
    }
    g = mem_zalloc(sizeof(*g));
    g->sender = s;
    g->id = id;
    g->is_broadcast = is_broadcast;
    g->profile = profile;
    g->lane = is_broadcast ? LANE_BULK : LANE_IMMEDIATE;
    map_u64_put(s->groups, id, g);
    return g;
}

void
group_free(struct group *g)
{
    loop_timer_cancel(&g->timer);
    content_unref(&g->content);
    mem_free(g);
}

static void
free_when_over(struct group *g)
{
    if (!g->is_closed || g->n_lent > 0)
        return;
    map_u64_del(g->sender->groups, g->id);
    group_free(g);
}

void
group_lend(struct group *g)
{
    g->n_lent++;
    g->sender->n_lent++;
}

void
group_return(struct group *g)
{
    g->n_lent--;
    g->sender->n_lent--;
    free_when_over(g);
}

void
group_close(struct group *g)
{
    struct sender *s = g->sender;
    struct channel *ch = map_u64_get(s->channels, g->profile);

    queue_drop(s->args.queue, g->id);
    if (ch != NULL)
        channel_drop_group(ch, g->id);
    g->is_closed = true;
    free_when_over(g);
}

/* ---- looking again --------------------------------------------------------------------------- */

static void
on_timer(void *arg)
{
    struct group *g = arg;

    g->timer = NULL;
    g->is_exhausted = false;
    g->pos_due_ms = 0;
    g->pos_id = 0;
    g->rewound_at_ms = clock_mono_ms();
    sender_kick(g->sender);
}

/* From the head in `delay_ms`, or earlier when that was asked for before. */
static void
look_again(struct group *g, int64_t delay_ms)
{
    int64_t now = clock_mono_ms(), at = now + (delay_ms > 0 ? delay_ms : 0);

    if (at < g->rewound_at_ms + REWIND_MS)
        at = g->rewound_at_ms + REWIND_MS;
    if (g->timer != NULL && g->wake_at_ms <= at)
        return;
    loop_timer_cancel(&g->timer);
    g->wake_at_ms = at;
    g->timer = loop_timer_start(g->sender->args.loop, at - now, on_timer, g);
}

void
group_rewind(struct group *g)
{
    look_again(g, 0);
}

void
group_rewind_at(struct group *g, int64_t due_at_ms)
{
    look_again(g, due_at_ms - clock_now_ms());
}

/* ---- loading the content --------------------------------------------------------------------- */

static void
load_run(void *arg)
{
    struct load_job *l = arg;

    l->rc =
        content_load_broadcast(l->group->sender->args.store, l->group->id, &l->content, &l->err);
}

/* Tried again in any case: a pause that cannot be stored, or one that a person lifts, must not leave
 * the group waiting for nothing. */
static void
load_failed(struct group *g, const struct err *err)
{
    struct log_ctx ctx = {.broadcast = g->id};

    log_error(&ctx, "send.content_failed", "error=\"%s\"", err->text);
    if (err->code != ERR_TEMP || ++g->load_failures >= MAX_LOAD_FAILURES) {
        struct run_reason why = {
            .code = PAUSE_DISPATCH_ERROR, .message = err->text, .actor = "system:sender"};

        run_pause_submit(g->sender->args.store, g->sender->args.runs, g->id, &why);
    }
    look_again(g, REWIND_MS);
}

static void
load_done(void *arg)
{
    struct load_job *l = arg;
    struct group *g = l->group;
    struct sender *s = g->sender;

    g->is_loading = false;
    g->content = l->content;
    if (l->rc != 0 && !g->is_closed)
        load_failed(g, &l->err);
    mem_free(l);
    group_return(g);
    sender_kick(s);
    sender_check_stopped(s);
}

static void
group_load(struct group *g)
{
    struct load_job *l = mem_zalloc(sizeof(*l));

    l->group = g;
    if (!workers_submit(g->sender->args.cpu, load_run, load_done, l)) {
        mem_free(l);
        look_again(g, REWIND_MS);
        return;
    }
    g->is_loading = true;
    group_lend(g);
}

/* ---- feeding --------------------------------------------------------------------------------- */

static void
feed_ids(struct group *g, const struct sends_result *r)
{
    uint64_t ids[FEED_WINDOW];
    size_t n = 0;

    for (size_t i = 0; i < r->n_rows; i++)
        if (!map_u64_has(g->sender->busy, r->rows[i].id))
            ids[n++] = r->rows[i].id;
    if (n > 0)
        queue_add(g->sender->args.queue, g->profile, g->lane, g->id, ids, n);
}

static void
fed(struct group *g, const struct sends_result *r)
{
    feed_ids(g, r);
    if (r->n_rows > 0) {
        g->pos_due_ms = r->rows[r->n_rows - 1].due_at_ms;
        g->pos_id = r->rows[r->n_rows - 1].id;
    }
    if (r->n_rows == FEED_WINDOW)
        return;
    g->is_exhausted = true;
    if (r->next_due_ms > 0)
        group_rewind_at(g, r->next_due_ms);
}

static void
on_fed(struct store_batch *b, void *arg)
{
    struct feed_job *f = arg;
    struct group *g = f->group;
    struct sender *s = g->sender;
    const struct err *err = store_batch_err(b);
    struct log_ctx ctx = {.broadcast = g->is_broadcast ? g->id : 0};

    g->is_feeding = false;
    if (err != NULL) {
        log_warn(&ctx, "send.feed_failed", "error=\"%s\"", err->text);
        g->is_exhausted = true;
        look_again(g, REWIND_MS);
    } else if (!g->is_closed) {
        fed(g, sends_result(b, f->op));
    }
    store_batch_free(&b);
    mem_free(f);
    group_return(g);
    sender_kick(s);
    sender_check_stopped(s);
}

static void
group_feed(struct group *g)
{
    struct feed_job *f = mem_zalloc(sizeof(*f));
    struct store_batch *b = store_batch_create(g->sender->args.store, STORE_URGENT);

    f->group = g;
    f->op = sends_due(b, g->id, g->pos_due_ms, g->pos_id, clock_now_ms(), FEED_WINDOW);
    g->is_feeding = true;
    group_lend(g);
    store_submit(b, on_fed, f);
}

/* Whoever loses an id asks for a rewind; this is the net below, for rows that another instance gave
 * back or that a flushed queue had. */
static void
group_check_forgotten(struct group *g)
{
    const struct run_record *r = run_table_get(g->sender->args.runs, g->id);

    if (r != NULL && r->n.by_state[SEND_QUEUED] > 0)
        look_again(g, FORGOTTEN_MS);
}

void
group_pump(struct group *g)
{
    struct sender *s = g->sender;

    if (g->is_closed || !sender_may_work(s, g))
        return;
    if (g->is_broadcast && g->content == NULL) {
        if (!g->is_loading && g->timer == NULL)
            group_load(g);
        return;
    }
    if (g->is_feeding || queue_length(s->args.queue, g->id) >= FEED_LOW_WATER)
        return;
    if (!g->is_exhausted)
        group_feed(g);
    else if (g->is_broadcast && queue_length(s->args.queue, g->id) == 0 && g->n_preparing == 0)
        group_check_forgotten(g);
}
