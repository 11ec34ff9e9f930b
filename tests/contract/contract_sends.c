/*
 * Contract of the send rows: planning, feeding, the durable step, facts, recovery, hands, and lists.
 * Every test runs on every backend.
 */
#include <string.h>

#include "contract/world.h"
#include "support/suite.h"

#define EACH_DRIVER(d)                                                                             \
    for (const struct contract_driver *d = contract_drivers;                                       \
         d < contract_drivers + contract_n_drivers; d++)

/* ---- plan ------------------------------------------------------------------------------------ */

START_TEST(plan_keeps_one_row_per_contact_and_address)
{
    EACH_DRIVER(d)
    {
        struct sends_plan_exclusion excluded[] = {{90, EXCL_NO_CONSENT}, {91, EXCL_INVALID_ADDRESS},
            {1, EXCL_NO_CONSENT} /* has a row: counts nowhere */};
        struct sends_plan_row rows[4];
        struct run_record run;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 3);
        rows[0] = world_plan_row(&w, 2); /* has a row already */
        rows[0].id = 42;
        rows[1] = world_plan_row(&w, 10); /* the address of contact 3 */
        rows[1].address = SLICE_LIT("c3@example.org");
        rows[1].address_hash = 3 * 7919;
        rows[2] = world_plan_row(&w, 11); /* a true collision with contact 1 */
        rows[2].address_hash = 7919;
        rows[3] = world_plan_row(&w, 12); /* the same address as the row above */
        rows[3].address = rows[2].address;
        rows[3].address_hash = 7919;
        ck_assert_uint_eq(world_plan(&w, rows, 4, excluded, 3), 1);

        run = world_run(&w);
        ck_assert_int_eq(run_rows(&run.n), 4);
        ck_assert_int_eq(run.n.by_state[SEND_QUEUED], 4);
        ck_assert_int_eq(run.n.excluded[EXCL_DUPLICATE_ADDRESS], 2);
        ck_assert_int_eq(run.n.excluded[EXCL_NO_CONSENT], 1);
        ck_assert_int_eq(run.n.excluded[EXCL_INVALID_ADDRESS], 1);
        ck_assert_int_eq(world_row(&w, 11).address_hash, 7920);
        ck_assert_uint_eq(world_row(&w, 11).generation, 1);
        world_check_ledger(&w, 8);
        world_close(&w);
    }
}
END_TEST

/** A plan that must not be carried out: returns whether it was. */
static bool
try_plan(struct world *w, uint64_t fence, uint64_t cursor, bool is_last)
{
    struct sends_plan_row row = world_plan_row(w, 500);
    struct sends_plan p = {.broadcast = WORLD_RUN,
        .fence = fence,
        .profile = WORLD_PROFILE,
        .page = 9,
        .now_ms = w->now_ms,
        .rows = &row,
        .n_rows = 1,
        .is_last = is_last,
        .cursor_before = slice_make(&cursor, cursor != 0 ? sizeof cursor : 0),
        .cursor_after = SLICE_LIT("end")};
    struct store_batch *b = store_batch_create(w->st, STORE_BULK);
    unsigned op = sends_plan(b, &p);
    bool matched;

    contract_run(b);
    matched = sends_result(b, op)->matched;
    ck_assert_uint_eq(sends_result(b, op)->count, matched ? 1 : 0);
    store_batch_free(&b);
    return matched;
}

START_TEST(plan_is_conditional)
{
    EACH_DRIVER(d)
    {
        struct run_record run;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 2);
        ck_assert(!try_plan(&w, 2, w.cursor, false));     /* another's fence */
        ck_assert(!try_plan(&w, 1, w.cursor + 1, false)); /* not where planning stands */
        ck_assert(!try_plan(&w, 1, 0, false));            /* the first page again */
        world_set_run(&w, RUN_PAUSED, 1u << PAUSE_MANUAL);
        ck_assert(!try_plan(&w, 1, w.cursor, false));
        world_set_run(&w, RUN_PAUSED, 1u << PAUSE_CAP_REACHED | 1u << PAUSE_STOP_RULE);
        ck_assert(!try_plan(&w, 1, w.cursor, false));
        world_check_ledger(&w, 2);
        world_set_run(&w, RUN_PAUSED, 1u << PAUSE_CAP_REACHED);
        ck_assert(try_plan(&w, 1, w.cursor, true));
        run = world_run(&w);
        ck_assert_int_eq(run.dispatched_at_ms, w.now_ms);
        ck_assert_uint_eq(run.page, 9);
        world_check_ledger(&w, 3);
        world_close(&w);
    }
}
END_TEST

