/* Subscriptions, suppressions, and the opt-out that writes both. */
#include <string.h>

#include "model/audit.h"
#include "model/opt_out.h"
#include "model/subscription.h"
#include "support/model_world.h"
#include "support/suite.h"

static struct model_world w;

static enum subscription_status
status_of(const struct contact *c)
{
    struct subscription s;

    if (subscription_get(w.st, c->id, w.a, &s, &w.err) != 0) {
        ck_assert_int_eq(w.err.code, ERR_NOTFOUND);
        return SUBSCRIPTION_NONE;
    }
    return s.status;
}

static int
subscribe(const struct contact *c, bool is_resubscribe)
{
    struct subscription s;

    return subscription_subscribe(w.st,
        &(struct subscription_change){.contact = c->id,
            .email_hash = c->email_hash,
            .source = SLICE_LIT("api"),
            .now_ms = MODEL_NOW,
            .is_resubscribe = is_resubscribe},
        w.a, &s, &w.err);
}

static void
lower(const struct contact *c, enum subscription_status to)
{
    struct store_batch *b = store_batch_create(w.st, STORE_URGENT);

    subscription_lower_ops(b, c->email_hash, to, SLICE_LIT("test"), MODEL_NOW);
    model_world_run(&b);
}

/* Every edge: from a state, by a call, to a state. */
START_TEST(moves_only_along_its_edges)
{
    enum { PLAIN = -1, AGAIN = -2 };
    static const struct {
        enum subscription_status from;
        int by; /* a status to lower to, or a subscribe call */
        enum subscription_status to;
    } edges[] = {
        {SUBSCRIPTION_NONE, PLAIN, SUBSCRIPTION_SUBSCRIBED},
        {SUBSCRIPTION_SUBSCRIBED, PLAIN, SUBSCRIPTION_SUBSCRIBED},
        {SUBSCRIPTION_UNSUBSCRIBED, PLAIN, SUBSCRIPTION_UNSUBSCRIBED},
        {SUBSCRIPTION_UNSUBSCRIBED, AGAIN, SUBSCRIPTION_SUBSCRIBED},
        {SUBSCRIPTION_BOUNCED, PLAIN, SUBSCRIPTION_BOUNCED},
        {SUBSCRIPTION_BOUNCED, AGAIN, SUBSCRIPTION_BOUNCED},
        {SUBSCRIPTION_COMPLAINED, AGAIN, SUBSCRIPTION_COMPLAINED},
        {SUBSCRIPTION_NONE, SUBSCRIPTION_UNSUBSCRIBED, SUBSCRIPTION_NONE},
        {SUBSCRIPTION_SUBSCRIBED, SUBSCRIPTION_UNSUBSCRIBED, SUBSCRIPTION_UNSUBSCRIBED},
        {SUBSCRIPTION_SUBSCRIBED, SUBSCRIPTION_BOUNCED, SUBSCRIPTION_BOUNCED},
        {SUBSCRIPTION_UNSUBSCRIBED, SUBSCRIPTION_BOUNCED, SUBSCRIPTION_BOUNCED},
        {SUBSCRIPTION_BOUNCED, SUBSCRIPTION_UNSUBSCRIBED, SUBSCRIPTION_BOUNCED},
        {SUBSCRIPTION_BOUNCED, SUBSCRIPTION_COMPLAINED, SUBSCRIPTION_COMPLAINED},
        {SUBSCRIPTION_COMPLAINED, SUBSCRIPTION_BOUNCED, SUBSCRIPTION_COMPLAINED},
        {SUBSCRIPTION_COMPLAINED, SUBSCRIPTION_UNSUBSCRIBED, SUBSCRIPTION_COMPLAINED},
    };

    model_world_open(&w);
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        struct contact c =
            model_world_contact(&w, arena_printf(w.a, "{'email':'e%zu@example.org'}", i));

        if (edges[i].from != SUBSCRIPTION_NONE)
            ck_assert_int_eq(subscribe(&c, false), 0);
        if (edges[i].from > SUBSCRIPTION_SUBSCRIBED)
            lower(&c, edges[i].from);
        ck_assert_int_eq(status_of(&c), edges[i].from);
        if (edges[i].by >= 0) {
            lower(&c, (enum subscription_status)edges[i].by);
        } else {
            int rc = subscribe(&c, edges[i].by == AGAIN);

            ck_assert_int_eq(rc, edges[i].to == SUBSCRIPTION_SUBSCRIBED ? 0 : -1);
            if (rc != 0)
                ck_assert_str_eq(w.err.sub, "opted_out");
        }
        ck_assert_msg(status_of(&c) == edges[i].to, "edge %zu", i);
    }
    model_world_close(&w);
}
END_TEST

