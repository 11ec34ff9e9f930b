#include "api/resources.h"

#include <bson/bson.h>

#include "api/broadcast_routes.h"
#include "api/broadcast_view.h"
#include "api/live.h"
#include "api/resource.h"
#include "audience/segment.h"
#include "base/bsonx.h"
#include "base/clock.h"
#include "model/profile.h"
#include "store/store.h"

/*
 * Broadcasts: list, read with the ledger, create, change, delete. What they do to mailboxes is in
 * broadcast_actions.c; the lists behind the figures in broadcast_rows.c.
 */

int
broadcast_answer(struct api_call *c, const struct broadcast_view *v)
{
    jw_obj(&c->w, NULL);
    broadcast_write(&c->w, "broadcast", v);
    jw_end_obj(&c->w);
    return 0;
}

int
broadcast_find(
    struct api_call *c, struct broadcast_call *bc, struct broadcast_view *v, struct err *err)
{
    if (api_broadcast_call(c, bc, err) != 0)
        return -1;
    return broadcast_read(bc, c->params[0], v, err);
}

/* ---- read ------------------------------------------------------------------------------------ */

#define READ_MAX 200 /* of the store at a time */

static void
write_item(struct api_call *c, const struct broadcast_doc *d, const struct run_record *run)
{
    struct broadcast_view v = {*d, *run};

    jw_obj(&c->w, NULL);
    broadcast_write(&c->w, "broadcast", &v);
    broadcast_write_breakdown(&c->w, "statusBreakdown", &v.run);
    broadcast_write_stats(&c->w, "stats", &v.run);
    jw_end_obj(&c->w);
}

