/*
 * Channels: a profile at work.
 *
 * A channel is built from the profile's document on first use, and built anew when that changes and
 * nothing is in work on the old settings. Its sessions report here; which mail they get is assign.c's.
 *
 *   claim granted ──► wire ──► answer ──► settle in the next durable step
 *
 * What an answer means for others than its mail is decided here: a throttle slows the pace, a receiver
 * domain is left alone for a while, a refused account pauses the profile and its broadcasts.
 */
#include <stdio.h>
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
#include "send/internal.h"
#include "store/store.h"
#include "transport/domain_gate.h"
#include "transport/pace.h"

#define LOAD_RETRY_MS   1000
#define LOAD_REFUSED_MS 60000 /* deleted, or its secrets cannot be opened */

struct load_job {
    struct sender *sender;
    uint64_t profile;
    struct outlet *outlet;
    struct err err;
    int rc;
};

static void on_ready(struct transport_session *session, void *arg);
static void on_done(struct transport_session *session, const struct transport_mail *mail,
    const struct transport_result *r, void *arg);
static void on_down(
    struct transport_session *session, const struct transport_result *why, void *arg);

static bool
may_commit(void *arg)
{
    const struct channel *ch = arg;
    const struct sender_args *a = &ch->sender->args;

    /* An opt-out that only the journal holds may be this very recipient's. */
    if ((gates_closed(a->gates, GATE_SCOPE_ALL) & 1u << GATE_JOURNAL) != 0)
        return false;
    return a->may_commit == NULL || a->may_commit(a->may_commit_arg);
}

static const struct transport_events events = {
    .ready = on_ready,
    .done = on_done,
    .down = on_down,
    .may_commit = may_commit,
};

/* ---- life ------------------------------------------------------------------------------------ */

struct channel *
channel_of(struct sender *s, uint64_t profile)
{
    struct channel *ch = map_u64_get(s->channels, profile);

    if (ch != NULL)
        return ch;
    ch = mem_zalloc(sizeof(*ch));
    ch->sender = s;
    ch->profile = profile;
    list_init(&ch->slots);
    list_init(&ch->ready);
    list_init(&ch->waiting);
    for (int lane = 0; lane < LANES; lane++)
        list_init(&ch->prepared[lane]);
    map_u64_put(s->channels, profile, ch);
    return ch;
}

static void
drop_list(struct channel *ch, struct list *head, size_t *count, uint64_t group)
{
    LIST_EACH(node, tmp, head)
    {
        struct job *j = LIST_ENTRY(node, struct job, node);

        if (group != 0 && j->group != group)
            continue;
        list_del(&j->node);
        (*count)--;
        job_put(ch->sender, j);
    }
}

void
channel_drop_group(struct channel *ch, uint64_t group)
{
    for (int lane = 0; lane < LANES; lane++)
        drop_list(ch, &ch->prepared[lane], &ch->n_prepared[lane], group);
    drop_list(ch, &ch->waiting, &ch->n_waiting, group);
}

static void
slot_free(struct session_slot *slot)
{
    list_del(&slot->all);
    list_del(&slot->node);
    mem_free(slot);
}

static void
channel_unbuild(struct channel *ch)
{
    channel_drop_group(ch, 0);
    LIST_EACH(node, tmp, &ch->slots)
    slot_free(LIST_ENTRY(node, struct session_slot, all));
    ch->n_ready = 0;
    transport_free(&ch->transport);
    outlet_unref(&ch->outlet);
}

void
channel_free(struct channel *ch)
{
    loop_timer_cancel(&ch->timer);
    channel_unbuild(ch);
    pace_free(&ch->pace);
    domain_gate_free(&ch->domains);
    mem_free(ch);
}

static void
remember_error(struct channel *ch, const char *text)
{
    snprintf(ch->last_error, sizeof(ch->last_error), "%.159s", text);
}

/* ---- loading the profile --------------------------------------------------------------------- */

static void
on_timer(void *arg)
{
    struct channel *ch = arg;

    ch->timer = NULL;
    sender_kick(ch->sender);
}