/** Contacts of one reason, read in pages of two. */
static size_t
read_exclusions(struct world *w, enum exclusion_reason reason, uint64_t *contacts, size_t cap)
{
    uint64_t after = 0;
    size_t n = 0, got;

    do {
        struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
        unsigned op = sends_exclusions(b, WORLD_RUN, reason, after, 2);
        const struct sends_result *r;

        contract_run(b);
        r = sends_result(b, op);
        got = r->n_ids;
        for (size_t i = 0; i < got; i++) {
            ck_assert_uint_lt(n, cap);
            ck_assert_uint_gt(r->positions[i], after);
            after = r->positions[i];
            contacts[n++] = r->ids[i];
        }
        store_batch_free(&b);
    } while (got > 0);
    return n;
}

START_TEST(exclusions_open_as_lists)
{
    EACH_DRIVER(d)
    {
        /* Ids whose bytes would break text handling are among them. */
        static const uint64_t ids[] = {
            0x100, 0xFF, 0x8000000000FF, 0x2700, 256 * 256, 77, 0x0A0D, 0xC3A9};
        uint64_t got[16];
        struct world w;

        world_open(&w, d);
        for (size_t i = 0; i < 8; i += 2) {
            struct sends_plan_exclusion e[] = {{ids[i], EXCL_NO_CONSENT},
                {ids[i + 1], EXCL_NO_CONSENT}, {1000 + i, EXCL_SUPPRESSED_COMPLAINT}};

            if (i % 4 != 0)
                w.page--; /* a second slice of the same page */
            world_plan(&w, NULL, 0, e, 3);
        }
        ck_assert_uint_eq(read_exclusions(&w, EXCL_NO_CONSENT, got, 16), 8);
        ck_assert(memcmp(got, ids, sizeof ids) == 0);
        ck_assert_uint_eq(read_exclusions(&w, EXCL_SUPPRESSED_COMPLAINT, got, 16), 4);
        ck_assert_uint_eq(read_exclusions(&w, EXCL_INVALID_ADDRESS, got, 16), 0);
        world_check_ledger(&w, 12);
        world_close(&w);
    }
}
END_TEST

/* ---- feeding --------------------------------------------------------------------------------- */

START_TEST(due_pages_in_order)
{
    EACH_DRIVER(d)
    {
        /* Due times with ties, one in the future. */
        static const int64_t due[] = {5, 1, 3, 3, 3, 1, 900};
        static const uint64_t want[] = {2, 6, 3, 4, 5, 1};
        struct sends_plan_row rows[7];
        int64_t after_due = 0;
        uint64_t after_id = 0;
        size_t n = 0;
        struct world w;

        world_open(&w, d);
        for (size_t i = 0; i < 7; i++) {
            rows[i] = world_plan_row(&w, i + 1);
            rows[i].due_at_ms = w.now_ms + due[i];
        }
        world_plan(&w, rows, 7, NULL, 0);
        for (;;) {
            struct store_batch *b = store_batch_create(w.st, STORE_URGENT);
            unsigned op = sends_due(b, WORLD_RUN, after_due, after_id, w.now_ms + 100, 2);
            const struct sends_result *r;
            size_t got;

            contract_run(b);
            r = sends_result(b, op);
            ck_assert_int_eq(r->next_due_ms, w.now_ms + 900);
            got = r->n_rows;
            for (size_t i = 0; i < got; i++) {
                ck_assert_uint_lt(n, 6);
                ck_assert_uint_eq(r->rows[i].contact, want[n++]);
                ck_assert_uint_gt(r->rows[i].address.n, 0);
                after_due = r->rows[i].due_at_ms;
                after_id = r->rows[i].id;
            }
            store_batch_free(&b);
            if (got == 0)
                break;
        }
        ck_assert_uint_eq(n, 6);
        world_close(&w);
    }
}
END_TEST