START_TEST(looks_up_in_one_batch)
{
    uint64_t ids[3];
    enum subscription_status out[3];
    struct store_batch *b;
    unsigned op;

    model_world_open(&w);
    for (size_t i = 0; i < 3; i++) {
        struct contact c =
            model_world_contact(&w, arena_printf(w.a, "{'email':'e%zu@example.org'}", i));

        ids[i] = c.id;
        if (i != 1)
            ck_assert_int_eq(subscribe(&c, false), 0);
        if (i == 2)
            lower(&c, SUBSCRIPTION_BOUNCED);
    }
    b = store_batch_create(w.st, STORE_BULK);
    op = subscription_lookup_op(b, ids, 3);
    ck_assert_int_eq(store_run(b, &w.err), 0);
    subscription_lookup_result(b, op, ids, 3, out);
    store_batch_free(&b);
    ck_assert_int_eq(out[0], SUBSCRIPTION_SUBSCRIBED);
    ck_assert_int_eq(out[1], SUBSCRIPTION_NONE);
    ck_assert_int_eq(out[2], SUBSCRIPTION_BOUNCED);
    model_world_close(&w);
}
END_TEST

START_TEST(scopes_block_their_kind)
{
    static const struct {
        const char *scope;
        enum mail_kind kind;
        const char *category;
        bool is_valid, blocks;
    } cases[] = {
        {"all", MAIL_MARKETING, "", true, true},
        {"all", MAIL_TRANSACTIONAL, "", true, true},
        {"marketing", MAIL_MARKETING, "", true, true},
        {"marketing", MAIL_TRANSACTIONAL, "", true, false},
        {"transactional", MAIL_MARKETING, "", true, false},
        {"transactional", MAIL_TRANSACTIONAL, "", true, true},
        {"category:news", MAIL_MARKETING, "", true, false},
        {"category:news", MAIL_MARKETING, "news", true, true},
        {"category:news.weekly", MAIL_MARKETING, "news", true, false},
        {"category:news", MAIL_TRANSACTIONAL, "news", true, false},
        {"category:", MAIL_MARKETING, "", false, false},
        {"category:a..b", MAIL_MARKETING, "", false, false},
        {"category:A", MAIL_MARKETING, "", false, false},
        {"everything", MAIL_MARKETING, "", false, false},
        {"", MAIL_MARKETING, "", false, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(suppression_scope_valid(slice_str(cases[i].scope)), cases[i].is_valid);
        ck_assert_int_eq(suppression_scope_blocks(slice_str(cases[i].scope), cases[i].kind,
                             slice_str(cases[i].category)),
            cases[i].blocks);
    }
}
END_TEST

static struct suppression_address
address(const char *key)
{
    struct suppression_address a;

    suppression_address_of(w.keys, slice_str(key), &a);
    return a;
}

static void
suppress(const char *key, const char *scope, enum suppression_reason reason, int64_t expires_ms)
{
    struct suppression_address a = address(key);
    struct store_batch *b = store_batch_create(w.st, STORE_URGENT);

    suppression_add_ops(b, &(struct suppression_add){.address = &a,
                               .scope = slice_str(scope),
                               .reason = reason,
                               .source = SLICE_LIT("test"),
                               .now_ms = MODEL_NOW,
                               .expires_at_ms = expires_ms});
    model_world_run(&b);
}

static int
verdict(const char *key, enum mail_kind kind, int64_t now_ms)
{
    const struct suppression_query q = {.kind = kind, .now_ms = now_ms};
    int64_t hashes[3];
    int8_t out[3];

    /* The address stands between others, twice. */
    hashes[0] = address(key).hash;
    hashes[1] = 0;
    hashes[2] = hashes[0];
    ck_assert_int_eq(suppression_lookup(w.st, &q, hashes, 3, out, &w.err), 0);
    ck_assert_int_eq(out[0], out[2]);
    ck_assert_int_eq(out[1], -1);
    return out[0];
}

START_TEST(rows_only_get_stronger)
{
    const struct suppression *rows;
    struct suppression_address a;
    size_t n;

    model_world_open(&w);
    a = address("ben@example.org");
    suppress("ben@example.org", "marketing", SUPPRESSION_MANUAL, MODEL_NOW + 100);
    suppress("ben@example.org", "marketing", SUPPRESSION_MANUAL, MODEL_NOW + 50);
    ck_assert_int_eq(
        verdict("ben@example.org", MAIL_MARKETING, MODEL_NOW + 99), SUPPRESSION_MANUAL);
    ck_assert_int_eq(verdict("ben@example.org", MAIL_MARKETING, MODEL_NOW + 100), -1);
    suppress("ben@example.org", "marketing", SUPPRESSION_MANUAL, MODEL_NOW + 200);
    ck_assert_int_eq(
        verdict("ben@example.org", MAIL_MARKETING, MODEL_NOW + 199), SUPPRESSION_MANUAL);
    suppress("ben@example.org", "marketing", SUPPRESSION_MANUAL, 0);
    ck_assert_int_eq(verdict("ben@example.org", MAIL_MARKETING, INT64_MAX), SUPPRESSION_MANUAL);
    /* A temporary one never shortens a permanent one. */
    suppress("ben@example.org", "marketing", SUPPRESSION_MANUAL, MODEL_NOW + 10);
    ck_assert_int_eq(verdict("ben@example.org", MAIL_MARKETING, INT64_MAX), SUPPRESSION_MANUAL);
    ck_assert_int_eq(suppression_list_address(w.st, a.hash, w.a, &rows, &n, &w.err), 0);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(rows[0].added_at_ms, MODEL_NOW);
    ck_assert(slice_eq_str(rows[0].email, "ben@example.org"));
    ck_assert(slice_eq_str(rows[0].email_mac, a.mac_hex));
    model_world_close(&w);
}
END_TEST

/* One row per reason: lifting the opt-out leaves the bounce, and the weightier reason is the verdict. */
START_TEST(reasons_stand_apart)
{
    struct store_batch *b;
    struct suppression_address a;
    unsigned op;

    model_world_open(&w);
    a = address("cy@example.org");
    ck_assert_int_eq(verdict("cy@example.org", MAIL_MARKETING, MODEL_NOW), -1);
    suppress("cy@example.org", "all", SUPPRESSION_UNSUBSCRIBED, 0);
    suppress("cy@example.org", "all", SUPPRESSION_HARD_BOUNCE, 0);
    suppress("cy@example.org", "transactional", SUPPRESSION_UNSUBSCRIBED, 0);
    ck_assert_int_eq(
        verdict("cy@example.org", MAIL_TRANSACTIONAL, MODEL_NOW), SUPPRESSION_HARD_BOUNCE);
    b = store_batch_create(w.st, STORE_URGENT);
    op = suppression_remove_optouts_op(b, a.hash, SLICE_LIT("marketing"));
    ck_assert_int_eq(store_run(b, &w.err), 0);
    ck_assert_uint_eq(store_batch_result(b, op)->changed, 1);
    store_batch_free(&b);
    ck_assert_int_eq(verdict("cy@example.org", MAIL_MARKETING, MODEL_NOW), SUPPRESSION_HARD_BOUNCE);
    b = store_batch_create(w.st, STORE_URGENT);
    op = suppression_remove_optouts_op(b, a.hash, SLICE_LIT("all"));
    ck_assert_int_eq(store_run(b, &w.err), 0);
    ck_assert_uint_eq(store_batch_result(b, op)->changed, 1);
    store_batch_free(&b);
    model_world_close(&w);
}
END_TEST

/* More rows than one find gives: the look-up pages on. */
START_TEST(looks_up_more_rows_than_a_page)
{
    const struct suppression_query q = {.kind = MAIL_MARKETING, .now_ms = MODEL_NOW};
    static int64_t hashes[400];
    static int8_t out[400];

    model_world_open(&w);
    for (size_t i = 0; i < 400; i++) {
        const char *key = arena_printf(w.a, "m%zu@example.org", i);
        struct suppression_address a = address(key);
        struct store_batch *b = store_batch_create(w.st, STORE_BULK);

        hashes[i] = a.hash;
        for (int r = 0; r < 3; r++)
            suppression_add_ops(b, &(struct suppression_add){.address = &a,
                                       .scope = SLICE_LIT("all"),
                                       .reason = (enum suppression_reason)r,
                                       .source = SLICE_LIT("test"),
                                       .now_ms = MODEL_NOW});
        model_world_run(&b);
    }
    ck_assert_int_eq(suppression_lookup(w.st, &q, hashes, 400, out, &w.err), 0);
    for (size_t i = 0; i < 400; i++)
        ck_assert_int_eq(out[i], SUPPRESSION_COMPLAINT);
    model_world_close(&w);
}
END_TEST

START_TEST(opt_out_does_all_of_it)
{
    static const struct {
        enum suppression_reason reason;
        enum subscription_status status;
    } cases[] = {
        {SUPPRESSION_UNSUBSCRIBED, SUBSCRIPTION_UNSUBSCRIBED},
        {SUPPRESSION_HARD_BOUNCE, SUBSCRIPTION_BOUNCED},
        {SUPPRESSION_COMPLAINT, SUBSCRIPTION_COMPLAINED},
        {SUPPRESSION_MANUAL, SUBSCRIPTION_UNSUBSCRIBED},
    };
    struct buf out = BUF_INIT;
    struct json_writer jw;
    struct json *j;

    model_world_open(&w);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *email = arena_printf(w.a, "o%zu@example.org", i);
        struct contact c = model_world_contact(&w, arena_printf(w.a, "{'email':'%s'}", email));
        uint64_t seq = store_suppression_seq(w.st);

        ck_assert_int_eq(subscribe(&c, false), 0);
        model_world_opt_out(&w, slice_str(email), cases[i].reason);
        model_world_opt_out(&w, slice_str(email), cases[i].reason);
        ck_assert_int_eq(status_of(&c), cases[i].status);
        ck_assert_int_eq(verdict(email, MAIL_MARKETING, MODEL_NOW), cases[i].reason);
        ck_assert_int_eq(verdict(email, MAIL_TRANSACTIONAL, MODEL_NOW), -1);
        ck_assert_uint_gt(store_suppression_seq(w.st), seq);
    }
    jw_init(&jw, &out);
    jw_arr(&jw, NULL);
    ck_assert_int_eq(audit_list(w.st, SLICE_NONE, SLICE_NONE, 0, 500, w.a, &jw, NULL, &w.err), 0);
    jw_end_arr(&jw);
    j = json_parse(buf_slice(&out), 0, 0, &w.err);
    ck_assert_uint_eq(json_count(j), 8);
    /* The audit names hashes, never addresses. */
    ck_assert_int_eq(slice_find(buf_slice(&out), SLICE_LIT("example.org")), -1);
    json_free(&j);
    buf_deinit(&out);
    model_world_close(&w);
}
END_TEST

