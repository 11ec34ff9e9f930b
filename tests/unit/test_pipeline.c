/* The way of a broadcast from its count to its closed ledger, in one process on the embedded store. */
#include <string.h>

#include "base/clock.h"
#include "control/gates.h"
#include "crypto/crypto.h"
#include "loop/loop.h"
#include "message/address.h"
#include "model/opt_out.h"
#include "store/sends.h"
#include "store/store.h"
#include "support/engine.h"
#include "support/suite.h"

#define SENT   (1u << RUN_SENT)
#define PAUSED (1u << RUN_PAUSED)

static struct engine e;

static void
prepare(const char *name, unsigned contacts)
{
    engine_start(&e, name);
    engine_add_profile(&e);
    engine_add_contacts(&e, 0, contacts);
    engine_add_template(&e);
}

static void
opt_out(unsigned user)
{
    struct buf key = BUF_INIT;
    char email[80];
    struct err err = {0};
    struct store_batch *b = store_batch_create(e.store, STORE_URGENT);
    struct opt_out o = {.scope = SLICE_LIT("marketing"),
        .reason = SUPPRESSION_UNSUBSCRIBED,
        .source = SLICE_LIT("test"),
        .now_ms = clock_now_ms()};

    snprintf(email, sizeof(email), "user%u@r%u.example.org", user, user % 7);
    ck_assert_int_eq(address_key_of(slice_str(email), &key, &err), 0);
    suppression_address_of(e.keys, buf_slice(&key), &o.address);
    opt_out_ops(b, &o);
    ck_assert_msg(store_run(b, &err) == 0, "%s", err.text);
    store_batch_free(&b);
    buf_deinit(&key);
}

START_TEST(everybody_gets_one_mail_and_the_ledger_closes)
{
    struct run_record r;

    prepare("all", 1200);
    opt_out(3);
    opt_out(1100);
    ck_assert_uint_eq(engine_start_broadcast(&e, "spring"), 1198);
    r = engine_wait(&e, "spring", SENT);
    ck_assert_int_eq(r.n.by_state[SEND_SENT], 1198);
    ck_assert_int_eq(run_rows(&r.n), 1198);
    ck_assert_int_eq(r.n.excluded[EXCL_SUPPRESSED_UNSUBSCRIBED], 2);
    ck_assert_int_eq(r.n.accepted, 1198);
    ck_assert_uint_eq(engine_captured(&e), 1198);
    engine_stop(&e);
}
END_TEST

START_TEST(nobody_at_all_is_sent_too)
{
    struct run_record r;

    prepare("nobody", 1);
    opt_out(0);
    ck_assert_uint_eq(engine_start_broadcast(&e, "spring"), 0);
    r = engine_wait(&e, "spring", SENT);
    ck_assert_int_eq(run_rows(&r.n), 0);
    ck_assert_int_eq(r.n.excluded[EXCL_SUPPRESSED_UNSUBSCRIBED], 1);
    engine_stop(&e);
}
END_TEST

/* Paused in full flight: what was claimed arrives, nothing else does, and a resume sends the rest. */
START_TEST(a_pause_holds_and_a_resume_completes)
{
    struct broadcast_view v;
    struct err err = {0};
    struct run_record r;
    unsigned captured;

    prepare("pause", 1500);
    engine_start_broadcast(&e, "spring");
    while (engine_run(&e, "spring").n.by_state[SEND_SENT] < 200)
        loop_turn(e.loop, 5);
    ck_assert_int_eq(broadcast_pause(&e.call, SLICE_LIT("spring"), SLICE_NONE, &v, &err), 0);
    ck_assert_int_ne(broadcast_pause(&e.call, SLICE_LIT("spring"), SLICE_NONE, &v, &err), 0);
    ck_assert_str_eq(err.sub, "not_pausable");
    for (int i = 0; i < 400; i++)
        loop_turn(e.loop, 2);
    r = engine_run(&e, "spring");
    captured = engine_captured(&e);
    ck_assert_int_eq(r.n.by_state[SEND_SENDING], 0);
    ck_assert_uint_eq(captured, (unsigned)r.n.by_state[SEND_SENT]);
    ck_assert_uint_lt(captured, 1500);
    engine_resume(&e, "spring");
    r = engine_wait(&e, "spring", SENT);
    ck_assert_int_eq(r.n.by_state[SEND_SENT], 1500);
    ck_assert_uint_eq(engine_captured(&e), 1500);
    engine_stop(&e);
}
END_TEST