void
channel_sleep(struct channel *ch, int64_t delay_ms)
{
    int64_t at = clock_mono_ms() + delay_ms;

    if (ch->timer != NULL && ch->wake_at_ms <= at)
        return;
    loop_timer_cancel(&ch->timer);
    ch->wake_at_ms = at;
    ch->timer = loop_timer_start(ch->sender->args.loop, delay_ms, on_timer, ch);
}

static void
channel_build(struct channel *ch, struct outlet *o)
{
    struct transport_settings settings;
    struct err err;

    outlet_settings(o, ch->sender->ehlo_name, &settings);
    ch->outlet = o;
    ch->version = o->profile.version;
    ch->is_paused = o->profile.state == PROFILE_PAUSED;
    if (ch->pace == NULL)
        ch->pace = pace_create(o->profile.pace_per_s, 0);
    else
        pace_set_rate(ch->pace, o->profile.pace_per_s);
    if (ch->domains == NULL)
        ch->domains = domain_gate_create(&(struct domain_gate_settings){0});
    if (ch->is_paused)
        return;
    ch->transport =
        transport_create(ch->sender->args.loop, ch->sender->args.cpu, &settings, &events, ch, &err);
    if (ch->transport == NULL) {
        log_error(NULL, "send.profile_unusable", "error=\"%s\"", err.text);
        remember_error(ch, err.text); /* until the profile is changed */
    }
}

static void
load_run(void *arg)
{
    struct load_job *l = arg;

    l->rc =
        outlet_load(l->sender->args.store, l->sender->args.keys, l->profile, &l->outlet, &l->err);
}

static void
load_done(void *arg)
{
    struct load_job *l = arg;
    struct sender *s = l->sender;
    struct channel *ch = map_u64_get(s->channels, l->profile);

    s->n_lent--;
    ch->is_loading = false;
    if (l->rc == 0) {
        channel_build(ch, l->outlet);
    } else {
        log_error(NULL, "send.profile_failed", "error=\"%s\"", l->err.text);
        remember_error(ch, l->err.text);
        channel_sleep(ch, l->err.code == ERR_TEMP ? LOAD_RETRY_MS : LOAD_REFUSED_MS);
    }
    mem_free(l);
    sender_kick(s);
    sender_check_stopped(s);
}

static void
channel_load(struct channel *ch)
{
    struct load_job *l = mem_zalloc(sizeof(*l));

    l->sender = ch->sender;
    l->profile = ch->profile;
    if (!workers_submit(ch->sender->args.cpu, load_run, load_done, l)) {
        mem_free(l);
        channel_sleep(ch, LOAD_RETRY_MS);
        return;
    }
    ch->is_loading = true;
    ch->sender->n_lent++;
}

/* ---- a refused account ----------------------------------------------------------------------- */

/* Its operations: the profile's first, then one pause for each of its runs. */
static void
on_refusal(struct store_batch *b, void *arg)
{
    struct channel *ch = arg;
    struct sender *s = ch->sender;
    const struct err *err = store_batch_err(b);

    s->n_lent--;
    ch->is_refusing = false;
    if (err != NULL) {
        log_error(NULL, "send.profile_pause_failed", "error=\"%s\"", err->text);
        channel_sleep(ch, LOAD_RETRY_MS);
    } else {
        ch->is_refused = false;
        for (unsigned op = 1; op <= ch->n_refused_runs; op++)
            run_table_update(s->args.runs, runs_result(b, op)->runs, runs_result(b, op)->n_runs);
    }
    store_batch_free(&b);
    sender_kick(s);
    sender_check_stopped(s);
}

/* In one batch: the profile is paused, and so is every broadcast that goes through it. */
static void
record_refusal(struct channel *ch)
{
    struct sender *s = ch->sender;
    struct store_batch *b = store_batch_create(s->args.store, STORE_URGENT);
    struct run_reason why = {
        .code = PAUSE_SENDER_BROKEN, .message = ch->last_error, .actor = "system:sender"};
    int64_t now = clock_now_ms();
    const struct run_record *r;
    size_t it = 0;

    ch->n_refused_runs = 0;
    profile_set_state_op(b, ch->profile, PROFILE_PAUSED, slice_str(ch->last_error), now);
    while ((r = run_table_next(s->args.runs, &it)) != NULL)
        if (r->profile == ch->profile && (r->reasons & (1u << PAUSE_SENDER_BROKEN)) == 0)
            ch->n_refused_runs = run_pause_op(b, r->broadcast, &why, now);
    ch->is_refusing = true;
    s->n_lent++;
    store_submit(b, on_refusal, ch);
}

