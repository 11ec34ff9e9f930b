/*
 * The data folder: one holder at a time, private to its owner, known again after a rename and not after
 * a copy; and its keys, which are made once and never beside a database.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "crypto/crypto.h"
#include "daemon/datadir.h"
#include "daemon/folder_keys.h"
#include "support/suite.h"

static char folder[400];

/* A folder of its own for each test. */
static const char *
fresh(const char *name)
{
    char command[1400];

    snprintf(folder, sizeof(folder), "%s", suite_path(name));
    snprintf(command, sizeof(command), "rm -rf '%s' '%s.moved' '%s.copy'", folder, folder, folder);
    ck_assert_int_eq(system(command), 0);
    return folder;
}

static const char *
inside(const char *name)
{
    static char path[512];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static struct datadir *
open_ok(const char *path)
{
    struct datadir *d = NULL;
    struct err err = {0};

    ck_assert_msg(datadir_open(path, true, &d, &err) == 0, "%s", err.text);
    return d;
}

static mode_t
mode_of(const char *path)
{
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_mode & 0777;
}

START_TEST(test_folder_is_made_private)
{
    struct datadir *d = open_ok(fresh("private"));

    ck_assert_uint_eq(mode_of(folder), 0700);
    ck_assert_uint_eq(mode_of(inside("lock")), 0600);
    ck_assert_uint_eq(mode_of(inside("folder-id")), 0600);
    ck_assert_uint_eq(strlen(d->fingerprint), 64);
    datadir_close(&d);

    ck_assert_int_eq(chmod(folder, 0755), 0);
    d = open_ok(folder);
    ck_assert_uint_eq(mode_of(folder), 0700);
    datadir_close(&d);
}
END_TEST

START_TEST(test_missing_folder_is_refused_unless_asked_for)
{
    struct datadir *d = NULL;
    struct err err = {0};

    ck_assert_int_eq(datadir_open(fresh("missing"), false, &d, &err), -1);
    ck_assert_str_eq(err.sub, "no_folder");
    ck_assert(!file_exists(folder));
}
END_TEST

/* Locks of flock() belong to the open file, so a second open in this process meets it as well. */
START_TEST(test_one_holder_at_a_time)
{
    struct datadir *d = open_ok(fresh("locked")), *second = NULL;
    struct err err = {0};
    long pid = 0;

    ck_assert_int_eq(datadir_open(folder, true, &second, &err), -1);
    ck_assert_int_eq(err.code, ERR_CONFLICT);
    ck_assert_str_eq(err.sub, "locked");
    ck_assert(datadir_is_locked(folder, &pid));
    ck_assert_int_eq(pid, getpid());
    datadir_close(&d);
    ck_assert(!datadir_is_locked(folder, &pid));
    d = open_ok(folder);
    datadir_close(&d);
}
END_TEST

START_TEST(test_a_dead_holder_leaves_no_lock)
{
    struct datadir *d;
    pid_t child;
    int status;

    fresh("dead");
    if ((child = fork()) == 0) {
        d = NULL;
        _exit(datadir_open(folder, true, &d, NULL) == 0 ? 0 : 1); /* without closing it */
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert(!datadir_is_locked(folder, NULL));
    d = open_ok(folder);
    datadir_close(&d);
}
END_TEST

START_TEST(test_fingerprint_survives_a_rename_and_not_a_copy)
{
    struct datadir *d = open_ok(fresh("printed"));
    char first[65], moved[420], copy[420], command[1000];

    memcpy(first, d->fingerprint, sizeof(first));
    datadir_close(&d);
    d = open_ok(folder);
    ck_assert_str_eq(d->fingerprint, first);
    datadir_close(&d);

    snprintf(moved, sizeof(moved), "%s.moved", folder);
    snprintf(copy, sizeof(copy), "%s.copy", folder);
    ck_assert_int_eq(rename(folder, moved), 0);
    d = open_ok(moved);
    ck_assert_str_eq(d->fingerprint, first);
    datadir_close(&d);

    snprintf(command, sizeof(command), "cp -a '%s' '%s'", moved, copy);
    ck_assert_int_eq(system(command), 0);
    d = open_ok(copy);
    ck_assert_str_ne(d->fingerprint, first);
    datadir_close(&d);
}
END_TEST

START_TEST(test_socket_path_fits_however_deep_the_folder_is)
{
    char deep[200], path[DATADIR_SOCKET_SIZE];
    struct err err = {0};

    ck_assert_int_eq(datadir_socket("/short", -1, path, &err), 0);
    ck_assert_str_eq(path, "/short/control.sock");
    memset(deep, 'd', sizeof(deep) - 1);
    deep[0] = '/';
    deep[sizeof(deep) - 1] = '\0';
    ck_assert_int_eq(datadir_socket(deep, 7, path, &err), 0);
    ck_assert_str_eq(path, "/proc/self/fd/7/control.sock");
    ck_assert_int_eq(datadir_socket(deep, -1, path, &err), -1);
}
END_TEST

/* ---- keys -------------------------------------------------------------------------------------- */

START_TEST(test_keys_are_made_once)
{
    struct datadir *d = open_ok(fresh("keys"));
    struct crypto_keys *keys = NULL;
    struct err err = {0};
    char first[17], again[17];

    ck_assert_msg(folder_keys_load(d, &keys, &err) == 0, "%s", err.text);
    crypto_keys_fingerprint(keys, first);
    crypto_keys_free(&keys);
    ck_assert_uint_eq(mode_of(inside("keys")), 0700);
    ck_assert_uint_eq(mode_of(inside("keys/token.key")), 0600);
    ck_assert_int_eq(folder_keys_load(d, &keys, &err), 0);
    crypto_keys_fingerprint(keys, again);
    crypto_keys_free(&keys);
    ck_assert_str_eq(first, again);
    ck_assert_int_eq(folder_keys_check(folder, again, &err), 0);
    ck_assert_str_eq(first, again);
    datadir_close(&d);
}
END_TEST

START_TEST(test_keys_are_never_made_beside_a_database)
{
    struct datadir *d = open_ok(fresh("orphan"));
    struct crypto_keys *keys = NULL;
    struct err err = {0};

    ck_assert_int_eq(file_write(inside("mailshot.db"), SLICE_LIT("x"), 0600, NULL), 0);
    ck_assert_int_eq(folder_keys_load(d, &keys, &err), -1);
    ck_assert_str_eq(err.sub, "keys_missing");
    ck_assert(!file_exists(inside("keys")));
    datadir_close(&d);
}
END_TEST

START_TEST(test_bad_keys_are_refused)
{
    struct datadir *d = open_ok(fresh("badkeys"));
    struct crypto_keys *keys = NULL;
    struct err err = {0};

    ck_assert_int_eq(folder_keys_load(d, &keys, &err), 0);
    crypto_keys_free(&keys);
    ck_assert_int_eq(chmod(inside("keys/seal.key"), 0640), 0);
    ck_assert_int_eq(folder_keys_load(d, &keys, &err), -1);
    ck_assert_str_eq(err.sub, "keys_readable");
    ck_assert_int_eq(file_write(inside("keys/seal.key"), SLICE_LIT("abcd\n"), 0600, NULL), 0);
    ck_assert_int_eq(folder_keys_load(d, &keys, &err), -1);
    ck_assert_str_eq(err.sub, "keys_invalid");
    ck_assert_int_eq(unlink(inside("keys/seal.key")), 0);
    ck_assert_int_eq(folder_keys_load(d, &keys, &err), -1); /* two of three: no new ones */
    ck_assert_str_eq(err.sub, "keys_missing");
    datadir_close(&d);
}
END_TEST

START_TEST(test_a_broken_off_making_is_begun_anew)
{
    struct datadir *d = open_ok(fresh("halfkeys"));
    struct crypto_keys *keys = NULL;
    struct err err = {0};

    ck_assert_int_eq(datadir_mkdir(d, "keys.new", &err), 0);
    ck_assert_int_eq(file_write(inside("keys.new/token.key"), SLICE_LIT("12"), 0600, NULL), 0);
    ck_assert_msg(folder_keys_load(d, &keys, &err) == 0, "%s", err.text);
    ck_assert(!file_exists(inside("keys.new")));
    crypto_keys_free(&keys);
    datadir_close(&d);
}
END_TEST

START_TEST(test_keys_travel)
{
    static const char *const bad[] = {"", "mailshot-keys-1", "mailshot-keys-1 00 00 00",
        "mailshot-keys-2 aa", "something else entirely"};
    struct datadir *d = open_ok(fresh("giver"));
    struct crypto_keys *keys = NULL;
    struct buf line = BUF_INIT;
    struct err err = {0};
    char first[17], second[17];

    ck_assert_int_eq(folder_keys_load(d, &keys, &err), 0);
    crypto_keys_fingerprint(keys, first);
    crypto_keys_free(&keys);
    ck_assert_int_eq(folder_keys_export(folder, &line, &err), 0);
    ck_assert_int_eq(folder_keys_import(d, buf_slice(&line), &err), -1);
    ck_assert_str_eq(err.sub, "keys_exist");
    datadir_close(&d);

    d = open_ok(fresh("taker"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_int_eq(folder_keys_import(d, slice_str(bad[i]), &err), -1);
    ck_assert(!file_exists(inside("keys")));
    ck_assert_msg(folder_keys_import(d, buf_slice(&line), &err) == 0, "%s", err.text);
    ck_assert_int_eq(folder_keys_check(folder, second, &err), 0);
    ck_assert_str_eq(first, second);
    datadir_close(&d);
    buf_deinit(&line);
}
END_TEST

SUITE_MAIN("datadir", test_folder_is_made_private, test_missing_folder_is_refused_unless_asked_for,
    test_one_holder_at_a_time, test_a_dead_holder_leaves_no_lock,
    test_fingerprint_survives_a_rename_and_not_a_copy,
    test_socket_path_fits_however_deep_the_folder_is, test_keys_are_made_once,
    test_keys_are_never_made_beside_a_database, test_bad_keys_are_refused,
    test_a_broken_off_making_is_begun_anew, test_keys_travel)
