#include <bson/bson.h>
#include <string.h>

#include "base/bsonx.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "feedback/engagement.h"
#include "loop/loop.h"
#include "store/store.h"
#include "support/public_world.h"
#include "support/suite.h"

/* Opens and clicks from the request to the raw rows and their verdicts. */

#define PHONE "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Safari/604.1"

struct counts {
    unsigned rows, human, proxy, scanner, unknown, clicks, events;
};

static struct counts
count_rows(struct public_world *w, uint64_t send)
{
    struct store_batch *b = store_batch_create(w->engine.store, STORE_URGENT);
    bson_t filter = BSON_INITIALIZER;
    struct counts c = {0};
    struct err err = {0};
    unsigned op;

    bsonx_add_i64(&filter, "send", (int64_t)send);
    op = store_find(b, ENGAGEMENTS_COLL, STORE_INDEXED, &filter, NULL);
    ck_assert_int_eq(store_run(b, &err), 0);
    for (size_t i = 0; i < store_batch_result(b, op)->n_docs; i++) {
        const bson_t *doc = &store_batch_result(b, op)->docs[i];
        struct slice verdict = bsonx_str(doc, "verdict");

        c.rows++;
        c.events += (unsigned)bsonx_i64(doc, "count", 0);
        c.human += slice_eq_str(verdict, "human");
        c.proxy += slice_eq_str(verdict, "proxy");
        c.scanner += slice_eq_str(verdict, "scanner");
        c.unknown += slice_eq_str(verdict, "unknown");
        c.clicks += slice_eq_str(bsonx_str(doc, "kind"), "click");
    }
    store_batch_free(&b);
    bson_destroy(&filter);
    return c;
}

static void
record(struct public_world *w, enum engagement_kind kind, const struct token_send *ref,
    uint32_t ordinal, int64_t at_ms, const char *agent)
{
    engagement_record(w->engagements, &(struct engagement){.kind = kind,
                                          .ref = *ref,
                                          .ordinal = ordinal,
                                          .at_ms = at_ms,
                                          .user_agent = slice_str(agent)});
}

/* Stored in several groups, so that earlier verdicts have to be put right by later events. */
START_TEST(machines_and_a_person)
{
    struct public_world w;
    struct token_send ref;
    struct counts c;
    struct run_record before, after;
    int64_t sent;

    public_world_open(&w, "machines");
    ref = public_world_row(&w, public_world_send(&w, 1), 0);
    before = engine_run(&w.engine, "spring");
    sent = clock_now_ms();
    record(&w, ENGAGEMENT_OPEN, &ref, 0, sent + 3000, "via ggpht.com GoogleImageProxy");
    for (uint32_t i = 0; i < 6; i++) {
        record(&w, ENGAGEMENT_CLICK, &ref, i, sent + 14000 + 150 * i, PHONE);
        if (i % 2 == 1)
            public_world_rest(&w);
        if (i == 1)
            ck_assert_uint_eq(count_rows(&w, ref.send).human, 2);
    }
    record(&w, ENGAGEMENT_OPEN, &ref, 0, sent + 5000, "Mozilla/5.0");
    record(&w, ENGAGEMENT_CLICK, &ref, 2, sent + 40 * 60000, PHONE);
    public_world_rest(&w);
    c = count_rows(&w, ref.send);
    ck_assert_uint_eq(c.rows, 9);
    ck_assert_uint_eq(c.proxy, 1);
    ck_assert_uint_eq(c.scanner, 6);
    ck_assert_uint_eq(c.unknown, 1);
    ck_assert_uint_eq(c.human, 1);
    after = engine_run(&w.engine, "spring");
    ck_assert_int_eq(after.state, before.state);
    ck_assert_int_eq(after.n.unsubscribed, 0);
    ck_assert_int_eq(after.n.opened, 1);
    ck_assert_int_eq(after.n.clicked, 1);
    ck_assert_uint_eq(public_world_suppressions(&w, "user0@r0.example.org"), 0);
    public_world_close(&w);
}
END_TEST

START_TEST(repeats_are_one)
{
    struct public_world w;
    struct token_send ref;
    struct counts c;
    int64_t second;

    public_world_open(&w, "repeats");
    ref = public_world_row(&w, public_world_send(&w, 1), 0);
    second = (clock_now_ms() / 1000 + 60) * 1000;
    for (int i = 0; i < 50; i++)
        record(&w, ENGAGEMENT_OPEN, &ref, 0, second + 10 * i, PHONE);
    record(&w, ENGAGEMENT_OPEN, &ref, 0, second + 1000, PHONE);     /* another second */
    record(&w, ENGAGEMENT_OPEN, &ref, 0, second + 20, "Other/1.0"); /* another agent */
    record(&w, ENGAGEMENT_CLICK, &ref, 0, second + 20, PHONE);      /* another kind */
    public_world_rest(&w);
    c = count_rows(&w, ref.send);
    ck_assert_uint_eq(c.rows, 4);
    ck_assert_uint_eq(c.events, 53);
    ck_assert_uint_eq(c.clicks, 1);
    public_world_close(&w);
}
END_TEST

