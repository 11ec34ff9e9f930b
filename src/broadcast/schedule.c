/*
 * Schedule and resume: the two moments at which people's mailboxes are at stake.
 *
 * Both take a count that was made for exactly this (its token) and the number that a person typed.
 * Nothing is counted here: a stale token is refused, a wrong number is refused, and what the count
 * depended on is compared with the broadcast as it stands.
 */
#include <string.h>

#include "audience/segment.h"
#include "broadcast/actions_internal.h"
#include "broadcast/broadcasts.h"
#include "broadcast/count_jobs.h"
#include "broadcast/dispatch.h"
#include "control/run_control.h"
#include "model/profile.h"
#include "store/store.h"

#define IN(state) (1u << (state))

static int
confirm(int64_t expected, int64_t confirmed, struct err *err)
{
    if (expected == confirmed)
        return 0;
    return err_sub(err, ERR_CONFLICT, "count_mismatch", "expected %lld, confirmed %lld",
        (long long)expected, (long long)confirmed);
}

static int64_t
growth_pct(const struct broadcast_call *c, const struct broadcast_doc *d)
{
    return d->growth_limit_pct >= 0 ? d->growth_limit_pct : (int64_t)c->b->growth_pct;
}

/* Marketing needs unsubscribe links that work; only a capture may do without. */
static int
check_public_url(const struct broadcast_call *c, const struct profile *p, struct err *err)
{
    if (c->b->public_url[0] != '\0' || p->kind == PROFILE_CAPTURE)
        return 0;
    return err_sub(err, ERR_CONFLICT, "public_url_required",
        "set publicUrl first: recipients must be able to unsubscribe");
}

static int
check_ready(const struct broadcast_call *c, const struct broadcast_view *v,
    struct template_version *t, struct profile *p, struct err *err)
{
    struct segment *s;

    if (broadcast_segment(&v->doc, &s, err) != 0)
        return -1;
    segment_free(&s);
    if (broadcast_template(c, &v->doc, t, err) != 0 ||
        broadcast_profile(c, &v->doc, &t->content, p, err) != 0)
        return -1;
    return check_public_url(c, p, err);
}

int
broadcast_schedule(const struct broadcast_call *c, struct slice slug,
    const struct broadcast_schedule *s, struct broadcast_view *v, struct err *err)
{
    struct template_version t;
    struct profile p;
    struct count_outcome count;
    struct store_batch *b;
    struct run_change change = {
        .if_states = IN(RUN_DRAFT), .set = RUN_SET_STATE | RUN_SET_SCHEDULE};
    unsigned op;

    if (broadcast_read(c, slug, v, err) != 0)
        return -1;
    if (v->run.state != RUN_DRAFT)
        return err_sub(err, ERR_CONFLICT, "not_draft", "the broadcast is %s",
            run_state_name((int)v->run.state));
    if (check_ready(c, v, &t, &p, err) != 0 ||
        count_redeem(c, v, COUNT_SCHEDULE, s->count_token, &count, err) != 0 ||
        confirm((int64_t)count.result.eligible, s->confirmed_count, err) != 0)
        return -1;
    change.broadcast = v->doc.id;
    change.to.state = RUN_SCHEDULED;
    change.to.scheduled_at_ms = s->scheduled_at_ms;
    change.to.confirmed_at_ms = c->now_ms;
    change.to.confirmed_count = s->confirmed_count;
    change.to.template_version = t.version;
    change.to.profile = p.id;
    change.to.max_lateness_ms =
        v->doc.max_lateness_ms > 0 ? v->doc.max_lateness_ms : c->b->max_lateness_ms;
    change.to.growth_limit = broadcast_growth_limit(s->confirmed_count, growth_pct(c, &v->doc));
    b = store_batch_create(c->b->store, STORE_URGENT);
    op = runs_change(b, &change);
    broadcast_doc_confirmed_op(b, v->doc.id, c->actor, c->now_ms);
    broadcast_audit(b, c, "broadcast.schedule", &v->doc,
        arena_printf(
            c->arena, "version %u, %lld confirmed", t.version, (long long)s->confirmed_count));
    if (broadcast_change(c, b, op, "not_draft", v, err) != 0)
        return -1;
    v->doc.confirmed_by = c->actor;
    if (c->b->dispatcher != NULL)
        dispatcher_wake_at(c->b->dispatcher, s->scheduled_at_ms);
    return 0;
}

int
broadcast_unschedule(
    const struct broadcast_call *c, struct slice slug, struct broadcast_view *v, struct err *err)
{
    struct store_batch *b;
    struct run_change change = {.if_states = IN(RUN_SCHEDULED), .set = RUN_SET_STATE};
    unsigned op;

    if (broadcast_read(c, slug, v, err) != 0)
        return -1;
    change.broadcast = v->doc.id;
    change.to.state = RUN_DRAFT;
    b = store_batch_create(c->b->store, STORE_URGENT);
    op = runs_change(b, &change);
    broadcast_audit(b, c, "broadcast.unschedule", &v->doc, "back to draft");
    return broadcast_change(c, b, op, "not_scheduled", v, err);
}

/* A profile that its relay refused must be mended first; resuming would only break again. */
static int
check_profile_active(const struct broadcast_call *c, const struct run_record *run, struct err *err)
{
    struct profile p;

    if (profile_get_id(c->b->store, run->profile, c->arena, &p, err) != 0)
        return -1;
    if (p.state == PROFILE_ACTIVE)
        return 0;
    return err_sub(err, ERR_CONFLICT, "profile_paused", "profile %.*s is paused: %.*s",
        SLICE_FMT(p.slug), SLICE_FMT(p.state_reason));
}

int
broadcast_resume(const struct broadcast_call *c, struct slice slug,
    const struct broadcast_resume *r, struct broadcast_view *v, struct err *err)
{
    struct count_outcome count;
    struct store_batch *b;
    struct segment *s;
    int64_t held, limit;
    unsigned op;

    if (broadcast_read(c, slug, v, err) != 0)
        return -1;
    if (v->run.state != RUN_PAUSED)
        return err_sub(err, ERR_CONFLICT, "not_paused", "the broadcast is %s",
            run_state_name((int)v->run.state));
    if (broadcast_segment(&v->doc, &s, err) != 0)
        return -1;
    segment_free(&s);
    if (check_profile_active(c, &v->run, err) != 0 ||
        count_redeem(c, v, COUNT_RESUME, r->count_token, &count, err) != 0)
        return -1;
    held = broadcast_held_rows(&v->run);
    if (confirm((int64_t)count.result.eligible + held, r->confirmed_count, err) != 0)
        return -1;
    limit = run_rows(&v->run.n) +
            broadcast_growth_limit((int64_t)count.result.eligible, growth_pct(c, &v->doc));
    b = store_batch_create(c->b->store, STORE_URGENT);
    op = run_resume_op(b, v->doc.id, v->run.reasons, r->confirmed_count, limit, c->now_ms);
    broadcast_doc_confirmed_op(b, v->doc.id, c->actor, c->now_ms);
    broadcast_audit(b, c, "broadcast.resume", &v->doc,
        arena_printf(c->arena, "%lld confirmed", (long long)r->confirmed_count));
    if (broadcast_change(c, b, op, "count_stale", v, err) == 0)
        return 0;
    if (err->code == ERR_CONFLICT)
        err_sub(err, ERR_CONFLICT, "count_stale",
            "count again: the broadcast was resumed, cancelled or paused for one more reason");
    return -1;
}