int
broadcasts_list(struct api_call *c, struct err *err)
{
    unsigned left = api_page_limit(c), limit;
    const struct broadcast_doc *docs;
    const struct run_record *runs;
    uint64_t before;
    size_t n;

    if (api_page_after(c, &before, err) != 0)
        return -1;
    api_page_begin(c);
    do {
        limit = left < READ_MAX ? left : READ_MAX;
        if (broadcast_doc_list(c->env->store, before, limit, c->arena, &docs, &runs, &n, err) != 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            write_item(c, &docs[i], &runs[i]);
        before = n == limit ? docs[n - 1].id : 0;
        left -= limit;
    } while (left > 0 && before != 0);
    api_page_end(c, before);
    return 0;
}

/* Why the run's profile lets nothing go; p NULL when it does. */
static int
profile_hold(struct api_call *c, uint64_t profile, struct slice *reason_r, struct err *err)
{
    struct profile p;

    *reason_r = SLICE_NONE;
    if (profile == 0)
        return 0;
    if (profile_get_id(c->env->store, profile, c->arena, &p, err) != 0) {
        if (err->code != ERR_NOTFOUND)
            return -1;
        err_clear(err);
        *reason_r = SLICE_LIT("the profile is gone");
    } else if (p.state == PROFILE_PAUSED) {
        *reason_r = p.state_reason.n > 0 ? p.state_reason : SLICE_LIT("paused");
    }
    return 0;
}

/* Counters and a count of the rows at the same instant. */
static int
recount(struct api_call *c, struct run_record *run, struct run_record *counted_r, struct err *err)
{
    struct store_batch *b = store_batch_create(c->env->store, STORE_BULK);
    unsigned op = runs_recount(b, run->broadcast);
    int rc = store_run(b, err);

    if (rc == 0 && runs_result(b, op)->n_runs == 1) {
        counted_r->n = runs_result(b, op)->runs[0].n;
        run->n = runs_result(b, op)->before;
    }
    store_batch_free(&b);
    return rc;
}

int
broadcasts_get(struct api_call *c, struct err *err)
{
    bool wants_recount = api_query_bool(c, "recount", false);
    struct live_broadcast *live = arena_alloc(c->arena, sizeof(*live));
    struct broadcast_call bc;
    struct broadcast_view v;
    struct run_record counted;
    struct slice hold;

    if (broadcast_find(c, &bc, &v, err) != 0 || profile_hold(c, v.run.profile, &hold, err) != 0)
        return -1;
    counted = v.run;
    if (wants_recount && recount(c, &v.run, &counted, err) != 0)
        return -1;
    live_read(c->env, v.doc.id, v.run.profile, live);
    jw_obj(&c->w, NULL);
    broadcast_write(&c->w, "broadcast", &v);
    broadcast_write_ledger(&c->w, "ledger", &v.run, wants_recount ? &counted : NULL);
    broadcast_write_progress(&c->w, "progress", &v.run, bc.now_ms);
    live_write_gates(&c->w, "gates", live, hold);
    live_write_in_flight(&c->w, "inFlight", live);
    live_write_sender(&c->w, "sender", live);
    broadcast_write_breakdown(&c->w, "statusBreakdown", &v.run);
    broadcast_write_stats(&c->w, "stats", &v.run);
    jw_end_obj(&c->w);
    return 0;
}

/* ---- write ----------------------------------------------------------------------------------- */

static int
read_segment(struct api_call *c, struct broadcast_doc *d, struct err *err)
{
    const struct json *j = json_get(c->body, "segmentDefinition");
    struct buf issues = BUF_INIT;
    bson_t canonical = BSON_INITIALIZER;
    struct segment *s;

    if (!json_is(j, JSON_OBJECT))
        return 0;
    if ((s = segment_parse(j, &issues, err)) == NULL) {
        buf_append_slice(&c->message, buf_slice(&issues));
        buf_deinit(&issues);
        bson_destroy(&canonical);
        return -1;
    }
    segment_to_bson(s, &canonical);
    d->segment = arena_dup(c->arena, bsonx_bytes(&canonical));
    segment_free(&s);
    buf_deinit(&issues);
    bson_destroy(&canonical);
    return 0;
}

#define VARS_DEPTH 16

static int
read_vars(struct api_call *c, struct broadcast_doc *d, struct err *err)
{
    const struct json *j = json_get(c->body, "vars");
    bson_t vars;

    if (!json_is(j, JSON_OBJECT))
        return 0;
    if (bsonx_from_json(j, VARS_DEPTH, &vars, err) != 0) {
        struct err why = *err;

        return err_field(err, "vars", "vars: %s", why.text);
    }
    d->vars = arena_dup(c->arena, bsonx_bytes(&vars));
    bson_destroy(&vars);
    return 0;
}

/* Members that were given, null among them, as bits of BROADCAST_SET_*. */
static int
read_body(struct api_call *c, struct broadcast_doc *d, unsigned *set_r, struct err *err)
{
    static const struct {
        const char *name;
        unsigned bit;
    } members[] = {
        {"name", BROADCAST_SET_NAME},
        {"templateSlug", BROADCAST_SET_TEMPLATE},
        {"segmentDefinition", BROADCAST_SET_SEGMENT},
        {"profile", BROADCAST_SET_PROFILE},
        {"stopRules", BROADCAST_SET_STOP_RULES},
        {"vars", BROADCAST_SET_VARS},
        {"maxLatenessMinutes", BROADCAST_SET_LATENESS},
        {"audienceGrowthPct", BROADCAST_SET_GROWTH},
    };
    const struct json *rules = json_get(c->body, "stopRules");
    int64_t minutes = 0;

    *d = (struct broadcast_doc){.growth_limit_pct = -1};
    *set_r = 0;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (json_get(c->body, members[i].name) != NULL)
            *set_r |= members[i].bit;
    d->slug = api_body_str(c, "slug");
    d->name = api_body_str(c, "name");
    d->template_slug = api_body_str(c, "templateSlug");
    d->profile = api_body_str(c, "profile");
    json_int(json_get(c->body, "audienceGrowthPct"), &d->growth_limit_pct);
    if (json_int(json_get(c->body, "maxLatenessMinutes"), &minutes))
        d->max_lateness_ms = minutes * 60000;
    if (rules != NULL && stop_rules_from_json(rules, &d->stop_rules, err) != 0)
        return -1;
    if (read_segment(c, d, err) != 0)
        return -1;
    return read_vars(c, d, err);
}

int
broadcasts_create(struct api_call *c, struct err *err)
{
    struct broadcast_call bc;
    struct broadcast_doc d;
    struct broadcast_view v;
    unsigned set;

    if (api_broadcast_call(c, &bc, err) != 0 || read_body(c, &d, &set, err) != 0 ||
        broadcast_create(&bc, &d, &v, err) != 0)
        return api_reword(err, "slug_taken", "another broadcast has this slug");
    c->status = 201;
    return broadcast_answer(c, &v);
}

int
broadcasts_patch(struct api_call *c, struct err *err)
{
    struct broadcast_call bc;
    struct broadcast_doc d;
    struct broadcast_view v;
    unsigned set;

    if (broadcast_find(c, &bc, &v, err) != 0 || read_body(c, &d, &set, err) != 0)
        return -1;
    if ((set & BROADCAST_SET_SEGMENT) != 0 && d.segment.n == 0)
        set &= ~BROADCAST_SET_SEGMENT; /* null: as it stands */
    if (broadcast_patch(&bc, c->params[0], &d, set, &v, err) != 0)
        return api_reword(err, "not_draft", "only a draft can be changed");
    return broadcast_answer(c, &v);
}

int
broadcasts_delete(struct api_call *c, struct err *err)
{
    struct broadcast_call bc;

    if (api_broadcast_call(c, &bc, err) != 0 || broadcast_delete(&bc, c->params[0], err) != 0)
        return api_reword(err, "not_draft", "only a draft can be deleted; cancel it instead");
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "deleted", true);
    jw_end_obj(&c->w);
    return 0;
}
