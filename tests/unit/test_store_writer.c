#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "contract/docs.h"
#include "contract/drivers.h"
#include "loop/loop.h"
#include "store/sqlite/core.h"
#include "store/sqlite/sqlite_store.h"
#include "support/suite.h"

/*
 * The writer: order, bounds, groups, and a disk without room. To see what is queued behind what, a test
 * holds the database lock through a connection of its own; the writer then waits with its first batch
 * while the others pile up.
 */

#define WAIT_MS 20000

static char folder[512], file[600];

static struct store *
open_at(const char *path, struct loop *loop, int64_t min_free_bytes)
{
    struct store_open_args args = {
        .path = path, .create = true, .min_free_bytes = min_free_bytes, .fingerprint = "w"};
    struct err err;
    struct store *st;

    err_clear(&err);
    st = store_open(sqlite_store_driver(), &args, loop, &err);
    ck_assert_msg(st != NULL, "%s", err.text);
    return st;
}

static void
fresh_folder(void)
{
    static const char *const names[] = {"mailshot.db", "mailshot.db-wal", "mailshot.db-shm"};

    snprintf(folder, sizeof folder, "%s", suite_path("writer"));
    mkdir(folder, 0700);
    for (size_t i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        unlink(file);
    }
    snprintf(file, sizeof file, "%s/mailshot.db", folder);
}

/* ---- what finished, in order ------------------------------------------------------------------ */

struct seen {
    uint64_t ids[8192];
    enum err_code codes[8192];
    char subs[8192][24];
    unsigned n;
};

struct job {
    struct seen *seen;
    uint64_t id;
};

static void
on_done(struct store_batch *b, void *arg)
{
    struct job *job = arg;
    struct seen *seen = job->seen;
    const struct err *err = store_batch_err(b);

    seen->ids[seen->n] = job->id;
    seen->codes[seen->n] = err != NULL ? err->code : ERR_NONE;
    snprintf(seen->subs[seen->n], sizeof seen->subs[0], "%.20s", err != NULL ? err->sub : "");
    seen->n++;
    store_batch_free(&b);
    free(job);
}

static void
submit_insert(struct store *st, struct seen *seen, enum store_prio prio, uint64_t id)
{
    struct store_batch *b = store_batch_create(st, prio);
    struct job *job = malloc(sizeof *job);
    bson_t *doc = docs_with_id(id, "{'a': 1}");
    const bson_t *docs[] = {doc};
    unsigned op = store_insert(b, "imports", docs, 1);

    store_require(b, op, ERR_CONFLICT, "taken");
    *job = (struct job){seen, id};
    store_submit(b, on_done, job);
    bson_destroy(doc);
}

static void
turn_until(struct loop *loop, const struct seen *seen, unsigned n)
{
    int64_t until_ms = clock_mono_ms() + WAIT_MS;

    while (seen->n < n) {
        ck_assert_msg(clock_mono_ms() < until_ms, "%u of %u have finished", seen->n, n);
        loop_turn(loop, 100);
    }
}

static sqlite3 *
hold_lock(void)
{
    sqlite3 *db;

    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, WAIT_MS);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void
drop_lock(sqlite3 *db)
{
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(db);
}

/* The queue is empty once the writer holds the batch and waits for the lock. */
static void
wait_taken(struct store *st, enum store_prio prio)
{
    struct sq_store *s = st->impl;
    int64_t until_ms = clock_mono_ms() + WAIT_MS;
    size_t n = 1;

    while (n > 0) {
        ck_assert_int_lt(clock_mono_ms(), until_ms);
        pthread_mutex_lock(&s->writer.lock);
        n = s->writer.queue[prio].n;
        pthread_mutex_unlock(&s->writer.lock);
    }
}

static unsigned
position_of(const struct seen *seen, uint64_t id)
{
    for (unsigned i = 0; i < seen->n; i++) {
        if (seen->ids[i] == id)
            return i;
    }
    ck_abort_msg("%llu has not finished", (unsigned long long)id);
    return 0;
}

START_TEST(urgent_goes_first)
{
    struct seen *seen = calloc(1, sizeof *seen);
    struct loop *loop = loop_create();
    struct store *st;
    sqlite3 *lock;

    fresh_folder();
    st = open_at(folder, loop, 0);
    lock = hold_lock();
    submit_insert(st, seen, STORE_BULK, 1);
    wait_taken(st, STORE_BULK);
    for (uint64_t id = 100; id < 400; id++)
        submit_insert(st, seen, STORE_BULK, id);
    for (uint64_t id = 500; id < 550; id++)
        submit_insert(st, seen, STORE_URGENT, id);
    drop_lock(lock);
    turn_until(loop, seen, 351);
    ck_assert_uint_eq(position_of(seen, 1), 0);
    for (uint64_t id = 500; id < 550; id++)
        ck_assert_uint_lt(position_of(seen, id), position_of(seen, 100));
    for (uint64_t id = 101; id < 400; id++) /* and in their own order */
        ck_assert_uint_lt(position_of(seen, id - 1), position_of(seen, id));
    store_close(&st);
    loop_free(&loop);
    free(seen);
}
END_TEST

