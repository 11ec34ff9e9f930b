/*
 * The durable step: one commit settles the previous mails of the sessions and claims their next ones.
 *
 * One commit runs at a time; what comes up meanwhile is gathered into the next, so the writer's group
 * grows with the load and a session waits for one commit, not for one per session. The invariants:
 *   - a claim goes out in the same commit as the settle of the session's previous mail, or in a later
 *     one, never before: so a session has at most one row in `sending`;
 *   - nothing reaches the wire before its claim came back granted, nor when an opt-out was journalled in
 *     the meantime;
 *   - an outcome is never dropped: when the store fails it stays here and is tried again each second,
 *     while claims are withdrawn and a gate is closed.
 */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/rand.h"
#include "control/gates.h"
#include "control/run_table.h"
#include "loop/loop.h"
#include "model/opt_out.h"
#include "send/internal.h"
#include "store/store.h"

#define RETRY_MS 1000

/* Jobs in the order in which they came. */
struct job_list {
    struct job **a;
    size_t n, cap;
};

struct step {
    struct sender *sender;
    struct job_list settles, claims;                 /* gathering */
    struct job_list running_settles, running_claims; /* in the commit under way */
    bool is_running, is_deferred;
    unsigned op;
    struct loop_timer *retry;
    uint64_t started_us;
    uint64_t journal_epoch; /* of the sender when the commit was submitted */
    struct sends_settle *settle_args;
    struct sends_claim *claim_args;
    size_t cap_settle_args, cap_claim_args;
    struct metric *m_commits, *m_claims, *m_refused, *m_us;
};

static void step_flush(struct step *st);

static void
job_list_add(struct job_list *l, struct job *j)
{
    if (l->n == l->cap) {
        l->cap = l->cap != 0 ? l->cap * 2 : 64;
        l->a = mem_realloc(l->a, l->cap * sizeof(*l->a));
    }
    l->a[l->n++] = j;
}

static void
job_list_swap(struct job_list *a, struct job_list *b)
{
    struct job_list t = *a;

    *a = *b;
    *b = t;
}

struct step *
step_create(struct sender *s)
{
    struct step *st = mem_zalloc(sizeof(*st));

    st->sender = s;
    st->m_commits = metric_counter("mailshot_step_commits_total", "Durable steps committed", NULL);
    st->m_claims = metric_counter("mailshot_claims_total", "Claims granted", NULL);
    st->m_refused = metric_counter("mailshot_claims_refused_total", "Claims not granted", NULL);
    st->m_us = metric_histogram_us("mailshot_step_seconds", "Time of a durable step", NULL);
    return st;
}

void
step_free(struct step **stp)
{
    struct step *st = *stp;

    if (st == NULL)
        return;
    loop_timer_cancel(&st->retry);
    mem_free(st->settles.a);
    mem_free(st->claims.a);
    mem_free(st->running_settles.a);
    mem_free(st->running_claims.a);
    mem_free(st->settle_args);
    mem_free(st->claim_args);
    mem_free(st);
    *stp = NULL;
}

bool
step_is_running(const struct step *st)
{
    return st->is_running;
}

bool
step_is_idle(const struct step *st)
{
    return !st->is_running && st->settles.n == 0 && st->claims.n == 0;
}

/* ---- building the batch ---------------------------------------------------------------------- */

static void
add_suppression(struct step *st, struct store_batch *b, const struct job *j, int64_t now_ms)
{
    struct opt_out o = {
        .scope = SLICE_LIT("all"),
        .reason = SUPPRESSION_HARD_BOUNCE,
        .source = SLICE_LIT("smtp"),
        .actor = SLICE_LIT("system:sender"),
        .now_ms = now_ms,
    };
    char id[ID_TEXT_SIZE];

    suppression_address_of(st->sender->args.keys, buf_slice(&j->recipient_key), &o.address);
    if (j->broadcast != 0)
        o.broadcast = slice_str(id_text(j->broadcast, id));
    opt_out_ops(b, &o);
}

static void
grow_args(struct step *st)
{
    if (st->cap_settle_args < st->running_settles.n) {
        st->cap_settle_args = st->running_settles.cap;
        st->settle_args =
            mem_realloc(st->settle_args, st->cap_settle_args * sizeof(*st->settle_args));
    }
    if (st->cap_claim_args < st->running_claims.n) {
        st->cap_claim_args = st->running_claims.cap;
        st->claim_args = mem_realloc(st->claim_args, st->cap_claim_args * sizeof(*st->claim_args));
    }
}