/* An opt-out that is durable before the claim keeps the mail from going. */
START_TEST(an_opt_out_during_the_broadcast_is_honoured)
{
    struct run_record r;

    prepare("optout", 800);
    engine_start_broadcast(&e, "spring");
    while (engine_run(&e, "spring").state != RUN_SENDING)
        loop_turn(e.loop, 5);
    gates_set(e.gates, GATE_SCOPE_ALL, GATE_STORE, true, "test");
    for (int i = 0; i < 100; i++)
        loop_turn(e.loop, 2);
    for (unsigned user = 700; user < 800; user++)
        opt_out(user);
    gates_set(e.gates, GATE_SCOPE_ALL, GATE_STORE, false, NULL);
    r = engine_wait(&e, "spring", SENT);
    ck_assert_int_eq(r.n.by_state[SEND_SENT] + r.n.by_state[SEND_SUPPRESSED] +
                         r.n.excluded[EXCL_SUPPRESSED_UNSUBSCRIBED],
        800);
    ck_assert_uint_eq(engine_captured(&e), (unsigned)r.n.by_state[SEND_SENT]);
    engine_stop(&e);
}
END_TEST

/* An opt-out that the journal takes while claims are under way: what the store grants then goes back. */
START_TEST(claims_granted_across_a_journalled_opt_out_go_back)
{
    struct run_record r;
    unsigned captured;

    prepare("journal", 600);
    engine_start_broadcast(&e, "spring");
    while (engine_run(&e, "spring").n.by_state[SEND_SENT] < 50)
        loop_turn(e.loop, 5);
    for (int i = 0; i < 20; i++) {
        gates_set(e.gates, GATE_SCOPE_ALL, GATE_JOURNAL, true, "test");
        gates_set(e.gates, GATE_SCOPE_ALL, GATE_JOURNAL, false, NULL);
        loop_turn(e.loop, 2);
    }
    gates_set(e.gates, GATE_SCOPE_ALL, GATE_JOURNAL, true, "test");
    for (int i = 0; i < 300; i++)
        loop_turn(e.loop, 2);
    captured = engine_captured(&e);
    r = engine_run(&e, "spring");
    ck_assert_int_eq(r.n.by_state[SEND_SENDING], 0);
    ck_assert_uint_lt(captured, 600);
    gates_set(e.gates, GATE_SCOPE_ALL, GATE_JOURNAL, false, NULL);
    r = engine_wait(&e, "spring", SENT);
    ck_assert_int_eq(r.n.by_state[SEND_SENT], 600);
    ck_assert_uint_eq(engine_captured(&e), 600);
    engine_stop(&e);
}
END_TEST

START_TEST(a_restart_goes_on_where_the_store_stands)
{
    struct run_record r;

    prepare("restart", 1500);
    engine_start_broadcast(&e, "spring");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 40; i++)
            loop_turn(e.loop, 2);
        engine_restart(&e);
    }
    r = engine_wait(&e, "spring", SENT);
    ck_assert_int_eq(r.n.by_state[SEND_SENT] + r.n.by_state[SEND_UNKNOWN], 1500);
    ck_assert_uint_ge(engine_captured(&e), (unsigned)r.n.by_state[SEND_SENT]);
    ck_assert_uint_le(engine_captured(&e), 1500);
    engine_stop(&e);
}
END_TEST

START_TEST(a_cancel_stops_for_good)
{
    struct broadcast_view v;
    struct err err = {0};
    int64_t cancelled;
    struct run_record r;

    prepare("cancel", 1500);
    engine_start_broadcast(&e, "spring");
    while (engine_run(&e, "spring").n.by_state[SEND_SENT] < 100)
        loop_turn(e.loop, 5);
    ck_assert_int_eq(broadcast_cancel(&e.call, SLICE_LIT("spring"), &cancelled, &v, &err), 0);
    ck_assert_int_gt(cancelled, 0);
    for (int i = 0; i < 300; i++)
        loop_turn(e.loop, 2);
    r = engine_run(&e, "spring");
    ck_assert_int_eq(r.state, RUN_CANCELLED);
    ck_assert_int_eq(r.n.by_state[SEND_SENDING], 0);
    ck_assert_uint_eq(engine_captured(&e), (unsigned)r.n.by_state[SEND_SENT]);
    ck_assert_int_eq(broadcast_cancel(&e.call, SLICE_LIT("spring"), &cancelled, &v, &err), 0);
    ck_assert_int_eq(cancelled, 0);
    engine_stop(&e);
}
END_TEST

SUITE_MAIN("pipeline", everybody_gets_one_mail_and_the_ledger_closes, nobody_at_all_is_sent_too,
    a_pause_holds_and_a_resume_completes, an_opt_out_during_the_broadcast_is_honoured,
    claims_granted_across_a_journalled_opt_out_go_back, a_restart_goes_on_where_the_store_stands,
    a_cancel_stops_for_good)
