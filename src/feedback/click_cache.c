/*
 * One entry per broadcast (per mail for one-off mail), in a map and on a list by last use:
 *
 *   (absent) ─wait─► loading ─► loaded: links, or NULL for "there is none" (for a minute)
 *                       └── a passing failure: the entry goes, the next click tries again
 *
 * An entry that is loading is never evicted, since its worker and its waiters point to it; how many
 * can load at once is bounded by the worker's queue.
 */
#include "feedback/click_cache.h"

#include <assert.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "feedback/click_links.h"
#include "loop/workers.h"

#define BYTES_MAX        (4 * 1024 * 1024)
#define ENTRY_BYTES      256 /* of an entry without its links */
#define WAITS_MAX        4096
#define REMEMBER_GONE_MS 60000

struct click_wait {
    struct list node;
    click_wait_fn *fn;
    void *arg;
};

struct entry {
    struct list node; /* by last use; alone while loading */
    struct click_cache *cache;
    struct token_send ref;
    bool is_loading;
    struct click_links *links; /* NULL = there is none */
    int64_t gone_until_ms;
    struct list waits;
    struct err err; /* of the load */
    int rc;
};

struct click_cache {
    struct store *store;
    struct workers *cpu;
    struct map_u64 *entries;
    struct list used; /* newest first */
    size_t bytes, n_waits;
    struct metric *loads;
};

struct click_cache *
click_cache_create(struct store *st, struct workers *cpu)
{
    struct click_cache *c = mem_zalloc(sizeof(*c));

    c->store = st;
    c->cpu = cpu;
    c->entries = map_u64_create();
    list_init(&c->used);
    c->loads = metric_counter(
        "mailshot_click_tables_loaded_total", "Link tables compiled for clicks.", NULL);
    return c;
}

static size_t
entry_bytes(const struct entry *e)
{
    return ENTRY_BYTES + (e->links != NULL ? e->links->size_bytes : 0);
}

static uint64_t
key_of(const struct token_send *ref)
{
    return ref->broadcast != 0 ? ref->broadcast : ref->send;
}

static void
drop(struct entry *e)
{
    struct click_cache *c = e->cache;

    assert(list_empty(&e->waits));
    map_u64_del(c->entries, key_of(&e->ref));
    list_del(&e->node);
    mem_free(e->links);
    mem_free(e);
}

static void
drop_loaded(struct entry *e)
{
    e->cache->bytes -= entry_bytes(e);
    drop(e);
}

void
click_cache_free(struct click_cache **cp)
{
    struct click_cache *c = *cp;

    *cp = NULL;
    if (c == NULL)
        return;
    while (!list_empty(&c->used))
        drop_loaded(LIST_ENTRY(c->used.next, struct entry, node));
    assert(map_u64_count(c->entries) == 0);
    map_u64_free(&c->entries);
    mem_free(c);
}

enum click_found
click_cache_find(
    struct click_cache *c, const struct token_send *ref, uint32_t ordinal, struct slice *url_r)
{
    struct entry *e = map_u64_get(c->entries, key_of(ref));

    if (e == NULL || e->is_loading)
        return CLICK_NOT_LOADED;
    if (e->links == NULL && clock_mono_ms() >= e->gone_until_ms) {
        drop_loaded(e);
        return CLICK_NOT_LOADED;
    }
    list_del(&e->node);
    list_push_front(&c->used, &e->node);
    if (e->links == NULL || ordinal >= e->links->n || e->links->urls[ordinal].n == 0)
        return CLICK_UNKNOWN;
    *url_r = e->links->urls[ordinal];
    return CLICK_TARGET;
}

/* ---- loading --------------------------------------------------------------------------------- */

static void
run_load(void *job)
{
    struct entry *e = job;

    e->rc = click_links_load(e->cache->store, &e->ref, &e->links, &e->err);
}

static void
evict(struct click_cache *c)
{
    while (c->bytes > BYTES_MAX && c->used.prev != c->used.next)
        drop_loaded(LIST_ENTRY(c->used.prev, struct entry, node));
}

/* Waiters are taken off first: what they do may come back here. */
static void
tell(struct click_cache *c, struct list *waits, bool is_loaded)
{
    for (struct list *n; (n = list_pop_front(waits)) != NULL;) {
        struct click_wait *w = LIST_ENTRY(n, struct click_wait, node);
        click_wait_fn *fn = w->fn;
        void *arg = w->arg;

        c->n_waits--;
        mem_free(w);
        fn(is_loaded, arg);
    }
}

static void
on_loaded(void *job)
{
    struct entry *e = job;
    struct click_cache *c = e->cache;
    bool is_loaded = e->rc == 0 || e->err.code != ERR_TEMP;
    struct list waits;

    list_init(&waits);
    list_move(&waits, &e->waits);
    e->is_loading = false;
    metric_add(c->loads, 1);
    if (e->rc != 0)
        log_warn(&(struct log_ctx){.broadcast = e->ref.broadcast}, "click.no_links", "error=\"%s\"",
            e->err.text);
    if (is_loaded) {
        e->gone_until_ms = clock_mono_ms() + REMEMBER_GONE_MS;
        c->bytes += entry_bytes(e);
        list_push_front(&c->used, &e->node);
        evict(c);
    } else {
        drop(e);
    }
    tell(c, &waits, is_loaded);
}

static struct entry *
start_load(struct click_cache *c, const struct token_send *ref)
{
    struct entry *e = mem_zalloc(sizeof(*e));

    e->cache = c;
    e->ref = *ref;
    e->is_loading = true;
    list_init(&e->node);
    list_init(&e->waits);
    if (!workers_submit(c->cpu, run_load, on_loaded, e)) {
        mem_free(e);
        return NULL;
    }
    map_u64_put(c->entries, key_of(ref), e);
    return e;
}

struct click_wait *
click_cache_wait(struct click_cache *c, const struct token_send *ref, click_wait_fn *fn, void *arg)
{
    struct entry *e = map_u64_get(c->entries, key_of(ref));
    struct click_wait *w;

    assert(e == NULL || e->is_loading);
    if (c->n_waits >= WAITS_MAX)
        return NULL;
    if (e == NULL && (e = start_load(c, ref)) == NULL)
        return NULL;
    w = mem_zalloc(sizeof(*w));
    w->fn = fn;
    w->arg = arg;
    c->n_waits++;
    list_push_back(&e->waits, &w->node);
    return w;
}

void
click_cache_cancel(struct click_cache *c, struct click_wait **wp)
{
    struct click_wait *w = *wp;

    *wp = NULL;
    if (w == NULL)
        return;
    list_del(&w->node);
    c->n_waits--;
    mem_free(w);
}
