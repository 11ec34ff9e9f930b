/* One-off mail through the whole pipeline: what comes out of its order, twice, or meets a store that
 * fails, and what becomes of it. No broadcast's counters tell of these rows, so nothing but the group
 * itself finds one that was put aside. */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/metrics.h"
#include "control/gates.h"
#include "control/run_table.h"
#include "loop/loop.h"
#include "model/contact.h"
#include "queue/queue.h"
#include "send/oneoff.h"
#include "send/recover.h"
#include "send/sender.h"
#include "store/driver.h"
#include "store/sends.h"
#include "store/store.h"
#include "support/engine.h"
#include "support/suite.h"

static struct engine e;
static uint64_t profile;

static void
prepare(const char *name, unsigned contacts)
{
    engine_start(&e, name);
    profile = engine_add_profile(&e);
    engine_add_contacts(&e, 0, contacts);
    engine_add_template(&e);
}

/* One mail to user<i>, due at `due_at_ms`. The sender is not told. */
static uint64_t
insert(unsigned user, int64_t due_at_ms)
{
    struct oneoff o = {.profile = profile,
        .template_slug = SLICE_LIT("news"),
        .version = 1,
        .origin = SLICE_LIT("test"),
        .now_ms = due_at_ms};
    struct contact c;
    struct err err = {0};
    char email[80];
    uint64_t id;
    bool existing;

    snprintf(email, sizeof(email), "user%u@r%u.example.org", user, user % 7);
    ck_assert_int_eq(contact_get_email(e.store, e.keys, slice_str(email), e.arena, &c, &err), 0);
    o.contact = c.id;
    o.address = c.email;
    o.address_hash = c.email_hash;
    ck_assert_msg(oneoff_insert(e.store, &o, &id, &existing, &err) == 0, "%s", err.text);
    ck_assert(!existing);
    return id;
}

static void
turn_for(int64_t ms)
{
    int64_t end = clock_mono_ms() + ms;

    while (clock_mono_ms() < end)
        loop_turn(e.loop, 5);
}

static void
wait_captured(unsigned n)
{
    int64_t end = clock_mono_ms() + 20000;

    while (engine_captured(&e) < n && clock_mono_ms() < end)
        turn_for(20);
    ck_assert_uint_eq(engine_captured(&e), n);
}

START_TEST(each_goes_once)
{
    prepare("oneoff_once", 3);
    for (unsigned i = 0; i < 3; i++)
        insert(i, clock_now_ms());
    sender_oneoff_added(e.sender, profile);
    wait_captured(3);
    engine_stop(&e);
}
END_TEST

/* Two API workers may commit in another order than their clocks say: the later commit is found although
 * the position in the due index has passed it. */
START_TEST(one_that_is_due_before_the_position_is_found)
{
    int64_t now = clock_now_ms();

    prepare("oneoff_late", 2);
    insert(0, now);
    sender_oneoff_added(e.sender, profile);
    wait_captured(1);
    insert(1, now - 60000);
    sender_oneoff_added(e.sender, profile);
    wait_captured(2);
    engine_stop(&e);
}
END_TEST

START_TEST(ids_that_come_twice_are_claimed_once)
{
    struct metric *refused =
        metric_counter("mailshot_claims_refused_total", "Claims not granted", NULL);
    int64_t before = metric_value(refused);
    uint64_t ids[6];

    prepare("oneoff_twice", 3);
    for (unsigned i = 0; i < 3; i++)
        ids[i] = ids[3 + i] = insert(i, clock_now_ms());
    queue_add(e.queue, profile, LANE_IMMEDIATE, profile, ids, 6);
    sender_oneoff_added(e.sender, profile);
    wait_captured(3);
    turn_for(1500); /* past a rewind */
    ck_assert_int_eq(metric_value(refused), before);
    ck_assert_uint_eq(engine_captured(&e), 3);
    engine_stop(&e);
}
END_TEST

/* The claim is withdrawn and its row is to be looked for in a second; a row that is due in an hour,
 * read in between, must not put that off. */
