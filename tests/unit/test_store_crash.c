#include <check.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/docs.h"
#include "store/sqlite/sqlite_store.h"
#include "support/suite.h"

/*
 * A process that writes is killed; what it had been told is stored must be there. The child prints
 * each id on a pipe after store_run() has returned; the parent reads some, kills it in the middle of
 * its work, opens the store and looks for every id it has read, and for nothing in halves: each batch
 * writes a pair of documents.
 */

static char folder[512];

static void
fresh_folder(void)
{
    static const char *const names[] = {"mailshot.db", "mailshot.db-wal", "mailshot.db-shm"};

    snprintf(folder, sizeof folder, "%s", suite_path("crash"));
    mkdir(folder, 0700);
    for (size_t i = 0; i < 3; i++) {
        char path[600];

        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
}

static struct store *
open_store(void)
{
    struct store_open_args args = {.path = folder, .create = true, .fingerprint = "crash"};
    struct err err;
    struct store *st;

    err_clear(&err);
    st = store_open(sqlite_store_driver(), &args, NULL, &err);
    ck_assert_msg(st != NULL, "%s", err.text);
    return st;
}

static int
write_pair(struct store *st, uint64_t id)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    char json[64];
    bson_t *left, *right;
    const bson_t *docs[2];
    struct err err;
    int rc;

    snprintf(json, sizeof json, "{'pair': %u}", (unsigned)id);
    docs[0] = left = docs_with_id(id * 2, json);
    docs[1] = right = docs_with_id(id * 2 + 1, json);
    store_insert(b, "imports", docs, 1);
    store_insert(b, "imports", docs + 1, 1);
    rc = store_run(b, &err);
    bson_destroy(left);
    bson_destroy(right);
    store_batch_free(&b);
    return rc;
}

static void
child_writes(int fd, uint64_t from)
{
    struct store *st = open_store();

    for (uint64_t id = from;; id++) {
        if (write_pair(st, id) != 0 || write(fd, &id, sizeof id) != sizeof id)
            _exit(1);
    }
}

/* Returns the last id acknowledged. */
static uint64_t
run_and_kill(uint64_t from, unsigned n_acks)
{
    uint64_t id = 0;
    int fds[2], status;
    pid_t pid;

    ck_assert_int_eq(pipe(fds), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        close(fds[0]);
        child_writes(fds[1], from);
    }
    close(fds[1]);
    for (unsigned i = 0; i < n_acks; i++)
        ck_assert_int_eq(read(fds[0], &id, sizeof id), sizeof id);
    kill(pid, SIGKILL);
    while (read(fds[0], &id, sizeof id) == sizeof id) /* what it still managed to say */
        ;
    close(fds[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    return id;
}

static uint64_t
count_up_to(struct store *st, uint64_t last)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t *f = BCON_NEW("_id", "{", "$lte", BCON_INT64((int64_t)last), "}");
    unsigned op = store_count(b, "imports", STORE_INDEXED, f);
    struct err err;
    uint64_t n;

    ck_assert_int_eq(store_run(b, &err), 0);
    n = store_batch_result(b, op)->count;
    bson_destroy(f);
    store_batch_free(&b);
    return n;
}

START_TEST(killed_writers_lose_nothing)
{
    static const unsigned acks[] = {1, 7, 40, 133, 400};
    struct buf report = BUF_INIT;
    uint64_t last = 0;

    fresh_folder();
    for (size_t i = 0; i < sizeof acks / sizeof acks[0]; i++) {
        struct store *st;
        struct err err;
        uint64_t n;

        last = run_and_kill(last + 1, acks[i]);
        st = open_store();
        n = count_up_to(st, INT64_MAX);
        ck_assert_uint_eq(count_up_to(st, last * 2 + 1), last * 2);
        ck_assert_msg(n % 2 == 0, "half a pair");
        ck_assert_msg(n - last * 2 <= 2, "more than the one batch in flight");
        last = n / 2;
        ck_assert_int_eq(store_check(st, &report, &err), 0);
        ck_assert_uint_eq(report.n, 0);
        store_close(&st);
    }
    buf_deinit(&report);
}
END_TEST

SUITE_MAIN("killed writers", killed_writers_lose_nothing)
