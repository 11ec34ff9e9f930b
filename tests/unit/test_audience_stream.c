/* The eligible stream and the count that reads it to its end. */
#include <string.h>

#include "base/bsonx.h"
#include "audience/count.h"
#include "audience/eligible.h"
#include "audience/segment.h"
#include "model/subscription.h"
#include "store/runs.h"
#include "store/sends.h"
#include "support/model_world.h"
#include "support/suite.h"

#define SUBSCRIBED "{'kind':'subscriptionStatus','equals':'subscribed'}"

static struct model_world w;

static struct segment *
parse(const char *filters)
{
    struct json *j = model_world_json(&w, arena_printf(w.a, "{'filters':[%s]}", filters));
    struct segment *s = segment_parse(j, NULL, &w.err);

    json_free(&j);
    ck_assert_msg(s != NULL, "%s", w.err.text);
    return s;
}

static struct contact
person(const char *name, const char *email, bool is_subscribed)
{
    struct contact c =
        model_world_contact(&w, arena_printf(w.a,
                                    "{'externalId':'%s','email':'%s','fields':{'name':'%s'},"
                                    "'timezone':'Europe/Berlin'}",
                                    name, email, name));

    if (is_subscribed)
        model_world_subscribe(&w, &c);
    return c;
}

/* Blank the address, as an erasure does. */
static void
blank(const struct contact *c)
{
    struct store_batch *b = store_batch_create(w.st, STORE_URGENT);
    bson_t filter = BSON_INITIALIZER, update = BSON_INITIALIZER, set;

    bsonx_add_i64(&filter, "_id", (int64_t)c->id);
    bson_append_document_begin(&update, "$set", -1, &set);
    bsonx_add_str(&set, "email", SLICE_LIT(""));
    bson_append_document_end(&update, &set);
    store_update(b, CONTACTS_COLL, STORE_INDEXED, &filter, &update, 0);
    model_world_run(&b);
    bson_destroy(&update);
    bson_destroy(&filter);
}

/* One of each verdict, and the contact that would have two: its first one counts. */
static struct contact
populate(void)
{
    struct contact eligible, c;

    eligible = person("ana", "ana@example.org", true);
    person("none", "none@example.org", false);
    person("twin", "ANA@example.org", true);
    c = person("blank", "blank@example.org", true);
    blank(&c);
    person("left", "left@example.org", true);
    model_world_opt_out(&w, SLICE_LIT("left@example.org"), SUPPRESSION_UNSUBSCRIBED);
    person("dead", "dead@example.org", true);
    model_world_opt_out(&w, SLICE_LIT("dead@example.org"), SUPPRESSION_HARD_BOUNCE);
    person("angry", "angry@example.org", true);
    model_world_opt_out(&w, SLICE_LIT("angry@example.org"), SUPPRESSION_COMPLAINT);
    return eligible;
}

START_TEST(gives_one_verdict_each)
{
    static const int expected[] = {-1, EXCL_NO_CONSENT, EXCL_DUPLICATE_ADDRESS,
        EXCL_INVALID_ADDRESS, EXCL_SUPPRESSED_UNSUBSCRIBED, EXCL_SUPPRESSED_HARD_BOUNCE,
        EXCL_SUPPRESSED_COMPLAINT};
    struct eligible_query q = {.kind = MAIL_MARKETING, .now_ms = MODEL_NOW};
    struct eligible_page page;
    struct contact ana;
    struct segment *s;

    model_world_open(&w);
    ana = populate();
    q.segment = s = parse(SUBSCRIBED);
    ck_assert_int_eq(eligible_read_page(w.st, &q, SLICE_NONE, w.a, &page, &w.err), 0);
    ck_assert(page.is_last);
    ck_assert_uint_eq(page.n, 7);
    for (size_t i = 0; i < 7; i++)
        ck_assert_msg(page.contacts[i].verdict == expected[i], "contact %zu: %d", i,
            page.contacts[i].verdict);
    ck_assert_uint_eq(page.contacts[0].contact, ana.id);
    ck_assert(slice_eq_str(page.contacts[0].address, "ana@example.org"));
    ck_assert(page.contacts[0].address_hash == ana.email_hash);
    ck_assert(slice_eq_str(page.contacts[0].timezone, "Europe/Berlin"));

    /* Opt-outs from marketing do not stop a mail that somebody waits for. */
    segment_free(&s);
    q.segment = s = parse("");
    q.kind = MAIL_TRANSACTIONAL;
    ck_assert_int_eq(eligible_read_page(w.st, &q, SLICE_NONE, w.a, &page, &w.err), 0);
    for (size_t i = 0; i < 7; i++)
        ck_assert_int_eq(page.contacts[i].verdict, i == 2   ? (int)EXCL_DUPLICATE_ADDRESS
                                                   : i == 3 ? (int)EXCL_INVALID_ADDRESS
                                                            : -1);
    segment_free(&s);
    model_world_close(&w);
}
END_TEST

