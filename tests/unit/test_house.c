/*
 * What keeps the house in order: the watch over silence, the watch over the disk, and the purge of
 * working data; with the real store and a clock that is moved.
 */
#include <stdio.h>
#include <string.h>

#include <bson/bson.h>

#include "base/bsonx.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "control/gates.h"
#include "control/run_control.h"
#include "control/run_table.h"
#include "daemon/silence.h"
#include "loop/loop.h"
#include "model/retention.h"
#include "store/runs.h"
#include "store/sqlite/sqlite_store.h"
#include "store/store.h"
#include "support/suite.h"
#include "tick/disk_watch.h"

#define T0      INT64_C(1700000000000)
#define HOUR_MS INT64_C(3600000)
#define DAY_MS  (24 * HOUR_MS)

static struct loop *loop;
static struct store *st;

static void
setup(void)
{
    struct store_open_args args = {.create = true, .fingerprint = "test"};
    struct err err = {0};

    clock_set_fake(T0);
    loop = loop_create();
    st = store_open(sqlite_store_driver(), &args, loop, &err);
    ck_assert_msg(st != NULL, "%s", err.text);
}

static void
teardown(void)
{
    store_close(&st);
    loop_free(&loop);
    clock_set_fake(0);
}

/* ---- silence ----------------------------------------------------------------------------------- */

static void
create_sending(struct run_table *runs, uint64_t broadcast, int64_t max_lateness_ms)
{
    struct run_record r = {.broadcast = broadcast,
        .state = RUN_DRAFT,
        .growth_limit = -1,
        .max_lateness_ms = max_lateness_ms};
    struct run_change c = {.broadcast = broadcast,
        .if_states = 1u << RUN_DRAFT,
        .set = RUN_SET_STATE | RUN_SET_SCHEDULE};
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    struct err err = {0};
    unsigned op;

    runs_create(b, &r);
    c.to = r;
    c.to.state = RUN_SCHEDULED;
    runs_change(b, &c);
    op = run_start_op(b, broadcast, clock_now_ms());
    ck_assert_msg(store_run(b, &err) == 0, "%s", err.text);
    run_table_update(runs, runs_result(b, op)->runs, 1);
    store_batch_free(&b);
}

/* Turn until what was submitted has come home: a read behind it goes through the same writer. */
static void
settle(void)
{
    for (int i = 0; i < 20; i++) {
        struct store_batch *b = store_batch_create(st, STORE_URGENT);

        runs_list(b, 1u << RUN_DRAFT, 0, 1);
        ck_assert_int_eq(store_run(b, NULL), 0);
        store_batch_free(&b);
        loop_turn(loop, 0);
    }
}

START_TEST(test_silence_parks_what_does_not_tolerate_it)
{
    struct run_table *runs;
    struct silence *s;

    setup();
    runs = run_table_create(loop);
    create_sending(runs, 1, HOUR_MS);
    create_sending(runs, 2, 3 * HOUR_MS);
    create_sending(runs, 3, 0); /* the default of the house, here ten hours */
    s = silence_create(loop, st, runs, 10 * HOUR_MS);

    for (int i = 0; i < 10; i++) { /* an ordinary life */
        clock_step(1000);
        settle();
        ck_assert(silence_may_commit(s));
    }
    ck_assert_int_eq(run_table_get(runs, 1)->state, RUN_SENDING);

    clock_step(2 * HOUR_MS);
    ck_assert(!silence_may_commit(s)); /* until the watch has looked */
    settle();
    ck_assert(silence_may_commit(s));
    ck_assert_int_eq(run_table_get(runs, 1)->state, RUN_PAUSED);
    ck_assert_uint_eq(run_table_get(runs, 1)->reasons, 1u << PAUSE_MISSED_START);
    ck_assert_int_eq(run_table_get(runs, 2)->state, RUN_SENDING);
    ck_assert_int_eq(run_table_get(runs, 3)->state, RUN_SENDING);

    silence_free(&s);
    run_table_free(&runs);
    teardown();
}
END_TEST

/* ---- disk -------------------------------------------------------------------------------------- */

