#include "api/resources.h"

#include "api/live.h"
#include "api/resource.h"
#include "base/clock.h"
#include "control/run_control.h"
#include "model/broadcast_doc.h"
#include "model/profile.h"
#include "store/runs.h"
#include "store/store.h"
#include "tick/ticker.h"

/*
 * One look at everything that moves, and the button that does the periodic work now.
 */

#define RUNS_MAX  200
#define IN(state) (1u << (state))

/* ---- status ---------------------------------------------------------------------------------- */

static void
write_queue(struct json_writer *w, const struct sender_status *s)
{
    jw_obj(w, "queue");
    jw_int(w, "waiting", (int64_t)s->waiting);
    jw_int(w, "prepared", (int64_t)s->prepared);
    jw_int(w, "inFlight", (int64_t)s->in_flight);
    jw_int(w, "acceptedSinceStart", (int64_t)s->accepted_total);
    jw_int(w, "deferredSinceStart", (int64_t)s->deferred_total);
    jw_int(w, "refusedSinceStart", (int64_t)s->refused_total);
    jw_int(w, "inDoubtSinceStart", (int64_t)s->in_doubt_total);
    jw_end_obj(w);
}

static void
write_tick(struct json_writer *w, const struct live_broadcast *live)
{
    const struct ticker_status *t = &live->tick;

    if (!live->has_tick) {
        jw_null(w, "tick");
        return;
    }
    jw_obj(w, "tick");
    jw_int(w, "intervalMs", t->interval_ms);
    jw_int(w, "rounds", (int64_t)t->rounds);
    jw_time(w, "lastStartedAt", t->started_at_ms);
    jw_time(w, "lastEndedAt", t->ended_at_ms);
    jw_int(w, "lastFailedJobs", t->last_failed);
    jw_cstr(w, "running", t->running);
    jw_end_obj(w);
}

/* Broadcasts that are scheduled, sending or paused, oldest first, at most RUNS_MAX. */
static int
write_broadcasts(struct api_call *c, struct err *err)
{
    struct store_batch *b = store_batch_create(c->env->store, STORE_URGENT);
    unsigned op = runs_list(b, IN(RUN_SCHEDULED) | IN(RUN_SENDING) | IN(RUN_PAUSED), 0, RUNS_MAX);
    int rc = store_run(b, err);

    jw_arr(&c->w, "broadcasts");
    for (size_t i = 0; rc == 0 && i < runs_result(b, op)->n_runs; i++) {
        const struct run_record *run = &runs_result(b, op)->runs[i];
        struct broadcast_doc d;

        if ((rc = broadcast_doc_get_id(c->env->store, run->broadcast, c->arena, &d, NULL, err)) !=
            0)
            break;
        jw_obj(&c->w, NULL);
        jw_str(&c->w, "slug", d.slug);
        jw_cstr(&c->w, "status", run_state_name((int)run->state));
        run_reasons_to_json(&c->w, "pauseReasonCodes", run->reasons);
        jw_time(&c->w, "scheduledAt", run->scheduled_at_ms);
        jw_int(&c->w, "open", run_open_rows(&run->n));
        jw_int(&c->w, "rows", run_rows(&run->n));
        jw_end_obj(&c->w);
    }
    jw_end_arr(&c->w);
    store_batch_free(&b);
    return rc;
}

static int
write_profiles(struct api_call *c, struct err *err)
{
    const struct profile *profiles;
    size_t n;

    if (profile_list(c->env->store, c->arena, &profiles, &n, err) != 0)
        return -1;
    jw_arr(&c->w, "profiles");
    for (size_t i = 0; i < n; i++) {
        struct live_broadcast *live = arena_alloc(c->arena, sizeof(*live));
        bool is_paused = profiles[i].state == PROFILE_PAUSED;

        live_read(c->env, 0, profiles[i].id, live);
        jw_obj(&c->w, NULL);
        jw_str(&c->w, "slug", profiles[i].slug);
        jw_cstr(&c->w, "state", is_paused ? "paused" : "active");
        if (is_paused)
            jw_str(&c->w, "reason", profiles[i].state_reason);
        else
            jw_null(&c->w, "reason");
        live_write_sender(&c->w, "sender", live);
        jw_end_obj(&c->w);
    }
    jw_end_arr(&c->w);
    return 0;
}

static int
status(struct api_call *c, struct err *err)
{
    struct live_broadcast *live = arena_alloc(c->arena, sizeof(*live));
    int64_t now_ms = clock_now_ms();

    live_read(c->env, 0, 0, live);
    jw_obj(&c->w, NULL);
    jw_cstr(&c->w, "version", MAILSHOT_VERSION);
    jw_time(&c->w, "now", now_ms);
    jw_time(&c->w, "startedAt", c->env->started_at_ms);
    jw_bool(&c->w, "daemon", c->env->loop != NULL);
    jw_bool(&c->w, "testContactsConfigured", c->env->n_test_contacts > 0);
    jw_bool(&c->w, "publicUrlConfigured", c->env->public_url[0] != '\0');
    live_write_gates(&c->w, "gates", live, SLICE_NONE);
    write_queue(&c->w, &live->totals);
    write_tick(&c->w, live);
    if (write_broadcasts(c, err) != 0 || write_profiles(c, err) != 0)
        return -1;
    jw_end_obj(&c->w);
    return 0;
}

/* ---- tick ------------------------------------------------------------------------------------ */

#define TICK_TIMEOUT_MS 60000

static int
tick(struct api_call *c, struct err *err)
{
    int64_t began_ms = clock_mono_ms();
    unsigned n_failed = 0;

    if (c->env->ticker == NULL)
        return err_sub(err, ERR_CONFLICT, "daemon_required", "this needs a running daemon");
    if (api_audit(c, "agent.tick", "daemon", SLICE_LIT("tick"), "", err) != 0 ||
        ticker_run_blocking(c->env->ticker, TICK_TIMEOUT_MS, &n_failed, err) != 0)
        return -1;
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "ok", n_failed == 0);
    jw_int(&c->w, "failedJobs", n_failed);
    jw_int(&c->w, "ms", clock_mono_ms() - began_ms);
    jw_end_obj(&c->w);
    return 0;
}

static const char *const tick_errors[] = {
    "tick_running", "tick_slow", "stopping", "daemon_required", NULL};

const struct api_route api_status_routes[] = {
    {
        .method = "GET",
        .path = "/agent/status",
        .summary = "Gates, queue, broadcasts in work and profiles at a glance",
        .scope = API_READ,
        .handler = status,
    },
    {
        .method = "POST",
        .path = "/agent/tick",
        .summary = "Do a round of the periodic work now and wait for its end",
        .scope = API_BROADCASTS,
        .handler = tick,
        .errors = tick_errors,
    },
    {.method = NULL},
};
