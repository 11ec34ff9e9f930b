/* Gates and the table of runs in work. */
#include "control/gates.h"
#include "control/run_table.h"

#include <string.h>

#include "loop/loop.h"
#include "support/suite.h"

static unsigned changes;

static void
on_change(void *arg)
{
    ck_assert_ptr_eq(arg, &changes);
    changes++;
}

START_TEST(gates_close_for_one_run_or_for_all)
{
    struct gates *g = gates_create();

    changes = 0;
    gates_listen(g, on_change, &changes);
    gates_set(g, 5, GATE_RECOUNT, true, "after a crash");
    gates_set(g, 5, GATE_RECOUNT, true, "after a crash");
    ck_assert_uint_eq(changes, 1);
    ck_assert_uint_eq(gates_closed(g, 5), 1u << GATE_RECOUNT);
    ck_assert_uint_eq(gates_closed(g, 6), 0);
    gates_set(g, GATE_SCOPE_ALL, GATE_DISK, true, "no room");
    ck_assert_uint_eq(gates_closed(g, 5), 1u << GATE_RECOUNT | 1u << GATE_DISK);
    ck_assert_uint_eq(gates_closed(g, 6), 1u << GATE_DISK);
    ck_assert_str_eq(gates_why(g, 5, GATE_RECOUNT), "after a crash");
    ck_assert_str_eq(gates_why(g, 6, GATE_DISK), "no room");
    gates_set(g, GATE_SCOPE_ALL, GATE_DISK, false, NULL);
    gates_forget(g, 5);
    ck_assert_uint_eq(gates_closed(g, 5), 0);
    ck_assert_str_eq(gates_why(g, 5, GATE_RECOUNT), "");
    gates_free(&g);
}
END_TEST

struct seen {
    unsigned calls;
    enum run_state before, now;
    bool was_new;
};

static void
on_run(const struct run_record *before, const struct run_record *now, void *arg)
{
    struct seen *s = arg;

    s->calls++;
    s->was_new = before == NULL;
    s->before = before != NULL ? before->state : RUN_DRAFT;
    s->now = now->state;
}

static struct run_record
record(enum run_state state, int64_t queued, int64_t sent)
{
    struct run_record r = {.broadcast = 9, .state = state, .cursor = SLICE_LIT("cursor")};

    r.n.by_state[SEND_QUEUED] = queued;
    r.n.by_state[SEND_SENT] = sent;
    r.n.accepted = sent;
    return r;
}

START_TEST(the_table_holds_runs_in_work_only)
{
    struct loop *l = loop_create();
    struct run_table *t = run_table_create(l);
    struct seen s = {0};
    struct run_record r = record(RUN_SCHEDULED, 0, 0);

    run_table_listen(t, on_run, &s);
    run_table_update(t, &r, 1);
    ck_assert_uint_eq(s.calls, 0);
    r = record(RUN_SENDING, 10, 0);
    run_table_update(t, &r, 1);
    ck_assert(s.was_new);
    ck_assert_ptr_nonnull(run_table_get(t, 9));
    ck_assert(slice_eq_str(run_table_get(t, 9)->cursor, "cursor"));
    r = record(RUN_SENT, 0, 10);
    run_table_update(t, &r, 1);
    ck_assert_int_eq(s.now, RUN_SENT);
    ck_assert_ptr_null(run_table_get(t, 9));
    run_table_free(&t);
    loop_free(&l);
}
END_TEST

START_TEST(an_older_report_does_not_win)
{
    struct loop *l = loop_create();
    struct run_table *t = run_table_create(l);
    struct run_record newer = record(RUN_SENDING, 5, 5), older = record(RUN_SENDING, 8, 2);

    run_table_update(t, &newer, 1);
    run_table_update(t, &older, 1);
    ck_assert_int_eq(run_table_get(t, 9)->n.by_state[SEND_SENT], 5);
    run_table_free(&t);
    loop_free(&l);
}
END_TEST

/* Answers of API workers and of the loop's own batches may cross: what was said before a resume must not
 * stop the run again, and what was said before a pause must not let it go on. */
START_TEST(a_late_report_from_before_a_change_of_state_is_dropped)
{
    struct loop *l = loop_create();
    struct run_table *t = run_table_create(l);
    struct run_record paused = record(RUN_PAUSED, 5, 5), resumed = record(RUN_SENDING, 5, 5);
    struct run_record late = record(RUN_SENDING, 2, 8), again;

    paused.reasons = 1u << PAUSE_MANUAL;
    paused.fence = 3;
    resumed.fence = 4;
    run_table_update(t, &paused, 1);
    run_table_update(t, &resumed, 1);
    run_table_update(t, &paused, 1);
    ck_assert_int_eq(run_table_get(t, 9)->state, RUN_SENDING);
    again = paused;
    again.fence = 5;
    run_table_update(t, &again, 1);
    late.fence = 4;
    run_table_update(t, &late, 1);
    ck_assert_int_eq(run_table_get(t, 9)->state, RUN_PAUSED);
    /* a recount may correct downwards: the next lease begins anew */
    resumed = record(RUN_SENDING, 4, 4);
    resumed.fence = 6;
    run_table_update(t, &resumed, 1);
    ck_assert_int_eq(run_table_get(t, 9)->n.by_state[SEND_SENT], 4);
    run_table_free(&t);
    loop_free(&l);
}
END_TEST

START_TEST(the_table_counts_the_answers_it_waits_for)
{
    struct loop *l = loop_create();
    struct run_table *t = run_table_create(l);

    run_table_hold(t);
    run_table_hold(t);
    run_table_release(t);
    ck_assert_uint_eq(run_table_busy(t), 1);
    run_table_release(t);
    ck_assert_uint_eq(run_table_busy(t), 0);
    run_table_free(&t);
    loop_free(&l);
}
END_TEST

START_TEST(cap_reached_alone_lets_rows_go)
{
    struct run_record r = {.state = RUN_SENDING};

    ck_assert(run_may_claim(&r));
    ck_assert(run_may_plan(&r));
    r.dispatched_at_ms = 1;
    ck_assert(!run_may_plan(&r));
    r.state = RUN_PAUSED;
    r.reasons = 1u << PAUSE_CAP_REACHED;
    ck_assert(run_may_claim(&r));
    r.reasons |= 1u << PAUSE_MANUAL;
    ck_assert(!run_may_claim(&r));
    r.reasons = 1u << PAUSE_STOP_RULE;
    ck_assert(!run_may_claim(&r));
    r.state = RUN_CANCELLED;
    r.reasons = 0;
    ck_assert(!run_may_claim(&r));
}
END_TEST

SUITE_MAIN("control", gates_close_for_one_run_or_for_all, the_table_holds_runs_in_work_only,
    an_older_report_does_not_win, a_late_report_from_before_a_change_of_state_is_dropped,
    the_table_counts_the_answers_it_waits_for, cap_reached_alone_lets_rows_go)
