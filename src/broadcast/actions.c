/*
 * Broadcasts as people act on them: create, change, pause, cancel.
 *
 * Every guard is repeated at each step that could get past it (a draft saved long ago meets the same
 * checks at schedule); the state itself is decided by one conditional update in the store.
 */
#include "broadcast/broadcasts.h"

#include <string.h>

#include <bson/bson.h>

#include "audience/segment.h"
#include "base/bsonx.h"
#include "broadcast/actions_internal.h"
#include "control/run_control.h"
#include "control/run_table.h"
#include "model/audit.h"
#include "model/profile.h"
#include "store/store.h"

int64_t
broadcast_held_rows(const struct run_record *r)
{
    return r->n.by_state[SEND_QUEUED] + r->n.by_state[SEND_HELD];
}

int64_t
broadcast_growth_limit(int64_t confirmed, int64_t pct)
{
    if (pct == 0)
        return confirmed;
    return confirmed + confirmed * pct / 100 + (confirmed < 100 ? confirmed : 100);
}

int
broadcast_read(
    const struct broadcast_call *c, struct slice slug, struct broadcast_view *v, struct err *err)
{
    return broadcast_doc_get(c->b->store, slug, c->arena, &v->doc, &v->run, err);
}

/* ---- what a broadcast leans on --------------------------------------------------------------- */

int
broadcast_template(const struct broadcast_call *c, const struct broadcast_doc *d,
    struct template_version *v, struct err *err)
{
    struct template_doc t;

    if (template_doc_get(c->b->store, d->template_slug, c->arena, &t, err) != 0) {
        if (err->code == ERR_NOTFOUND)
            err_sub(err, ERR_CONFLICT, "template_not_found", "template %.*s does not exist",
                SLICE_FMT(d->template_slug));
        return -1;
    }
    if (t.version == 0)
        return err_sub(err, ERR_CONFLICT, "template_not_published",
            "template %.*s has no published version", SLICE_FMT(d->template_slug));
    if (t.live.kind != MAIL_MARKETING)
        return err_sub(err, ERR_CONFLICT, "template_not_marketing",
            "template %.*s is of kind %s; a broadcast needs a marketing template",
            SLICE_FMT(d->template_slug), mail_kind_name(t.live.kind));
    return template_version_get(c->b->store, d->template_slug, t.version, c->arena, v, err);
}

int
broadcast_profile(const struct broadcast_call *c, const struct broadcast_doc *d,
    const struct template_content *t, struct profile *p, struct err *err)
{
    struct slice slug = d->profile.n > 0 ? d->profile : t->profile;
    int rc = slug.n > 0 ? profile_get(c->b->store, slug, c->arena, p, err)
                        : profile_get_default(c->b->store, c->arena, p, err);

    if (rc != 0 && err->code == ERR_NOTFOUND)
        err->code = ERR_CONFLICT;
    return rc;
}

static int
require_subscribed(const struct segment *s, struct err *err)
{
    if (segment_requires_subscribed(s))
        return 0;
    return err_sub(err, ERR_REFUSED, "segment_requires_subscribed",
        "the segment must hold a top-level filter subscriptionStatus equals subscribed");
}

int
broadcast_segment(const struct broadcast_doc *d, struct segment **s_r, struct err *err)
{
    struct segment *s = segment_from_bson(d->segment, err);

    if (s == NULL)
        return -1;
    if (require_subscribed(s, err) != 0) {
        segment_free(&s);
        return -1;
    }
    *s_r = s;
    return 0;
}

/* An empty segment becomes the default one; what is given is checked. */
static int
check_segment(const struct broadcast_call *c, struct broadcast_doc *d, struct err *err)
{
    struct segment *s;
    bson_t canonical = BSON_INITIALIZER;
    int rc = 0;

    if (d->segment.n == 0) {
        s = segment_default();
        segment_to_bson(s, &canonical);
        d->segment = arena_dup(c->arena, bsonx_bytes(&canonical));
    } else {
        rc = broadcast_segment(d, &s, err);
    }
    if (rc == 0)
        segment_free(&s);
    bson_destroy(&canonical);
    return rc;
}

/* A template may be written after its broadcast; one that exists must be marketing. */
static int
check_template(const struct broadcast_call *c, const struct broadcast_doc *d, struct err *err)
{
    struct template_version v;

    if (broadcast_template(c, d, &v, err) == 0)
        return 0;
    if (slice_eq_str(slice_str(err->sub), "template_not_found") ||
        slice_eq_str(slice_str(err->sub), "template_not_published")) {
        err_clear(err);
        return 0;
    }
    return -1;
}

/* ---- drafts ---------------------------------------------------------------------------------- */

int
broadcast_create(const struct broadcast_call *c, struct broadcast_doc *d, struct broadcast_view *v,
    struct err *err)
{
    struct slice slug = d->slug;

