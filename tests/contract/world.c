#include "contract/world.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/*
 * The helper steps of the suites on typed records. Each runs one batch and asserts that it went
 * through; what it did is returned, so that a test reads as a story.
 */

void
world_open(struct world *w, const struct contract_driver *d)
{
    memset(w, 0, sizeof *w);
    w->now_ms = WORLD_T0;
    w->st = contract_open(d);
    world_create_run(w, WORLD_RUN);
}

void
world_close(struct world *w)
{
    contract_close(&w->st);
}

void
world_create_run(struct world *w, uint64_t broadcast)
{
    struct run_record r = {.broadcast = broadcast,
        .state = RUN_SENDING,
        .profile = WORLD_PROFILE,
        .fence = 1,
        .lease_owner = WORLD_OWNER,
        .growth_limit = -1};
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);

    runs_create(b, &r);
    contract_run(b);
    store_batch_free(&b);
}

struct sends_plan_row
world_plan_row(const struct world *w, uint64_t contact)
{
    static char ring[4096][32];
    static unsigned turn;
    char *address = ring[turn++ % 4096];

    snprintf(address, sizeof ring[0], "c%llu@example.org", (unsigned long long)contact);
    return (struct sends_plan_row){.id = world_id(contact),
        .contact = contact,
        .address = slice_str(address),
        .address_hash = (int64_t)(contact * 7919),
        .due_at_ms = w->now_ms};
}

uint64_t
world_plan(struct world *w, const struct sends_plan_row *rows, size_t n_rows,
    const struct sends_plan_exclusion *excluded, size_t n_excluded)
{
    uint64_t before = w->cursor, after = w->cursor + 1;
    struct sends_plan p = {.broadcast = WORLD_RUN,
        .fence = 1,
        .profile = WORLD_PROFILE,
        .page = ++w->page,
        .now_ms = w->now_ms,
        .rows = rows,
        .n_rows = n_rows,
        .excluded = excluded,
        .n_excluded = n_excluded,
        .cursor_before = slice_make(&before, before != 0 ? sizeof before : 0),
        .cursor_after = slice_make(&after, sizeof after)};
    struct store_batch *b = store_batch_create(w->st, STORE_BULK);
    unsigned op = sends_plan(b, &p);
    uint64_t made;

    contract_run(b);
    ck_assert(sends_result(b, op)->matched);
    ck_assert_uint_eq(sends_result(b, op)->n_runs, 1);
    made = sends_result(b, op)->count;
    w->cursor = after;
    store_batch_free(&b);
    return made;
}

void
world_plan_range(struct world *w, uint64_t from, uint64_t to)
{
    while (from <= to) {
        struct sends_plan_row rows[500];
        size_t n = 0;

        while (from <= to && n < 500)
            rows[n++] = world_plan_row(w, from++);
        ck_assert_uint_eq(world_plan(w, rows, n, NULL, 0), n);
    }
}

enum sends_verdict
world_claim(struct world *w, uint64_t contact)
{
    struct sends_claim claim = {.broadcast = WORLD_RUN,
        .id = world_id(contact),
        .generation = 1,
        .address_hash = (int64_t)(contact * 7919),
        .seen_seq = store_suppression_seq(w->st)};
    struct sends_commit c = {
        .owner = WORLD_OWNER, .now_ms = w->now_ms, .claims = &claim, .n_claims = 1};
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    enum sends_verdict v;
    unsigned op;

    claim.token = w->token = w->token + 1;
    op = sends_commit(b, &c);
    contract_run(b);
    v = sends_result(b, op)->verdicts[0];
    store_batch_free(&b);
    return v;
}

bool
world_settle_with(struct world *w, const struct sends_settle *s)
{
    struct sends_commit c = {
        .owner = WORLD_OWNER, .now_ms = w->now_ms, .settles = s, .n_settles = 1};
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    unsigned op = sends_commit(b, &c);
    bool applied;

    contract_run(b);
    applied = sends_result(b, op)->applied[0];
    store_batch_free(&b);
    return applied;
}

bool
world_settle(struct world *w, uint64_t contact, enum send_state to)
{
    struct sends_settle s = {.broadcast = WORLD_RUN,
        .id = world_id(contact),
        .token = w->token,
        .to = to,
        .at_ms = w->now_ms,
        .due_at_ms = w->now_ms};

    return world_settle_with(w, &s);
}

bool
world_fact(struct world *w, uint64_t contact, enum send_fact fact)
{
    struct sends_feedback f = {
        .broadcast = WORLD_RUN, .id = world_id(contact), .fact = fact, .at_ms = w->now_ms};
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    unsigned op = sends_feedback(b, &f, 1);
    bool is_new;

    contract_run(b);
    is_new = sends_result(b, op)->count == 1;
    store_batch_free(&b);
    return is_new;
}

void
world_set_run(struct world *w, enum run_state to, uint32_t reasons)
{
    struct run_change c = {.broadcast = WORLD_RUN,
        .set = RUN_SET_STATE,
        .if_states = 1u << world_run(w).state,
        .reasons_add = reasons,
        .reasons_clear = ~0u};
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    unsigned op;

    c.to.state = to;
    op = runs_change(b, &c);
    contract_run(b);
    ck_assert(runs_result(b, op)->matched);
    store_batch_free(&b);
}

struct run_record
world_run(struct world *w)
{
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    unsigned op = runs_get(b, WORLD_RUN);
    struct run_record r;

    contract_run(b);
    ck_assert(runs_result(b, op)->matched);
    r = runs_result(b, op)->runs[0];
    r.cursor = r.reason_detail = SLICE_NONE;
    store_batch_free(&b);
    return r;
}

struct send_row
world_row(struct world *w, uint64_t contact)
{
    struct store_batch *b = store_batch_create(w->st, STORE_URGENT);
    uint64_t id = world_id(contact);
    unsigned op = sends_get(b, WORLD_RUN, &id, 1);
    struct send_row row;

    contract_run(b);
    ck_assert_uint_eq(sends_result(b, op)->n_rows, 1);
    row = sends_result(b, op)->rows[0];
    row.address = SLICE_NONE;
    store_batch_free(&b);
    return row;
}

void
world_check_ledger(struct world *w, int64_t matched)
{
    struct store_batch *b = store_batch_create(w->st, STORE_BULK);
    unsigned op = runs_recount(b, WORLD_RUN);
    const struct run_result *r;

    contract_run(b);
    r = runs_result(b, op);
    ck_assert(r->matched);
    for (int i = 0; i < SEND_STATES; i++)
        ck_assert_msg(r->before.by_state[i] == r->runs[0].n.by_state[i], "%s: %lld, recounted %lld",
            send_state_name(i), (long long)r->before.by_state[i],
            (long long)r->runs[0].n.by_state[i]);
    ck_assert(run_counters_equal(&r->before, &r->runs[0].n));
    ck_assert_int_eq(run_matched(&r->before), matched);
    store_batch_free(&b);
}