START_TEST(oneoff_rows_have_groups_and_content)
{
    EACH_DRIVER(d)
    {
        struct send_row row = {.id = 31,
            .contact = 4,
            .address = SLICE_LIT("x@example.net"),
            .address_hash = 5,
            .profile = 12,
            .lane = LANE_IMMEDIATE,
            .due_at_ms = WORLD_T0,
            .created_at_ms = WORLD_T0,
            .state = SEND_FAILED /* ignored */};
        const struct sends_result *r;
        struct store_batch *b;
        unsigned groups, detail, none, got;
        uint64_t id = 31;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 3);
        b = store_batch_create(w.st, STORE_URGENT);
        sends_insert_oneoff(b, &row, slice_make("a\0b", 3));
        row.id = 32;
        row.profile = 6;
        sends_insert_oneoff(b, &row, SLICE_NONE);
        contract_run(b);
        store_batch_free(&b);

        b = store_batch_create(w.st, STORE_URGENT);
        groups = sends_oneoff_groups(b);
        detail = sends_detail(b, 0, 31);
        none = sends_detail(b, 0, 32);
        got = sends_get(b, 0, &id, 1);
        contract_run(b);
        r = sends_result(b, groups);
        ck_assert_uint_eq(r->n_ids, 2);
        ck_assert_uint_eq(r->ids[0], 6);
        ck_assert_uint_eq(r->ids[1], 12);
        ck_assert(slice_eq(sends_result(b, detail)->detail.content, slice_make("a\0b", 3)));
        ck_assert(!sends_result(b, none)->matched);
        r = sends_result(b, got);
        ck_assert_uint_eq(r->n_rows, 1);
        ck_assert_int_eq(r->rows[0].state, SEND_QUEUED);
        ck_assert_uint_eq(r->rows[0].group, 12);
        ck_assert(slice_eq(r->rows[0].address, SLICE_LIT("x@example.net")));
        store_batch_free(&b);

        b = store_batch_create(w.st, STORE_URGENT);
        sends_insert_oneoff(b, &row, SLICE_NONE);
        contract_run_fails(b, ERR_CONFLICT, "send_id");
        store_batch_free(&b);
        world_close(&w);
    }
}
END_TEST

/* ---- the durable step ------------------------------------------------------------------------ */

START_TEST(claim_checks_the_row)
{
    EACH_DRIVER(d)
    {
        struct send_row row;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 3);
        ck_assert_int_eq(world_claim(&w, 1), CLAIM_GRANTED);
        row = world_row(&w, 1);
        ck_assert_int_eq(row.state, SEND_SENDING);
        ck_assert_uint_eq(row.owner, WORLD_OWNER);
        ck_assert_uint_eq(row.claim_token, w.token);
        ck_assert_uint_eq(row.attempt, 1);
        ck_assert_int_eq(world_claim(&w, 1), CLAIM_GONE);  /* taken */
        ck_assert_int_eq(world_claim(&w, 99), CLAIM_GONE); /* never planned */
        w.now_ms -= 1;
        ck_assert_int_eq(world_claim(&w, 2), CLAIM_NOT_DUE);
        w.now_ms += 1;
        ck_assert_int_eq(world_claim(&w, 2), CLAIM_GRANTED);
        world_check_ledger(&w, 3);
        world_close(&w);
    }
}
END_TEST

START_TEST(claim_checks_the_run)
{
    static const struct {
        enum run_state state;
        uint32_t reasons;
        enum sends_verdict want;
    } cases[] = {
        {RUN_PAUSED, 1u << PAUSE_MANUAL, CLAIM_NOT_RUNNING},
        {RUN_PAUSED, 1u << PAUSE_CAP_REACHED | 1u << PAUSE_MANUAL, CLAIM_NOT_RUNNING},
        {RUN_PAUSED, 1u << PAUSE_CAP_REACHED, CLAIM_GRANTED},
        {RUN_SENDING, 0, CLAIM_GRANTED},
        {RUN_CANCELLED, 0, CLAIM_NOT_RUNNING},
    };

    EACH_DRIVER(d)
    {
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 9);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            world_set_run(&w, cases[i].state, cases[i].reasons);
            ck_assert_msg(world_claim(&w, i + 1) == cases[i].want, "case %zu", i);
        }
        world_check_ledger(&w, 9);
        world_close(&w);
    }
}
END_TEST