/* Nothing more is tried with this account, from now on and until the profile is changed or resumed;
 * that it stands so is recorded as soon as the store takes it. */
static void
account_refused(struct channel *ch, const char *text)
{
    if (ch->is_paused)
        return;
    log_error(NULL, "send.account_refused", "reply=\"%s\"", text);
    remember_error(ch, text);
    ch->is_paused = true;
    ch->is_refused = true;
    transport_want(ch->transport, 0);
    loop_timer_cancel(&ch->timer);
    sender_kick(ch->sender);
}

/* ---- sessions -------------------------------------------------------------------------------- */

unsigned
channel_max_sessions(const struct channel *ch)
{
    return ch->outlet->profile.max_sessions > 0 ? ch->outlet->profile.max_sessions : 1;
}

void
channel_session_idle(struct channel *ch, struct session_slot *slot)
{
    slot->job = NULL;
    list_push_back(&ch->ready, &slot->node);
    ch->n_ready++;
    sender_kick(ch->sender);
}

static void
on_ready(struct transport_session *session, void *arg)
{
    struct channel *ch = arg;
    struct session_slot *slot = transport_session_data(session);

    if (slot == NULL) {
        slot = mem_zalloc(sizeof(*slot));
        slot->session = session;
        list_init(&slot->node);
        list_push_back(&ch->slots, &slot->all);
        transport_session_set_data(session, slot);
    }
    if (!ch->is_paused)
        ch->last_error[0] = '\0';
    channel_session_idle(ch, slot);
}

static void
on_down(struct transport_session *session, const struct transport_result *why, void *arg)
{
    struct channel *ch = arg;
    struct session_slot *slot = transport_session_data(session);

    if (why != NULL) {
        if (!ch->is_paused)
            remember_error(ch, why->text);
        log_warn(NULL, "send.session_down", "code=%d reason=\"%s\"", why->reply_code, why->text);
    }
    if (slot != NULL) {
        if (!list_empty(&slot->node))
            ch->n_ready--;
        slot_free(slot);
    }
    if (why != NULL && why->scope == TRANSPORT_SCOPE_ACCOUNT)
        account_refused(ch, why->text);
    sender_kick(ch->sender);
}

/* What an answer says about others than its mail. */
static void
apply_scope(struct channel *ch, const struct job *j, const struct transport_result *r)
{
    switch (r->scope) {
    case TRANSPORT_SCOPE_PROFILE: pace_throttled(ch->pace, r->retry_after_ms); break;
    case TRANSPORT_SCOPE_DOMAIN:
        domain_gate_block(ch->domains, j->mail.to_domain, r->retry_after_ms);
        break;
    case TRANSPORT_SCOPE_ACCOUNT: account_refused(ch, r->text); break;
    case TRANSPORT_SCOPE_MAIL:
        if (r->outcome == TRANSPORT_ACCEPTED)
            domain_gate_accepted(ch->domains, j->mail.to_domain);
        break;
    }
}

static void
count_outcome(struct sender *s, enum transport_outcome outcome)
{
    switch (outcome) {
    case TRANSPORT_ACCEPTED: s->accepted_total++; break;
    case TRANSPORT_DEFERRED: s->deferred_total++; break;
    case TRANSPORT_REFUSED: s->refused_total++; break;
    case TRANSPORT_IN_DOUBT: s->in_doubt_total++; break;
    }
}

void
channel_leave_domain(struct channel *ch, struct job *j)
{
    if (j->is_in_domain)
        domain_gate_leave(ch->domains, j->mail.to_domain);
    j->is_in_domain = false;
}

static bool
repeats_in_doubt(const struct channel *ch, enum send_lane lane)
{
    const struct profile *p = &ch->outlet->profile;

    return (lane == LANE_IMMEDIATE ? p->doubt_immediate : p->doubt_bulk) == PROFILE_DOUBT_REPEAT;
}

