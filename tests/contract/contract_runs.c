/*
 * Contract of the run records and of the instance records, on every backend.
 */
#include <stdio.h>
#include <string.h>

#include "contract/world.h"
#include "store/instances.h"
#include "support/suite.h"

#define EACH_DRIVER(d)                                                                             \
    for (const struct contract_driver *d = contract_drivers;                                       \
         d < contract_drivers + contract_n_drivers; d++)

#define BIT(n) (1u << (n))

/** Run one change; true when it was carried out. The record after it goes to `after_r`. */
static bool
change(struct world *w, struct run_change c, struct run_record *after_r)
{
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    bool matched;
    unsigned op;

    c.broadcast = c.broadcast != 0 ? c.broadcast : WORLD_RUN;
    op = runs_change(b, &c);
    contract_run(b);
    matched = runs_result(b, op)->matched;
    if (after_r != NULL && runs_result(b, op)->n_runs == 1) {
        *after_r = runs_result(b, op)->runs[0];
        after_r->cursor = after_r->reason_detail = SLICE_NONE;
    }
    store_batch_free(&b);
    return matched;
}

static void
create(struct world *w, uint64_t broadcast, enum run_state state, int64_t scheduled_at_ms)
{
    struct run_record r = {
        .broadcast = broadcast, .state = state, .scheduled_at_ms = scheduled_at_ms};
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);

    runs_create(b, &r);
    contract_run(b);
    store_batch_free(&b);
}

START_TEST(create_and_get_keep_everything)
{
    EACH_DRIVER(d)
    {
        struct run_record in = {.broadcast = 12,
            .state = RUN_SCHEDULED,
            .profile = 3,
            .template_version = 4,
            .scheduled_at_ms = 5,
            .confirmed_at_ms = 6,
            .started_at_ms = 7,
            .dispatched_at_ms = 8,
            .completed_at_ms = 9,
            .paused_at_ms = 10,
            .max_lateness_ms = 11,
            .confirmed_count = 13,
            .growth_limit = -1,
            .fence = 14,
            .lease_owner = UINT64_C(0x8000000000000001),
            .lease_beat_ms = 15,
            .page = 16,
            .cursor = slice_make("a\0b", 3),
            .reason_detail = SLICE_LIT("[{\"code\":1}]"),
            .n = {.accepted = 99 /* starts at zero */}};
        const struct run_record *out;
        struct store_batch *b;
        unsigned op, none;
        struct world w;

        world_open(&w, d);
        b = store_batch_create(w.st, STORE_URGENT);
        runs_create(b, &in);
        contract_run(b);
        contract_run_fails(b, ERR_CONFLICT, "duplicate");
        store_batch_free(&b);
        b = store_batch_create(w.st, STORE_URGENT);
        op = runs_get(b, 12);
        none = runs_get(b, 13);
        contract_run(b);
        ck_assert(!runs_result(b, none)->matched);
        ck_assert_uint_eq(runs_result(b, op)->n_runs, 1);
        out = runs_result(b, op)->runs;
        ck_assert(slice_eq(out->cursor, in.cursor));
        ck_assert(slice_eq(out->reason_detail, in.reason_detail));
        ck_assert_int_eq(out->state, in.state);
        ck_assert_uint_eq(out->profile, 3);
        ck_assert_uint_eq(out->template_version, 4);
        ck_assert_int_eq(out->scheduled_at_ms, 5);
        ck_assert_int_eq(out->confirmed_at_ms, 6);
        ck_assert_int_eq(out->started_at_ms, 7);
        ck_assert_int_eq(out->dispatched_at_ms, 8);
        ck_assert_int_eq(out->completed_at_ms, 9);
        ck_assert_int_eq(out->paused_at_ms, 10);
        ck_assert_int_eq(out->max_lateness_ms, 11);
        ck_assert_int_eq(out->confirmed_count, 13);
        ck_assert_int_eq(out->growth_limit, -1);
        ck_assert_uint_eq(out->fence, 14);
        ck_assert_uint_eq(out->lease_owner, in.lease_owner);
        ck_assert_int_eq(out->lease_beat_ms, 15);
        ck_assert_uint_eq(out->page, 16);
        ck_assert_int_eq(out->n.accepted, 0);
        store_batch_free(&b);
        world_close(&w);
    }
}
END_TEST

