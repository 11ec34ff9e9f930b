#include "store/run_moves.h"

#include <string.h>

/*
 * The life of a run: its edge table, the conditional change, and arithmetic on its counters.
 *
 * Invariant: reasons stand only on a paused run, and `failed` has no rows. Whatever a change asks for,
 * these two hold after it. The counters are an array of int64 in all but name; they are added and
 * compared as one.
 */

#define BIT(state) (1u << (state))

static const unsigned run_edges[RUN_STATES] = {
    [RUN_DRAFT] = BIT(RUN_SCHEDULED) | BIT(RUN_CANCELLED),
    [RUN_SCHEDULED] =
        BIT(RUN_DRAFT) | BIT(RUN_SENDING) | BIT(RUN_PAUSED) | BIT(RUN_CANCELLED) | BIT(RUN_FAILED),
    [RUN_SENDING] = BIT(RUN_PAUSED) | BIT(RUN_SENT) | BIT(RUN_CANCELLED) | BIT(RUN_FAILED),
    [RUN_PAUSED] = BIT(RUN_SENDING) | BIT(RUN_SENT) | BIT(RUN_CANCELLED) | BIT(RUN_FAILED),
    [RUN_SENT] = BIT(RUN_SENDING),
    [RUN_CANCELLED] = 0,
    [RUN_FAILED] = 0,
};

_Static_assert(sizeof(struct run_counters) % sizeof(int64_t) == 0, "counters are int64 only");

bool
run_edge_allowed(enum run_state from, enum run_state to)
{
    return from == to || (run_edges[from] & BIT(to)) != 0;
}

bool
run_lets_claim(const struct run_record *r)
{
    if (r->state == RUN_SENDING)
        return r->reasons == 0;
    return r->state == RUN_PAUSED && r->reasons == BIT(PAUSE_CAP_REACHED);
}

int64_t
run_open_rows(const struct run_counters *n)
{
    return n->by_state[SEND_QUEUED] + n->by_state[SEND_HELD] + n->by_state[SEND_SENDING];
}

int64_t
run_rows(const struct run_counters *n)
{
    int64_t sum = 0;

    for (int i = 0; i < SEND_STATES; i++)
        sum += n->by_state[i];
    return sum;
}

int64_t
run_matched(const struct run_counters *n)
{
    int64_t sum = run_rows(n);

    for (int i = 0; i < EXCL_REASONS; i++)
        sum += n->excluded[i];
    return sum;
}

void
run_counters_add(struct run_counters *to, const struct run_counters *what)
{
    int64_t *t = (int64_t *)to;
    const int64_t *w = (const int64_t *)what;

    for (size_t i = 0; i < RUN_COUNTERS; i++)
        t[i] += w[i];
}

void
run_counters_sub(struct run_counters *to, const struct run_counters *what)
{
    int64_t *t = (int64_t *)to;
    const int64_t *w = (const int64_t *)what;

    for (size_t i = 0; i < RUN_COUNTERS; i++)
        t[i] -= w[i];
}