static void
on_done(struct transport_session *session, const struct transport_mail *mail,
    const struct transport_result *r, void *arg)
{
    struct channel *ch = arg;
    struct job *j = mail->tag;
    struct session_slot *slot = transport_session_data(session);
    struct log_ctx ctx = {.broadcast = j->broadcast, .send = j->id};

    if (slot != NULL)
        slot->job = NULL;
    j->slot = NULL;
    ch->n_busy[j->lane]--;
    count_outcome(ch->sender, r->outcome);
    apply_scope(ch, j, r);
    channel_leave_domain(ch, j);
    if (r->outcome != TRANSPORT_ACCEPTED)
        log_info(&ctx, "send.answer", "code=%d enhanced=%d text=\"%s\"", r->reply_code,
            r->enhanced_code, r->text);
    outcome_fill(j, r, repeats_in_doubt(ch, j->lane), clock_now_ms());
    step_settle(ch->sender->step, j);
}

/* ---- claims ---------------------------------------------------------------------------------- */

void
channel_granted(struct channel *ch, struct job *j)
{
    ch->n_in_flight++;
    j->attempt++;
    j->state = JOB_ON_WIRE;
    transport_send(j->slot->session, &j->mail);
}

/* The session that a claim had reserved is idle again. */
static void
leave_session(struct channel *ch, struct job *j)
{
    struct session_slot *slot = j->slot;

    ch->n_busy[j->lane]--;
    channel_leave_domain(ch, j);
    pace_untake(ch->pace);
    j->slot = NULL;
    transport_session_release(slot->session);
    channel_session_idle(ch, slot);
}

void
channel_regret(struct channel *ch, struct job *j)
{
    int64_t now_ms = clock_now_ms();

    ch->n_in_flight++;
    leave_session(ch, j);
    j->is_suppress = false;
    j->settle = (struct sends_settle){.broadcast = j->broadcast,
        .id = j->id,
        .token = j->token,
        .to = SEND_QUEUED,
        .at_ms = now_ms,
        .due_at_ms = now_ms,
        .is_uncounted_attempt = true};
    step_settle(ch->sender->step, j);
}

void
channel_unclaim(struct channel *ch, struct job *j)
{
    struct group *g = map_u64_get(ch->sender->groups, j->group);

    leave_session(ch, j);
    job_put(ch->sender, j);
    if (g != NULL && !g->is_closed)
        group_rewind(g);
}

void
channel_settled(struct channel *ch, struct job *j)
{
    struct group *g = map_u64_get(ch->sender->groups, j->group);

    ch->n_in_flight--;
    if (g != NULL && !g->is_closed && j->settle.to == SEND_QUEUED)
        group_rewind_at(g, j->settle.due_at_ms);
    job_put(ch->sender, j);
}

/* ---- the turn -------------------------------------------------------------------------------- */

/* The mails prepared with the old settings are dropped: their groups find the rows again. */
static void
rewind_groups(struct channel *ch)
{
    size_t it = 0;
    uint64_t id;
    void *p;

    while (map_u64_next(ch->sender->groups, &it, &id, &p)) {
        struct group *g = p;

        if (g->profile == ch->profile && !g->is_closed)
            group_rewind(g);
    }
}

/* Settings changed: build anew when nothing is in work on the old ones. */
static bool
renew(struct channel *ch)
{
    if (ch->n_busy[0] + ch->n_busy[1] > 0 || ch->n_in_flight > 0 || ch->n_preparing[0] > 0 ||
        ch->n_preparing[1] > 0)
        return false;
    channel_unbuild(ch);
    rewind_groups(ch);
    loop_timer_cancel(&ch->timer); /* whatever it waited for, the new settings are read now */
    ch->is_stale = false;
    return true;
}

void
channel_pump(struct channel *ch)
{
    if (ch->is_loading || ch->sender->is_stopping)
        return;
    if (ch->is_refused) { /* first of all, lest new settings be taken for refused ones */
        if (!ch->is_refusing && ch->timer == NULL)
            record_refusal(ch);
        return;
    }
    if (ch->is_stale && !renew(ch))
        return;
    if (ch->outlet == NULL) {
        if (ch->timer == NULL)
            channel_load(ch);
        return;
    }
    if (ch->is_paused || ch->transport == NULL)
        return;
    assign_pump(ch);
}