START_TEST(lists_by_state_and_due)
{
    EACH_DRIVER(d)
    {
        const struct run_result *r;
        struct store_batch *b;
        unsigned all, page, due;
        struct world w;

        world_open(&w, d);
        create(&w, 1, RUN_SCHEDULED, 500);
        create(&w, 2, RUN_DRAFT, 0);
        create(&w, 3, RUN_SCHEDULED, 100);
        create(&w, 4, RUN_PAUSED, 50);
        create(&w, 6, RUN_SCHEDULED, 501);
        b = store_batch_create(w.st, STORE_URGENT);
        all = runs_list(b, BIT(RUN_SCHEDULED) | BIT(RUN_PAUSED) | BIT(RUN_SENDING), 0, 10);
        page = runs_list(b, BIT(RUN_SCHEDULED) | BIT(RUN_PAUSED), 1, 2);
        due = runs_due(b, 500, 10);
        contract_run(b);
        r = runs_result(b, all);
        ck_assert_uint_eq(r->n_runs, 5);
        ck_assert_uint_eq(r->runs[0].broadcast, 1);
        ck_assert_uint_eq(r->runs[4].broadcast, WORLD_RUN);
        r = runs_result(b, page);
        ck_assert_uint_eq(r->n_runs, 2);
        ck_assert_uint_eq(r->runs[0].broadcast, 3);
        ck_assert_uint_eq(r->runs[1].broadcast, 4);
        r = runs_result(b, due);
        ck_assert_uint_eq(r->n_runs, 2);
        ck_assert_uint_eq(r->runs[0].broadcast, 3);
        ck_assert_uint_eq(r->runs[1].broadcast, 1);
        store_batch_free(&b);
        world_close(&w);
    }
}
END_TEST

START_TEST(change_is_conditional)
{
    EACH_DRIVER(d)
    {
        struct run_change pause = {.set = RUN_SET_STATE | RUN_SET_PAUSED_AT | RUN_SET_DETAIL,
            .if_states = BIT(RUN_SENDING) | BIT(RUN_PAUSED),
            .if_reasons_absent = BIT(PAUSE_MANUAL),
            .reasons_add = BIT(PAUSE_MANUAL),
            .to = {.state = RUN_PAUSED,
                .paused_at_ms = 44,
                .reason_detail = SLICE_LIT("[\"by hand\"]")}};
        struct run_change resume = {.set = RUN_SET_STATE,
            .if_states = BIT(RUN_PAUSED),
            .reasons_clear = ~0u,
            .to = {.state = RUN_SENDING}};
        struct run_change cancel = {.set = RUN_SET_STATE,
            .if_states = BIT(RUN_SENDING) | BIT(RUN_PAUSED),
            .to = {.state = RUN_CANCELLED}};
        struct run_record r;
        struct world w;

        world_open(&w, d);
        ck_assert(!change(&w, resume, &r)); /* not paused */
        ck_assert_int_eq(r.state, RUN_SENDING);
        ck_assert(change(&w, pause, &r));
        ck_assert_int_eq(r.state, RUN_PAUSED);
        ck_assert_uint_eq(r.reasons, BIT(PAUSE_MANUAL));
        ck_assert_int_eq(r.paused_at_ms, 44);
        ck_assert(!change(&w, pause, NULL)); /* this reason is there */
        pause.if_reasons_absent = pause.reasons_add = BIT(PAUSE_STOP_RULE);
        ck_assert(change(&w, pause, &r)); /* reasons stack */
        ck_assert_uint_eq(r.reasons, BIT(PAUSE_MANUAL) | BIT(PAUSE_STOP_RULE));
        ck_assert(change(&w, resume, &r));
        ck_assert_uint_eq(r.reasons, 0);
        ck_assert(change(&w, pause, &r));
        ck_assert(change(&w, cancel, &r));
        ck_assert_int_eq(r.state, RUN_CANCELLED);
        ck_assert_uint_eq(r.reasons, 0);
        ck_assert(!change(&w, resume, NULL));
        ck_assert(!change(&w, (struct run_change){.broadcast = 404}, NULL));
        world_close(&w);
    }
}
END_TEST

