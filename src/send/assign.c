/*
 * Which mail goes next.
 *
 * A channel keeps enough prepared mails in front of its sessions and hands one to each idle session as
 * pace and receiver domain allow; the hand-over is a claim in the next durable step. The immediate lane
 * goes first, and keeps a tenth of the sessions (at least one) free of bulk mail.
 *
 *   queue ──take──► prepare (worker) ──► prepared ──pace, domain──► claim
 *                                            └──domain must wait──► waiting, or back to its row
 */
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/gates.h"
#include "loop/loop.h"
#include "queue/queue.h"
#include "send/internal.h"
#include "transport/domain_gate.h"
#include "transport/pace.h"

#define MAX_WAITING 256
/* A mail whose domain must wait longer than this goes back to its row. */
#define MAX_DOMAIN_WAIT_MS 5000

struct take_ctx {
    struct sender *sender;
    uint64_t profile;
    enum send_lane lane;
};

/* ---- assigning ------------------------------------------------------------------------------- */

void
channel_prepared(struct channel *ch, struct job *j)
{
    j->state = JOB_PREPARED;
    j->channel = ch;
    list_push_back(&ch->prepared[j->lane], &j->node);
    ch->n_prepared[j->lane]++;
}

/* The receiver domain must wait: keep the mail for a short wait, else give the row back. */
static void
set_aside(struct channel *ch, struct job *j, int64_t wait_ms, struct sends_settle *shelf, size_t *n)
{
    list_del(&j->node);
    ch->n_prepared[j->lane]--;
    if (wait_ms <= MAX_DOMAIN_WAIT_MS && ch->n_waiting < MAX_WAITING) {
        j->state = JOB_WAITING;
        list_push_back(&ch->waiting, &j->node);
        ch->n_waiting++;
        channel_sleep(ch, wait_ms);
        return;
    }
    shelf[(*n)++] = (struct sends_settle){.broadcast = j->broadcast,
        .id = j->id,
        .token = j->generation,
        .to = SEND_QUEUED,
        .fail_class = FAIL_THROTTLED,
        .at_ms = clock_now_ms(),
        .due_at_ms = clock_now_ms() + wait_ms,
        .is_uncounted_attempt = true};
    job_put(ch->sender, j);
}

/* Mails whose domain may go again return to the front of their lane. */
static void
review_waiting(struct channel *ch)
{
    int64_t now = clock_mono_ms();

    if (ch->n_waiting == 0)
        return;
    if (now < ch->waiting_seen_ms + 50) {
        channel_sleep(ch, ch->waiting_seen_ms + 50 - now);
        return;
    }
    ch->waiting_seen_ms = now;
    LIST_EACH(node, tmp, &ch->waiting)
    {
        struct job *j = LIST_ENTRY(node, struct job, node);
        int64_t wait_ms = domain_gate_wait_ms(ch->domains, j->mail.to_domain);

        if (wait_ms > 0) {
            channel_sleep(ch, wait_ms < 50 ? 50 : wait_ms);
            continue;
        }
        list_del(&j->node);
        ch->n_waiting--;
        j->state = JOB_PREPARED;
        list_push_front(&ch->prepared[j->lane], &j->node);
        ch->n_prepared[j->lane]++;
    }
}

static void
claim(struct channel *ch, struct job *j)
{
    struct session_slot *slot = LIST_ENTRY(list_pop_front(&ch->ready), struct session_slot, node);

    ch->n_ready--;
    list_del(&j->node);
    ch->n_prepared[j->lane]--;
    ch->n_busy[j->lane]++;
    slot->job = j;
    j->slot = slot;
    transport_session_reserve(slot->session);
    step_claim(ch->sender->step, j);
}

/* The next of a lane. What a broadcast that waits at a gate of its own has ready goes back to its rows:
 * it stands before nobody. */
static struct job *
next_job(struct channel *ch, enum send_lane lane)
{
    struct sender *s = ch->sender;

    if (s->is_stopping || gates_closed(s->args.gates, GATE_SCOPE_ALL) != 0)
        return NULL;
    while (!list_empty(&ch->prepared[lane])) {
        struct job *j = LIST_ENTRY(ch->prepared[lane].next, struct job, node);
        struct group *g = map_u64_get(s->groups, j->group);

        if (g != NULL && sender_may_work(s, g))
            return j;
        list_del(&j->node);
        ch->n_prepared[lane]--;
        job_put(s, j);
        if (g != NULL)
            group_rewind(g);
    }
    return NULL;
}

/* Sessions that bulk mail may use: all but a tenth, at least one when there are two. */
static bool
lane_is_full(const struct channel *ch, enum send_lane lane)
{
    unsigned max = channel_max_sessions(ch), reserved = max / 10;

    if (lane == LANE_IMMEDIATE)
        return false;
    if (reserved == 0 && max > 1)
        reserved = 1;
    return ch->n_busy[LANE_BULK] >= max - reserved;
}

