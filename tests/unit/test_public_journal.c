#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "control/gates.h"
#include "crypto/crypto.h"
#include "feedback/journal.h"
#include "feedback/journal_fold.h"
#include "feedback/opt_out_intake.h"
#include "loop/loop.h"
#include "model/opt_out.h"
#include "store/sends.h"
#include "store/store.h"
#include "support/public_world.h"
#include "support/suite.h"

/*
 * One-click while the store does not take it. The store is held up the way a tool would: by a
 * connection of its own that holds the database lock.
 */

#define ONE_CLICK "List-Unsubscribe=One-Click"

static sqlite3 *
hold_store(struct public_world *w)
{
    char path[700];
    sqlite3 *db;

    snprintf(path, sizeof(path), "%s/mailshot.db", w->engine.folder);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void
let_store_go(sqlite3 *db)
{
    ck_assert_int_eq(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static const char *
path_for(struct public_world *w, const char *address, const struct token_send *ref)
{
    return public_world_unsub(w, address, ref, TOKEN_SCOPE_MARKETING, clock_now_ms() + 86400000);
}

static bool
is_gate_closed(const struct public_world *w)
{
    return (gates_closed(w->engine.gates, GATE_SCOPE_ALL) & 1u << GATE_JOURNAL) != 0;
}

static const char *
journal_path(const struct public_world *w, const char *name)
{
    static char path[800];

    snprintf(path, sizeof(path), "%s/%s", w->journal, name);
    return path;
}

struct folded {
    bool is_done;
    struct err err;
};

static void
on_folded(const struct err *err, void *arg)
{
    struct folded *f = arg;

    f->is_done = true;
    if (err != NULL)
        f->err = *err;
}

static struct err
fold(struct public_world *w)
{
    struct folded f = {0};

    opt_out_intake_fold(w->opt_outs, on_folded, &f);
    while (!f.is_done)
        loop_turn(w->engine.loop, 10);
    return f.err;
}

START_TEST(journalled_while_the_store_hangs)
{
    struct public_world w;
    struct token_send ref;
    struct raw_answer a;
    struct stat st;
    sqlite3 *db;
    int64_t start;

    public_world_open(&w, "hangs");
    ref = public_world_row(&w, public_world_send(&w, 2), 1);
    db = hold_store(&w);
    public_world_ask(&w, "POST", path_for(&w, "user1@r1.example.org", &ref), NULL, ONE_CLICK, &a);
    ck_assert_uint_eq(a.status, 200);
    raw_answer_deinit(&a);
    ck_assert(is_gate_closed(&w));
    ck_assert_int_eq(stat(journal_path(&w, "opt-outs.log"), &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);

    /* The store is known to hang now: the next one does not wait a second. */
    start = clock_mono_ms();
    public_world_ask(&w, "POST", path_for(&w, "b@example.org", NULL), NULL, ONE_CLICK, &a);
    ck_assert_uint_eq(a.status, 200);
    ck_assert_int_lt(clock_mono_ms() - start, 900);
    raw_answer_deinit(&a);

    let_store_go(db);
    public_world_rest(&w);
    ck_assert_int_eq(fold(&w).code, ERR_NONE);
    ck_assert(!is_gate_closed(&w));
    ck_assert(!file_exists(journal_path(&w, "opt-outs.log")));
    ck_assert(!file_exists(journal_path(&w, "opt-outs.folding")));
    ck_assert_uint_eq(public_world_suppressions(&w, "user1@r1.example.org"), 1);
    ck_assert_uint_eq(public_world_suppressions(&w, "b@example.org"), 1);
    raw_turns(w.engine.loop, 10);
    ck_assert_int_eq(engine_run(&w.engine, "spring").n.unsubscribed, 1);
    public_world_close(&w);
}
END_TEST

START_TEST(nothing_durable_is_said)
{
    struct public_world w;
    struct raw_answer a;
    sqlite3 *db;

    public_world_open(&w, "nowhere");
    db = hold_store(&w);
    ck_assert_int_eq(rmdir(w.journal), 0);
    public_world_ask(&w, "POST", path_for(&w, "c@example.org", NULL), NULL, ONE_CLICK, &a);
    ck_assert_uint_eq(a.status, 503);
    ck_assert(slice_eq_str(raw_header(&a, "Retry-After"), "60"));
    ck_assert(slice_find(buf_slice(&a.body), SLICE_LIT("NOT unsubscribed")) >= 0);
    raw_answer_deinit(&a);
    let_store_go(db);
    public_world_rest(&w);
    ck_assert_int_ne(fold(&w).code, ERR_NONE); /* no folder: nobody knows what is in it */
    ck_assert(is_gate_closed(&w));
    ck_assert_int_eq(mkdir(w.journal, 0700), 0);
    ck_assert_int_eq(fold(&w).code, ERR_NONE);
    ck_assert(!is_gate_closed(&w));
    public_world_close(&w);
}
END_TEST

static void
write_line(
    struct public_world *w, const char *address, const struct token_send *ref, struct buf *out)
{
    struct opt_out o = {.scope = SLICE_LIT("marketing"),
        .reason = SUPPRESSION_UNSUBSCRIBED,
        .source = SLICE_LIT("one-click"),
        .now_ms = clock_now_ms()};
    struct token_send none = {0};
    char broadcast[ID_TEXT_SIZE];

    suppression_address_of(w->engine.keys, slice_str(address), &o.address);
    if (ref != NULL)
        o.broadcast = slice_str(id_text(ref->broadcast, broadcast));
    journal_line_write(&o, ref != NULL ? ref : &none, out);
}

/* A crash in the middle of a fold, lines behind it in the live file, and rubbish between them. */
START_TEST(folded_after_a_crash)
{
    struct public_world w;
    struct token_send ref;
    struct buf text = BUF_INIT;
    struct err err = {0};

    public_world_open(&w, "crash");
    ref = public_world_row(&w, public_world_send(&w, 2), 0);
    write_line(&w, "first@example.org", NULL, &text);
    buf_append_str(&text, "not a line\n\n- {\"mac\":\"zz\"}\n");
    write_line(&w, "user0@r0.example.org", &ref, &text);
    ck_assert_int_eq(
        file_write(journal_path(&w, "opt-outs.folding"), buf_slice(&text), 0600, &err), 0);
    buf_clear(&text);
    write_line(&w, "second@example.org", NULL, &text);
    buf_append_str(&text, "- {\"mac\":\"torn"); /* the power went here */
    ck_assert_int_eq(file_write(journal_path(&w, "opt-outs.log"), buf_slice(&text), 0600, &err), 0);
    opt_out_intake_settle(w.opt_outs);
    ck_assert(!is_gate_closed(&w));
    ck_assert_uint_eq(public_world_suppressions(&w, "first@example.org"), 1);
    ck_assert_uint_eq(public_world_suppressions(&w, "second@example.org"), 1);
    ck_assert_uint_eq(public_world_suppressions(&w, "user0@r0.example.org"), 1);
    ck_assert_int_eq(engine_run(&w.engine, "spring").n.unsubscribed, 1);
    buf_clear(&text);
    ck_assert_int_eq(file_read(journal_path(&w, "opt-outs.unreadable"), 100000, &text, &err), 0);
    ck_assert(
        slice_eq_str(buf_slice(&text), "not a line\n- {\"mac\":\"zz\"}\n- {\"mac\":\"torn\n"));
    buf_deinit(&text);
    public_world_close(&w);
}
END_TEST

/* What is in the journal stays there while the store does not take it, and the gate stays closed. */
START_TEST(fold_waits_for_the_store)
{
    struct public_world w;
    struct buf text = BUF_INIT;
    struct err err = {0};
    sqlite3 *db;

    public_world_open(&w, "waits");
    write_line(&w, "d@example.org", NULL, &text);
    ck_assert_int_eq(file_write(journal_path(&w, "opt-outs.log"), buf_slice(&text), 0600, &err), 0);
    db = hold_store(&w);
    opt_out_intake_settle(w.opt_outs);
    ck_assert(is_gate_closed(&w));
    let_store_go(db);
    ck_assert_uint_eq(public_world_suppressions(&w, "d@example.org"), 0);
    ck_assert_int_eq(fold(&w).code, ERR_NONE);
    ck_assert(!is_gate_closed(&w));
    ck_assert_uint_eq(public_world_suppressions(&w, "d@example.org"), 1);
    buf_deinit(&text);
    public_world_close(&w);
}
END_TEST

SUITE_MAIN("public_journal", journalled_while_the_store_hangs, nothing_durable_is_said,
    folded_after_a_crash, fold_waits_for_the_store)
