/* Whole files: limits, atomic replacement, exclusive creation, folders. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#include "../support/suite.h"

static void
assert_content(const char *path, const char *expected)
{
    struct buf b = BUF_INIT;
    struct err e;

    ck_assert_int_eq(file_read(path, 1000, &b, &e), 0);
    ck_assert_str_eq(buf_cstr(&b), expected);
    buf_deinit(&b);
}

START_TEST(write_replaces_and_sets_the_mode)
{
    const char *path = suite_path("replaced");
    struct stat st;
    struct err e;

    unlink(path);
    ck_assert_int_eq(file_write(path, SLICE_LIT("one"), 0600, &e), 0);
    assert_content(path, "one");
    ck_assert_int_eq(file_write(path, SLICE_LIT("second"), 0664, &e), 0);
    assert_content(path, "second");
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0664);
    ck_assert_int_eq(file_write(suite_path("absent/x"), SLICE_NONE, 0600, &e), -1);
    ck_assert_int_eq(e.code, ERR_NOTFOUND);
}
END_TEST

START_TEST(create_never_replaces)
{
    const char *path = suite_path("created");
    struct err e;

    unlink(path);
    ck_assert_int_eq(file_create(path, SLICE_LIT("first"), 0600, &e), 0);
    ck_assert_int_eq(file_create(path, SLICE_LIT("other"), 0600, &e), -1);
    ck_assert_int_eq(e.code, ERR_CONFLICT);
    assert_content(path, "first");
}
END_TEST

START_TEST(read_keeps_its_limit)
{
    const char *path = suite_path("limited");
    struct buf b = BUF_INIT;
    struct err e;

    ck_assert_int_eq(file_write(path, SLICE_LIT("12345"), 0600, &e), 0);
    buf_append_str(&b, "before ");
    ck_assert_int_eq(file_read(path, 4, &b, &e), -1);
    ck_assert_int_eq(e.code, ERR_LIMIT);
    ck_assert_str_eq(buf_cstr(&b), "before ");
    ck_assert_int_eq(file_read(path, 5, &b, &e), 0);
    ck_assert_str_eq(buf_cstr(&b), "before 12345");
    ck_assert_int_eq(file_read(path, SIZE_MAX, &b, &e), 0);
    /* The size that stat() shows for files of the kernel is 0: the limit holds while reading. */
    ck_assert_int_eq(file_read("/proc/self/status", 10, &b, &e), -1);
    ck_assert_int_eq(e.code, ERR_LIMIT);
    ck_assert_str_eq(buf_cstr(&b), "before 1234512345");
    buf_deinit(&b);
}
END_TEST

START_TEST(only_regular_files_are_read)
{
    const char *fifo = suite_path("fifo");
    struct buf b = BUF_INIT;
    struct err e;

    unlink(fifo);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    ck_assert_int_eq(file_read(fifo, 100, &b, &e), -1);
    ck_assert_int_eq(e.code, ERR_INVALID);
    ck_assert_int_eq(file_read("/", 100, &b, &e), -1);
    ck_assert_int_eq(file_read(suite_path("absent"), 100, &b, &e), -1);
    ck_assert_int_eq(e.code, ERR_NOTFOUND);
    buf_deinit(&b);
}
END_TEST

START_TEST(folders_are_made_to_the_last)
{
    const char *path = suite_path("a/b//c/");
    struct err e;

    ck_assert_int_eq(file_mkdirs(path, 0700, &e), 0);
    ck_assert_int_eq(file_mkdirs(path, 0700, &e), 0);
    ck_assert(file_exists(suite_path("a/b/c")));
    ck_assert_int_eq(file_write(suite_path("a/plain"), SLICE_NONE, 0600, &e), 0);
    ck_assert_int_eq(file_mkdirs(suite_path("a/plain/x"), 0700, &e), -1);
    ck_assert(!file_exists(suite_path("a/none")));
}
END_TEST

START_TEST(free_space_is_known)
{
    struct err e;

    ck_assert_int_gt(file_free_bytes("/tmp", &e), 0);
    ck_assert_int_eq(file_free_bytes(suite_path("absent"), &e), -1);
    ck_assert_int_eq(e.code, ERR_NOTFOUND);
}
END_TEST

SUITE_MAIN("file", write_replaces_and_sets_the_mode, create_never_replaces, read_keeps_its_limit,
    only_regular_files_are_read, folders_are_made_to_the_last, free_space_is_known)