START_TEST(journal_lines_come_back)
{
    struct opt_out o = {.scope = SLICE_LIT("category:news"),
        .reason = SUPPRESSION_COMPLAINT,
        .source = SLICE_LIT("one-click"),
        .notes = SLICE_LIT("a \"note\"\nwith lines"),
        .broadcast = SLICE_LIT("0ABCDEFGHJKMN"),
        .now_ms = MODEL_NOW,
        .expires_at_ms = MODEL_NOW + 7};
    struct opt_out got;
    struct buf line = BUF_INIT, scratch = BUF_INIT;

    model_world_open(&w);
    o.address = address("ana@example.org");
    opt_out_to_line(&o, &line);
    ck_assert_int_eq(line.p[line.n - 1], '\n');
    ck_assert_int_eq(slice_find_char(buf_slice(&line), '\n'), (ptrdiff_t)line.n - 1);
    ck_assert(opt_out_from_line(buf_slice(&line), &scratch, &got));
    ck_assert(got.address.hash == o.address.hash);
    ck_assert_str_eq(got.address.mac_hex, o.address.mac_hex);
    ck_assert(slice_eq(got.address.key, o.address.key) && slice_eq(got.scope, o.scope));
    ck_assert(slice_eq(got.notes, o.notes) && slice_eq(got.broadcast, o.broadcast));
    ck_assert_int_eq(got.reason, o.reason);
    ck_assert(got.now_ms == o.now_ms && got.expires_at_ms == o.expires_at_ms);
    /* Cut short anywhere it is no line, and nothing is read past it. */
    for (size_t n = 0; n < line.n - 2; n++) {
        buf_clear(&scratch);
        ck_assert(!opt_out_from_line(slice_make(line.p, n), &scratch, &got));
    }
    buf_deinit(&line);
    buf_deinit(&scratch);
    model_world_close(&w);
}
END_TEST

SUITE_MAIN("model_consent", moves_only_along_its_edges, looks_up_in_one_batch,
    scopes_block_their_kind, rows_only_get_stronger, reasons_stand_apart,
    looks_up_more_rows_than_a_page, opt_out_does_all_of_it, journal_lines_come_back)