bool
run_counters_equal(const struct run_counters *a, const struct run_counters *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

bool
run_counters_is_zero(const struct run_counters *n)
{
    static const struct run_counters zero;

    return run_counters_equal(n, &zero);
}

static bool
lease_holds(const struct run_record *r, const struct run_change *c)
{
    bool is_mine = r->lease_owner != 0 && r->lease_owner == c->to.lease_owner;

    if ((c->set & RUN_BEAT) != 0 && !(is_mine && r->fence == c->to.fence))
        return false;
    if ((c->set & RUN_TAKE_LEASE) != 0)
        return r->lease_owner == 0 || is_mine || r->lease_beat_ms < c->stale_before_ms;
    return true;
}

static bool
conditions_hold(const struct run_record *r, const struct run_change *c)
{
    if (c->if_states != 0 && (c->if_states & BIT(r->state)) == 0)
        return false;
    if ((r->reasons & c->if_reasons_absent) != 0)
        return false;
    if (c->if_no_open_rows && (r->dispatched_at_ms == 0 || run_open_rows(&r->n) != 0))
        return false;
    if ((c->set & RUN_SET_STATE) != 0) {
        if (!run_edge_allowed(r->state, c->to.state))
            return false;
        if (c->to.state == RUN_FAILED && run_rows(&r->n) != 0)
            return false;
    }
    return lease_holds(r, c);
}

static void
set_lease(struct run_record *r, const struct run_change *c)
{
    if ((c->set & RUN_TAKE_LEASE) != 0) {
        r->fence++;
        r->lease_owner = c->to.lease_owner;
        r->lease_beat_ms = c->to.lease_beat_ms;
    }
    if ((c->set & RUN_BEAT) != 0)
        r->lease_beat_ms = c->to.lease_beat_ms;
    if ((c->set & RUN_DROP_LEASE) != 0) {
        r->fence++;
        r->lease_owner = 0;
        r->lease_beat_ms = 0;
    }
}

/** The stored array with one object more; as it was when there is no room for it. */
static struct slice
detail_with(struct slice array, struct slice object, struct arena *a)
{
    bool is_empty = array.n <= 2;
    size_t head = is_empty ? 1 : array.n; /* its closing bracket becomes a comma */
    size_t n = head + object.n + 1;
    char *p;

    if (n > RUN_DETAIL_MAX)
        return array;
    p = arena_alloc(a, n);
    if (is_empty) {
        p[0] = '[';
    } else {
        memcpy(p, array.p, array.n);
        p[array.n - 1] = ',';
    }
    memcpy(p + head, object.p, object.n);
    p[n - 1] = ']';
    return slice_make(p, n);
}

static void
set_confirmed(struct run_record *r, const struct run_change *c)
{
    r->confirmed_at_ms = c->to.confirmed_at_ms;
    r->confirmed_count = c->to.confirmed_count;
    r->growth_limit = c->to.growth_limit;
}

static void
set_schedule(struct run_record *r, const struct run_change *c)
{
    set_confirmed(r, c);
    r->scheduled_at_ms = c->to.scheduled_at_ms;
    r->template_version = c->to.template_version;
    r->profile = c->to.profile;
    r->max_lateness_ms = c->to.max_lateness_ms;
}

bool
run_move_change(struct run_record *r, const struct run_change *c, struct arena *a)
{
    if (!conditions_hold(r, c))
        return false;
    if ((c->set & RUN_SET_STATE) != 0)
        r->state = c->to.state;
    if ((c->set & RUN_SET_SCHEDULE) != 0)
        set_schedule(r, c);
    if ((c->set & RUN_SET_CONFIRMED) != 0)
        set_confirmed(r, c);
    if ((c->set & RUN_SET_STARTED) != 0)
        r->started_at_ms = c->to.started_at_ms;
    if ((c->set & RUN_SET_DISPATCHED) != 0)
        r->dispatched_at_ms = c->to.dispatched_at_ms;
    if ((c->set & RUN_SET_COMPLETED) != 0)
        r->completed_at_ms = c->to.completed_at_ms;
    if ((c->set & RUN_SET_PAUSED_AT) != 0)
        r->paused_at_ms = c->to.paused_at_ms;
    if ((c->set & RUN_SET_DETAIL) != 0)
        r->reason_detail = c->to.reason_detail;
    if ((c->set & RUN_ADD_DETAIL) != 0)
        r->reason_detail = detail_with(r->reason_detail, c->to.reason_detail, a);
    if ((c->set & RUN_SET_CURSOR) != 0)
        r->cursor = c->to.cursor;
    set_lease(r, c);
    r->reasons = r->state == RUN_PAUSED ? (r->reasons & ~c->reasons_clear) | c->reasons_add : 0;
    return true;
}
