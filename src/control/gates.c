/*
 * Gates of the house.
 *
 * One word of bits for the whole process and one per broadcast that has a gate of its own (few: a
 * recount after a crash). The question "may this broadcast go?" is asked before every planning step
 * and every commit of claims, so it is two loads and an or.
 */
#include "control/gates.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

#define MAX_LISTENERS 8

struct gate_set {
    uint32_t closed;
    const char *why[GATE_COUNT];
};

struct gates {
    struct gate_set all;
    struct map_u64 *runs; /* broadcast -> struct gate_set */
    struct {
        gates_fn *fn;
        void *arg;
    } listeners[MAX_LISTENERS];
    unsigned n_listeners;
};

static const char *const names[GATE_COUNT] = {
    [GATE_DISK] = "disk",
    [GATE_STORE] = "store",
    [GATE_COMMIT] = "commit",
    [GATE_RECOUNT] = "recount",
    [GATE_COPY] = "copy",
    [GATE_FENCE] = "fence",
    [GATE_JOURNAL] = "journal",
    [GATE_STOP] = "stop",
};

struct gates *
gates_create(void)
{
    struct gates *g = mem_zalloc(sizeof(*g));

    g->runs = map_u64_create();
    return g;
}

void
gates_free(struct gates **gp)
{
    struct gates *g = *gp;
    size_t it = 0;
    uint64_t key;
    void *set;

    if (g == NULL)
        return;
    while (map_u64_next(g->runs, &it, &key, &set))
        mem_free(set);
    map_u64_free(&g->runs);
    mem_free(g);
    *gp = NULL;
}

void
gates_listen(struct gates *g, gates_fn *fn, void *arg)
{
    assert(g->n_listeners < MAX_LISTENERS);
    g->listeners[g->n_listeners].fn = fn;
    g->listeners[g->n_listeners++].arg = arg;
}

static struct gate_set *
set_of(const struct gates *g, uint64_t scope)
{
    if (scope == GATE_SCOPE_ALL)
        return (struct gate_set *)&g->all;
    return map_u64_get(g->runs, scope);
}

void
gates_set(struct gates *g, uint64_t scope, enum gate gate, bool is_closed, const char *why)
{
    struct gate_set *set = set_of(g, scope);
    uint32_t bit = 1u << gate;
    struct log_ctx ctx = {.broadcast = scope};

    if (set == NULL) {
        if (!is_closed)
            return;
        set = mem_zalloc(sizeof(*set));
        map_u64_put(g->runs, scope, set);
    }
    if (((set->closed & bit) != 0) == is_closed)
        return;
    set->closed ^= bit;
    set->why[gate] = is_closed ? why : NULL;
    if (is_closed)
        log_warn(&ctx, "gate.closed", "gate=%s why=\"%s\"", names[gate], why != NULL ? why : "");
    else
        log_info(&ctx, "gate.opened", "gate=%s", names[gate]);
    for (unsigned i = 0; i < g->n_listeners; i++)
        g->listeners[i].fn(g->listeners[i].arg);
}

uint32_t
gates_closed(const struct gates *g, uint64_t broadcast)
{
    const struct gate_set *own =
        broadcast != GATE_SCOPE_ALL ? map_u64_get(g->runs, broadcast) : NULL;

    return g->all.closed | (own != NULL ? own->closed : 0);
}

void
gates_forget(struct gates *g, uint64_t broadcast)
{
    mem_free(map_u64_del(g->runs, broadcast));
}

const char *
gate_name(enum gate gate)
{
    return gate < GATE_COUNT ? names[gate] : NULL;
}

const char *
gates_why(const struct gates *g, uint64_t broadcast, enum gate gate)
{
    const struct gate_set *own =
        broadcast != GATE_SCOPE_ALL ? map_u64_get(g->runs, broadcast) : NULL;
    const char *why = g->all.why[gate];

    if (why == NULL && own != NULL)
        why = own->why[gate];
    return why != NULL ? why : "";
}