START_TEST(head_counts_nothing)
{
    struct public_world w;
    struct token_send ref;

    public_world_open(&w, "head");
    ref = public_world_row(&w, public_world_send(&w, 1), 0);
    ck_assert_uint_eq(
        public_world_status(&w, "HEAD", public_world_open_path(&w, &ref), PHONE), 200);
    ck_assert_uint_eq(
        public_world_status(&w, "HEAD", public_world_click_path(&w, &ref, 0, NULL), PHONE), 302);
    public_world_rest(&w);
    ck_assert_uint_eq(count_rows(&w, ref.send).rows, 0);
    ck_assert_uint_eq(public_world_status(&w, "GET", public_world_open_path(&w, &ref), PHONE), 200);
    public_world_rest(&w);
    ck_assert_uint_eq(count_rows(&w, ref.send).rows, 1);
    public_world_close(&w);
}
END_TEST

START_TEST(unknown_mails_and_floods)
{
    struct public_world w;
    struct token_send ref, nobody;
    int64_t start = clock_now_ms() + 60000;

    public_world_open(&w, "floods");
    ref = public_world_row(&w, public_world_send(&w, 1), 0);
    nobody = (struct token_send){.broadcast = ref.broadcast, .send = ref.send + 1000};
    record(&w, ENGAGEMENT_OPEN, &nobody, 0, start, PHONE);
    for (int i = 0; i < ENGAGEMENT_ROWS_OF_SEND + 150; i++)
        record(&w, ENGAGEMENT_OPEN, &ref, 0, start + 1000 * i, PHONE);
    public_world_rest(&w);
    ck_assert_uint_eq(count_rows(&w, nobody.send).rows, 0);
    ck_assert_uint_eq(count_rows(&w, ref.send).rows, ENGAGEMENT_ROWS_OF_SEND);
    public_world_close(&w);
}
END_TEST

START_TEST(full_queue_sheds)
{
    struct public_world w;
    struct token_send ref;
    struct engagements *q;
    struct metric *shed = metric_counter("mailshot_engagements_shed_total",
        "Opens and clicks dropped since the queue was full.", NULL);
    int64_t before = metric_value(shed);

    public_world_open(&w, "sheds");
    ref = public_world_row(&w, public_world_send(&w, 1), 0);
    q = engagements_create(&(struct engagements_args){
        .loop = w.engine.loop, .store = w.engine.store, .runs = w.engine.runs, .queue_limit = 10});
    for (uint32_t i = 0; i < 25; i++)
        engagement_record(q, &(struct engagement){.kind = ENGAGEMENT_CLICK,
                                 .ref = ref,
                                 .ordinal = i,
                                 .at_ms = clock_now_ms(),
                                 .user_agent = SLICE_LIT(PHONE)});
    ck_assert_int_eq(metric_value(shed) - before, 15);
    engagements_stop(q);
    while (engagements_busy(q) > 0)
        loop_turn(w.engine.loop, 10);
    engagements_free(&q);
    ck_assert_uint_eq(count_rows(&w, ref.send).rows, 10);
    public_world_close(&w);
}
END_TEST

/* Rules of another version have judged: the verdicts follow when asked. */
START_TEST(verdicts_are_made_anew)
{
    struct public_world w;
    struct token_send ref;
    struct store_batch *b;
    bson_t filter = BSON_INITIALIZER, update = BSON_INITIALIZER, set;
    struct err err = {0};
    uint64_t next = 0;
    int64_t n = 0;

    public_world_open(&w, "anew");
    ref = public_world_row(&w, public_world_send(&w, 1), 0);
    for (uint32_t i = 0; i < 4; i++)
        record(&w, ENGAGEMENT_CLICK, &ref, i, clock_now_ms() + 60000 * (i + 1), PHONE);
    public_world_rest(&w);
    ck_assert_uint_eq(count_rows(&w, ref.send).human, 4);
    bsonx_add_i64(&filter, "send", (int64_t)ref.send);
    bson_append_document_begin(&update, "$set", -1, &set);
    bsonx_add_str(&set, "verdict", SLICE_LIT("scanner"));
    bsonx_add_i64(&set, "rules", 0);
    bson_append_document_end(&update, &set);
    b = store_batch_create(w.engine.store, STORE_URGENT);
    store_update(b, ENGAGEMENTS_COLL, STORE_INDEXED, &filter, &update, STORE_MANY);
    ck_assert_int_eq(store_run(b, &err), 0);
    store_batch_free(&b);
    ck_assert_uint_eq(count_rows(&w, ref.send).scanner, 4);
    do {
        int64_t got = engagements_rejudge(w.engine.store, next, 2, &next, &err);

        ck_assert_msg(got >= 0, "%s", err.text);
        n += got;
    } while (next != 0);
    ck_assert_int_eq(n, 4);
    ck_assert_uint_eq(count_rows(&w, ref.send).human, 4);
    bson_destroy(&filter);
    bson_destroy(&update);
    public_world_close(&w);
}
END_TEST

SUITE_MAIN("engagement", machines_and_a_person, repeats_are_one, head_counts_nothing,
    unknown_mails_and_floods, full_queue_sheds, verdicts_are_made_anew)
