#include "api/broadcast_routes.h"

#include <string.h>

#include "api/broadcast_view.h"
#include "api/live.h"
#include "api/resource.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/timefmt.h"
#include "broadcast/count_jobs.h"

/*
 * What people do with a broadcast: count, schedule, pause, resume, cancel, and wait for it. Schedule and
 * resume take the token of a count and the number a person typed; nothing is counted in the request.
 */

/* ---- counting -------------------------------------------------------------------------------- */

static void
write_excluded(struct json_writer *w, const struct count_result *r)
{
    jw_obj(w, "excluded");
    for (int i = 0; i < EXCL_REASONS; i++)
        jw_int(w, exclusion_reason_name(i), (int64_t)r->excluded[i]);
    jw_end_obj(w);
}

/* `recipientCount` is what schedule wants to hear, `confirmCount` what resume does. */
static int
answer_count(struct api_call *c, const struct broadcast_view *v, const struct count_outcome *o)
{
    const struct count_result *r = &o->result;
    int64_t held = broadcast_held_rows(&v->run);

    jw_obj(&c->w, NULL);
    jw_str(&c->w, "slug", v->doc.slug);
    jw_cstr(&c->w, "status", run_state_name((int)v->run.state));
    jw_id(&c->w, "countId", o->id);
    jw_cstr(&c->w, "purpose", o->purpose == COUNT_RESUME ? "resume" : "schedule");
    jw_bool(&c->w, "done", o->is_done);
    if (!o->is_done) {
        jw_int(&c->w, "progress", (int64_t)o->progress);
        jw_end_obj(&c->w);
        c->status = 202;
        return 0;
    }
    jw_id(&c->w, "countToken", o->id);
    jw_time(&c->w, "expiresAt", o->expires_at_ms);
    jw_int(&c->w, "databaseMatched", (int64_t)r->database_matched);
    jw_int(&c->w, "matched", (int64_t)r->matched);
    jw_int(&c->w, "eligible", (int64_t)r->eligible);
    write_excluded(&c->w, r);
    jw_int(&c->w, "alreadySent", (int64_t)r->already_sent);
    jw_int(&c->w, "sendsSoFar", (int64_t)r->rows);
    jw_int(&c->w, "recipientCount", (int64_t)r->eligible);
    jw_int(&c->w, "heldSends", held);
    jw_int(&c->w, "confirmCount", (int64_t)r->eligible + (o->purpose == COUNT_RESUME ? held : 0));
    jw_int(&c->w, "computedMs", r->computed_ms);
    jw_end_obj(&c->w);
    return 0;
}

/* Small lists are counted while the caller waits here; longer ones while nobody's worker does. */
#define COUNT_FIRST_MS 50
#define COUNT_STEP_MS  100

struct count_wait {
    char id[ID_TEXT_SIZE];
};

static int
count_begin(struct api_call *c, const struct broadcast_call *bc, const struct broadcast_view *v,
    int64_t wait_ms, struct count_outcome *o, struct err *err)
{
    struct slice purpose = api_body_str(c, "purpose");
    bool is_resume = purpose.n > 0 ? slice_eq_str(purpose, "resume") : v->run.state == RUN_PAUSED;
    int64_t first_ms = wait_ms < COUNT_FIRST_MS ? wait_ms : COUNT_FIRST_MS;
    struct count_wait *w = arena_alloc(c->arena, sizeof(*w));

    if (count_start(bc, v, is_resume ? COUNT_RESUME : COUNT_SCHEDULE, first_ms, o, err) != 0)
        return -1;
    id_text(o->id, w->id);
    c->state = w;
    return 0;
}

static int
count_look(struct api_call *c, const struct broadcast_call *bc, const struct broadcast_view *v,
    struct slice id, struct count_outcome *o, struct err *err)
{
    if (count_get(bc, v->doc.id, id, o, err) != 0)
        return -1;
    if (o->is_failed)
        return err_sub(err, ERR_TEMP, o->error_sub, "%s", o->error);
    return 0;
}