/* Read with pages of every size: the same contacts in the same order. */
START_TEST(pages_lead_to_the_same_end)
{
    struct eligible_query q = {.kind = MAIL_MARKETING, .now_ms = MODEL_NOW};
    struct segment *s;

    model_world_open(&w);
    for (int i = 0; i < 12; i++)
        person(arena_printf(w.a, "p%d", i), arena_printf(w.a, "p%d@example.org", i), i % 3 != 0);
    q.segment = s = parse(SUBSCRIBED);
    for (unsigned limit = 1; limit <= 13; limit++) {
        struct slice cursor = SLICE_NONE;
        struct eligible_page page = {.is_last = false};
        uint64_t last = 0;
        size_t n = 0, eligible = 0;

        q.limit = limit;
        while (!page.is_last) {
            ck_assert_int_eq(eligible_read_page(w.st, &q, cursor, w.a, &page, &w.err), 0);
            for (size_t i = 0; i < page.n; i++) {
                ck_assert_uint_gt(page.contacts[i].contact, last);
                last = page.contacts[i].contact;
                eligible += page.contacts[i].verdict < 0;
            }
            n += page.n;
            cursor = page.cursor;
        }
        ck_assert_uint_eq(n, 12);
        ck_assert_uint_eq(eligible, 8);
    }
    q.limit = 501;
    ck_assert_int_eq(
        eligible_read_page(w.st, &q, SLICE_NONE, w.a, &(struct eligible_page){0}, &w.err), -1);
    segment_free(&s);
    model_world_close(&w);
}
END_TEST

START_TEST(refuses_foreign_cursors)
{
    static const struct slice bad[] = {{"c", 1}, {"x12345678", 9}, {"c12345678x", 10},
        {"c\0\0\0\0\0\0\0\0", 9}, {"c\xff\xff\xff\xff\xff\xff\xff\xff", 9}};
    struct eligible_query q = {.kind = MAIL_MARKETING, .now_ms = MODEL_NOW};
    struct eligible_page page;
    char cursor[ELIGIBLE_CURSOR_MAX];
    uint64_t id;
    struct segment *s;

    model_world_open(&w);
    q.segment = s = segment_default();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(eligible_read_page(w.st, &q, bad[i], w.a, &page, &w.err), -1);
        ck_assert_str_eq(w.err.sub, "bad_cursor");
    }
    ck_assert(eligible_cursor_parse(
        slice_make(cursor, eligible_cursor_make(UINT64_C(0x0123456789abcdef), cursor)), &id));
    ck_assert_uint_eq(id, UINT64_C(0x0123456789abcdef));
    segment_free(&s);
    model_world_close(&w);
}
END_TEST

/* Mixed trees are evaluated on the page, with statuses and whole documents. */
START_TEST(evaluates_mixed_trees_on_the_page)
{
    struct eligible_query q = {.kind = MAIL_TRANSACTIONAL, .now_ms = MODEL_NOW};
    struct eligible_page page;
    struct segment *s;

    model_world_open(&w);
    populate();
    q.segment = s = parse("{'kind':'any','filters':[{'kind':'fieldEquals','field':'name',"
                          "'value':'none'},{'kind':'subscriptionStatus','equals':'complained'}]}");
    ck_assert_int_eq(eligible_read_page(w.st, &q, SLICE_NONE, w.a, &page, &w.err), 0);
    ck_assert_uint_eq(page.n_read, 7);
    ck_assert_uint_eq(page.n, 2);
    ck_assert(slice_eq_str(page.contacts[0].address, "none@example.org"));
    ck_assert(slice_eq_str(page.contacts[1].address, "angry@example.org"));
    segment_free(&s);
    model_world_close(&w);
}
END_TEST

/* ---- counting -------------------------------------------------------------------------------- */

static struct count_result
count(struct segment *s, uint64_t broadcast, struct slice cursor, unsigned limit)
{
    struct count_query q = {
        .stream = {.segment = s, .kind = MAIL_MARKETING, .now_ms = MODEL_NOW, .limit = limit},
        .cursor = cursor,
        .broadcast = broadcast,
        .spill_dir = suite_path(".")};
    struct count_progress progress = {0};
    struct count_result r;
    uint64_t sum;

    ck_assert_msg(count_run(w.st, &q, &progress, &r, &w.err) == 0, "%s", w.err.text);
    sum = r.eligible + r.already_sent;
    for (int i = 0; i < EXCL_REASONS; i++)
        sum += r.excluded[i];
    ck_assert_uint_eq(sum, r.matched);
    ck_assert_uint_eq(progress.read, r.database_matched);
    return r;
}

