/*
 * How SQLite runs the statements of the typed records: every operation is run once, then the plan of
 * each statement that was prepared is read. No statement on a hot path may walk a table or sort.
 */
#include <string.h>

#include "contract/world.h"
#include "store/instances.h"
#include "store/sqlite/core.h"
#include "store/sqlite/sqlite_store.h"
#include "support/suite.h"

/** Plans that are allowed although they scan or sort, each with its bound. */
static const struct {
    const char *sql, *detail;
} allowed[] = {
    /* All rows under way: as many as there are sessions. */
    {"SELECT id, broadcast FROM sends WHERE state = 1 AND owner <>", "SCAN sends USING INDEX "
                                                                     "sends_sending"},
    {"INDEXED BY sends_sending", "SCAN sends USING INDEX sends_sending"},
    {"INDEXED BY sends_sending", "USE TEMP B-TREE FOR ORDER BY"},
    /* Chosen only for few waiting rows. */
    {"INDEXED BY sends_due", "USE TEMP B-TREE FOR ORDER BY"},
    /* One record per folder that ever held this database. */
    {"FROM instances ORDER BY number, fingerprint", "SCAN instances"},
    {"FROM instances ORDER BY number, fingerprint", "USE TEMP B-TREE FOR ORDER BY"},
    {"UPDATE instances", "SCAN instances"},
    {"DELETE FROM instances", "SCAN instances"},
};

static bool
is_allowed(const char *sql, const char *detail)
{
    if (strstr(detail, "SCAN") == NULL && strstr(detail, "TEMP B-TREE") == NULL)
        return true;
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        if (strstr(sql, allowed[i].sql) != NULL && strcmp(detail, allowed[i].detail) == 0)
            return true;
    }
    return false;
}

static bool
is_typed(const char *sql)
{
    static const char *const tables[] = {
        "sends", "runs", "exclusions", "send_details", "instances"};

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strstr(sql, tables[i]) != NULL && strncmp(sql, "CREATE", 6) != 0)
            return true;
    }
    return false;
}

/** Run every operation once, so that its statements are prepared. */
static void
touch_everything(struct world *w)
{
    struct sends_plan_exclusion excluded = {900, EXCL_NO_CONSENT};
    struct instance_record instance = {.incarnation = 1, .fingerprint = "f"};
    struct send_row oneoff = {
        .id = 5, .contact = 1, .address = SLICE_LIT("a@example.net"), .profile = 3};
    struct sends_recover recover = {.now_ms = WORLD_T0};
    struct sends_requeue requeue = {.broadcast = WORLD_RUN, .from = SEND_UNKNOWN};
    struct sends_plan_row same;
    struct store_batch *b;

    world_plan_range(w, 1, 40);
    same = world_plan_row(w, 3);
    same.contact = 41;
    same.id = 41;
    world_plan(w, &same, 1, &excluded, 1);
    world_claim(w, 1);
    world_settle(w, 1, SEND_BOUNCED);
    world_claim(w, 1);
    world_claim(w, 2);
    world_settle(w, 2, SEND_SENT);
    world_fact(w, 2, FACT_OPENED);
    world_set_run(w, RUN_PAUSED, 1u << PAUSE_CAP_REACHED);
    world_check_ledger(w, 42);
    b = store_batch_create(w->st, STORE_URGENT);
    sends_insert_oneoff(b, &oneoff, SLICE_LIT("x"));
    sends_due(b, WORLD_RUN, WORLD_T0, 7, WORLD_T0 + 1, 10);
    sends_oneoff_groups(b);
    sends_recover(b, &recover);
    sends_requeue(b, &requeue);
    sends_exclusions(b, WORLD_RUN, EXCL_NO_CONSENT, 0, 10);
    sends_detail(b, WORLD_RUN, world_id(1));
    for (int state = -1; state < SEND_STATES; state++)
        sends_list(
            b, &(struct sends_list){.broadcast = WORLD_RUN, .state = state, .fail_class = -1});
    sends_list(b, &(struct sends_list){.contact = 1, .state = -1, .fail_class = -1});
    runs_list(b, ~0u, 0, 10);
    runs_due(b, WORLD_T0, 10);
    runs_delete(b, WORLD_RUN, ~0u);
    instances_start(b, &instance);
    instances_beat(b, &instance);
    instances_adopt(b, 0, 1);
    instances_list(b);
    contract_run(b);
    store_batch_free(&b);
}

static void
check_plan(sqlite3 *db, const char *sql)
{
    char explain[4096];
    sqlite3_stmt *stmt;

    snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", sql);
    ck_assert_int_eq(sqlite3_prepare_v2(db, explain, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(stmt, 3);

        ck_assert_msg(is_allowed(sql, detail), "%s: %s", detail, sql);
    }
    sqlite3_finalize(stmt);
}

START_TEST(nothing_walks_or_sorts)
{
    struct store_open_args args = {.create = true, .fingerprint = "plans"};
    struct world w = {.now_ms = WORLD_T0};
    sqlite3 *db;
    const char *found[128];
    int n = 0;
    struct err err;

    w.st = store_open(sqlite_store_driver(), &args, NULL, &err); /* memory: one connection */
    ck_assert_msg(w.st != NULL, "%s", err.text);
    world_create_run(&w, WORLD_RUN);
    touch_everything(&w);
    db = ((struct sq_store *)w.st->impl)->wconn.db;
    for (sqlite3_stmt *s = sqlite3_next_stmt(db, NULL); s != NULL; s = sqlite3_next_stmt(db, s)) {
        if (is_typed(sqlite3_sql(s)) && n < 128)
            found[n++] = sqlite3_sql(s);
    }
    ck_assert_int_ge(n, 34);
    for (int i = 0; i < n; i++)
        check_plan(db, found[i]);
    store_close(&w.st);
}
END_TEST

SUITE_MAIN("typed plans", nothing_walks_or_sorts)