    if (check_segment(c, d, err) != 0 || check_template(c, d, err) != 0 ||
        broadcast_doc_create(c->b->store, d, c->actor, c->now_ms, err) != 0)
        return -1;
    return broadcast_read(c, slug, v, err);
}

int
broadcast_patch(const struct broadcast_call *c, struct slice slug, const struct broadcast_doc *d,
    unsigned set, struct broadcast_view *v, struct err *err)
{
    struct broadcast_doc changed;
    struct segment *s;

    if (broadcast_read(c, slug, v, err) != 0)
        return -1;
    if (v->run.state != RUN_DRAFT)
        return err_sub(err, ERR_CONFLICT, "not_draft", "only a draft can be changed");
    if ((set & BROADCAST_SET_SEGMENT) != 0) {
        if (broadcast_segment(d, &s, err) != 0)
            return -1;
        segment_free(&s);
    }
    if ((set & BROADCAST_SET_TEMPLATE) != 0 && check_template(c, d, err) != 0)
        return -1;
    if (broadcast_doc_patch(
            c->b->store, v->doc.id, d, set, c->actor, c->now_ms, c->arena, &changed, err) != 0)
        return -1;
    return broadcast_read(c, slug, v, err);
}

int
broadcast_delete(const struct broadcast_call *c, struct slice slug, struct err *err)
{
    struct broadcast_view v;

    if (broadcast_read(c, slug, &v, err) != 0)
        return -1;
    return broadcast_doc_delete(c->b->store, v.doc.id, c->actor, c->now_ms, err);
}

/* ---- pause and cancel ------------------------------------------------------------------------ */

void
broadcast_audit(struct store_batch *b, const struct broadcast_call *c, const char *action,
    const struct broadcast_doc *d, const char *summary)
{
    audit_add_op(b, &(struct audit_entry){
                        .actor = c->actor,
                        .action = slice_str(action),
                        .resource = SLICE_LIT("broadcasts"),
                        .resource_id = d->slug,
                        .summary = slice_str(summary),
                        .at_ms = c->now_ms,
                    });
}

int
broadcast_change(const struct broadcast_call *c, struct store_batch *b, unsigned op,
    const char *refusal, struct broadcast_view *v, struct err *err)
{
    const struct run_result *r;
    int rc;

    store_require(b, op, ERR_CONFLICT, refusal);
    rc = store_run(b, err);
    if (rc == 0) {
        r = runs_result(b, op);
        v->run = r->runs[0];
        v->run.cursor = arena_dup(c->arena, v->run.cursor);
        v->run.reason_detail = arena_dup(c->arena, v->run.reason_detail);
        if (c->b->runs != NULL)
            run_table_post(c->b->runs, &v->run);
    }
    store_batch_free(&b);
    return rc;
}

int
broadcast_pause(const struct broadcast_call *c, struct slice slug, struct slice reason,
    struct broadcast_view *v, struct err *err)
{
    struct store_batch *b;
    const char *actor = arena_cstr(c->arena, c->actor);
    struct run_reason why = {.code = PAUSE_MANUAL, .actor = actor};
    unsigned op;

    if (broadcast_read(c, slug, v, err) != 0)
        return -1;
    why.message =
        reason.n > 0 ? arena_cstr(c->arena, reason) : arena_printf(c->arena, "paused by %s", actor);
    b = store_batch_create(c->b->store, STORE_URGENT);
    op = run_pause_op(b, v->doc.id, &why, c->now_ms);
    broadcast_audit(b, c, "broadcast.pause", &v->doc, why.message);
    if (broadcast_change(c, b, op, "not_pausable", v, err) == 0)
        return 0;
    if (err->code == ERR_CONFLICT)
        err_sub(err, ERR_CONFLICT, "not_pausable",
            "a broadcast that is %s cannot be paused by hand%s", run_state_name((int)v->run.state),
            v->run.state == RUN_PAUSED ? ": it is already" : "");
    return -1;
}

int
broadcast_cancel(const struct broadcast_call *c, struct slice slug, int64_t *cancelled_r,
    struct broadcast_view *v, struct err *err)
{
    struct store_batch *b;
    unsigned op;

    *cancelled_r = 0;
    if (broadcast_read(c, slug, v, err) != 0)
        return -1;
    if (v->run.state == RUN_CANCELLED)
        return 0;
    b = store_batch_create(c->b->store, STORE_URGENT);
    op = run_cancel_op(b, v->doc.id, c->now_ms);
    broadcast_audit(b, c, "broadcast.cancel", &v->doc, "cancelled");
    if (broadcast_change(c, b, op, "already_finished", v, err) == 0) {
        *cancelled_r = broadcast_held_rows(&v->run);
        return 0;
    }
    if (err->code == ERR_CONFLICT)
        err_sub(err, ERR_CONFLICT, "already_finished", "the broadcast is %s",
            run_state_name((int)v->run.state));
    return -1;
}
