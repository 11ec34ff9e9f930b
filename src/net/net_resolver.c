#include "net/net_resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/workers.h"

/*
 * Names are kept as entries in a map; an entry is fresh, asked for, or stale. A lookup hangs on its
 * entry until the answer is there, then a timer of 0 ms delivers it, so `fn` never comes early. The
 * question itself is an object of its own: it survives the resolver, whose pointer in it is cleared,
 * since getaddrinfo cannot be called off.
 */

#define HOST_MAX      255
#define FRESH_MS      60000
#define FRESH_FAIL_MS 5000
#define ENTRIES_MAX   256
#define BUSY_RETRY_MS 20

struct entry;

struct question {
    struct net_resolver *r; /* NULL once the resolver is gone */
    struct entry *entry;
    char host[HOST_MAX + 1];
    struct net_addrs addrs;
    struct err err;
};

struct entry {
    struct net_resolver *r;
    char host[HOST_MAX + 1];
    struct net_addrs addrs; /* ports are 0 */
    struct err err;         /* code ERR_NONE when addrs hold */
    int64_t fresh_until_ms;
    struct question *asked; /* on a worker now */
    struct loop_timer *timer;
    struct list lookups;
};

struct net_lookup {
    struct list node;
    struct entry *entry;
    unsigned port;
    net_resolver_fn *fn;
    void *arg;
};

struct net_resolver {
    struct loop *loop;
    struct workers *workers;
    struct map_str *entries;
};

static void
set_port(struct net_addr *a, unsigned port)
{
    if (a->sa.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)&a->sa)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)(void *)&a->sa)->sin_port = htons((uint16_t)port);
}

/* Ask the system; `flags` AI_NUMERICHOST never blocks. */
static void
ask(const char *host, int flags, struct net_addrs *addrs, struct err *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host, NULL, &hints, &list);

    addrs->n = 0;
    if (rc != 0) {
        err_set(err, rc == EAI_NONAME ? ERR_NOTFOUND : ERR_TEMP, "look up %.200s: %s", host,
            gai_strerror(rc));
        return;
    }
    err_clear(err);
    for (struct addrinfo *i = list; i != NULL && addrs->n < NET_ADDR_MAX; i = i->ai_next) {
        struct net_addr *a = &addrs->a[addrs->n];

        if (i->ai_addrlen > sizeof(a->sa))
            continue;
        memset(&a->sa, 0, sizeof(a->sa));
        memcpy(&a->sa, i->ai_addr, i->ai_addrlen);
        a->len = i->ai_addrlen;
        addrs->n++;
    }
    freeaddrinfo(list);
    if (addrs->n == 0)
        err_set(err, ERR_NOTFOUND, "look up %.200s: no address", host);
}

/* One lookup per call: its callback may cancel others or free the resolver, so it comes last. */
static void
deliver(void *arg)
{
    struct entry *e = arg;
    struct list *node = list_pop_front(&e->lookups);
    struct net_addrs addrs = e->addrs;
    struct err err = e->err;
    struct net_lookup *l;
    net_resolver_fn *fn;

    e->timer = NULL;
    if (node == NULL)
        return;
    if (!list_empty(&e->lookups))
        e->timer = loop_timer_start(e->r->loop, 0, deliver, e);
    l = LIST_ENTRY(node, struct net_lookup, node);
    fn = l->fn;
    arg = l->arg;
    for (size_t i = 0; i < addrs.n; i++)
        set_port(&addrs.a[i], l->port);
    mem_free(l);
    fn(err.code == ERR_NONE ? &addrs : NULL, &err, arg);
}

static void
question_run(void *arg)
{
    struct question *q = arg;

    ask(q->host, AI_ADDRCONFIG, &q->addrs, &q->err);
}

static void
question_done(void *arg)
{
    struct question *q = arg;
    struct entry *e = q->entry;

    if (q->r != NULL) {
        e->asked = NULL;
        e->addrs = q->addrs;
        e->err = q->err;
        e->fresh_until_ms = clock_mono_ms() + (q->err.code == ERR_NONE ? FRESH_MS : FRESH_FAIL_MS);
        if (e->timer == NULL)
            e->timer = loop_timer_start(q->r->loop, 0, deliver, e);
    }
    mem_free(q);
}

