#include "transport/domain_gate.h"

#include <assert.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"

/*
 * A bounded table of receiver domains in order of last use. `per_minute` is a virtual clock: each mail
 * moves `next_ms` on by 60 000 / per_minute, and a mail may go when `next_ms` is not ahead of now, so
 * mails are spread over the minute and idle time earns no burst.
 */

#define TABLE_DEFAULT   10000
#define BUSY_WAIT_MS    50
#define BLOCK_FIRST_MS  60000
#define BLOCK_MAX_MS    1800000
#define BLOCK_NAMED_MAX 86400000
#define MINUTE_US       60000000

struct domain {
    struct list node; /* least recently used first */
    unsigned in_flight;
    unsigned blocks; /* since the last accepted mail */
    int64_t blocked_until_ms;
    int64_t next_us;
    size_t name_n;
    char name[];
};

struct domain_gate {
    struct domain_gate_settings settings;
    struct map_str *map;
    struct list lru;
};

struct domain_gate *
domain_gate_create(const struct domain_gate_settings *settings)
{
    struct domain_gate *g = mem_zalloc(sizeof(*g));

    g->settings = *settings;
    if (g->settings.max_domains == 0)
        g->settings.max_domains = TABLE_DEFAULT;
    g->map = map_str_create();
    list_init(&g->lru);
    return g;
}

static void
domain_free(struct domain_gate *g, struct domain *d)
{
    list_del(&d->node);
    map_str_del(g->map, slice_make(d->name, d->name_n));
    mem_free(d);
}

void
domain_gate_free(struct domain_gate **gp)
{
    struct domain_gate *g = *gp;

    if (g == NULL)
        return;
    *gp = NULL;
    LIST_EACH(node, next, &g->lru)
    domain_free(g, LIST_ENTRY(node, struct domain, node));
    map_str_free(&g->map);
    mem_free(g);
}

void
domain_gate_set_limits(struct domain_gate *g, unsigned max_in_flight, unsigned per_minute)
{
    g->settings.max_in_flight = max_in_flight;
    g->settings.per_minute = per_minute;
}

/* Forget the longest unused domain without a mail under way; those with one are as few as there are
 * sessions, so the walk is short. */
static void
make_room(struct domain_gate *g)
{
    if (map_str_count(g->map) < g->settings.max_domains)
        return;
    LIST_EACH(node, next, &g->lru)
    {
        struct domain *d = LIST_ENTRY(node, struct domain, node);

        if (d->in_flight == 0) {
            domain_free(g, d);
            return;
        }
    }
}

static struct domain *
domain_get(struct domain_gate *g, struct slice name)
{
    struct domain *d = map_str_get(g->map, name);

    if (d == NULL) {
        make_room(g);
        d = mem_zalloc(sizeof(*d) + name.n);
        d->name_n = name.n;
        if (name.n > 0)
            memcpy(d->name, name.p, name.n);
        map_str_put(g->map, name, d);
        list_init(&d->node);
    }
    list_del(&d->node);
    list_push_back(&g->lru, &d->node);
    return d;
}

static int64_t
wait_ms(const struct domain_gate *g, const struct domain *d)
{
    int64_t now_ms = clock_mono_ms(), now_us = (int64_t)clock_mono_us();

    if (now_ms < d->blocked_until_ms)
        return d->blocked_until_ms - now_ms;
    if (g->settings.per_minute > 0 && now_us < d->next_us)
        return (d->next_us - now_us + 999) / 1000;
    if (g->settings.max_in_flight > 0 && d->in_flight >= g->settings.max_in_flight)
        return BUSY_WAIT_MS;
    return 0;
}

int64_t
domain_gate_wait_ms(const struct domain_gate *g, struct slice domain)
{
    const struct domain *d = map_str_get(g->map, domain);

    return d != NULL ? wait_ms(g, d) : 0;
}

int64_t
domain_gate_enter(struct domain_gate *g, struct slice domain)
{
    struct domain *d = domain_get(g, domain);
    int64_t wait = wait_ms(g, d), now_us;

    if (wait > 0)
        return wait;
    d->in_flight++;
    if (g->settings.per_minute > 0) {
        now_us = (int64_t)clock_mono_us();
        d->next_us = (d->next_us > now_us ? d->next_us : now_us) +
                     MINUTE_US / (int64_t)g->settings.per_minute;
    }
    return 0;
}

void
domain_gate_leave(struct domain_gate *g, struct slice domain)
{
    struct domain *d = map_str_get(g->map, domain);

    assert(d != NULL && d->in_flight > 0);
    d->in_flight--;
}

int64_t
domain_gate_block(struct domain_gate *g, struct slice domain, int64_t retry_after_ms)
{
    struct domain *d = domain_get(g, domain);
    int64_t now_ms = clock_mono_ms(), delay_ms = BLOCK_FIRST_MS;

    if (retry_after_ms > 0) {
        delay_ms = retry_after_ms < BLOCK_NAMED_MAX ? retry_after_ms : BLOCK_NAMED_MAX;
    } else if (now_ms < d->blocked_until_ms) {
        /* Replies to mails that were under way already ask for nothing new. */
        return d->blocked_until_ms - now_ms;
    } else {
        for (unsigned i = 0; i < d->blocks && delay_ms < BLOCK_MAX_MS; i++)
            delay_ms *= 2;
        if (delay_ms > BLOCK_MAX_MS)
            delay_ms = BLOCK_MAX_MS;
        d->blocks++;
    }
    if (now_ms + delay_ms > d->blocked_until_ms)
        d->blocked_until_ms = now_ms + delay_ms;
    return d->blocked_until_ms - now_ms;
}

void
domain_gate_accepted(struct domain_gate *g, struct slice domain)
{
    struct domain *d = map_str_get(g->map, domain);

    if (d == NULL)
        return;
    d->blocks = 0;
    d->blocked_until_ms = 0;
}

size_t
domain_gate_count(const struct domain_gate *g, size_t *blocked_r)
{
    int64_t now_ms = clock_mono_ms();

    *blocked_r = 0;
    LIST_EACH(node, next, &g->lru)
    *blocked_r += now_ms < LIST_ENTRY(node, struct domain, node)->blocked_until_ms;
    return map_str_count(g->map);
}
