#include "api/live.h"

#include <string.h>

#include "loop/loop.h"

/*
 * Questions of API workers to the loop thread: one loop_call() that copies what is asked for, so that
 * nothing of the loop's is looked at from another thread.
 */

struct question {
    const struct api_env *env;
    uint64_t broadcast, profile;
    struct live_broadcast *live;
};

static void
answer(void *arg)
{
    struct question *q = arg;
    struct live_broadcast *live = q->live;

    if (q->env->sender != NULL) {
        live->n_in_flight =
            sender_in_flight(q->env->sender, q->broadcast, live->in_flight, LIVE_IDS_MAX);
        live->n_listed = live->n_in_flight < LIVE_IDS_MAX ? live->n_in_flight : LIVE_IDS_MAX;
        live->has_sender =
            q->profile != 0 && sender_profile_status(q->env->sender, q->profile, &live->sender);
        sender_status(q->env->sender, &live->totals);
    }
    live->has_tick = q->env->ticker != NULL;
    if (live->has_tick)
        ticker_status(q->env->ticker, &live->tick);
    if (q->env->gates == NULL)
        return;
    live->gates = gates_closed(q->env->gates, q->broadcast);
    for (int g = 0; g < GATE_COUNT; g++)
        live->why[g] = gates_why(q->env->gates, q->broadcast, (enum gate)g);
}

void
live_read(
    const struct api_env *env, uint64_t broadcast, uint64_t profile, struct live_broadcast *live_r)
{
    struct question q = {env, broadcast, profile, live_r};

    memset(live_r, 0, sizeof *live_r);
    if (env->loop != NULL)
        loop_call(env->loop, answer, &q);
}

void
live_write_gates(struct json_writer *w, const char *name, const struct live_broadcast *live,
    struct slice profile_reason)
{
    jw_arr(w, name);
    for (int g = 0; g < GATE_COUNT; g++) {
        if ((live->gates & (1u << g)) == 0)
            continue;
        jw_obj(w, NULL);
        jw_cstr(w, "gate", gate_name((enum gate)g));
        jw_cstr(w, "why", live->why[g]);
        jw_end_obj(w);
    }
    if (profile_reason.p != NULL) {
        jw_obj(w, NULL);
        jw_cstr(w, "gate", "profile");
        jw_str(w, "why", profile_reason);
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

void
live_write_sender(struct json_writer *w, const char *name, const struct live_broadcast *live)
{
    const struct sender_profile_status *s = &live->sender;

    if (!live->has_sender) {
        jw_null(w, name);
        return;
    }
    jw_obj(w, name);
    jw_bool(w, "limitedByRelay", s->is_limited);
    if (s->rate_per_second > 0)
        jw_num(w, "ratePerSecond", s->rate_per_second);
    else
        jw_null(w, "ratePerSecond");
    jw_int(w, "sessions", s->sessions);
    jw_int(w, "sessionsReady", s->ready);
    jw_int(w, "prepared", (int64_t)s->prepared);
    jw_int(w, "inFlight", (int64_t)s->in_flight);
    jw_int(w, "backoffMs", s->backoff_ms);
    jw_cstr(w, "lastError", s->last_error[0] != '\0' ? s->last_error : NULL);
    jw_end_obj(w);
}

void
live_write_in_flight(struct json_writer *w, const char *name, const struct live_broadcast *live)
{
    jw_arr(w, name);
    for (size_t i = 0; i < live->n_listed; i++)
        jw_id(w, NULL, live->in_flight[i]);
    jw_end_arr(w);
}

struct added {
    struct sender *sender;
    uint64_t broadcast;
};

static void
tell_sender(void *arg)
{
    const struct added *a = arg;

    sender_rows_added(a->sender, a->broadcast);
}

void
live_rows_added(const struct api_env *env, uint64_t broadcast)
{
    struct added a = {env->sender, broadcast};

    if (env->loop != NULL && env->sender != NULL)
        loop_call(env->loop, tell_sender, &a);
}
