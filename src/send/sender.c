/*
 * The sender: one object that owns channels, groups and the durable step, and the turn in which they
 * look for work.
 *
 * Everything that may allow progress (a commit, a ready session, planned rows, an opened gate) calls
 * sender_kick(); once per loop turn the groups are fed and the channels assign and prepare. A turn
 * costs some look-ups per group and channel, that is per broadcast in work and per profile in use (a
 * few hundred make microseconds), and nothing per row. Nothing polls.
 */
#include "send/sender.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "control/gates.h"
#include "control/run_table.h"
#include "loop/loop.h"
#include "queue/queue.h"
#include "send/internal.h"
#include "store/store.h"
#include "transport/pace.h"

#define MAX_FREE_JOBS 1024

struct notice {
    struct sender *sender;
    uint64_t profile;
};

/* ---- jobs ------------------------------------------------------------------------------------ */

struct job *
job_get(struct sender *s)
{
    struct list *node = list_pop_front(&s->free_jobs);
    struct job *j;

    if (node != NULL) {
        s->n_free_jobs--;
        j = LIST_ENTRY(node, struct job, node);
    } else {
        j = mem_zalloc(sizeof(*j));
        list_init(&j->node);
    }
    j->slot = NULL;
    j->channel = NULL;
    j->is_in_domain = false;
    j->is_suppress = false;
    return j;
}

static void
job_free(struct job *j)
{
    buf_deinit(&j->bytes);
    buf_deinit(&j->env);
    buf_deinit(&j->recipient_key);
    mem_free(j);
}

void
job_put(struct sender *s, struct job *j)
{
    if (map_u64_get(s->busy, j->id) == j)
        map_u64_del(s->busy, j->id);
    j->id = 0;
    if (s->n_free_jobs >= MAX_FREE_JOBS) {
        job_free(j);
        return;
    }
    list_push_front(&s->free_jobs, &j->node);
    s->n_free_jobs++;
}

/* ---- what may go ----------------------------------------------------------------------------- */

bool
sender_may_work(const struct sender *s, const struct group *g)
{
    const struct run_record *r;

    if (s->is_stopping || gates_closed(s->args.gates, g->is_broadcast ? g->id : 0) != 0)
        return false;
    if (!g->is_broadcast)
        return true;
    r = run_table_get(s->args.runs, g->id);
    return r != NULL && run_may_claim(r);
}

static void
on_run(const struct run_record *before, const struct run_record *now, void *arg)
{
    struct sender *s = arg;
    struct group *g = map_u64_get(s->groups, now->broadcast);

    (void)before;
    if (run_may_claim(now)) {
        if ((g == NULL || g->is_closed) && run_open_rows(&now->n) > 0)
            group_of(s, now->broadcast, true, now->profile);
        sender_kick(s);
    } else if (g != NULL) {
        group_close(g);
    }
}

static void
on_gate(void *arg)
{
    struct sender *s = arg;
    bool is_closed = (gates_closed(s->args.gates, GATE_SCOPE_ALL) & 1u << GATE_JOURNAL) != 0;

    if (is_closed && !s->is_journal_closed)
        s->journal_epoch++;
    s->is_journal_closed = is_closed;
    sender_kick(s);
}

/* ---- the turn -------------------------------------------------------------------------------- */

static void
pump_groups(struct sender *s)
{
    size_t it = 0;
    uint64_t id;
    void *p;

    while (map_u64_next(s->groups, &it, &id, &p)) {
        struct group *g = p;
        struct channel *ch = channel_of(s, g->profile);

        group_pump(g);
        if (queue_length(s->args.queue, g->id) > 0)
            ch->has_ready[g->lane] = true;
    }
}

static void
on_kick(void *arg)
{
    struct sender *s = arg;
    size_t it = 0;
    uint64_t id;
    void *p;

    s->is_kicked = false;
    while (map_u64_next(s->channels, &it, &id, &p))
        ((struct channel *)p)->has_ready[0] = ((struct channel *)p)->has_ready[1] = false;
    pump_groups(s);
    it = 0;
    while (map_u64_next(s->channels, &it, &id, &p))
        channel_pump(p);
}

void
sender_kick(struct sender *s)
{
    if (s->is_kicked)
        return;
    s->is_kicked = true;
    loop_defer(s->args.loop, on_kick, s);
}

/* New rows mostly stand behind the position; those that were committed out of their order, or are due
 * earlier than a repeat that was read already, stand before it. */
static void
rows_added(struct group *g)
{
    g->is_exhausted = false;
    group_rewind(g);
    sender_kick(g->sender);
}

void
sender_rows_added(struct sender *s, uint64_t broadcast)
{
    const struct run_record *r = run_table_get(s->args.runs, broadcast);
    struct group *g = map_u64_get(s->groups, broadcast);

    if (g == NULL && r != NULL && run_may_claim(r))
        g = group_of(s, broadcast, true, r->profile);
    if (g != NULL)
        rows_added(g);
}

static void
on_oneoff_added(void *arg)
{
    struct notice *n = arg;

    rows_added(group_of(n->sender, n->profile, false, n->profile));
    mem_free(n);
}

static void
on_profile_changed(void *arg)
{
    struct notice *n = arg;
    struct channel *ch = map_u64_get(n->sender->channels, n->profile);

    if (ch != NULL)
        ch->is_stale = true;
    sender_kick(n->sender);
    mem_free(n);
}

static void
post_notice(struct sender *s, uint64_t profile, void (*fn)(void *arg))
{
    struct notice *n = mem_alloc(sizeof(*n));

    n->sender = s;
    n->profile = profile;
    loop_post(s->args.loop, fn, n);
}