int
broadcasts_count(struct api_call *c, struct err *err)
{
    const struct count_wait *w = c->state;
    int64_t wait_ms = COUNT_WAIT_MS;
    struct broadcast_call bc;
    struct broadcast_view v;
    struct count_outcome o;
    int rc;

    if (broadcast_find(c, &bc, &v, err) != 0)
        return -1;
    json_int(json_get(c->body, "waitMs"), &wait_ms);
    if (w == NULL)
        rc = count_begin(c, &bc, &v, wait_ms, &o, err);
    else
        rc = count_look(c, &bc, &v, slice_str(w->id), &o, err);
    if (rc != 0)
        return -1;
    if (!o.is_done && c->waited_ms + COUNT_FIRST_MS < wait_ms) {
        c->again_ms = COUNT_STEP_MS;
        return 0;
    }
    return answer_count(c, &v, &o);
}

int
broadcasts_count_get(struct api_call *c, struct err *err)
{
    struct broadcast_call bc;
    struct broadcast_view v;
    struct count_outcome o;

    if (broadcast_find(c, &bc, &v, err) != 0 || count_look(c, &bc, &v, c->params[1], &o, err) != 0)
        return -1;
    return answer_count(c, &v, &o);
}

/* ---- schedule and resume --------------------------------------------------------------------- */

/* A wrong number names the right one, so that the caller can look before asking again. */
static int
refuse_mismatch(struct api_call *c, const struct broadcast_call *bc, struct slice token,
    int64_t confirmed, struct err *err)
{
    struct err unused = {0};
    struct broadcast_view v;
    struct count_outcome o;
    int64_t held;

    if (strcmp(err->sub, "count_mismatch") != 0 ||
        broadcast_read(bc, c->params[0], &v, &unused) != 0 ||
        count_get(bc, v.doc.id, token, &o, &unused) != 0)
        return -1;
    held = o.purpose == COUNT_RESUME ? broadcast_held_rows(&v.run) : 0;
    jw_int(api_details(c), "expected", (int64_t)o.result.eligible + held);
    jw_int(api_details(c), "recipientCount", (int64_t)o.result.eligible);
    jw_int(api_details(c), "heldSends", held);
    jw_int(api_details(c), "confirmedCount", confirmed);
    return -1;
}

/* Which input is missing or unreadable decides the word, before anything else is looked at. */
static int
read_time(struct api_call *c, int64_t *ms_r, struct err *err)
{
    const struct json *j = json_get(c->body, "scheduledAt");

    if (!json_is(j, JSON_STRING) || json_str(j).n == 0)
        return err_sub(err, ERR_INVALID, "scheduledAt_required",
            "scheduledAt: \"now\" or a time with its offset");
    *ms_r = clock_now_ms();
    if (slice_eq_str(json_str(j), "now") || timefmt_parse(json_str(j), ms_r))
        return 0;
    return err_sub(err, ERR_INVALID, "bad_scheduledAt",
        "scheduledAt: must be \"now\" or a time such as 2026-06-02T10:00:00+02:00");
}

static int
read_confirmed(struct api_call *c, int64_t *n_r, struct err *err)
{
    if (json_int(json_get(c->body, "confirmedCount"), n_r))
        return 0;
    return err_sub(err, ERR_INVALID, "confirmedCount_required",
        "confirmedCount: the number that the count gave");
}

int
broadcasts_schedule(struct api_call *c, struct err *err)
{
    struct broadcast_schedule s = {.count_token = api_body_str(c, "countToken")};
    struct broadcast_call bc;
    struct broadcast_view v;

    if (broadcast_find(c, &bc, &v, err) != 0 || read_time(c, &s.scheduled_at_ms, err) != 0 ||
        read_confirmed(c, &s.confirmed_count, err) != 0)
        return -1;
    if (broadcast_schedule(&bc, c->params[0], &s, &v, err) != 0)
        return refuse_mismatch(c, &bc, s.count_token, s.confirmed_count, err);
    return broadcast_answer(c, &v);
}

int
broadcasts_unschedule(struct api_call *c, struct err *err)
{
    struct broadcast_call bc;
    struct broadcast_view v;

    if (api_broadcast_call(c, &bc, err) != 0 ||
        broadcast_unschedule(&bc, c->params[0], &v, err) != 0)
        return api_reword(err, "not_scheduled", "the broadcast is not waiting for its start");
    return broadcast_answer(c, &v);
}