START_TEST(counts_every_heading)
{
    struct count_result r;
    struct segment *s;

    model_world_open(&w);
    populate();
    s = parse(SUBSCRIBED);
    /* Whatever the page size, twins on different pages included. */
    for (unsigned limit = 1; limit <= 8; limit++) {
        r = count(s, 0, SLICE_NONE, limit);
        ck_assert_uint_eq(r.matched, 7);
        ck_assert_uint_eq(r.eligible, 1);
        ck_assert_uint_eq(r.excluded[EXCL_DUPLICATE_ADDRESS], 1);
        ck_assert_uint_eq(r.excluded[EXCL_NO_CONSENT], 1);
        ck_assert_uint_eq(r.excluded[EXCL_INVALID_ADDRESS], 1);
        ck_assert_uint_eq(r.excluded[EXCL_SUPPRESSED_COMPLAINT], 1);
    }
    segment_free(&s);
    model_world_close(&w);
}
END_TEST

/* Plan rows for these contacts, as a dispatcher would. */
static void
plan_rows(uint64_t broadcast, const struct contact *const *contacts, size_t n)
{
    struct sends_plan_row rows[8];
    struct store_batch *b = store_batch_create(w.st, STORE_BULK);

    runs_create(
        b, &(struct run_record){
               .broadcast = broadcast, .state = RUN_SENDING, .fence = 1, .growth_limit = -1});
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct sends_plan_row){.id = broadcast + 1 + i,
            .contact = contacts[i]->id,
            .address = contacts[i]->email,
            .address_hash = contacts[i]->email_hash,
            .due_at_ms = MODEL_NOW};
    sends_plan(b, &(struct sends_plan){.broadcast = broadcast,
                      .fence = 1,
                      .page = 1,
                      .now_ms = MODEL_NOW,
                      .rows = rows,
                      .n_rows = n,
                      .cursor_after = SLICE_LIT("c12345678")});
    model_world_run(&b);
}

START_TEST(leaves_out_who_has_a_row)
{
    struct contact a, b, twin, late;
    struct count_result r;
    struct segment *s;
    char cursor[ELIGIBLE_CURSOR_MAX];

    model_world_open(&w);
    a = person("a", "a@example.org", true);
    b = person("b", "b@example.org", true);
    twin = person("twin", "A@example.org", true);
    late = person("late", "late@example.org", true);
    ck_assert(twin.email_hash == a.email_hash);
    plan_rows(500, (const struct contact *const[]){&a, &b}, 2);
    s = parse(SUBSCRIBED);
    r = count(s, 500, SLICE_NONE, 0);
    ck_assert_uint_eq(r.rows, 2);
    ck_assert_uint_eq(r.already_sent, 2);
    ck_assert_uint_eq(r.eligible, 1);
    /* A row holds the twin's address. */
    ck_assert_uint_eq(r.excluded[EXCL_DUPLICATE_ADDRESS], 1);
    /* Another broadcast knows nothing of it. */
    r = count(s, 501, SLICE_NONE, 0);
    ck_assert_uint_eq(r.eligible, 3);
    ck_assert_uint_eq(r.already_sent, 0);
    /* From a cursor on. */
    r = count(s, 500, slice_make(cursor, eligible_cursor_make(twin.id, cursor)), 0);
    ck_assert_uint_eq(r.matched, 1);
    ck_assert_uint_eq(r.eligible, 1);
    ck_assert_uint_gt(late.id, twin.id);
    segment_free(&s);
    model_world_close(&w);
}
END_TEST

START_TEST(stops_when_cancelled)
{
    struct count_query q = {
        .stream = {.kind = MAIL_MARKETING, .now_ms = MODEL_NOW}, .spill_dir = suite_path(".")};
    struct count_progress progress = {0};
    struct count_result r;
    struct segment *s;

    model_world_open(&w);
    populate();
    q.stream.segment = s = segment_default();
    atomic_store(&progress.cancel, true);
    ck_assert_int_eq(count_run(w.st, &q, &progress, &r, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "cancelled");
    segment_free(&s);
    model_world_close(&w);
}
END_TEST

SUITE_MAIN("audience_stream", gives_one_verdict_each, pages_lead_to_the_same_end,
    refuses_foreign_cursors, evaluates_mixed_trees_on_the_page, counts_every_heading,
    leaves_out_who_has_a_row, stops_when_cancelled)