START_TEST(claim_yields_to_a_newer_opt_out)
{
    EACH_DRIVER(d)
    {
        struct sends_plan_row collided;
        struct sends_claim claim;
        struct sends_commit c = {
            .owner = WORLD_OWNER, .now_ms = WORLD_T0, .claims = &claim, .n_claims = 1};
        uint64_t seen;
        struct store_batch *b;
        unsigned op;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 2);
        collided = world_plan_row(&w, 3);
        collided.address_hash = 7919; /* stored one step above */
        world_plan(&w, &collided, 1, NULL, 0);
        seen = store_suppression_seq(w.st);
        b = store_batch_create(w.st, STORE_URGENT);
        store_note_suppressed(b, 7919);
        contract_run(b);
        store_batch_free(&b);

        for (int i = 0; i < 3; i++) {
            static const int64_t hash[] = {7919, 2 * 7919, 7920};
            static const enum sends_verdict want[] = {
                CLAIM_SUPPRESSED, CLAIM_GRANTED, CLAIM_SUPPRESSED};

            claim = (struct sends_claim){.broadcast = WORLD_RUN,
                .id = world_id((uint64_t)i + 1),
                .token = 100 + (uint64_t)i,
                .generation = 1,
                .address_hash = hash[i],
                .seen_seq = seen};
            b = store_batch_create(w.st, STORE_URGENT);
            op = sends_commit(b, &c);
            contract_run(b);
            ck_assert_int_eq(sends_result(b, op)->verdicts[0], want[i]);
            store_batch_free(&b);
        }
        ck_assert_int_eq(world_claim(&w, 1), CLAIM_GRANTED); /* prepared again, knowing of it */
        world_close(&w);
    }
}
END_TEST

START_TEST(settles_come_before_claims)
{
    EACH_DRIVER(d)
    {
        struct sends_settle s = {.broadcast = WORLD_RUN,
            .id = world_id(1),
            .to = SEND_QUEUED,
            .at_ms = WORLD_T0,
            .due_at_ms = WORLD_T0,
            .is_uncounted_attempt = true};
        struct sends_claim claims[2];
        struct sends_commit c = {.owner = WORLD_OWNER,
            .now_ms = WORLD_T0,
            .settles = &s,
            .n_settles = 1,
            .claims = claims,
            .n_claims = 2};
        const struct sends_result *r;
        struct store_batch *b;
        unsigned op;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 2);
        ck_assert_int_eq(world_claim(&w, 1), CLAIM_GRANTED);
        s.token = w.token;
        for (int i = 0; i < 2; i++)
            claims[i] = (struct sends_claim){.broadcast = WORLD_RUN,
                .id = world_id(1),
                .token = 70 + (uint64_t)i,
                .generation = 1};
        b = store_batch_create(w.st, STORE_URGENT);
        op = sends_commit(b, &c);
        contract_run(b);
        r = sends_result(b, op);
        ck_assert(r->applied[0]);
        ck_assert_int_eq(r->verdicts[0], CLAIM_GRANTED);
        ck_assert_int_eq(r->verdicts[1], CLAIM_GONE); /* the same row twice */
        ck_assert_uint_eq(r->n_runs, 1);
        ck_assert_int_eq(r->runs[0].n.by_state[SEND_SENDING], 1);
        store_batch_free(&b);
        ck_assert_uint_eq(world_row(&w, 1).attempt, 1);
        world_check_ledger(&w, 2);
        world_close(&w);
    }
}
END_TEST