/** Add a detail of `n` bytes and return the stored array, in the batch `b_r`. */
static struct slice
add_detail(struct world *w, size_t n, struct store_batch **b_r)
{
    struct run_change c = {.broadcast = WORLD_RUN, .set = RUN_ADD_DETAIL};
    char object[RUN_DETAIL_MAX];
    unsigned op;

    memset(object, 'x', sizeof object);
    object[0] = '{';
    object[n - 1] = '}';
    c.to.reason_detail = slice_make(object, n);
    *b_r = store_batch_create(w->st, STORE_URGENT);
    op = runs_change(*b_r, &c);
    contract_run(*b_r);
    ck_assert(runs_result(*b_r, op)->matched);
    return runs_result(*b_r, op)->runs[0].reason_detail;
}

START_TEST(details_stack_up_to_a_bound)
{
    EACH_DRIVER(d)
    {
        struct store_batch *b;
        struct world w;

        world_open(&w, d);
        ck_assert(slice_eq_str(add_detail(&w, 4, &b), "[{xx}]"));
        store_batch_free(&b);
        ck_assert(slice_eq_str(add_detail(&w, 3, &b), "[{xx},{x}]"));
        store_batch_free(&b);
        ck_assert_uint_eq(add_detail(&w, RUN_DETAIL_MAX - 11, &b).n, RUN_DETAIL_MAX);
        store_batch_free(&b);
        ck_assert_uint_eq(add_detail(&w, 2, &b).n, RUN_DETAIL_MAX); /* full: left as it is */
        store_batch_free(&b);
        ck_assert(change(&w,
            (struct run_change){.set = RUN_SET_DETAIL, .to = {.reason_detail = SLICE_LIT("[]")}},
            NULL));
        ck_assert(slice_eq_str(add_detail(&w, 4, &b), "[{xx}]"));
        store_batch_free(&b);
        world_close(&w);
    }
}
END_TEST

START_TEST(confirmation_alone_keeps_the_schedule)
{
    EACH_DRIVER(d)
    {
        struct run_change c = {.set = RUN_SET_SCHEDULE,
            .to = {.scheduled_at_ms = 1,
                .confirmed_at_ms = 2,
                .confirmed_count = 3,
                .template_version = 4,
                .profile = 5,
                .max_lateness_ms = 6,
                .growth_limit = 7}};
        struct run_record r;
        struct world w;

        world_open(&w, d);
        ck_assert(change(&w, c, &r));
        ck_assert_int_eq(r.confirmed_count, 3);
        ck_assert_int_eq(r.growth_limit, 7);
        c = (struct run_change){.set = RUN_SET_CONFIRMED,
            .to = {.confirmed_at_ms = 20, .confirmed_count = 30, .growth_limit = -1}};
        ck_assert(change(&w, c, &r));
        ck_assert_int_eq(r.confirmed_at_ms, 20);
        ck_assert_int_eq(r.confirmed_count, 30);
        ck_assert_int_eq(r.growth_limit, -1);
        ck_assert_int_eq(r.scheduled_at_ms, 1);
        ck_assert_uint_eq(r.template_version, 4);
        ck_assert_uint_eq(r.profile, 5);
        ck_assert_int_eq(r.max_lateness_ms, 6);
        world_close(&w);
    }
}
END_TEST

