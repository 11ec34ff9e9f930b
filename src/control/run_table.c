/*
 * Runs in work, as last reported by the store.
 *
 * Results of concurrent batches can arrive in any order, so an update older than what stands here must
 * not win. The fence of a run rises with each lease taken and each change of its state, so it decides
 * first: a late report from before a resume must not shut the run again, nor one from before a pause
 * let it go on. Under one fence the rows, the facts and the page only ever grow in total; a record whose
 * sum lies behind is older.
 */
#include "control/run_table.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "loop/loop.h"

#define MAX_LISTENERS 8

struct entry {
    struct run_record rec;
    char *cursor, *detail; /* memory behind the record's slices */
};

struct run_table {
    struct loop *loop;
    struct map_u64 *runs; /* broadcast -> struct entry */
    struct {
        run_table_fn *fn;
        void *arg;
    } listeners[MAX_LISTENERS];
    unsigned n_listeners;
    unsigned n_held;
};

struct posted {
    struct run_table *table;
    struct entry e;
};

static char *
copy_slice(struct slice *s)
{
    char *p = mem_alloc(s->n + 1);

    if (s->n > 0)
        memcpy(p, s->p, s->n);
    p[s->n] = '\0';
    s->p = p;
    return p;
}

static void
entry_init(struct entry *e, const struct run_record *rec)
{
    e->rec = *rec;
    e->cursor = copy_slice(&e->rec.cursor);
    e->detail = copy_slice(&e->rec.reason_detail);
}

static void
entry_deinit(struct entry *e)
{
    mem_free(e->cursor);
    mem_free(e->detail);
}

struct run_table *
run_table_create(struct loop *l)
{
    struct run_table *t = mem_zalloc(sizeof(*t));

    t->loop = l;
    t->runs = map_u64_create();
    return t;
}

void
run_table_free(struct run_table **tp)
{
    struct run_table *t = *tp;
    size_t it = 0;
    uint64_t key;
    void *e;

    if (t == NULL)
        return;
    while (map_u64_next(t->runs, &it, &key, &e)) {
        entry_deinit(e);
        mem_free(e);
    }
    map_u64_free(&t->runs);
    mem_free(t);
    *tp = NULL;
}

void
run_table_listen(struct run_table *t, run_table_fn *fn, void *arg)
{
    assert(t->n_listeners < MAX_LISTENERS);
    t->listeners[t->n_listeners].fn = fn;
    t->listeners[t->n_listeners++].arg = arg;
}

static bool
is_in_work(const struct run_record *r)
{
    return r->state == RUN_SENDING || r->state == RUN_PAUSED;
}

/* What only grows under one fence: rows planned, exclusions, facts, pages. */
static int64_t
progress_of(const struct run_record *r)
{
    int64_t sum = run_rows(&r->n) + r->n.accepted + r->n.opened + r->n.clicked + r->n.unsubscribed;

    for (int i = 0; i < EXCL_REASONS; i++)
        sum += r->n.excluded[i];
    return sum + (int64_t)r->page;
}

static bool
is_older(const struct run_record *rec, const struct run_record *than)
{
    if (rec->fence != than->fence)
        return rec->fence < than->fence;
    return rec->state == than->state && rec->reasons == than->reasons &&
           progress_of(rec) < progress_of(than);
}

static void
update_one(struct run_table *t, const struct run_record *rec)
{
    struct entry *e = map_u64_get(t->runs, rec->broadcast);
    struct entry before = {0};
    bool had_before = e != NULL;

    if (e == NULL) {
        if (!is_in_work(rec))
            return;
        e = mem_zalloc(sizeof(*e));
        map_u64_put(t->runs, rec->broadcast, e);
    } else {
        if (is_older(rec, &e->rec))
            return;
        before = *e;
    }
    entry_init(e, rec);
    for (unsigned i = 0; i < t->n_listeners; i++)
        t->listeners[i].fn(had_before ? &before.rec : NULL, &e->rec, t->listeners[i].arg);
    if (had_before)
        entry_deinit(&before);
    if (!is_in_work(rec)) {
        map_u64_del(t->runs, e->rec.broadcast);
        entry_deinit(e);
        mem_free(e);
    }
}

void
run_table_update(struct run_table *t, const struct run_record *recs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        update_one(t, &recs[i]);
}

static void
on_posted(void *arg)
{
    struct posted *p = arg;

    update_one(p->table, &p->e.rec);
    entry_deinit(&p->e);
    mem_free(p);
}

void
run_table_post(struct run_table *t, const struct run_record *rec)
{
    struct posted *p = mem_zalloc(sizeof(*p));

    p->table = t;
    entry_init(&p->e, rec);
    loop_post(t->loop, on_posted, p);
}

const struct run_record *
run_table_get(const struct run_table *t, uint64_t broadcast)
{
    const struct entry *e = map_u64_get(t->runs, broadcast);

    return e != NULL ? &e->rec : NULL;
}

const struct run_record *
run_table_next(const struct run_table *t, size_t *it)
{
    uint64_t key;
    void *e;

    return map_u64_next(t->runs, it, &key, &e) ? &((struct entry *)e)->rec : NULL;
}

void
run_table_hold(struct run_table *t)
{
    t->n_held++;
}

void
run_table_release(struct run_table *t)
{
    t->n_held--;
}

unsigned
run_table_busy(const struct run_table *t)
{
    return t->n_held;
}

bool
run_may_claim(const struct run_record *r)
{
    if (r->state == RUN_SENDING)
        return r->reasons == 0;
    return r->state == RUN_PAUSED && r->reasons == 1u << PAUSE_CAP_REACHED;
}

bool
run_may_plan(const struct run_record *r)
{
    return r->state == RUN_SENDING && r->reasons == 0 && r->dispatched_at_ms == 0;
}