START_TEST(settle_outcomes)
{
    static const struct {
        struct sends_settle s;
        int64_t accepted, hard, soft, refused, message;
    } cases[] = {
        {{.to = SEND_SENT, .reply_code = 250}, 1, 0, 0, 0, 0},
        {{.to = SEND_BOUNCED,
             .bounce = BOUNCE_HARD,
             .fail_class = FAIL_RECIPIENT,
             .reply_code = 550,
             .enhanced_code = 50101},
            0, 1, 0, 1, 0},
        {{.to = SEND_BOUNCED, .bounce = BOUNCE_SOFT, .fail_class = FAIL_MAILBOX_FULL}, 0, 0, 1, 1,
            0},
        {{.to = SEND_FAILED, .fail_class = FAIL_MESSAGE, .reply_code = 554}, 0, 0, 0, 0, 1},
        {{.to = SEND_FAILED, .fail_class = FAIL_NETWORK}, 0, 0, 0, 0, 0},
        {{.to = SEND_SUPPRESSED}, 0, 0, 0, 0, 0},
        {{.to = SEND_UNKNOWN}, 0, 0, 0, 0, 0},
        {{.to = SEND_QUEUED, .fail_class = FAIL_THROTTLED, .delay_add_min = 4}, 0, 0, 0, 0, 0},
    };

    EACH_DRIVER(d)
    {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct sends_settle s = cases[i].s;
            struct send_row row;
            struct run_record run;
            struct world w;

            world_open(&w, d);
            world_plan_range(&w, 1, 2);
            world_claim(&w, 1);
            s.broadcast = WORLD_RUN;
            s.id = world_id(1);
            s.token = w.token + 1;
            s.at_ms = WORLD_T0 + 5;
            s.due_at_ms = WORLD_T0 + 60;
            ck_assert(!world_settle_with(&w, &s)); /* another's token */
            s.token = w.token;
            ck_assert(world_settle_with(&w, &s));
            ck_assert(!world_settle_with(&w, &s)); /* said once */
            row = world_row(&w, 1);
            ck_assert_int_eq(row.state, s.to);
            ck_assert_int_eq(row.fail_class, s.fail_class);
            ck_assert_int_eq(row.reply_code, s.reply_code);
            ck_assert_int_eq(row.enhanced_code, s.enhanced_code);
            ck_assert_int_eq(row.sent_at_ms, s.to == SEND_SENT ? s.at_ms : 0);
            ck_assert_int_eq(row.bounced_at_ms, s.to == SEND_BOUNCED ? s.at_ms : 0);
            ck_assert_int_eq(row.due_at_ms, s.to == SEND_QUEUED ? s.due_at_ms : WORLD_T0);
            ck_assert_uint_eq(row.delay_min, s.delay_add_min);
            ck_assert_uint_eq(row.owner, 0);
            run = world_run(&w);
            ck_assert_int_eq(run.n.by_state[s.to], s.to == SEND_QUEUED ? 2 : 1);
            ck_assert_int_eq(run.n.accepted, cases[i].accepted);
            ck_assert_int_eq(run.n.hard_bounced, cases[i].hard);
            ck_assert_int_eq(run.n.soft_bounced, cases[i].soft);
            ck_assert_int_eq(run.n.refused_in_session, cases[i].refused);
            ck_assert_int_eq(run.n.message_refused, cases[i].message);
            world_check_ledger(&w, 2);
            world_close(&w);
        }
    }
}
END_TEST

START_TEST(settle_keeps_reply_and_provider_id)
{
    EACH_DRIVER(d)
    {
        struct sends_settle s = {.broadcast = WORLD_RUN,
            .id = world_id(1),
            .to = SEND_QUEUED,
            .at_ms = WORLD_T0,
            .due_at_ms = WORLD_T0,
            .provider_id = SLICE_LIT("p-1"),
            .reply_text = SLICE_LIT("451 4.7.1 later")};
        struct send_detail detail;
        struct store_batch *b;
        unsigned op;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 1);
        world_claim(&w, 1);
        s.token = w.token;
        ck_assert(world_settle_with(&w, &s));
        world_claim(&w, 1);
        s.token = w.token;
        s.to = SEND_FAILED;
        s.provider_id = SLICE_NONE; /* keeps the one there */
        s.reply_text = SLICE_LIT("554 no");
        ck_assert(world_settle_with(&w, &s));
        b = store_batch_create(w.st, STORE_URGENT);
        op = sends_detail(b, WORLD_RUN, world_id(1));
        contract_run(b);
        detail = sends_result(b, op)->detail;
        ck_assert(slice_eq(detail.provider_id, SLICE_LIT("p-1")));
        ck_assert(slice_eq(detail.reply_text, SLICE_LIT("554 no")));
        store_batch_free(&b);
        world_close(&w);
    }
}
END_TEST

START_TEST(settle_queued_needs_the_generation)
{
    static const struct {
        enum send_state to;
        bool want;
    } cases[] = {{SEND_FAILED, true}, {SEND_SUPPRESSED, true}, {SEND_CANCELLED, true},
        {SEND_HELD, true}, {SEND_QUEUED, true}, {SEND_SENT, false}, {SEND_UNKNOWN, false},
        {SEND_SENDING, false}};

    EACH_DRIVER(d)
    {
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 8);
        for (uint64_t i = 0; i < 8; i++) {
            struct sends_settle s[2] = {{.broadcast = WORLD_RUN,
                .id = world_id(i + 1),
                .token = 2,
                .to = cases[i].to,
                .fail_class = FAIL_RENDER,
                .due_at_ms = 123}};
            struct store_batch *b = store_batch_create(w.st, STORE_URGENT);
            unsigned op;

            s[1] = s[0];
            s[1].token = 1;
            op = sends_settle_queued(b, s, 2);
            contract_run(b);
            ck_assert(!sends_result(b, op)->applied[0]);
            ck_assert_msg(sends_result(b, op)->applied[1] == cases[i].want, "case %d", (int)i);
            store_batch_free(&b);
        }
        ck_assert_int_eq(world_row(&w, 5).due_at_ms, 123);
        world_check_ledger(&w, 8);
        world_close(&w);
    }
}
END_TEST