static struct store_batch *
build_batch(struct step *st)
{
    struct store_batch *b = store_batch_create(st->sender->args.store, STORE_URGENT);
    struct sends_commit c = {.owner = st->sender->args.owner, .now_ms = clock_now_ms()};

    grow_args(st);
    for (size_t i = 0; i < st->running_settles.n; i++) {
        struct job *j = st->running_settles.a[i];

        st->settle_args[i] = j->settle;
        if (j->is_suppress)
            add_suppression(st, b, j, c.now_ms);
    }
    for (size_t i = 0; i < st->running_claims.n; i++) {
        const struct job *j = st->running_claims.a[i];

        st->claim_args[i] = (struct sends_claim){
            .broadcast = j->broadcast,
            .id = j->id,
            .token = j->token,
            .generation = j->generation,
            .address_hash = j->address_hash,
            .seen_seq = j->seen_seq,
        };
    }
    c.settles = st->settle_args;
    c.n_settles = st->running_settles.n;
    c.claims = st->claim_args;
    c.n_claims = st->running_claims.n;
    st->op = sends_commit(b, &c);
    return b;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
claim_answered(struct step *st, struct job *j, enum sends_verdict verdict)
{
    if (verdict == CLAIM_GRANTED) {
        metric_add(st->m_claims, 1);
        /* An opt-out that went to the journal meanwhile is not in the store, which granted this. */
        if (st->journal_epoch != st->sender->journal_epoch)
            channel_regret(j->channel, j);
        else
            channel_granted(j->channel, j);
        return;
    }
    /* Suppressed since it was prepared: prepared again, the opt-out is seen there. Gone: perhaps only
     * under this generation. */
    metric_add(st->m_refused, 1);
    channel_unclaim(j->channel, j);
}

static void
settle_answered(struct job *j, bool is_applied)
{
    if (!is_applied) {
        struct log_ctx ctx = {.broadcast = j->broadcast, .send = j->id};

        log_warn(&ctx, "send.settle_missed", "to=%s", send_state_name((int)j->settle.to));
    }
    channel_settled(j->channel, j);
}

/* The store failed: outcomes stay first in line, claims are withdrawn. */
static void
commit_failed(struct step *st, const struct err *err)
{
    struct job_list merged = {0};

    log_error(NULL, "send.commit_failed", "code=%s sub=%s error=\"%s\" settles=%zu claims=%zu",
        err_code_name(err->code), err->sub, err->text, st->running_settles.n, st->running_claims.n);
    gates_set(st->sender->args.gates, GATE_SCOPE_ALL, GATE_COMMIT, true, "the last commit failed");
    for (size_t i = 0; i < st->running_settles.n; i++)
        job_list_add(&merged, st->running_settles.a[i]);
    for (size_t i = 0; i < st->settles.n; i++)
        job_list_add(&merged, st->settles.a[i]);
    job_list_swap(&merged, &st->settles);
    mem_free(merged.a);
    for (size_t i = 0; i < st->running_claims.n; i++)
        channel_unclaim(st->running_claims.a[i]->channel, st->running_claims.a[i]);
    st->running_settles.n = st->running_claims.n = 0;
}

static void
commit_succeeded(struct step *st, struct store_batch *b)
{
    const struct sends_result *r = sends_result(b, st->op);
    struct job_list settles = st->running_settles, claims = st->running_claims;

    /* Taken away first: what the answers cause may already gather the next step. */
    st->running_settles = st->running_claims = (struct job_list){0};
    metric_add(st->m_commits, 1);
    gates_set(st->sender->args.gates, GATE_SCOPE_ALL, GATE_COMMIT, false, NULL);
    run_table_update(st->sender->args.runs, r->runs, r->n_runs);
    for (size_t i = 0; i < settles.n; i++)
        settle_answered(settles.a[i], r->applied[i]);
    for (size_t i = 0; i < claims.n; i++)
        claim_answered(st, claims.a[i], r->verdicts[i]);
    settles.n = claims.n = 0;
    st->running_settles = settles;
    st->running_claims = claims;
}

static void
on_retry(void *arg)
{
    struct step *st = arg;

    st->retry = NULL;
    step_flush(st);
    if (st->is_running)
        return;
    /* Nothing waits to be written: open the gate, and the next claim tells. */
    gates_set(st->sender->args.gates, GATE_SCOPE_ALL, GATE_COMMIT, false, NULL);
    sender_kick(st->sender);
}

static void
on_commit(struct store_batch *b, void *arg)
{
    struct step *st = arg;
    const struct err *err = store_batch_err(b);

    st->is_running = false;
    metric_observe_us(st->m_us, clock_mono_us() - st->started_us);
    if (err != NULL) {
        commit_failed(st, err);
        if (st->retry == NULL)
            st->retry = loop_timer_start(st->sender->args.loop, RETRY_MS, on_retry, st);
    } else {
        commit_succeeded(st, b);
        step_flush(st);
    }
    store_batch_free(&b);
    sender_kick(st->sender);
    sender_check_stopped(st->sender);
}

/* ---- gathering ------------------------------------------------------------------------------- */

static void
step_flush(struct step *st)
{
    if (st->is_running || st->retry != NULL || (st->settles.n == 0 && st->claims.n == 0))
        return;
    job_list_swap(&st->settles, &st->running_settles);
    job_list_swap(&st->claims, &st->running_claims);
    st->settles.n = st->claims.n = 0;
    st->is_running = true;
    st->started_us = clock_mono_us();
    st->journal_epoch = st->sender->journal_epoch;
    store_submit(build_batch(st), on_commit, st);
}

static void
on_turn_end(void *arg)
{
    struct step *st = arg;

    st->is_deferred = false;
    step_flush(st);
}

/* The commit starts at the end of the turn, so that all sessions of this turn are in it. */
static void
step_wake(struct step *st)
{
    if (st->is_deferred || st->is_running)
        return;
    st->is_deferred = true;
    loop_defer(st->sender->args.loop, on_turn_end, st);
}

void
step_claim(struct step *st, struct job *j)
{
    j->state = JOB_CLAIMING;
    j->token = (rand_u64() >> 1) | 1;
    job_list_add(&st->claims, j);
    step_wake(st);
}

void
step_settle(struct step *st, struct job *j)
{
    j->state = JOB_SETTLING;
    job_list_add(&st->settles, j);
    step_wake(st);
}