static void
assign_lane(struct channel *ch, enum send_lane lane)
{
    struct sends_settle shelf[SHELF_MAX];
    struct job *j;
    size_t n = 0;

    while (ch->n_ready > 0 && n < SHELF_MAX && !lane_is_full(ch, lane) &&
           (j = next_job(ch, lane)) != NULL) {
        int64_t wait_ms = domain_gate_enter(ch->domains, j->mail.to_domain);
        if (wait_ms > 0) {
            set_aside(ch, j, wait_ms, shelf, &n);
            continue;
        }
        j->is_in_domain = true;
        wait_ms = pace_take(ch->pace, lane);
        if (wait_ms > 0) {
            channel_leave_domain(ch, j);
            channel_sleep(ch, wait_ms);
            break;
        }
        claim(ch, j);
    }
    if (n > 0)
        shelve_submit(ch->sender, ch->profile, shelf, n);
}

/* ---- preparing ------------------------------------------------------------------------------- */

/* An id may come twice, from before and after a rewind: one row is in work once. */
static size_t
pick_ids(const struct sender *s, const struct queue_ready *ready, size_t n, uint64_t *ids)
{
    size_t n_ids = 0;

    for (size_t i = 0; i < n; i++) {
        bool is_known = map_u64_has(s->busy, ready[i].id);

        for (size_t k = 0; k < n_ids && !is_known; k++)
            is_known = ids[k] == ready[i].id;
        if (!is_known)
            ids[n_ids++] = ready[i].id;
    }
    return n_ids;
}

static void
on_taken(const struct queue_ready *ready, size_t n, void *arg)
{
    struct take_ctx *t = arg;
    struct sender *s = t->sender;
    struct channel *ch = channel_of(s, t->profile);
    struct group *g = n > 0 ? map_u64_get(s->groups, ready[0].group) : NULL;
    uint64_t ids[PREPARE_BATCH];
    size_t n_ids;

    ch->is_taking[t->lane] = false;
    s->n_lent--;
    mem_free(t);
    if (g != NULL && !g->is_closed) {
        n_ids = pick_ids(s, ready, n, ids);
        if (!sender_may_work(s, g) || ch->outlet == NULL || (g->is_broadcast && g->content == NULL))
            group_rewind(g); /* the ids are lost to the queue */
        else if (n_ids > 0)
            prepare_start(ch, g, ids, n_ids);
    }
    sender_kick(s);
    sender_check_stopped(s);
}

/* Mails kept ready: one round of sessions and one batch. Each holds its finished bytes, so this is what
 * the memory of a broadcast is made of. */
static size_t
prepare_target(const struct channel *ch)
{
    size_t target = (size_t)channel_max_sessions(ch) + PREPARE_BATCH;

    return target < 512 ? target : 512;
}

static void
prepare_lane(struct channel *ch, enum send_lane lane)
{
    struct sender *s = ch->sender;
    struct take_ctx *t;

    if (ch->is_taking[lane] || !ch->has_ready[lane] ||
        ch->n_prepared[lane] + ch->n_preparing[lane] + PREPARE_BATCH > prepare_target(ch) ||
        s->n_prepare_jobs >= s->args.n_workers + 1)
        return;
    t = mem_zalloc(sizeof(*t));
    *t = (struct take_ctx){.sender = s, .profile = ch->profile, .lane = lane};
    ch->is_taking[lane] = true;
    s->n_lent++;
    queue_take(s->args.queue, ch->profile, lane, PREPARE_BATCH, on_taken, t);
}

/* Ask for sessions as long as there is work; idle ones are let go some seconds after the last. */
static void
ask_sessions(struct channel *ch)
{
    size_t demand = ch->n_busy[0] + ch->n_busy[1] + ch->n_prepared[0] + ch->n_prepared[1];
    int64_t now = clock_mono_ms();
    size_t open = transport_sessions(ch->transport);

    if (demand == 0) {
        if (open > 0 && now >= ch->demand_at_ms + 5000)
            transport_want(ch->transport, 0);
        else if (open > 0)
            channel_sleep(ch, ch->demand_at_ms + 5000 - now);
        return;
    }
    ch->demand_at_ms = now;
    if (demand < open)
        demand = open;
    if (demand > channel_max_sessions(ch))
        demand = channel_max_sessions(ch);
    transport_want(ch->transport, (unsigned)demand);
}

void
assign_pump(struct channel *ch)
{
    review_waiting(ch);
    for (int lane = LANES - 1; lane >= 0; lane--)
        assign_lane(ch, (enum send_lane)lane);
    for (int lane = LANES - 1; lane >= 0; lane--)
        prepare_lane(ch, (enum send_lane)lane);
    ask_sessions(ch);
}