/* ---- facts, doubt, hands --------------------------------------------------------------------- */

START_TEST(facts_move_forward_only)
{
    static const struct {
        enum send_fact facts[4];
        int n;
        enum send_state want;
        int64_t delivered, hard, soft, complained;
    } cases[] = {
        {{FACT_DELIVERED}, 1, SEND_DELIVERED, 1, 0, 0, 0},
        {{FACT_BOUNCED_HARD, FACT_DELIVERED}, 2, SEND_BOUNCED, 1, 1, 0, 0},
        {{FACT_BOUNCED_SOFT, FACT_BOUNCED_HARD}, 2, SEND_BOUNCED, 0, 1, 0, 0},
        {{FACT_COMPLAINED, FACT_BOUNCED_SOFT, FACT_DELIVERED}, 3, SEND_COMPLAINED, 1, 0, 1, 1},
        {{FACT_OPENED, FACT_CLICKED, FACT_UNSUBSCRIBED}, 3, SEND_SENT, 0, 0, 0, 0},
    };

    EACH_DRIVER(d)
    {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct run_record run;
            struct world w;

            world_open(&w, d);
            world_plan_range(&w, 1, 1);
            world_claim(&w, 1);
            world_settle(&w, 1, SEND_SENT);
            for (int f = 0; f < cases[i].n; f++) {
                ck_assert(world_fact(&w, 1, cases[i].facts[f]));
                ck_assert(!world_fact(&w, 1, cases[i].facts[f])); /* the first time is kept */
            }
            ck_assert_int_eq(world_row(&w, 1).state, cases[i].want);
            run = world_run(&w);
            ck_assert_int_eq(run.n.delivered, cases[i].delivered);
            ck_assert_int_eq(run.n.hard_bounced, cases[i].hard);
            ck_assert_int_eq(run.n.soft_bounced, cases[i].soft);
            ck_assert_int_eq(run.n.complained, cases[i].complained);
            ck_assert_int_eq(run.n.refused_in_session, 0);
            world_check_ledger(&w, 1);
            world_close(&w);
        }
    }
}
END_TEST

START_TEST(facts_wait_for_the_settle)
{
    EACH_DRIVER(d)
    {
        struct send_row row;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 3);
        ck_assert(!world_fact(&w, 1, FACT_DELIVERED));  /* never handed over: forged */
        ck_assert(!world_fact(&w, 50, FACT_DELIVERED)); /* no such row */
        world_claim(&w, 1);
        ck_assert(world_fact(&w, 1, FACT_DELIVERED)); /* the event overtakes the answer */
        ck_assert_int_eq(world_row(&w, 1).state, SEND_SENDING);
        w.now_ms += 7;
        ck_assert(world_settle(&w, 1, SEND_SENT));
        row = world_row(&w, 1);
        ck_assert_int_eq(row.state, SEND_DELIVERED);
        ck_assert_int_eq(row.sent_at_ms, w.now_ms);
        world_claim(&w, 2);
        ck_assert(world_fact(&w, 2, FACT_BOUNCED_HARD));
        ck_assert(world_settle(&w, 2, SEND_QUEUED)); /* accepted once after all: not repeated */
        ck_assert_int_eq(world_row(&w, 2).state, SEND_BOUNCED);
        ck_assert_int_ne(world_row(&w, 2).sent_at_ms, 0);
        world_check_ledger(&w, 3);
        world_close(&w);
    }
}
END_TEST

static uint64_t
recover(struct world *w, struct sends_recover r)
{
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    unsigned op = sends_recover(b, &r);
    uint64_t n;

    contract_run(b);
    n = sends_result(b, op)->count;
    store_batch_free(&b);
    return n;
}

