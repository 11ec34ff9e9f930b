/*
 * Random operations on one broadcast, against a plain model: planning, claims, settles (also late,
 * repeated and forged ones), facts, pauses, recovery and people's hands, in any order. After each step
 * the store must have said what the model says; every few steps all rows and counters are compared, a
 * recount must agree, and every number must open a list of its length.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "contract/sends_model.h"
#include "contract/world.h"
#include "support/suite.h"

#define STEPS  1500
#define SEEDS  3
#define OWNERS 3

struct prop {
    struct world w;
    struct model m;
    bool presented[MODEL_CONTACTS];
    int64_t matched;
};

static int
pick(int n)
{
    return (int)rand_below((uint64_t)n);
}

static int
pick_contact(void)
{
    return 1 + pick(MODEL_CONTACTS - 1);
}

/** A contact whose row is in `state`, most of the time, so that interesting moves are not rare. */
static int
pick_in(const struct prop *p, enum send_state state)
{
    int contact = pick_contact();

    for (int i = 0; i < 40 && !(p->m.rows[contact].exists && p->m.rows[contact].state == state);
         i++)
        contact = pick_contact();
    return contact;
}

static uint64_t
owner_of(int i)
{
    return WORLD_OWNER + (uint64_t)i;
}

static uint64_t
pick_token(const struct prop *p, int contact)
{
    if (pick(8) == 0)
        return 0;
    return p->m.rows[contact].tokens[pick(4) == 0 ? pick(MODEL_TOKENS) : MODEL_TOKENS - 1];
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void
step_plan(struct prop *p)
{
    struct sends_plan_exclusion excluded[4];
    struct sends_plan_row rows[4];
    size_t n = 0, n_excluded = 0;
    uint64_t before = 0, made;
    struct run_counters count;

    if (!model_flows(&p->m))
        return;
    count = model_count(&p->m);
    before = (uint64_t)run_rows(&count);
    for (int i = 0; i < 8; i++) {
        int contact = pick_contact();
        int address = pick(5) == 0 ? pick_contact() : contact;

        if (p->presented[contact] && !p->m.rows[contact].exists)
            continue; /* an excluded contact is presented once */
        if (pick(4) == 0 && n_excluded < 4) {
            excluded[n_excluded++] = (struct sends_plan_exclusion){
                (uint64_t)contact, (enum exclusion_reason)pick(EXCL_REASONS)};
        } else if (n < 4) {
            rows[n] = world_plan_row(&p->w, (uint64_t)address);
            rows[n].contact = (uint64_t)contact;
            rows[n].id = world_id((uint64_t)contact);
            rows[n].due_at_ms += pick(3) * 50;
            model_plan(&p->m, contact, address, rows[n++].due_at_ms);
        } else {
            continue;
        }
        p->matched += !p->presented[contact];
        p->presented[contact] = true;
    }
    for (size_t i = 0; i < n_excluded; i++)
        model_exclude(&p->m, (int)excluded[i].contact, excluded[i].reason);
    made = world_plan(&p->w, rows, n, excluded, n_excluded);
    count = model_count(&p->m);
    ck_assert_uint_eq(made, (uint64_t)run_rows(&count) - before);
}

static struct sends_settle
random_settle(struct prop *p, int contact)
{
    static const enum send_state to[] = {SEND_SENT, SEND_SENT, SEND_SENT, SEND_BOUNCED, SEND_FAILED,
        SEND_SUPPRESSED, SEND_UNKNOWN, SEND_QUEUED, SEND_QUEUED};

    return (struct sends_settle){.broadcast = WORLD_RUN,
        .id = world_id((uint64_t)contact),
        .token = pick_token(p, contact),
        .to = to[pick(9)],
        .fail_class = (enum send_fail_class)pick(FAIL_CLASSES),
        .bounce = (enum bounce_type)pick(3),
        .at_ms = p->w.now_ms,
        .due_at_ms = p->w.now_ms + pick(60),
        .delay_add_min = 1,
        .is_uncounted_attempt = pick(3) == 0};
}

/** Several settles and claims in one commit, over any contacts, twice the same one among them. */
static void
step_commit(struct prop *p)
{
    int who[12], n_settles = pick(5), n_claims = pick(7);
    struct sends_settle settles[5];
    struct sends_claim claims[7];
    struct sends_commit c = {.owner = owner_of(pick(OWNERS)),
        .now_ms = p->w.now_ms,
        .settles = settles,
        .n_settles = (size_t)n_settles,
        .claims = claims,
        .n_claims = (size_t)n_claims};
    struct store_batch *b = store_batch_create(p->w.st, STORE_URGENT);
    const struct sends_result *r;
    unsigned op;

    for (int i = 0; i < n_settles; i++)
        settles[i] = random_settle(p, who[i] = pick_in(p, SEND_SENDING));
    for (int i = 0; i < n_claims; i++) {
        int contact = who[n_settles + i] = pick_contact();
        uint32_t generation = p->m.rows[contact].generation;

        claims[i] = (struct sends_claim){.broadcast = WORLD_RUN,
            .id = world_id((uint64_t)contact),
            .token = ++p->m.last_token,
            .generation = generation + (pick(10) == 0),
            .address_hash = contact,
            .seen_seq = store_suppression_seq(p->w.st)};
    }
    op = sends_commit(b, &c);
    contract_run(b);
    r = sends_result(b, op);
    for (int i = 0; i < n_settles; i++)
        ck_assert_int_eq(r->applied[i], model_settle(&p->m, who[i], &settles[i]));
    for (int i = 0; i < n_claims; i++)
        ck_assert_int_eq(
            r->verdicts[i], model_claim(&p->m, who[n_settles + i], claims[i].generation,
                                claims[i].token, c.owner, p->w.now_ms));
    store_batch_free(&b);
}

static void
step_settle_queued(struct prop *p)
{
    int contact = pick_contact();
    struct sends_settle s = {.broadcast = WORLD_RUN,
        .id = world_id((uint64_t)contact),
        .token = p->m.rows[contact].generation + (pick(5) == 0),
        .to = (enum send_state)pick(SEND_STATES),
        .fail_class = FAIL_RENDER,
        .at_ms = p->w.now_ms,
        .due_at_ms = p->w.now_ms + 10};
    struct store_batch *b;
    unsigned op;

    if (pick(4) != 0)
        s.to = SEND_QUEUED; /* most rows should live on */
    b = store_batch_create(p->w.st, STORE_URGENT);
    op = sends_settle_queued(b, &s, 1);
    contract_run(b);
    ck_assert_int_eq(sends_result(b, op)->applied[0], model_settle_queued(&p->m, contact, &s));
    store_batch_free(&b);
}

static void
step_facts(struct prop *p)
{
    struct sends_feedback f[3];
    struct store_batch *b = store_batch_create(p->w.st, STORE_URGENT);
    uint64_t want = 0;
    unsigned op;

    for (int i = 0; i < 3; i++) {
        int contact = pick(2) == 0 ? pick_in(p, SEND_SENDING) : pick_contact();

        f[i] = (struct sends_feedback){.broadcast = WORLD_RUN,
            .id = world_id((uint64_t)contact),
            .generation = (uint32_t)pick(3),
            .fact = (enum send_fact)pick(FACT_CLICKED + 1),
            .at_ms = p->w.now_ms};
        want += model_fact(&p->m, contact, &f[i]);
    }
    op = sends_feedback(b, f, 3);
    contract_run(b);
    ck_assert_uint_eq(sends_result(b, op)->count, want);
    store_batch_free(&b);
}

static void
step_run(struct prop *p)
{
    static const uint32_t reasons[] = {
        1u << PAUSE_MANUAL, 1u << PAUSE_CAP_REACHED, 1u << PAUSE_CAP_REACHED | 1u << PAUSE_MANUAL};

    if (p->m.run == RUN_PAUSED && pick(4) != 0) {
        p->m.run = RUN_SENDING;
        p->m.reasons = 0;
    } else if (p->m.run == RUN_SENDING && pick(3) == 0) {
        p->m.run = RUN_SENT;
    } else if (p->m.run == RUN_SENT) {
        p->m.run = RUN_SENDING;
    } else {
        p->m.run = RUN_PAUSED;
        p->m.reasons = reasons[pick(3)];
    }
    world_set_run(&p->w, p->m.run, p->m.reasons);
}

static void
step_recover(struct prop *p)
{
    struct sends_recover r = {.live_owner = pick(3) == 0 ? 0 : owner_of(pick(OWNERS)),
        .now_ms = p->w.now_ms,
        .repeat_bulk = pick(2) == 0};
    struct store_batch *b = store_batch_create(p->w.st, STORE_URGENT);
    uint64_t want = 0;
    unsigned op = sends_recover(b, &r);

    for (int i = 1; i < MODEL_CONTACTS; i++)
        want += model_recover(&p->m, i, &r);
    contract_run(b);
    ck_assert_uint_eq(sends_result(b, op)->count, want);
    store_batch_free(&b);
}

static void
step_requeue(struct prop *p)
{
    static const enum send_state from[] = {SEND_FAILED, SEND_UNKNOWN, SEND_SUPPRESSED};
    struct sends_requeue r = {.broadcast = WORLD_RUN, .from = from[pick(3)], .now_ms = p->w.now_ms};
    uint64_t ids[3], want = 0;
    struct store_batch *b;
    unsigned op;

    for (int i = 0; i < 3; i++)
        ids[i] = world_id((uint64_t)pick_contact());
    if (pick(2) == 0) {
        r.ids = ids;
        r.n_ids = 3;
    }
    for (int i = 1; i < MODEL_CONTACTS; i++) {
        uint64_t id = world_id((uint64_t)i);
        bool is_named = r.n_ids == 0 || id == ids[0] || id == ids[1] || id == ids[2];

        want += is_named && model_requeue(&p->m, i, r.from, r.now_ms);
    }
    if (want > 0 && p->m.run == RUN_SENT)
        p->m.run = RUN_SENDING;
    b = store_batch_create(p->w.st, STORE_URGENT);
    op = sends_requeue(b, &r);
    contract_run(b);
    ck_assert(sends_result(b, op)->matched);
    ck_assert_uint_eq(sends_result(b, op)->count, want);
    store_batch_free(&b);
}

static void
step_resolve(struct prop *p)
{
    int contact = pick_in(p, SEND_UNKNOWN);
    enum send_state to = pick(2) == 0 ? SEND_SENT : SEND_FAILED;
    uint64_t id = world_id((uint64_t)contact);
    struct store_batch *b = store_batch_create(p->w.st, STORE_URGENT);
    unsigned op = sends_resolve(b, WORLD_RUN, &id, 1, to, p->w.now_ms);

    contract_run(b);
    ck_assert_uint_eq(
        sends_result(b, op)->count, model_resolve(&p->m, contact, to, p->w.now_ms) ? 1 : 0);
    store_batch_free(&b);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void
compare_row(const struct send_row *row, const struct model_row *m)
{
    ck_assert(m->exists);
    ck_assert_msg(row->state == m->state, "contact %d: %s, model %s", (int)row->contact,
        send_state_name((int)row->state), send_state_name((int)m->state));
    ck_assert_uint_eq(row->generation, m->generation);
    ck_assert_uint_eq(row->attempt, m->attempt);
    ck_assert_uint_eq(row->claim_token, m->tokens[MODEL_TOKENS - 1]);
    ck_assert_uint_eq(row->owner, m->owner);
    ck_assert_int_eq(row->due_at_ms, m->due_ms);
    ck_assert_int_eq(row->sent_at_ms, m->sent_ms);
    ck_assert_int_eq(row->delivered_at_ms, m->delivered_ms);
    ck_assert_int_eq(row->bounced_at_ms, m->bounced_ms);
    ck_assert_int_eq(row->complained_at_ms, m->complained_ms);
    ck_assert_int_eq(row->unsubscribed_at_ms, m->unsubscribed_ms);
    ck_assert_int_eq(row->first_open_ms, m->open_ms);
    ck_assert_int_eq(row->first_click_ms, m->click_ms);
    ck_assert_int_eq(row->fail_class, m->fail_class);
}

/** Rows of a list, compared one by one; how many there are. */
static int64_t
compare_list(struct prop *p, int state)
{
    struct sends_list l = {.broadcast = WORLD_RUN, .state = state, .fail_class = -1, .limit = 25};
    int64_t n = 0;

    do {
        struct store_batch *b = store_batch_create(p->w.st, STORE_URGENT);
        unsigned op = sends_list(b, &l);
        const struct sends_result *r;

        contract_run(b);
        r = sends_result(b, op);
        for (size_t i = 0; i < r->n_rows; i++)
            compare_row(&r->rows[i], &p->m.rows[r->rows[i].contact]);
        n += (int64_t)r->n_rows;
        l.after = r->next;
        store_batch_free(&b);
    } while (l.after != 0);
    return n;
}

static void
compare_all(struct prop *p)
{
    struct run_counters want = model_count(&p->m);
    struct run_record run = world_run(&p->w);

    ck_assert_int_eq(run.state, p->m.run);
    ck_assert_int_eq(compare_list(p, -1), run_rows(&want));
    for (int state = 0; state < SEND_STATES; state++)
        ck_assert_int_eq(compare_list(p, state), want.by_state[state]);
    ck_assert(run_counters_equal(&run.n, &want));
    world_check_ledger(&p->w, p->matched);
}

static void
step(struct prop *p)
{
    int kind = pick(100);

    if (kind < 25)
        step_plan(p);
    else if (kind < 65)
        step_commit(p);
    else if (kind < 68)
        step_settle_queued(p);
    else if (kind < 80)
        step_facts(p);
    else if (kind < 86)
        step_run(p);
    else if (kind < 90)
        step_recover(p);
    else if (kind < 97)
        step_requeue(p);
    else
        step_resolve(p);
    p->w.now_ms += pick(20);
}

START_TEST(any_order_keeps_the_books)
{
    for (int driver = 0; driver < contract_n_drivers; driver++) {
        for (int seed = 1; seed <= SEEDS; seed++) {
            static struct prop p;

            memset(&p, 0, sizeof p);
            rand_seed((uint64_t)seed);
            model_init(&p.m);
            world_open(&p.w, &contract_drivers[driver]);
            for (int i = 0; i < STEPS; i++) {
                step(&p);
                if (i % 25 == 0)
                    compare_all(&p);
            }
            compare_all(&p);
            world_close(&p.w);
        }
    }
}
END_TEST

SUITE_MAIN("property sends", any_order_keeps_the_books)