/* A flood of urgent work leaves bulk a turn. */
START_TEST(bulk_is_not_starved)
{
    struct seen *seen = calloc(1, sizeof *seen);
    struct loop *loop = loop_create();
    struct store *st;
    sqlite3 *lock;

    fresh_folder();
    st = open_at(folder, loop, 0);
    lock = hold_lock();
    submit_insert(st, seen, STORE_URGENT, 1);
    wait_taken(st, STORE_URGENT);
    submit_insert(st, seen, STORE_BULK, 2);
    for (uint64_t id = 100; id < 2100; id++)
        submit_insert(st, seen, STORE_URGENT, id);
    drop_lock(lock);
    turn_until(loop, seen, 2002);
    ck_assert_uint_lt(position_of(seen, 2), 1200);
    store_close(&st);
    loop_free(&loop);
    free(seen);
}
END_TEST

START_TEST(queue_is_bounded)
{
    struct seen *seen = calloc(1, sizeof *seen);
    struct loop *loop = loop_create();
    struct store *st;
    sqlite3 *lock;

    fresh_folder();
    st = open_at(folder, loop, 0);
    lock = hold_lock();
    submit_insert(st, seen, STORE_BULK, 1);
    wait_taken(st, STORE_BULK);
    for (uint64_t id = 2; id < 2 + SQ_QUEUE_MAX; id++)
        submit_insert(st, seen, STORE_BULK, id);
    submit_insert(st, seen, STORE_BULK, 9999);
    ck_assert_uint_eq(seen->n, 0); /* never called back before the loop turns */
    turn_until(loop, seen, 1);
    ck_assert_uint_eq(seen->ids[0], 9999);
    ck_assert_int_eq(seen->codes[0], ERR_TEMP);
    ck_assert_str_eq(seen->subs[0], "store_busy");
    drop_lock(lock);
    turn_until(loop, seen, SQ_QUEUE_MAX + 2);
    for (unsigned i = 1; i < seen->n; i++)
        ck_assert_int_eq(seen->codes[i], ERR_NONE);
    store_close(&st);
    loop_free(&loop);
    free(seen);
}
END_TEST

START_TEST(neighbours_in_a_group_are_apart)
{
    struct seen *seen = calloc(1, sizeof *seen);
    struct loop *loop = loop_create();
    struct store *st;
    sqlite3 *lock;

    fresh_folder();
    st = open_at(folder, loop, 0);
    lock = hold_lock();
    submit_insert(st, seen, STORE_URGENT, 1);
    submit_insert(st, seen, STORE_URGENT, 2);
    submit_insert(st, seen, STORE_URGENT, 1); /* taken: fails */
    submit_insert(st, seen, STORE_URGENT, 3);
    drop_lock(lock);
    turn_until(loop, seen, 4);
    ck_assert_int_eq(seen->codes[0], ERR_NONE);
    ck_assert_int_eq(seen->codes[1], ERR_NONE);
    ck_assert_int_eq(seen->codes[2], ERR_CONFLICT);
    ck_assert_int_eq(seen->codes[3], ERR_NONE);
    ck_assert_str_eq(docs_find_ids(st, "imports", STORE_SCAN, NULL, NULL, NULL, 0), "1,2,3");
    store_close(&st);
    loop_free(&loop);
    free(seen);
}
END_TEST

START_TEST(close_delivers_what_is_due)
{
    struct seen *seen = calloc(1, sizeof *seen);
    struct loop *loop = loop_create();
    struct store *st;

    fresh_folder();
    st = open_at(folder, loop, 0);
    for (uint64_t id = 1; id <= 500; id++)
        submit_insert(st, seen, id % 2 == 0 ? STORE_BULK : STORE_URGENT, id);
    store_close(&st);
    ck_assert_uint_eq(seen->n, 500);
    for (unsigned i = 0; i < seen->n; i++)
        ck_assert_int_eq(seen->codes[i], ERR_NONE);
    loop_free(&loop);
    free(seen);
}
END_TEST

/* ---- readers --------------------------------------------------------------------------------- */