START_TEST(recover_leaves_or_repeats)
{
    EACH_DRIVER(d)
    {
        uint64_t token;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 6);
        for (uint64_t i = 1; i <= 4; i++)
            ck_assert_int_eq(world_claim(&w, i), CLAIM_GRANTED);
        token = w.token;
        ck_assert(world_fact(&w, 4, FACT_DELIVERED));
        ck_assert_uint_eq(recover(&w, (struct sends_recover){.live_owner = WORLD_OWNER}), 0);
        ck_assert_uint_eq(recover(&w, (struct sends_recover){.only_profile = 1}), 0);
        ck_assert_uint_eq(recover(&w, (struct sends_recover){.limit = 1, .now_ms = w.now_ms}), 1);
        ck_assert_int_eq(world_row(&w, 1).state, SEND_UNKNOWN);
        ck_assert_uint_eq(
            recover(&w,
                (struct sends_recover){.repeat_bulk = true, .now_ms = w.now_ms, .live_owner = 5}),
            3);
        ck_assert_int_eq(world_row(&w, 2).state, SEND_QUEUED);
        ck_assert_int_eq(world_row(&w, 4).state, SEND_DELIVERED); /* its delivery is known */
        world_check_ledger(&w, 6);

        /* Late answers of the old sessions find their rows. */
        w.token = token - 3;
        ck_assert(world_settle(&w, 1, SEND_SENT));
        ck_assert_int_eq(world_row(&w, 1).state, SEND_SENT);
        w.token = token - 2;
        ck_assert(!world_settle(&w, 2, SEND_FAILED)); /* waits already; only a success matters */
        ck_assert(world_settle(&w, 2, SEND_SENT));
        ck_assert_int_eq(world_row(&w, 2).state, SEND_SENT);
        /* And so does a report about a row that waits for its repeat. */
        ck_assert(world_fact(&w, 3, FACT_COMPLAINED));
        ck_assert_int_eq(world_row(&w, 3).state, SEND_COMPLAINED);
        world_check_ledger(&w, 6);
        world_close(&w);
    }
}
END_TEST

static const struct sends_result *
requeue(struct store_batch *b, struct sends_requeue r)
{
    unsigned op;

    r.broadcast = WORLD_RUN;
    r.now_ms = WORLD_T0 + 9;
    op = sends_requeue(b, &r);
    contract_run(b);
    return sends_result(b, op);
}

START_TEST(requeue_starts_a_generation)
{
    EACH_DRIVER(d)
    {
        static const uint64_t pick[] = {1000003, 1000004, 9};
        const struct sends_result *r;
        struct store_batch *b;
        struct send_row row;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 6);
        for (uint64_t i = 1; i <= 6; i++) {
            struct sends_settle s = {.broadcast = WORLD_RUN,
                .id = world_id(i),
                .to = SEND_FAILED,
                .at_ms = WORLD_T0,
                .fail_class = i <= 2 ? FAIL_MESSAGE : FAIL_EXPIRED,
                .delay_add_min = 3};

            world_claim(&w, i);
            s.token = w.token;
            ck_assert(world_settle_with(&w, &s));
        }
        ck_assert(world_fact(&w, 6, FACT_DELIVERED)); /* failed to our knowledge, yet delivered */
        world_set_run(&w, RUN_SENT, 0);

        b = store_batch_create(w.st, STORE_URGENT);
        r = requeue(b, (struct sends_requeue){.from = SEND_FAILED, .fail_class = FAIL_MESSAGE});
        ck_assert_uint_eq(r->count, 2);
        ck_assert_uint_eq(r->next, 0);
        ck_assert_int_eq(r->runs[0].state, RUN_SENDING); /* taken back */
        store_batch_free(&b);
        row = world_row(&w, 1);
        ck_assert_uint_eq(row.generation, 2);
        ck_assert_uint_eq(row.attempt, 0);
        ck_assert_uint_eq(row.delay_min, 0);
        ck_assert_int_eq(row.due_at_ms, WORLD_T0 + 9);

        b = store_batch_create(w.st, STORE_URGENT);
        r = requeue(b, (struct sends_requeue){.from = SEND_FAILED, .ids = pick, .n_ids = 3});
        ck_assert_uint_eq(r->count, 2);
        store_batch_free(&b);
        b = store_batch_create(w.st, STORE_URGENT);
        r = requeue(b, (struct sends_requeue){.from = SEND_FAILED, .limit = 1});
        ck_assert_uint_eq(r->count, 1);
        ck_assert_uint_eq(r->next, world_id(5));
        store_batch_free(&b);
        b = store_batch_create(w.st, STORE_URGENT);
        r = requeue(b, (struct sends_requeue){.from = SEND_FAILED, .after_id = world_id(5)});
        ck_assert_uint_eq(r->count, 0); /* the delivered one stays */
        store_batch_free(&b);

        ck_assert_int_eq(world_claim(&w, 1), CLAIM_GONE); /* generation 1 is over */
        world_set_run(&w, RUN_CANCELLED, 0);
        b = store_batch_create(w.st, STORE_URGENT);
        ck_assert(!requeue(b, (struct sends_requeue){.from = SEND_FAILED})->matched);
        store_batch_free(&b);
        world_check_ledger(&w, 6);
        world_close(&w);
    }
}
END_TEST

