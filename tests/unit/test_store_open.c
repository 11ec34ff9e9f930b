#include <check.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "contract/docs.h"
#include "store/sqlite/sqlite_store.h"
#include "support/suite.h"

/*
 * The database file: made, found again, refused when it is not ours to open, checked, and copied.
 */

static char folder[512], file[600];

static void
fresh_folder(void)
{
    static const char *const names[] = {"mailshot.db", "mailshot.db-wal", "mailshot.db-shm",
        "copy.db", "copy.db.part", "mailshot.db-journal"};

    snprintf(folder, sizeof folder, "%s", suite_path("open"));
    mkdir(folder, 0700);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, names[i]);
        unlink(file);
    }
    snprintf(file, sizeof file, "%s/mailshot.db", folder);
}

static struct store *
try_open(bool create, const char *fingerprint, struct err *err)
{
    struct store_open_args args = {.path = folder, .create = create, .fingerprint = fingerprint};

    err_clear(err);
    return store_open(sqlite_store_driver(), &args, NULL, err);
}

static struct store *
must_open(const char *fingerprint)
{
    struct err err;
    struct store *st = try_open(true, fingerprint, &err);

    ck_assert_msg(st != NULL, "%s", err.text);
    return st;
}

static void
must_refuse(bool create, const char *fingerprint, enum err_code code, const char *sub)
{
    struct err err;
    struct store *st = try_open(create, fingerprint, &err);

    ck_assert_ptr_null(st);
    ck_assert_int_eq(err.code, code);
    ck_assert_str_eq(err.sub, sub);
}

/* As another program would; only tables without our index functions. */
static void
tamper(const char *path, const char *sql)
{
    sqlite3 *db;
    char *text = NULL;

    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, &text) == SQLITE_OK, "%s", text);
    sqlite3_close(db);
}

static void
read_file(struct buf *out)
{
    struct err err;

    buf_clear(out);
    ck_assert_int_eq(file_read(file, 64u << 20, out, &err), 0);
}

START_TEST(made_and_found_again)
{
    struct store *st;
    struct stat sb;

    fresh_folder();
    must_refuse(false, "keys", ERR_NOTFOUND, "no_store");
    ck_assert(!file_exists(file));
    st = must_open("keys");
    ck_assert_int_eq(docs_insert_one(st, "imports", 1, "{'a': 1}"), ERR_NONE);
    ck_assert_int_eq(stat(file, &sb), 0);
    ck_assert_uint_eq(sb.st_mode & 0777, 0600);
    store_close(&st);
    ck_assert_ptr_null(st);
    for (int i = 0; i < 2; i++) { /* migrations are applied once */
        st = must_open("keys");
        ck_assert_str_eq(docs_get(st, "imports", 1), "{ '_id' : 1, 'a' : 1 }");
        store_close(&st);
    }
    st = must_open(NULL); /* a tool without keys may look */
    store_close(&st);
}
END_TEST

START_TEST(other_keys_touch_nothing)
{
    struct buf before = BUF_INIT, after = BUF_INIT;
    struct store *st;

    fresh_folder();
    st = must_open("keys");
    store_close(&st);
    read_file(&before);
    must_refuse(true, "other keys", ERR_PERM, "keys_differ");
    read_file(&after);
    ck_assert(slice_eq(buf_slice(&before), buf_slice(&after)));
    buf_deinit(&before);
    buf_deinit(&after);
    st = must_open("keys");
    store_close(&st);
}
END_TEST

START_TEST(newer_store_touches_nothing)
{
    struct buf before = BUF_INIT, after = BUF_INIT;
    struct store *st;

    fresh_folder();
    st = must_open("keys");
    store_close(&st);
    tamper(file, "INSERT INTO store_migrations VALUES(999, '0999_future.json', 0)");
    read_file(&before);
    must_refuse(true, "keys", ERR_PERM, "newer_store");
    read_file(&after);
    ck_assert(slice_eq(buf_slice(&before), buf_slice(&after)));
    buf_deinit(&before);
    buf_deinit(&after);
    tamper(file, "DELETE FROM store_migrations WHERE number=999;"
                 "UPDATE store_meta SET value=99 WHERE key='key_version'");
    must_refuse(true, "keys", ERR_PERM, "newer_store");
}
END_TEST

