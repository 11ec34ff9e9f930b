/*
 * The queue in memory:
 *
 *   record ─► waiting (a map finds equal ones) ─► group of ≤ 100 ─► worker: judge and store
 *
 * One group at a time. It leaves when 100 wait or 200 ms have passed; the store's own pace bounds what
 * follows. A group that the store refuses is put back at the head and tried again a second later; the
 * limit on the queue then decides what is shed.
 */
#include "feedback/engagement.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "feedback/engagement_internal.h"
#include "loop/loop.h"
#include "loop/workers.h"

#define GROUP_MAX 100 /* one batch: some 10 ms of the writer */
#define LINGER_MS 200
#define RETRY_MS  1000

struct flight {
    struct engagements *q;
    struct list items;
    size_t n, bytes;
    struct engagement_stored stored;
    int rc;
    struct err err;
};

struct engagements {
    struct loop *loop;
    struct store *store;
    struct run_table *runs;
    struct workers *worker;
    size_t limit;

    struct list waiting;
    size_t n_waiting;
    int64_t bytes;        /* of all items in memory */
    struct map_u64 *keys; /* of what waits */
    struct loop_timer *timer;
    struct flight *flight;
    bool is_stopping;

    struct metric *recorded, *merged, *shed, *stored, *ignored, *depth;
};

static void flush(struct engagements *q);

static void
add_metrics(struct engagements *q)
{
    q->recorded = metric_counter(
        "mailshot_engagements_recorded_total", "Opens and clicks that were answered.", NULL);
    q->merged = metric_counter("mailshot_engagements_merged_total",
        "Repeats within a second, counted on the first one.", NULL);
    q->shed = metric_counter("mailshot_engagements_shed_total",
        "Opens and clicks dropped since the queue was full.", NULL);
    q->stored =
        metric_counter("mailshot_engagements_stored_total", "Opens and clicks stored.", NULL);
    q->ignored = metric_counter("mailshot_engagements_ignored_total",
        "Opens and clicks of mails never sent, or beyond what is kept of one mail.", NULL);
    q->depth = metric_gauge("mailshot_engagements_waiting", "Opens and clicks in memory.", NULL);
}

struct engagements *
engagements_create(const struct engagements_args *args)
{
    struct engagements *q = mem_zalloc(sizeof(*q));

    q->loop = args->loop;
    q->store = args->store;
    q->runs = args->runs;
    q->limit = args->queue_limit != 0 ? args->queue_limit : ENGAGEMENT_QUEUE;
    q->worker = workers_create(args->loop, "engagement", 1, 1);
    q->keys = map_u64_create();
    list_init(&q->waiting);
    add_metrics(q);
    return q;
}

void
engagements_free(struct engagements **qp)
{
    struct engagements *q = *qp;

    *qp = NULL;
    if (q == NULL)
        return;
    assert(q->flight == NULL);
    loop_timer_cancel(&q->timer);
    workers_free(&q->worker);
    for (struct list *n; (n = list_pop_front(&q->waiting)) != NULL;)
        mem_free(LIST_ENTRY(n, struct engagement_item, node));
    map_u64_free(&q->keys);
    mem_free(q);
}

size_t
engagements_busy(const struct engagements *q)
{
    return q->n_waiting + (q->flight != NULL ? q->flight->n : 0);
}

/* ---- out ------------------------------------------------------------------------------------- */

static void
on_lingered(void *arg)
{
    struct engagements *q = arg;

    q->timer = NULL;
    flush(q);
}

static void
arm(struct engagements *q, int64_t delay_ms)
{
    if (q->timer == NULL)
        q->timer = loop_timer_start(q->loop, delay_ms, on_lingered, q);
}

static void
run_flight(void *job)
{
    struct flight *f = job;

    f->rc = engagement_store_group(f->q->store, f->q->runs, &f->items, f->n, &f->stored, &f->err);
}

/* Nothing of the group was stored: it waits again, before what came later. */
static void
put_back(struct engagements *q, struct flight *f)
{
    list_move(&f->items, &q->waiting);
    list_move(&q->waiting, &f->items);
    q->n_waiting += f->n;
}

static void
let_go(struct engagements *q, struct flight *f)
{
    for (struct list *n; (n = list_pop_front(&f->items)) != NULL;)
        mem_free(LIST_ENTRY(n, struct engagement_item, node));
    q->bytes -= (int64_t)f->bytes;
}

