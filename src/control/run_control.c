/*
 * Pause, resume, cancel, start and close of a run.
 *
 * Each is one conditional update of the run record, so it costs the same with one row and with a
 * million, and the store decides every race: two pauses with different reasons stack, a resume that
 * meets a new reason does not match, a close matches only when no row is open any more.
 */
#include "control/run_control.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/run_table.h"
#include "store/store.h"

#define IN(state) (1u << (state))

struct submitted {
    struct run_table *table;
    uint64_t broadcast;
    unsigned op;
    const char *event;
};

/* {"code","message","at","actor","details"}: one element of the run's list of reasons. */
static struct slice
reason_json(struct arena *a, const struct run_reason *why, int64_t now_ms)
{
    struct buf out = BUF_INIT;
    struct json_writer w;
    struct slice copy;

    jw_init(&w, &out);
    jw_obj(&w, NULL);
    jw_cstr(&w, "code", pause_reason_name(why->code));
    jw_cstr(&w, "message", why->message);
    jw_time(&w, "at", now_ms);
    jw_cstr(&w, "actor", why->actor);
    if (why->details.n > 0)
        jw_raw(&w, "details", why->details);
    jw_end_obj(&w);
    copy = arena_dup(a, buf_slice(&out));
    buf_deinit(&out);
    return copy;
}

unsigned
run_pause_op(
    struct store_batch *b, uint64_t broadcast, const struct run_reason *why, int64_t now_ms)
{
    struct run_change c = {
        .broadcast = broadcast,
        .if_states = IN(RUN_SENDING) | IN(RUN_PAUSED),
        .if_reasons_absent = 1u << why->code,
        .set = RUN_SET_STATE | RUN_SET_PAUSED_AT | RUN_ADD_DETAIL | RUN_DROP_LEASE,
        .reasons_add = 1u << why->code,
    };

    c.to.state = RUN_PAUSED;
    c.to.paused_at_ms = now_ms;
    c.to.reason_detail = reason_json(store_batch_arena(b), why, now_ms);
    return runs_change(b, &c);
}

unsigned
run_resume_op(struct store_batch *b, uint64_t broadcast, uint32_t reasons_seen,
    int64_t confirmed_count, int64_t growth_limit, int64_t now_ms)
{
    struct run_change c = {
        .broadcast = broadcast,
        .if_states = IN(RUN_PAUSED),
        .if_reasons_absent = ~reasons_seen,
        .set =
            RUN_SET_STATE | RUN_SET_PAUSED_AT | RUN_SET_DETAIL | RUN_SET_CONFIRMED | RUN_DROP_LEASE,
        .reasons_clear = ~0u,
    };

    c.to.state = RUN_SENDING;
    c.to.reason_detail = SLICE_LIT("[]");
    c.to.confirmed_count = confirmed_count;
    c.to.confirmed_at_ms = now_ms;
    c.to.growth_limit = growth_limit;
    return runs_change(b, &c);
}

unsigned
run_cancel_op(struct store_batch *b, uint64_t broadcast, int64_t now_ms)
{
    struct run_change c = {
        .broadcast = broadcast,
        .if_states = IN(RUN_DRAFT) | IN(RUN_SCHEDULED) | IN(RUN_SENDING) | IN(RUN_PAUSED),
        .set = RUN_SET_STATE | RUN_SET_COMPLETED | RUN_DROP_LEASE,
        .reasons_clear = ~0u,
    };

    c.to.state = RUN_CANCELLED;
    c.to.completed_at_ms = now_ms;
    return runs_change(b, &c);
}

unsigned
run_close_op(struct store_batch *b, uint64_t broadcast, int64_t now_ms)
{
    struct run_change c = {
        .broadcast = broadcast,
        .if_states = IN(RUN_SENDING),
        .if_no_open_rows = true,
        .set = RUN_SET_STATE | RUN_SET_COMPLETED | RUN_DROP_LEASE,
    };

    c.to.state = RUN_SENT;
    c.to.completed_at_ms = now_ms;
    return runs_change(b, &c);
}

unsigned
run_start_op(struct store_batch *b, uint64_t broadcast, int64_t now_ms)
{
    struct run_change c = {
        .broadcast = broadcast,
        .if_states = IN(RUN_SCHEDULED),
        .set = RUN_SET_STATE | RUN_SET_STARTED | RUN_DROP_LEASE,
    };

    c.to.state = RUN_SENDING;
    c.to.started_at_ms = now_ms;
    return runs_change(b, &c);
}

static void
on_submitted(struct store_batch *b, void *arg)
{
    struct submitted *s = arg;
    struct log_ctx ctx = {.broadcast = s->broadcast};
    const struct err *err = store_batch_err(b);
    const struct run_result *r = err == NULL ? runs_result(b, s->op) : NULL;

    if (err != NULL)
        log_error(&ctx, s->event, "error=\"%s\"", err->text);
    else if (r->matched)
        log_info(&ctx, s->event, "state=%s", run_state_name((int)r->runs[0].state));
    if (r != NULL)
        run_table_update(s->table, r->runs, r->n_runs);
    run_table_release(s->table);
    mem_free(s);
    store_batch_free(&b);
}

static struct submitted *
submitted_create(struct run_table *t, uint64_t broadcast, const char *event)
{
    struct submitted *s = mem_zalloc(sizeof(*s));

    s->table = t;
    s->broadcast = broadcast;
    s->event = event;
    run_table_hold(t);
    return s;
}

void
run_pause_submit(
    struct store *st, struct run_table *t, uint64_t broadcast, const struct run_reason *why)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    struct submitted *s = submitted_create(t, broadcast, "run.paused");

    s->op = run_pause_op(b, broadcast, why, clock_now_ms());
    store_submit(b, on_submitted, s);
}

void
run_reasons_to_json(struct json_writer *w, const char *name, uint32_t reasons)
{
    jw_arr(w, name);
    for (int i = 0; i < PAUSE_REASONS; i++)
        if ((reasons & (1u << i)) != 0)
            jw_cstr(w, NULL, pause_reason_name(i));
    jw_end_arr(w);
}