START_TEST(foreign_files_are_left_alone)
{
    fresh_folder();
    tamper(file, "CREATE TABLE notes(x)");
    must_refuse(true, "keys", ERR_PERM, "not_a_store");
    fresh_folder();
    {
        struct err err;

        ck_assert_int_eq(
            file_create(
                file, SLICE_LIT("this is a letter, and no database at all, is it?"), 0600, &err),
            0);
    }
    must_refuse(true, "keys", ERR_PERM, "store_corrupt");
}
END_TEST

/* An index whose keys were made by an older program is made anew. */
START_TEST(old_keys_are_renewed)
{
    struct store *st;
    struct buf report = BUF_INIT;
    struct err err;

    fresh_folder();
    st = must_open("keys");
    ck_assert_int_eq(docs_insert_one(st, "templates", 1, "{'slug': 'a'}"), ERR_NONE);
    store_close(&st);
    tamper(file, "UPDATE store_meta SET value=0 WHERE key='key_version'");
    st = must_open("keys");
    ck_assert_str_eq(
        docs_find_ids(st, "templates", STORE_INDEXED, "{'slug': 'a'}", NULL, NULL, 0), "1");
    ck_assert_int_eq(store_check(st, &report, &err), 0);
    ck_assert_uint_eq(report.n, 0);
    buf_deinit(&report);
    store_close(&st);
}
END_TEST

START_TEST(copies_are_stores)
{
    char copy[600], moved[700];
    struct store *st;
    struct err err;

    fresh_folder();
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    st = must_open("keys");
    for (uint64_t i = 1; i <= 300; i++)
        ck_assert_int_eq(docs_insert_one(st, "imports", i, "{'a': 'some text to fill pages'}"), 0);
    err_clear(&err);
    ck_assert_msg(store_backup(st, copy, &err) == 0, "%s", err.text);
    ck_assert_int_eq(docs_insert_one(st, "imports", 999, "{'a': 'later'}"), 0);
    ck_assert_int_eq(store_backup(st, copy, &err), -1); /* never overwrites */
    ck_assert_int_eq(err.code, ERR_CONFLICT);
    store_close(&st);
    snprintf(moved, sizeof moved, "%s-wal", copy);
    ck_assert(!file_exists(moved));
    ck_assert_int_eq(rename(copy, file), 0);
    st = must_open("keys");
    ck_assert_str_eq(
        docs_find_ids(st, "imports", STORE_SCAN, "{'_id': {'$gt': 298}}", NULL, NULL, 0),
        "299,300");
    store_close(&st);
}
END_TEST

START_TEST(damage_is_found)
{
    struct buf report = BUF_INIT;
    struct store *st;
    struct err err;

    fresh_folder();
    st = must_open("keys");
    ck_assert_int_eq(docs_insert_one(st, "imports", 7, "{'a': 1}"), ERR_NONE);
    ck_assert_int_eq(store_check(st, &report, &err), 0);
    ck_assert_uint_eq(report.n, 0);
    store_close(&st);
    tamper(file, "UPDATE c_imports SET doc=x'0500000001' WHERE id=7");
    st = must_open("keys");
    ck_assert_int_eq(store_check(st, &report, &err), 0);
    ck_assert_str_eq(buf_cstr(&report), "imports: document 7 is damaged\n");
    buf_deinit(&report);
    store_close(&st);
}
END_TEST

START_TEST(memory_needs_no_folder)
{
    struct store_open_args args = {.path = NULL};
    struct buf report = BUF_INIT;
    struct err err;
    struct store *st;

    err_clear(&err);
    st = store_open(sqlite_store_driver(), &args, NULL, &err);
    ck_assert_msg(st != NULL, "%s", err.text);
    ck_assert_int_eq(docs_insert_one(st, "contacts", 1, "{'emailHash': 5}"), ERR_NONE);
    ck_assert_str_eq(
        docs_find_ids(st, "contacts", STORE_INDEXED, "{'emailHash': 5.0}", NULL, NULL, 0), "1");
    ck_assert_int_eq(store_check(st, &report, &err), -1);
    ck_assert_str_eq(err.sub, "not_a_file");
    store_close(&st);
}
END_TEST

SUITE_MAIN("opening the store", made_and_found_again, other_keys_touch_nothing,
    newer_store_touches_nothing, foreign_files_are_left_alone, old_keys_are_renewed,
    copies_are_stores, damage_is_found, memory_needs_no_folder)