static void
note_change(bool is_full, void *arg)
{
    *(int *)arg += is_full ? 1 : 100;
}

static struct disk_watch *
watch(struct gates *g, int64_t min_free_bytes, int *changes)
{
    struct disk_watch_args args = {.loop = loop,
        .store = st,
        .gates = g,
        .path = getenv("MAILSHOT_TEST_DIR"),
        .min_free_bytes = min_free_bytes,
        .changed = note_change,
        .arg = changes};

    return disk_watch_create(&args);
}

START_TEST(test_disk_watch_shuts_the_gate_below_the_limit)
{
    struct gates *g = gates_create();
    struct disk_watch *w;
    int changes = 0;

    setup();
    w = watch(g, 0, &changes);
    ck_assert_uint_eq(gates_closed(g, GATE_SCOPE_ALL), 0);
    ck_assert_int_eq(changes, 0);
    disk_watch_free(&w);

    w = watch(g, INT64_MAX / 2, &changes); /* more than any disk has */
    ck_assert_uint_eq(gates_closed(g, 7), 1u << GATE_DISK);
    ck_assert_str_ne(gates_why(g, 7, GATE_DISK), "");
    clock_step(5000);
    loop_turn(loop, 0);
    ck_assert_int_eq(changes, 1); /* said once */
    disk_watch_free(&w);
    gates_free(&g);
    teardown();
}
END_TEST

/* ---- retention --------------------------------------------------------------------------------- */

static void
insert(const char *coll, const char *field, int64_t at_ms, unsigned n)
{
    struct store_batch *b = store_batch_create(st, STORE_BULK);
    struct err err = {0};

    for (unsigned i = 0; i < n; i++) {
        bson_t doc = BSON_INITIALIZER;
        const bson_t *docs[1] = {&doc};
        char key[ID_TEXT_SIZE];
        uint64_t id = id_next();

        bsonx_add_i64(&doc, "_id", (int64_t)id);
        bsonx_add_str(&doc, "key", slice_str(id_text(id, key)));
        bsonx_add_time(&doc, field, at_ms);
        store_insert(b, coll, docs, 1);
        bson_destroy(&doc);
    }
    ck_assert_msg(store_run(b, &err) == 0, "%s", err.text);
    store_batch_free(&b);
}

static uint64_t
count(const char *coll)
{
    struct store_batch *b = store_batch_create(st, STORE_BULK);
    bson_t all = BSON_INITIALIZER;
    unsigned op = store_count(b, coll, STORE_SCAN, &all);
    uint64_t n;

    ck_assert_int_eq(store_run(b, NULL), 0);
    n = store_batch_result(b, op)->count;
    store_batch_free(&b);
    bson_destroy(&all);
    return n;
}

START_TEST(test_purge_takes_what_is_old_in_bounded_steps)
{
    uint64_t deleted = 0;
    unsigned steps = 0;
    bool more = true;
    struct err err = {0};

    setup();
    insert("counts", "expiresAt", T0 - 1, 450);
    insert("counts", "expiresAt", T0 + HOUR_MS, 3);
    insert("send_keys", "createdAt", T0 - 31 * DAY_MS, 10);
    insert("send_keys", "createdAt", T0 - 29 * DAY_MS, 4);
    insert("idempotency", "expiresAt", T0 - 1, 5);
    insert("idempotency", "expiresAt", T0 + 1, 6);
    while (more) {
        ck_assert_msg(retention_purge(st, T0, &deleted, &more, &err) == 0, "%s", err.text);
        steps++;
    }
    ck_assert_uint_eq(steps, 3); /* 200, 200, 50 of the largest */
    ck_assert_uint_eq(count("counts"), 3);
    ck_assert_uint_eq(count("send_keys"), 4);
    ck_assert_uint_eq(count("idempotency"), 6);
    teardown();
}
END_TEST

SUITE_MAIN("house", test_silence_parks_what_does_not_tolerate_it,
    test_disk_watch_shuts_the_gate_below_the_limit, test_purge_takes_what_is_old_in_bounded_steps)