START_TEST(a_far_due_time_does_not_delay_a_withdrawn_claim)
{
    int64_t end = clock_mono_ms() + 10000;

    prepare("oneoff_far", 2);
    engine_refuse(UINT64_C(1) << OP_SENDS_COMMIT);
    insert(0, clock_now_ms());
    sender_oneoff_added(e.sender, profile);
    while ((gates_closed(e.gates, 0) & 1u << GATE_COMMIT) == 0 && clock_mono_ms() < end)
        loop_turn(e.loop, 5);
    ck_assert_uint_eq(gates_closed(e.gates, 0), 1u << GATE_COMMIT);
    ck_assert_uint_eq(engine_captured(&e), 0);
    insert(1, clock_now_ms() + 3600000);
    sender_oneoff_added(e.sender, profile);
    engine_refuse(0);
    wait_captured(1);
    ck_assert_uint_eq(gates_closed(e.gates, 0), 0);
    engine_stop(&e);
}
END_TEST

/* Mails that were prepared with the old settings are dropped with them, not lost. */
START_TEST(a_changed_profile_loses_no_prepared_mail)
{
    struct profile_input in;
    struct sender_status st;
    char dir[600];

    prepare("oneoff_profile", 6);
    snprintf(dir, sizeof(dir), "%s/mail", e.folder);
    profile_input_init(&in, PROFILE_CAPTURE);
    in.p.capture_dir = slice_str(dir);
    in.p.pace_per_s = 1;
    engine_put_profile(&e, &in);
    for (unsigned i = 0; i < 6; i++)
        insert(i, clock_now_ms());
    sender_oneoff_added(e.sender, profile);
    while (engine_captured(&e) == 0)
        loop_turn(e.loop, 5);
    sender_status(e.sender, &st);
    ck_assert_uint_gt(st.prepared, 0);
    in.p.pace_per_s = 0;
    engine_put_profile(&e, &in);
    sender_profile_changed(e.sender, profile);
    wait_captured(6);
    engine_stop(&e);
}
END_TEST

START_TEST(a_store_that_fails_while_preparing_delays_only)
{
    prepare("oneoff_detail", 2);
    engine_refuse(UINT64_C(1) << OP_SENDS_DETAIL);
    insert(0, clock_now_ms());
    insert(1, clock_now_ms());
    sender_oneoff_added(e.sender, profile);
    turn_for(500);
    ck_assert_uint_eq(engine_captured(&e), 0);
    engine_refuse(0);
    wait_captured(2);
    engine_stop(&e);
}
END_TEST

/* A row in `sending` whose profile was deleted is settled by a start like any other. */
START_TEST(rows_of_a_profile_that_is_gone_are_recovered)
{
    struct store_batch *b;
    struct sends_claim claim = {.token = 77, .generation = 1};
    struct sends_commit commit = {.owner = 5, .claims = &claim, .n_claims = 1};
    struct err err = {0};
    uint64_t moved;
    unsigned op;

    prepare("oneoff_orphan", 1);
    profile = 4711;
    claim.id = insert(0, clock_now_ms());
    b = store_batch_create(e.store, STORE_URGENT);
    commit.now_ms = clock_now_ms();
    claim.seen_seq = store_suppression_seq(e.store);
    op = sends_commit(b, &commit);
    ck_assert_int_eq(store_run(b, &err), 0);
    ck_assert_int_eq(sends_result(b, op)->verdicts[0], CLAIM_GRANTED);
    store_batch_free(&b);
    ck_assert_int_eq(recover_sends(e.store, 6, &moved, &err), 0);
    ck_assert_uint_eq(moved, 1);
    engine_stop(&e);
}
END_TEST

SUITE_MAIN("one_offs", each_goes_once, one_that_is_due_before_the_position_is_found,
    ids_that_come_twice_are_claimed_once, a_far_due_time_does_not_delay_a_withdrawn_claim,
    a_changed_profile_loses_no_prepared_mail, a_store_that_fails_while_preparing_delays_only,
    rows_of_a_profile_that_is_gone_are_recovered)
