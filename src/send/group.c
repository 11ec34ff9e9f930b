/*
 * Groups: where ready ids come from.
 *
 * A group reads its due index in windows and hands the ids to the queue. The position only moves
 * forward; ids that were handed out and came back unsent (a refused claim, a flushed queue) are found
 * by a rewind to the head, at most once a second, with those skipped that are in work. So the store is
 * the truth and the queue may lose anything at any time.
 *
 *   new ──load──► ready ──feed──► exhausted ──rows added / due time / rewind──► ready
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
/* After this many failures to load the content of a broadcast it is paused (dispatch_error). */
#define MAX_LOAD_FAILURES 5

struct load_job {
    struct sender *sender;
    uint64_t group;
    struct content *content;
    struct err err;
    int rc;
};

struct feed_job {
    struct sender *sender;
    uint64_t group;
    unsigned op;
};

struct group *
group_of(struct sender *s, uint64_t id, bool is_broadcast, uint64_t profile)
{
    struct group *g = map_u64_get(s->groups, id);

    if (g != NULL) {
        if (g->is_closed) { /* resumed while its last batch was still being prepared */
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

/* Free as soon as no prepare batch borrows the group. */
void
group_close(struct group *g)
{
    struct sender *s = g->sender;
    struct channel *ch = map_u64_get(s->channels, g->profile);

    queue_drop(s->args.queue, g->id);
    if (ch != NULL)
        channel_drop_group(ch, g->id);
    if (g->n_preparing > 0) {
        g->is_closed = true;
        return;
    }
    map_u64_del(s->groups, g->id);
    group_free(g);
}

/* ---- loading the content --------------------------------------------------------------------- */

static void
load_run(void *arg)
{
    struct load_job *l = arg;

    l->rc = content_load_broadcast(l->sender->args.store, l->group, &l->content, &l->err);
}

static void
on_load_retry(void *arg)
{
    struct group *g = arg;

    g->timer = NULL;
    sender_kick(g->sender);
}

static void
load_failed(struct group *g, const struct err *err)
{
    struct log_ctx ctx = {.broadcast = g->id};

    log_error(&ctx, "send.content_failed", "error=\"%s\"", err->text);
    if (err->code != ERR_TEMP || ++g->load_failures >= MAX_LOAD_FAILURES) {
        struct run_reason why = {
            .code = PAUSE_DISPATCH_ERROR, .message = err->text, .actor = "system:sender"};

        run_pause_submit(g->sender->args.store, g->sender->args.runs, g->id, &why);
        return;
    }
    if (g->timer == NULL)
        g->timer = loop_timer_start(g->sender->args.loop, REWIND_MS, on_load_retry, g);
}

static void
load_done(void *arg)
{
    struct load_job *l = arg;
    struct sender *s = l->sender;
    struct group *g = map_u64_get(s->groups, l->group);

    s->n_lent--;
    if (g == NULL) {
        content_unref(&l->content);
    } else {
        g->is_loading = false;
        g->content = l->content;
        if (l->rc != 0)
            load_failed(g, &l->err);
    }
    mem_free(l);
    sender_kick(s);
    sender_check_stopped(s);
}

static void
group_load(struct group *g)
{
    struct load_job *l = mem_zalloc(sizeof(*l));

    l->sender = g->sender;
    l->group = g->id;
    if (!workers_submit(g->sender->args.cpu, load_run, load_done, l)) {
        mem_free(l);
        return;
    }
    g->is_loading = true;
    g->sender->n_lent++;
}

/* ---- feeding --------------------------------------------------------------------------------- */

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

static void
group_sleep(struct group *g, int64_t delay_ms)
{
    if (delay_ms < 0)
        delay_ms = 0;
    loop_timer_cancel(&g->timer);
    g->wake_at_ms = clock_mono_ms() + delay_ms;
    g->timer = loop_timer_start(g->sender->args.loop, delay_ms, on_timer, g);
}

void
group_rewind(struct group *g)
{
    int64_t now = clock_mono_ms();
    int64_t at = g->rewound_at_ms + REWIND_MS > now ? g->rewound_at_ms + REWIND_MS : now;

    if (g->timer == NULL || g->wake_at_ms > at)
        group_sleep(g, at - now);
}

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
    int64_t now = clock_now_ms();

    feed_ids(g, r);
    if (r->n_rows > 0) {
        g->pos_due_ms = r->rows[r->n_rows - 1].due_at_ms;
        g->pos_id = r->rows[r->n_rows - 1].id;
    }
    if (r->n_rows == FEED_WINDOW)
        return;
    g->is_exhausted = true;
    if (r->next_due_ms > 0)
        group_sleep(g, r->next_due_ms > now ? r->next_due_ms - now : REWIND_MS);
}

static void
on_fed(struct store_batch *b, void *arg)
{
    struct feed_job *f = arg;
    struct sender *s = f->sender;
    struct group *g = map_u64_get(s->groups, f->group);
    const struct err *err = store_batch_err(b);

    s->n_lent--;
    if (g != NULL) {
        g->is_feeding = false;
        if (err == NULL) {
            fed(g, sends_result(b, f->op));
        } else {
            struct log_ctx ctx = {.broadcast = g->is_broadcast ? g->id : 0};

            log_warn(&ctx, "send.feed_failed", "error=\"%s\"", err->text);
            g->is_exhausted = true;
            group_rewind(g);
        }
    }
    store_batch_free(&b);
    mem_free(f);
    sender_kick(s);
    sender_check_stopped(s);
}

static void
group_feed(struct group *g)
{
    struct feed_job *f = mem_zalloc(sizeof(*f));
    struct store_batch *b = store_batch_create(g->sender->args.store, STORE_URGENT);

    f->sender = g->sender;
    f->group = g->id;
    f->op = sends_due(b, g->id, g->pos_due_ms, g->pos_id, clock_now_ms(), FEED_WINDOW);
    g->is_feeding = true;
    g->sender->n_lent++;
    store_submit(b, on_fed, f);
}

/* Rows that are queued by the run's counters while nothing is in work here: look again. */
static void
group_check_forgotten(struct group *g)
{
    const struct run_record *r = run_table_get(g->sender->args.runs, g->id);

    if (g->timer == NULL && r != NULL && r->n.by_state[SEND_QUEUED] > 0)
        group_rewind(g);
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