void
sender_oneoff_added(struct sender *s, uint64_t profile)
{
    post_notice(s, profile, on_oneoff_added);
}

void
sender_profile_changed(struct sender *s, uint64_t profile)
{
    post_notice(s, profile, on_profile_changed);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct sender *
sender_create(const struct sender_args *args)
{
    struct sender *s = mem_zalloc(sizeof(*s));

    s->args = *args;
    s->public_url = mem_strdup(args->public_url);
    s->sender_address = mem_strdup(args->sender_address);
    s->ehlo_name = mem_strdup(args->ehlo_name);
    s->channels = map_u64_create();
    s->groups = map_u64_create();
    s->busy = map_u64_create();
    list_init(&s->free_jobs);
    s->step = step_create(s);
    run_table_listen(args->runs, on_run, s);
    gates_listen(args->gates, on_gate, s);
    return s;
}

/* All jobs: those that wait for their next mail, and those that were still on the wire. */
static void
free_jobs(struct sender *s)
{
    struct list *node;
    size_t it = 0;
    uint64_t id;
    void *p;

    while (map_u64_next(s->busy, &it, &id, &p))
        job_free(p);
    while ((node = list_pop_front(&s->free_jobs)) != NULL)
        job_free(LIST_ENTRY(node, struct job, node));
}

void
sender_free(struct sender **sp)
{
    struct sender *s = *sp;
    size_t it = 0;
    uint64_t id;
    void *p;

    if (s == NULL)
        return;
    assert(s->n_lent == 0 && !step_is_running(s->step));
    loop_timer_cancel(&s->stop_timer);
    while (map_u64_next(s->channels, &it, &id, &p))
        channel_free(p);
    it = 0;
    while (map_u64_next(s->groups, &it, &id, &p))
        group_free(p);
    step_free(&s->step);
    free_jobs(s);
    map_u64_free(&s->channels);
    map_u64_free(&s->groups);
    map_u64_free(&s->busy);
    mem_free(s->public_url);
    mem_free(s->sender_address);
    mem_free(s->ehlo_name);
    mem_free(s);
    *sp = NULL;
}

static void
finish_stop(struct sender *s)
{
    void (*done)(void *arg) = s->stop_done;

    loop_timer_cancel(&s->stop_timer);
    s->stop_done = NULL;
    done(s->stop_arg);
}

static void
on_stop_timeout(void *arg)
{
    struct sender *s = arg;

    s->stop_timer = NULL;
    log_warn(NULL, "send.stop_timeout", "in_flight=%zu", sender_in_flight(s, 0, NULL, 0));
    finish_stop(s);
}

bool
sender_is_idle(const struct sender *s)
{
    return step_is_idle(s->step) && s->n_lent == 0 && sender_in_flight(s, 0, NULL, 0) == 0;
}

void
sender_check_stopped(struct sender *s)
{
    if (s->stop_done != NULL && sender_is_idle(s))
        finish_stop(s);
}

static void
on_stop_check(void *arg)
{
    sender_check_stopped(arg);
}

void
sender_stop(struct sender *s, int64_t timeout_ms, void (*done)(void *arg), void *arg)
{
    s->is_stopping = true;
    s->stop_done = done;
    s->stop_arg = arg;
    s->stop_timer = loop_timer_start(s->args.loop, timeout_ms, on_stop_timeout, s);
    loop_defer(s->args.loop, on_stop_check, s);
}

/* ---- views ----------------------------------------------------------------------------------- */

size_t
sender_in_flight(const struct sender *s, uint64_t broadcast, uint64_t *ids, size_t max)
{
    size_t it = 0, n = 0;
    uint64_t id;
    void *p;

    while (map_u64_next(s->busy, &it, &id, &p)) {
        const struct job *j = p;

        if ((j->state != JOB_ON_WIRE && j->state != JOB_SETTLING) ||
            (broadcast != 0 && j->broadcast != broadcast))
            continue;
        if (n < max)
            ids[n] = id;
        n++;
    }
    return n;
}

bool
sender_profile_status(const struct sender *s, uint64_t profile, struct sender_profile_status *st)
{
    const struct channel *ch = map_u64_get(s->channels, profile);

    memset(st, 0, sizeof(*st));
    st->profile = profile;
    if (ch == NULL || ch->outlet == NULL)
        return false;
    st->is_known = true;
    st->is_paused = ch->is_paused;
    st->is_limited = pace_is_limited(ch->pace);
    st->rate_per_second = pace_rate(ch->pace);
    if (ch->transport != NULL) {
        st->sessions = transport_sessions(ch->transport);
        st->backoff_ms = transport_backoff_ms(ch->transport);
    }
    st->ready = (unsigned)ch->n_ready;
    st->prepared = ch->n_prepared[0] + ch->n_prepared[1] + ch->n_waiting;
    st->in_flight = ch->n_in_flight;
    memcpy(st->last_error, ch->last_error, sizeof(st->last_error));
    return true;
}

void
sender_status(const struct sender *s, struct sender_status *st)
{
    size_t it = 0;
    uint64_t id;
    void *p;

    memset(st, 0, sizeof(*st));
    while (map_u64_next(s->groups, &it, &id, &p))
        st->waiting += queue_length(s->args.queue, id);
    it = 0;
    while (map_u64_next(s->channels, &it, &id, &p)) {
        const struct channel *ch = p;

        st->prepared += ch->n_prepared[0] + ch->n_prepared[1] + ch->n_waiting;
        st->in_flight += ch->n_in_flight;
    }
    st->accepted_total = s->accepted_total;
    st->deferred_total = s->deferred_total;
    st->refused_total = s->refused_total;
    st->in_doubt_total = s->in_doubt_total;
}
