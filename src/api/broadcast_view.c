#include "api/broadcast_view.h"

#include <string.h>

#include "control/run_control.h"
#include "store/sends.h"

/*
 * Writers of broadcasts: summary, ledger, statistics, progress. All figures come from one run record,
 * that is from one moment, so sums close within an answer whatever moves meanwhile.
 */

/* ---- summary --------------------------------------------------------------------------------- */

/* The stored details are a JSON array already; the newest reason is the one people ask for first. */
static void
write_reasons(struct json_writer *w, const struct run_record *run)
{
    run_reasons_to_json(w, "pauseReasonCodes", run->reasons);
    if (run->reasons != 0 && run->reason_detail.n > 0)
        jw_raw(w, "pauseReasons", run->reason_detail);
    else
        jw_raw(w, "pauseReasons", SLICE_LIT("[]"));
}

/* What schedule has settled; a draft has nothing of it, also when it was scheduled before. */
static void
write_schedule(struct json_writer *w, const struct run_record *run)
{
    bool is_settled = run->state != RUN_DRAFT && run->confirmed_at_ms != 0;

    if (is_settled)
        jw_int(w, "templateVersion", (int64_t)run->template_version);
    else
        jw_null(w, "templateVersion");
    jw_time(w, "scheduledAt", is_settled ? run->scheduled_at_ms : 0);
    if (is_settled)
        jw_int(w, "confirmedCount", run->confirmed_count);
    else
        jw_null(w, "confirmedCount");
    jw_time(w, "confirmedAt", is_settled ? run->confirmed_at_ms : 0);
}

void
broadcast_write(struct json_writer *w, const char *name, const struct broadcast_view *v)
{
    const struct run_record *run = &v->run;
    int64_t lateness_ms = run->max_lateness_ms > 0 ? run->max_lateness_ms : v->doc.max_lateness_ms;

    jw_obj(w, name);
    broadcast_doc_write_members(w, &v->doc);
    jw_cstr(w, "status", run_state_name((int)run->state));
    write_reasons(w, run);
    jw_time(w, "pausedAt", run->state == RUN_PAUSED ? run->paused_at_ms : 0);
    write_schedule(w, run);
    jw_time(w, "startedAt", run->started_at_ms);
    jw_time(w, "dispatchedAt", run->dispatched_at_ms);
    jw_time(w, "completedAt", run->completed_at_ms);
    jw_int(w, "recipientCount", run_rows(&run->n));
    if (lateness_ms > 0)
        jw_int(w, "maxLatenessMinutes", lateness_ms / 60000);
    else
        jw_null(w, "maxLatenessMinutes");
    if (v->doc.growth_limit_pct >= 0)
        jw_int(w, "audienceGrowthPct", v->doc.growth_limit_pct);
    else
        jw_null(w, "audienceGrowthPct");
    jw_end_obj(w);
}

/* ---- ledger ---------------------------------------------------------------------------------- */

void
broadcast_shown_states(const struct run_record *run, int64_t out[SEND_STATES])
{
    memset(out, 0, SEND_STATES * sizeof(out[0]));
    for (int s = 0; s < SEND_STATES; s++)
        out[send_state_shown((enum send_state)s, run)] += run->n.by_state[s];
}

static int64_t
write_states(struct json_writer *w, const struct run_record *run)
{
    int64_t states[SEND_STATES], sum = 0;

    broadcast_shown_states(run, states);
    jw_obj(w, "states");
    for (int s = 0; s < SEND_STATES; s++) {
        jw_int(w, send_state_name(s), states[s]);
        sum += states[s];
    }
    jw_end_obj(w);
    return sum;
}

static int64_t
write_excluded(struct json_writer *w, const struct run_record *run)
{
    int64_t sum = 0;

    jw_obj(w, "excluded");
    for (int r = 0; r < EXCL_REASONS; r++) {
        jw_int(w, exclusion_reason_name(r), run->n.excluded[r]);
        sum += run->n.excluded[r];
    }
    jw_end_obj(w);
    return sum;
}

static bool
has_no_negative(const struct run_counters *n)
{
    for (int s = 0; s < SEND_STATES; s++)
        if (n->by_state[s] < 0)
            return false;
    for (int r = 0; r < EXCL_REASONS; r++)
        if (n->excluded[r] < 0)
            return false;
    return true;
}