static void
on_read(struct store_batch *b, void *arg)
{
    unsigned *n_found = arg;

    ck_assert_ptr_null(store_batch_err(b));
    for (unsigned op = 0; op < 2; op++)
        *n_found += (unsigned)store_batch_result(b, op)->n_docs;
    store_batch_free(&b);
}

/* Reads go on while the writer is held up, and see what was committed before. */
START_TEST(readers_do_not_wait)
{
    struct loop *loop = loop_create();
    unsigned n_found = 0;
    struct store *st;
    sqlite3 *lock;

    fresh_folder();
    st = open_at(folder, loop, 0);
    ck_assert_int_eq(docs_insert_one(st, "imports", 1, "{'a': 1}"), ERR_NONE);
    lock = hold_lock();
    for (unsigned i = 0; i < 200; i++) {
        struct store_batch *b = store_batch_create(st, i % 2 == 0 ? STORE_URGENT : STORE_BULK);

        store_find_id(b, "imports", 1);
        store_find_id(b, "imports", 2);
        store_submit(b, on_read, &n_found);
    }
    ck_assert_uint_eq(n_found, 0); /* never called back before the loop turns */
    for (int64_t until_ms = clock_mono_ms() + WAIT_MS; n_found < 200;) {
        ck_assert_int_lt(clock_mono_ms(), until_ms);
        loop_turn(loop, 100);
    }
    drop_lock(lock);
    store_close(&st);
    ck_assert_uint_eq(n_found, 200);
    loop_free(&loop);
}
END_TEST

/* ---- threads --------------------------------------------------------------------------------- */

struct worker {
    struct store *st;
    uint64_t base;
};

static void *
worker_main(void *arg)
{
    struct worker *w = arg;

    for (uint64_t i = 0; i < 100; i++) {
        struct store_batch *b = store_batch_create(w->st, STORE_BULK);
        struct err err;
        unsigned op;

        ck_assert_int_eq(docs_insert_one(w->st, "imports", w->base + i, "{'a': 1}"), ERR_NONE);
        op = store_find_id(b, "imports", w->base + i); /* one's own writes are seen at once */
        ck_assert_int_eq(store_run(b, &err), 0);
        ck_assert_uint_eq(store_batch_result(b, op)->n_docs, 1);
        store_batch_free(&b);
    }
    return NULL;
}