START_TEST(closing_needs_an_empty_ledger)
{
    EACH_DRIVER(d)
    {
        struct run_change finish = {.set = RUN_SET_STATE | RUN_SET_COMPLETED,
            .if_states = BIT(RUN_SENDING),
            .if_no_open_rows = true,
            .to = {.state = RUN_SENT, .completed_at_ms = 70}};
        struct run_change fail = {
            .set = RUN_SET_STATE, .if_states = BIT(RUN_SENDING), .to = {.state = RUN_FAILED}};
        struct run_change dispatched = {
            .set = RUN_SET_DISPATCHED, .to = {.dispatched_at_ms = WORLD_T0}};
        struct run_record r;
        struct world w;

        world_open(&w, d);
        ck_assert(!change(&w, finish, NULL)); /* planning has not ended */
        world_plan_range(&w, 1, 1);
        ck_assert(change(&w, dispatched, NULL));
        ck_assert(!change(&w, finish, NULL)); /* a row waits */
        ck_assert(!change(&w, fail, NULL));   /* failed has no rows */
        world_claim(&w, 1);
        ck_assert(!change(&w, finish, NULL)); /* a row is under way */
        world_settle(&w, 1, SEND_SENT);
        ck_assert(change(&w, finish, &r));
        ck_assert_int_eq(r.completed_at_ms, 70);
        ck_assert_int_eq(r.n.accepted, 1);
        world_close(&w);
    }
}
END_TEST

START_TEST(lease_is_fenced)
{
    EACH_DRIVER(d)
    {
        struct run_change take = {
            .set = RUN_TAKE_LEASE, .to = {.lease_owner = 8, .lease_beat_ms = 100}};
        struct run_change beat = {.set = RUN_BEAT, .to = {.lease_owner = 8, .lease_beat_ms = 120}};
        struct run_change drop = {.set = RUN_DROP_LEASE};
        struct run_record r;
        struct world w;

        world_open(&w, d); /* leased by WORLD_OWNER under fence 1, beat 0 */
        ck_assert(!change(&w, take, NULL));
        take.stale_before_ms = 1;
        ck_assert(change(&w, take, &r));
        ck_assert_uint_eq(r.fence, 2);
        beat.to.fence = 1;
        ck_assert(!change(&w, beat, NULL));
        beat.to.fence = 2;
        ck_assert(change(&w, beat, &r));
        ck_assert_int_eq(r.lease_beat_ms, 120);
        ck_assert_uint_eq(r.fence, 2);
        take.to.lease_owner = 9;
        take.stale_before_ms = 120;
        ck_assert(!change(&w, take, NULL)); /* fresh */
        take.to.lease_owner = 8;
        ck_assert(change(&w, take, &r)); /* its own, again */
        ck_assert_uint_eq(r.fence, 3);
        ck_assert(change(&w, drop, &r)); /* with the pause of somebody else, say */
        ck_assert_uint_eq(r.lease_owner, 0);
        ck_assert_uint_eq(r.fence, 4);
        ck_assert(!change(&w, beat, NULL));
        take.to.lease_owner = 9;
        take.stale_before_ms = 0;
        ck_assert(change(&w, take, &r)); /* nobody's */
        ck_assert_uint_eq(r.fence, 5);
        world_close(&w);
    }
}
END_TEST

START_TEST(delete_spares_what_has_rows)
{
    EACH_DRIVER(d)
    {
        struct store_batch *b;
        unsigned wrong_state, gone, kept, none;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 1);
        create(&w, 2, RUN_DRAFT, 0);
        b = store_batch_create(w.st, STORE_URGENT);
        wrong_state = runs_delete(b, 2, BIT(RUN_CANCELLED));
        gone = runs_delete(b, 2, BIT(RUN_DRAFT));
        kept = runs_delete(b, WORLD_RUN, ~0u);
        none = runs_get(b, 2);
        contract_run(b);
        ck_assert(!runs_result(b, wrong_state)->matched);
        ck_assert(runs_result(b, gone)->matched);
        ck_assert(!runs_result(b, kept)->matched);
        ck_assert(!runs_result(b, none)->matched);
        store_batch_free(&b);
        world_close(&w);
    }
}
END_TEST