void
broadcast_write_ledger(struct json_writer *w, const char *name, const struct run_record *run,
    const struct run_record *recount)
{
    int64_t matched = run_matched(&run->n), eligible = run_rows(&run->n);
    int64_t excluded, states;
    bool closes;

    jw_obj(w, name);
    jw_int(w, "matched", matched);
    jw_int(w, "eligible", eligible);
    excluded = write_excluded(w, run);
    states = write_states(w, run);
    closes = matched == eligible + excluded && eligible == states && has_no_negative(&run->n);
    if (recount != NULL) {
        closes = closes && run_counters_equal(&recount->n, &run->n);
        jw_obj(w, "recounted");
        jw_int(w, "matched", run_matched(&recount->n));
        jw_int(w, "eligible", run_rows(&recount->n));
        jw_bool(w, "agrees", run_counters_equal(&recount->n, &run->n));
        jw_end_obj(w);
    }
    jw_bool(w, "closes", closes);
    jw_end_obj(w);
}

void
broadcast_write_breakdown(struct json_writer *w, const char *name, const struct run_record *run)
{
    int64_t states[SEND_STATES];

    broadcast_shown_states(run, states);
    jw_obj(w, name);
    for (int s = 0; s < SEND_STATES; s++)
        if (states[s] != 0)
            jw_int(w, send_state_name(s), states[s]);
    jw_end_obj(w);
}

/* ---- statistics ------------------------------------------------------------------------------ */

/* Hundredths of a percent, rounded; 0 when there is nothing to divide by. */
static double
rate_pct(int64_t part, int64_t whole)
{
    int64_t hundredths = whole > 0 ? (part * 20000 + whole) / (2 * whole) : 0;

    return (double)hundredths / 100.0;
}

void
broadcast_write_stats(struct json_writer *w, const char *name, const struct run_record *run)
{
    const struct run_counters *n = &run->n;
    int64_t bounced = n->hard_bounced + n->soft_bounced;
    int64_t outcomes = n->delivered + bounced;

    jw_obj(w, name);
    jw_int(w, "total", run_rows(n));
    jw_int(w, "accepted", n->accepted);
    jw_int(w, "delivered", n->delivered);
    jw_int(w, "bounced", bounced);
    jw_int(w, "hardBounced", n->hard_bounced);
    jw_int(w, "softBounced", n->soft_bounced);
    jw_int(w, "complained", n->complained);
    jw_int(w, "unsubscribed", n->unsubscribed);
    jw_int(w, "opened", n->opened);
    jw_int(w, "clicked", n->clicked);
    jw_int(w, "refusedInSession", n->refused_in_session);
    jw_int(w, "messageRefused", n->message_refused);
    jw_int(w, "outcomes", outcomes);
    jw_obj(w, "rates");
    jw_num(w, "deliveryRatePct", rate_pct(n->delivered, n->accepted));
    jw_num(w, "bounceRatePct", rate_pct(bounced, outcomes));
    jw_num(w, "hardBounceRatePct", rate_pct(n->hard_bounced, outcomes));
    jw_num(w, "complaintRatePct", rate_pct(n->complained, outcomes));
    jw_num(w, "unsubscribeRatePct", rate_pct(n->unsubscribed, outcomes));
    jw_num(w, "openRatePct", rate_pct(n->opened, n->delivered));
    jw_num(w, "clickRatePct", rate_pct(n->clicked, n->delivered));
    jw_num(
        w, "refusedRatePct", rate_pct(n->refused_in_session, n->accepted + n->refused_in_session));
    jw_end_obj(w);
    jw_end_obj(w);
}

/* ---- progress -------------------------------------------------------------------------------- */

/* While planning goes on, the confirmed number is the best guess of the whole. */
static int64_t
expected_total(const struct run_record *run)
{
    int64_t rows = run_rows(&run->n);

    if (run->dispatched_at_ms != 0 || rows > run->confirmed_count)
        return rows;
    return run->confirmed_count;
}

void
broadcast_write_progress(
    struct json_writer *w, const char *name, const struct run_record *run, int64_t now_ms)
{
    int64_t total = expected_total(run), done = run_rows(&run->n) - run_open_rows(&run->n);
    int64_t end_ms = run->completed_at_ms != 0 ? run->completed_at_ms : now_ms;
    int64_t lasted_ms = run->started_at_ms != 0 ? end_ms - run->started_at_ms : 0;
    double per_second = lasted_ms > 0 ? (double)done * 1000.0 / (double)lasted_ms : 0;

    jw_obj(w, name);
    jw_int(w, "done", done);
    jw_int(w, "total", total);
    jw_int(w, "open", run_open_rows(&run->n));
    jw_num(w, "perSecond", (double)(int64_t)(per_second * 10.0) / 10.0);
    if (run->state == RUN_SENDING && per_second > 0)
        jw_int(w, "etaSeconds", (int64_t)((double)(total - done) / per_second));
    else
        jw_null(w, "etaSeconds");
    jw_end_obj(w);
}