int
broadcasts_resume(struct api_call *c, struct err *err)
{
    struct broadcast_resume r = {.count_token = api_body_str(c, "countToken")};
    struct broadcast_call bc;
    struct broadcast_view v;

    if (broadcast_find(c, &bc, &v, err) != 0 || read_confirmed(c, &r.confirmed_count, err) != 0)
        return -1;
    if (broadcast_resume(&bc, c->params[0], &r, &v, err) != 0)
        return refuse_mismatch(c, &bc, r.count_token, r.confirmed_count, err);
    return broadcast_answer(c, &v);
}

/* ---- pause and cancel ------------------------------------------------------------------------ */

/* Mail claimed before the answer may still reach the wire: it is named. */
static int
answer_stopped(struct api_call *c, const struct broadcast_view *v, const char *figure, int64_t n)
{
    struct live_broadcast *live = arena_alloc(c->arena, sizeof(*live));

    live_read(c->env, v->doc.id, 0, live);
    jw_obj(&c->w, NULL);
    broadcast_write(&c->w, "broadcast", v);
    jw_int(&c->w, figure, n);
    live_write_in_flight(&c->w, "inFlight", live);
    jw_end_obj(&c->w);
    return 0;
}

int
broadcasts_pause(struct api_call *c, struct err *err)
{
    struct broadcast_call bc;
    struct broadcast_view v;

    if (api_broadcast_call(c, &bc, err) != 0 ||
        broadcast_pause(&bc, c->params[0], api_body_str(c, "reason"), &v, err) != 0)
        return -1;
    return answer_stopped(c, &v, "heldSends", broadcast_held_rows(&v.run));
}

int
broadcasts_cancel(struct api_call *c, struct err *err)
{
    struct broadcast_call bc;
    struct broadcast_view v;
    int64_t n;

    if (api_broadcast_call(c, &bc, err) != 0 ||
        broadcast_cancel(&bc, c->params[0], &n, &v, err) != 0)
        return -1;
    return answer_stopped(c, &v, "cancelledSends", n);
}

/* ---- waiting --------------------------------------------------------------------------------- */

#define WAIT_STEP_MS    200
#define WAIT_DEFAULT_MS 30000

/* "sent,paused": any of them. -1 for an unknown word. */
static int
read_states(struct api_call *c, uint32_t *mask_r, struct err *err)
{
    struct slice rest = api_query(c, "status"), word;

    *mask_r = 0;
    if (rest.p == NULL)
        rest = SLICE_LIT("sent,paused,cancelled,failed");
    while (slice_cut(&rest, ',', &word)) {
        int state = run_state_parse(arena_cstr(c->arena, word));

        if (state < 0)
            return err_field(err, "status", "status: states of a broadcast, parted by commas");
        *mask_r |= 1u << state;
    }
    return 0;
}

int
broadcasts_wait(struct api_call *c, struct err *err)
{
    int64_t timeout_ms = api_query_int(c, "timeoutMs", WAIT_DEFAULT_MS);
    struct broadcast_call bc;
    struct broadcast_view v;
    uint32_t mask;
    bool is_reached;

    if (read_states(c, &mask, err) != 0 || broadcast_find(c, &bc, &v, err) != 0)
        return -1;
    is_reached = (mask & (1u << v.run.state)) != 0;
    if (!is_reached && c->waited_ms < timeout_ms) {
        int64_t left = timeout_ms - c->waited_ms;

        c->again_ms = left < WAIT_STEP_MS ? left : WAIT_STEP_MS;
        return 0;
    }
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "reached", is_reached);
    jw_int(&c->w, "waitedMs", c->waited_ms);
    broadcast_write(&c->w, "broadcast", &v);
    broadcast_write_ledger(&c->w, "ledger", &v.run, NULL);
    broadcast_write_progress(&c->w, "progress", &v.run, bc.now_ms);
    jw_end_obj(&c->w);
    return 0;
}