START_TEST(correct_mends_what_recount_finds)
{
    EACH_DRIVER(d)
    {
        struct run_counters delta = {.accepted = 3, .by_state = {[SEND_SENT] = -2}};
        struct store_batch *b;
        const struct run_result *r;
        unsigned op;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 5);
        b = store_batch_create(w.st, STORE_BULK);
        runs_correct(b, WORLD_RUN, &delta); /* damage */
        contract_run(b);
        store_batch_free(&b);
        b = store_batch_create(w.st, STORE_BULK);
        op = runs_recount(b, WORLD_RUN);
        contract_run(b);
        r = runs_result(b, op);
        ck_assert_int_eq(r->before.accepted, 3);
        ck_assert_int_eq(r->runs[0].n.accepted, 0);
        delta = r->runs[0].n;
        run_counters_sub(&delta, &r->before);
        store_batch_free(&b);
        world_claim(&w, 1); /* rows move between recount and correction */
        b = store_batch_create(w.st, STORE_BULK);
        runs_correct(b, WORLD_RUN, &delta);
        contract_run(b);
        store_batch_free(&b);
        world_check_ledger(&w, 5);
        world_close(&w);
    }
}
END_TEST

/* ---- instances ------------------------------------------------------------------------------- */

static struct instance_record
start(struct world *w, const char *fingerprint, uint64_t incarnation, int64_t high_water_ms)
{
    struct instance_record r = {.incarnation = incarnation,
        .started_at_ms = 1,
        .id_high_water_ms = high_water_ms,
        .number = 9 /* the store decides */};
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    unsigned op;

    snprintf(r.fingerprint, sizeof r.fingerprint, "%s", fingerprint);
    op = instances_start(b, &r);
    contract_run(b);
    ck_assert_uint_eq(instances_result(b, op)->n_records, 1);
    r = instances_result(b, op)->records[0];
    store_batch_free(&b);
    return r;
}

static bool
beat(struct world *w, uint64_t incarnation, int64_t high_water_ms)
{
    struct instance_record r = {
        .incarnation = incarnation, .beat_at_ms = 2, .id_high_water_ms = high_water_ms};
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    unsigned op = instances_beat(b, &r);
    bool matched;

    contract_run(b);
    matched = instances_result(b, op)->matched;
    store_batch_free(&b);
    return matched;
}

static bool
adopt(struct world *w, uint64_t incarnation)
{
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    unsigned op = instances_adopt(b, 0, incarnation);
    bool matched;

    contract_run(b);
    matched = instances_result(b, op)->matched;
    store_batch_free(&b);
    return matched;
}

START_TEST(a_copied_folder_is_not_adopted)
{
    EACH_DRIVER(d)
    {
        struct instance_record r;
        struct store_batch *b;
        unsigned op;
        struct world w;

        world_open(&w, d);
        r = start(&w, "home", 1, 100);
        ck_assert(r.is_adopted);
        ck_assert_uint_eq(r.number, 0);
        ck_assert(beat(&w, 1, 900));
        ck_assert(!beat(&w, 2, 950)); /* another incarnation */
        r = start(&w, "home", 2, 100);
        ck_assert(r.is_adopted);
        ck_assert_int_eq(r.id_high_water_ms, 900); /* never falls */
        r = start(&w, "copy", 3, 100);
        ck_assert(!r.is_adopted);
        ck_assert_int_eq(r.id_high_water_ms, 900);
        r = start(&w, "copy", 4, 100);
        ck_assert(!r.is_adopted); /* a restart is no adoption */
        ck_assert(!adopt(&w, 77));
        ck_assert(adopt(&w, 4));
        r = start(&w, "copy", 5, 100);
        ck_assert(r.is_adopted);
        r = start(&w, "home", 6, 100);
        ck_assert(!r.is_adopted); /* the other one is the installation now */
        b = store_batch_create(w.st, STORE_URGENT);
        op = instances_list(b);
        contract_run(b);
        ck_assert_uint_eq(instances_result(b, op)->n_records, 2);
        store_batch_free(&b);
        world_close(&w);
    }
}
END_TEST

SUITE_MAIN("contract runs", create_and_get_keep_everything, lists_by_state_and_due,
    change_is_conditional, details_stack_up_to_a_bound, confirmation_alone_keeps_the_schedule,
    closing_needs_an_empty_ledger, lease_is_fenced, delete_spares_what_has_rows,
    correct_mends_what_recount_finds, a_copied_folder_is_not_adopted)