static void
on_flown(void *job)
{
    struct flight *f = job;
    struct engagements *q = f->q;
    bool is_over = f->rc == 0 || q->is_stopping || f->err.code != ERR_TEMP;

    q->flight = NULL;
    if (f->rc != 0)
        log_warn(NULL, "engagements.not_stored", "events=%zu given_up=%d error=\"%s\"", f->n,
            is_over, f->err.text);
    if (is_over) {
        metric_add(q->stored, (int64_t)f->stored.rows);
        metric_add(q->ignored, (int64_t)f->stored.ignored);
        if (f->rc != 0)
            metric_add(q->shed, (int64_t)f->n);
        let_go(q, f);
    } else {
        put_back(q, f);
    }
    mem_free(f);
    metric_set(q->depth, (int64_t)q->n_waiting);
    if (q->n_waiting == 0)
        return;
    if (!is_over)
        arm(q, RETRY_MS);
    else if (q->n_waiting >= GROUP_MAX || q->is_stopping)
        flush(q);
    else
        arm(q, LINGER_MS);
}

static uint64_t
key_of(const struct engagement *e)
{
    struct {
        uint64_t send;
        int64_t second;
        uint32_t kind, ordinal;
    } k = {e->ref.send, e->at_ms / 1000, (uint32_t)e->kind, e->ordinal};
    uint64_t hash = map_hash(slice_make(&k, sizeof(k)));

    return hash != 0 ? hash : 1;
}

static void
flush(struct engagements *q)
{
    struct flight *f;

    loop_timer_cancel(&q->timer);
    if (q->flight != NULL || q->n_waiting == 0)
        return;
    f = mem_zalloc(sizeof(*f));
    f->q = q;
    list_init(&f->items);
    while (f->n < GROUP_MAX && q->n_waiting > 0) {
        struct list *node = list_pop_front(&q->waiting);
        struct engagement_item *it = LIST_ENTRY(node, struct engagement_item, node);
        uint64_t key = key_of(&it->e);

        if (map_u64_get(q->keys, key) == it)
            map_u64_del(q->keys, key);
        list_push_back(&f->items, node);
        f->bytes += sizeof(*it) + it->e.url.n + it->e.user_agent.n;
        f->n++;
        q->n_waiting--;
    }
    q->flight = f;
    if (!workers_submit(q->worker, run_flight, on_flown, f)) {
        q->flight = NULL;
        put_back(q, f);
        mem_free(f);
        arm(q, LINGER_MS);
    }
}

/* ---- in -------------------------------------------------------------------------------------- */

static bool
is_same(const struct engagement *a, const struct engagement *b)
{
    return a->kind == b->kind && a->ref.send == b->ref.send && a->ordinal == b->ordinal &&
           a->at_ms / 1000 == b->at_ms / 1000 && slice_eq(a->user_agent, b->user_agent) &&
           slice_eq(a->url, b->url);
}

static struct engagement_item *
item_create(const struct engagement *e)
{
    struct engagement_item *it = mem_alloc(sizeof(*it) + e->url.n + e->user_agent.n);

    it->e = *e;
    it->count = 1;
    it->e.url = slice_make(it->text, e->url.n);
    it->e.user_agent = slice_make(it->text + e->url.n, e->user_agent.n);
    if (e->url.n > 0)
        memcpy(it->text, e->url.p, e->url.n);
    if (e->user_agent.n > 0)
        memcpy(it->text + e->url.n, e->user_agent.p, e->user_agent.n);
    return it;
}

void
engagement_record(struct engagements *q, const struct engagement *event)
{
    struct engagement e = *event;
    struct engagement_item *it;
    uint64_t key;
    int64_t size;

    if (e.user_agent.n > ENGAGEMENT_AGENT_MAX)
        e.user_agent.n = ENGAGEMENT_AGENT_MAX;
    key = key_of(&e);
    metric_add(q->recorded, 1);
    it = map_u64_get(q->keys, key);
    if (it != NULL && is_same(&it->e, &e)) {
        it->count += it->count < UINT32_MAX;
        metric_add(q->merged, 1);
        return;
    }
    size = (int64_t)(sizeof(*it) + e.url.n + e.user_agent.n);
    if (q->n_waiting >= q->limit || q->bytes + size > ENGAGEMENT_BYTES || q->is_stopping) {
        metric_add(q->shed, 1);
        return;
    }
    it = item_create(&e);
    q->bytes += size;
    map_u64_put(q->keys, key, it);
    list_push_back(&q->waiting, &it->node);
    q->n_waiting++;
    if (q->flight == NULL && q->n_waiting >= GROUP_MAX)
        flush(q);
    else if (q->flight == NULL)
        arm(q, LINGER_MS);
}

void
engagements_stop(struct engagements *q)
{
    q->is_stopping = true;
    flush(q);
}