START_TEST(workers_run_side_by_side)
{
    struct worker workers[6];
    pthread_t threads[6];
    struct store *st;
    struct store_batch *b;
    unsigned op;
    struct err err;

    fresh_folder();
    st = open_at(folder, NULL, 0);
    for (unsigned i = 0; i < 6; i++) {
        workers[i] = (struct worker){st, 1000 * (i + 1)};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, worker_main, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    b = store_batch_create(st, STORE_BULK);
    op = store_count(b, "imports", STORE_SCAN, NULL);
    ck_assert_int_eq(store_run(b, &err), 0);
    ck_assert_uint_eq(store_batch_result(b, op)->count, 600);
    store_batch_free(&b);
    store_close(&st);
}
END_TEST

/* ---- no room --------------------------------------------------------------------------------- */

static enum err_code
write_big(struct store *st, uint64_t id)
{
    struct store_batch *b = store_batch_create(st, STORE_BULK);
    char *text = malloc(200001);
    bson_t *doc = docs_with_id(id, "{}");
    const bson_t *docs[] = {doc};
    enum err_code code = ERR_NONE;
    struct err err;

    memset(text, 'x', 200000);
    bson_append_utf8(doc, "text", 4, text, 200000);
    store_insert(b, "imports", docs, 1);
    if (store_run(b, &err) != 0) {
        code = err.code;
        ck_assert_str_eq(err.sub, "disk_full");
    }
    bson_destroy(doc);
    free(text);
    store_batch_free(&b);
    return code;
}

static void
wait_room(struct store *st)
{
    int64_t until_ms = clock_mono_ms() + WAIT_MS;

    while (store_is_full(st)) {
        ck_assert_int_lt(clock_mono_ms(), until_ms);
        usleep(20000);
    }
}

/* Files may not grow: writes fail as they do on a bad disk, and come back by themselves. */
START_TEST(writes_come_back_when_files_may_grow)
{
    struct rlimit old, small;
    struct store *st;
    uint64_t id = 1;

    fresh_folder();
    st = open_at(folder, NULL, 0);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 1 << 20;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    while (id < 100 && write_big(st, id) == ERR_NONE)
        id++;
    ck_assert_int_lt(id, 100);
    ck_assert(store_is_full(st));
    ck_assert_int_eq(write_big(st, 101), ERR_TEMP);
    ck_assert_ptr_nonnull(docs_find_ids(st, "imports", STORE_SCAN, "{'_id': 1}", NULL, NULL, 0));
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    wait_room(st);
    ck_assert_int_eq(write_big(st, id), ERR_NONE);
    store_close(&st);
    st = open_at(folder, NULL, 0); /* what was acknowledged is there, the rest is not */
    for (uint64_t i = 1; i <= id; i++)
        ck_assert_ptr_nonnull(docs_get(st, "imports", i));
    ck_assert_ptr_null(docs_get(st, "imports", 101));
    store_close(&st);
}
END_TEST

/* A file system of its own that really is full, where mounting one is allowed. */
START_TEST(full_disk_is_survived)
{
    const char *at = suite_path("small");
    char path[600];
    struct store *st;
    uint64_t id = 1;

    mkdir(at, 0700);
    umount2(at, MNT_DETACH);
    if (mount("tmpfs", at, "tmpfs", 0, "size=4m") != 0) {
        ck_assert_msg(errno == EPERM || errno == EACCES, "mount: %s", strerror(errno));
        return;
    }
    st = open_at(at, NULL, 0);
    snprintf(path, sizeof path, "%s/ballast", at);
    while (id < 100 && write_big(st, id) == ERR_NONE)
        id++;
    ck_assert_int_lt(id, 100);
    ck_assert(store_is_full(st));
    /* Small and urgent may still fit; whatever the answer, it is kept. */
    {
        enum err_code code = docs_insert_one(st, "imports", 5000, "{'a': 1}");

        ck_assert((docs_get(st, "imports", 5000) != NULL) == (code == ERR_NONE));
    }
    ck_assert_int_eq(mount("tmpfs", at, "tmpfs", MS_REMOUNT, "size=64m"), 0);
    wait_room(st);
    ck_assert_int_eq(write_big(st, id), ERR_NONE);
    store_close(&st);
    ck_assert_int_eq(umount2(at, MNT_DETACH), 0);
}
END_TEST

START_TEST(low_disk_stops_bulk_only)
{
    struct store *st;

    fresh_folder();
    st = open_at(folder, NULL, INT64_MAX); /* no disk has that much */
    ck_assert_int_eq(write_big(st, 1), ERR_TEMP);
    ck_assert(store_is_full(st));
    ck_assert_int_eq(docs_insert_one(st, "imports", 2, "{'urgent': true}"), ERR_NONE);
    ck_assert(store_is_full(st));
    store_close(&st);
}
END_TEST

/* ---- suppression notes ------------------------------------------------------------------------- */

START_TEST(notes_reach_back)
{
    struct sq_store *s = calloc(1, sizeof *s);

    ck_assert(!sq_suppressed_since(s, 7, 0));
    ck_assert(sq_suppressed_since(s, 7, 1)); /* from before a restart */
    sq_suppressed_append(s, 7);
    ck_assert(sq_suppressed_since(s, 7, 0)); /* in force before it is published */
    ck_assert(!sq_suppressed_since(s, 7, 1));
    ck_assert(!sq_suppressed_since(s, 8, 0));
    for (unsigned i = 0; i < SQ_NOTES_MAX - 1; i++)
        sq_suppressed_append(s, 1000 + (int64_t)i);
    ck_assert(sq_suppressed_since(s, 7, 0));
    ck_assert(!sq_suppressed_since(s, 8, 0));
    sq_suppressed_append(s, 5);
    ck_assert(sq_suppressed_since(s, 8, 0)); /* the ring no longer says */
    ck_assert(!sq_suppressed_since(s, 8, 1));
    free(s);
}
END_TEST

START_TEST(notes_are_published_after_the_commit)
{
    struct store *st;
    struct store_batch *b;
    struct err err;

    fresh_folder();
    st = open_at(folder, NULL, 0);
    ck_assert_uint_eq(store_suppression_seq(st), 0);
    b = store_batch_create(st, STORE_URGENT);
    for (int64_t i = 0; i < 5; i++)
        store_note_suppressed(b, 40 + i);
    ck_assert_int_eq(store_run(b, &err), 0);
    store_batch_free(&b);
    ck_assert_uint_eq(store_suppression_seq(st), 5);
    for (int64_t i = 0; i < 5; i++)
        ck_assert(sq_suppressed_since(st->impl, 40 + i, 0));
    store_close(&st);
}
END_TEST

SUITE_MAIN("the writer", urgent_goes_first, bulk_is_not_starved, queue_is_bounded,
    neighbours_in_a_group_are_apart, close_delivers_what_is_due, readers_do_not_wait,
    workers_run_side_by_side, writes_come_back_when_files_may_grow, full_disk_is_survived,
    low_disk_stops_bulk_only, notes_reach_back, notes_are_published_after_the_commit)