START_TEST(resolve_ends_doubt)
{
    EACH_DRIVER(d)
    {
        uint64_t ids[2] = {world_id(1), world_id(2)};
        struct store_batch *b;
        unsigned op;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 2);
        for (uint64_t i = 1; i <= 2; i++) {
            world_claim(&w, i);
            world_settle(&w, i, SEND_UNKNOWN);
        }
        b = store_batch_create(w.st, STORE_URGENT);
        sends_resolve(b, WORLD_RUN, ids, 1, SEND_SENT, WORLD_T0 + 1);
        op = sends_resolve(b, WORLD_RUN, ids, 2, SEND_FAILED, WORLD_T0 + 2);
        contract_run(b);
        ck_assert_uint_eq(sends_result(b, op)->count, 1);
        store_batch_free(&b);
        ck_assert_int_eq(world_row(&w, 1).sent_at_ms, WORLD_T0 + 1);
        ck_assert_int_eq(world_row(&w, 2).state, SEND_FAILED);
        world_check_ledger(&w, 2);
        world_close(&w);
    }
}
END_TEST

/* ---- lists ----------------------------------------------------------------------------------- */

/** Walk a list in pages of `limit` and count its rows; each contact comes once. */
static int64_t
list_length(struct world *w, struct sends_list l)
{
    static bool seen[20000];
    int64_t n = 0;

    memset(seen, 0, sizeof seen);
    do {
        struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
        unsigned op = sends_list(b, &l);
        const struct sends_result *r;

        contract_run(b);
        r = sends_result(b, op);
        for (size_t i = 0; i < r->n_rows; i++) {
            ck_assert_uint_lt(r->rows[i].contact, 20000);
            ck_assert(!seen[r->rows[i].contact]);
            seen[r->rows[i].contact] = true;
            ck_assert_uint_gt(r->rows[i].address.n, 0);
        }
        n += (int64_t)r->n_rows;
        ck_assert(r->next == 0 || r->next > l.after);
        l.after = r->next;
        store_batch_free(&b);
    } while (l.after != 0);
    return n;
}

START_TEST(each_number_opens_its_list)
{
    EACH_DRIVER(d)
    {
        static const enum send_state to[] = {SEND_SENT, SEND_BOUNCED, SEND_FAILED, SEND_UNKNOWN,
            SEND_SUPPRESSED, SEND_QUEUED, SEND_SENT};
        struct run_record run;
        struct world w;

        world_open(&w, d);
        world_plan_range(&w, 1, 12000);
        for (uint64_t i = 1; i <= 12000; i += i < 300 ? 1 : 700) {
            ck_assert_int_eq(world_claim(&w, i), CLAIM_GRANTED);
            if (i % 8 != 7)
                ck_assert(world_settle(&w, i, to[i % 7]));
        }
        ck_assert(world_fact(&w, 7, FACT_DELIVERED) || world_fact(&w, 14, FACT_DELIVERED));
        run = world_run(&w);
        for (int state = 0; state < SEND_STATES; state++) {
            struct sends_list l = {
                .broadcast = WORLD_RUN, .state = state, .fail_class = -1, .limit = 37};

            ck_assert_int_eq(list_length(&w, l), run.n.by_state[state]);
            l.limit = 500;
            ck_assert_int_eq(list_length(&w, l), run.n.by_state[state]);
        }
        ck_assert_int_eq(
            list_length(
                &w, (struct sends_list){.broadcast = WORLD_RUN, .state = -1, .fail_class = -1}),
            12000);
        ck_assert_int_eq(
            list_length(&w, (struct sends_list){.contact = 11, .state = -1, .fail_class = -1}), 1);
        world_check_ledger(&w, 12000);
        world_close(&w);
    }
}
END_TEST

SUITE_MAIN("contract sends", plan_keeps_one_row_per_contact_and_address, plan_is_conditional,
    exclusions_open_as_lists, due_pages_in_order, oneoff_rows_have_groups_and_content,
    claim_checks_the_row, claim_checks_the_run, claim_yields_to_a_newer_opt_out,
    settles_come_before_claims, settle_outcomes, settle_keeps_reply_and_provider_id,
    settle_queued_needs_the_generation, facts_move_forward_only, facts_wait_for_the_settle,
    recover_leaves_or_repeats, requeue_starts_a_generation, resolve_ends_doubt,
    each_number_opens_its_list)