/* See to it that `deliver` comes: now when the entry is fresh, else after the answer. */
static void
entry_kick(void *arg)
{
    struct entry *e = arg;
    struct net_resolver *r = e->r;

    e->timer = NULL;
    if (e->asked != NULL)
        return;
    if (clock_mono_ms() < e->fresh_until_ms) {
        e->timer = loop_timer_start(r->loop, 0, deliver, e);
        return;
    }
    ask(e->host, AI_NUMERICHOST, &e->addrs, &e->err);
    if (e->err.code == ERR_NONE) {
        e->fresh_until_ms = INT64_MAX;
        e->timer = loop_timer_start(r->loop, 0, deliver, e);
        return;
    }
    e->asked = mem_zalloc(sizeof(*e->asked));
    e->asked->r = r;
    e->asked->entry = e;
    memcpy(e->asked->host, e->host, sizeof(e->host));
    if (workers_submit(r->workers, question_run, question_done, e->asked))
        return;
    mem_free(e->asked);
    e->asked = NULL;
    e->timer = loop_timer_start(r->loop, BUSY_RETRY_MS, entry_kick, e);
}

static void
entry_free(struct entry *e)
{
    struct list *node;

    loop_timer_cancel(&e->timer);
    if (e->asked != NULL)
        e->asked->r = NULL;
    while ((node = list_pop_front(&e->lookups)) != NULL)
        mem_free(LIST_ENTRY(node, struct net_lookup, node));
    map_str_del(e->r->entries, slice_str(e->host));
    mem_free(e);
}

/* Make room for one more entry by dropping one that nobody waits for. */
static void
make_room(struct net_resolver *r)
{
    struct slice key;
    size_t it = 0;
    void *value;

    if (map_str_count(r->entries) < ENTRIES_MAX)
        return;
    while (map_str_next(r->entries, &it, &key, &value)) {
        struct entry *e = value;

        if (e->asked == NULL && list_empty(&e->lookups)) {
            entry_free(e);
            return;
        }
    }
}

static struct entry *
entry_get(struct net_resolver *r, const char *host)
{
    struct entry *e = map_str_get(r->entries, slice_str(host));

    if (e != NULL)
        return e;
    make_room(r);
    e = mem_zalloc(sizeof(*e));
    e->r = r;
    snprintf(e->host, sizeof(e->host), "%s", host);
    list_init(&e->lookups);
    map_str_put(r->entries, slice_str(e->host), e);
    return e;
}

struct net_resolver *
net_resolver_create(struct loop *l, struct workers *w)
{
    struct net_resolver *r = mem_zalloc(sizeof(*r));

    r->loop = l;
    r->workers = w;
    r->entries = map_str_create();
    return r;
}

void
net_resolver_free(struct net_resolver **rp)
{
    struct net_resolver *r = *rp;
    struct slice key;
    size_t it = 0;
    void *value;

    if (r == NULL)
        return;
    *rp = NULL;
    while (it = 0, map_str_next(r->entries, &it, &key, &value))
        entry_free(value);
    map_str_free(&r->entries);
    mem_free(r);
}

struct net_lookup *
net_resolver_start(
    struct net_resolver *r, const char *host, unsigned port, net_resolver_fn *fn, void *arg)
{
    struct net_lookup *l = mem_zalloc(sizeof(*l));
    size_t n = strlen(host);
    /* An unusable name becomes one that is known not to exist (RFC 6761 §6.4). */
    struct entry *e = entry_get(r, n == 0 || n > HOST_MAX ? "name.invalid" : host);

    l->entry = e;
    l->port = port;
    l->fn = fn;
    l->arg = arg;
    list_push_back(&e->lookups, &l->node);
    if (e->timer == NULL && e->asked == NULL)
        e->timer = loop_timer_start(r->loop, 0, entry_kick, e);
    return l;
}

void
net_resolver_cancel(struct net_lookup **lp)
{
    struct net_lookup *l = *lp;

    if (l == NULL)
        return;
    *lp = NULL;
    list_del(&l->node);
    mem_free(l);
}

const char *
net_addr_text(const struct net_addr *a, char *out, size_t size_bytes)
{
    char host[INET6_ADDRSTRLEN] = "?";

    if (a->sa.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)&a->sa;

        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
        snprintf(out, size_bytes, "[%s]:%u", host, ntohs(in6->sin6_port));
    } else {
        const struct sockaddr_in *in = (const void *)&a->sa;

        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        snprintf(out, size_bytes, "%s:%u", host, ntohs(in->sin_port));
    }
    return out;
}

bool
net_addr_is_loopback(const struct net_addr *a)
{
    const struct sockaddr_in6 *in6 = (const void *)&a->sa;
    const struct sockaddr_in *in = (const void *)&a->sa;

    if (a->sa.ss_family == AF_INET)
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) && in6->sin6_addr.s6_addr[12] == 127);
}
