/*
 * Opening an installation with the real store: what is refused and with which exit code, that a refusal
 * leaves everything as it was, and what a copied folder and a long silence lead to.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "control/run_control.h"
#include "daemon/config.h"
#include "daemon/datadir.h"
#include "daemon/installation.h"
#include "daemon/park.h"
#include "daemon/store_audit.h"
#include "mailshot/exit.h"
#include "store/runs.h"
#include "store/store.h"
#include "support/suite.h"

#define HOUR_MS INT64_C(3600000)

static char folder[400];

static void sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
sh(const char *fmt, ...)
{
    char command[1200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(command, sizeof(command), fmt, ap);
    va_end(ap);
    ck_assert_int_eq(system(command), 0);
}

static void
fresh(const char *name)
{
    snprintf(folder, sizeof(folder), "%s", suite_path(name));
    sh("rm -rf '%s' '%s'.*", folder, folder);
}

static struct config *
config_for(const char *path)
{
    struct config_flag flags[] = {{"dataDir", path}, {"minFreeBytes", "0"}};
    struct config_sources src = {.flags = flags, .n_flags = 2};
    struct err err = {0};
    struct config *c = config_load(&src, &err);

    ck_assert_msg(c != NULL, "%s", err.text);
    return c;
}

static struct installation *
open_home(const char *path, bool must_exist, struct err *err)
{
    struct config *c = config_for(path);
    struct installation *home = NULL;

    err_clear(err);
    (void)installation_open(c, NULL, must_exist, &home, err);
    config_free(&c); /* nothing in it is kept */
    return home;
}

static struct installation *
open_ok(const char *path)
{
    struct err err = {0};
    struct installation *home = open_home(path, false, &err);

    ck_assert_msg(home != NULL, "%s", err.text);
    return home;
}

static int
refusal(const char *path, struct err *err)
{
    struct installation *home = open_home(path, false, err);

    ck_assert_ptr_null(home);
    return installation_exit_code(err);
}

/* A hash over the content of everything in the folder but the lock. */
static void
digest(const char *path, char out[128])
{
    char command[600];
    FILE *p;

    snprintf(command, sizeof(command),
        "cd '%s' && find . -type f ! -name lock ! -name '*-shm' ! -name '*-wal' | sort | xargs "
        "sha256sum | sha256sum",
        path);
    ck_assert_ptr_nonnull(p = popen(command, "r"));
    ck_assert_ptr_nonnull(fgets(out, 128, p));
    pclose(p);
}

START_TEST(test_first_start_makes_everything)
{
    struct installation *home;
    struct err err = {0};

    fresh("first");
    ck_assert_ptr_null(open_home(folder, true, &err));
    ck_assert_str_eq(err.sub, "no_folder");
    home = open_ok(folder);
    ck_assert(home->instance.is_adopted);
    ck_assert_int_eq(home->instance.previous_beat_at_ms, 0);
    installation_close(&home);
    ck_assert_ptr_nonnull(home = open_home(folder, true, &err));
    installation_close(&home);
}
END_TEST

START_TEST(test_second_process_is_refused)
{
    struct installation *home;
    struct err err = {0};

    fresh("twice");
    home = open_ok(folder);
    ck_assert_int_eq(refusal(folder, &err), EXIT_LOCKED);
    installation_close(&home);
}
END_TEST

START_TEST(test_missing_and_wrong_keys_touch_nothing)
{
    struct installation *home;
    struct err err = {0};
    char before[128], after[128], other[420];

    fresh("keys");
    home = open_ok(folder);
    installation_close(&home);

    sh("mv '%s/keys' '%s.kept'", folder, folder);
    digest(folder, before);
    ck_assert_int_eq(refusal(folder, &err), EXIT_KEYS);
    ck_assert_str_eq(err.sub, "keys_missing");
    digest(folder, after);
    ck_assert_str_eq(before, after);

    snprintf(other, sizeof(other), "%s.copy", folder);
    home = open_ok(other);
    installation_close(&home);
    sh("cp -a '%s/keys' '%s/keys'", other, folder);
    digest(folder, before);
    ck_assert_int_eq(refusal(folder, &err), EXIT_KEYS);
    ck_assert_str_eq(err.sub, "keys_differ");
    digest(folder, after);
    ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(test_newer_store_is_refused)
{
    static const char newer[] =
        "import sqlite3,sys\n"
        "db = sqlite3.connect(sys.argv[1] + '/mailshot.db')\n"
        "db.execute(\"INSERT INTO store_migrations VALUES(9999, '9999_future', 0)\")\n"
        "db.commit()\n";
    struct installation *home;
    struct err err = {0};
    char before[128], after[128];

    fresh("newer");
    home = open_ok(folder);
    installation_close(&home);
    ck_assert_int_eq(file_write(suite_path("newer.py"), slice_str(newer), 0600, NULL), 0);
    sh("python3 '%s' '%s'", suite_path("newer.py"), folder);
    digest(folder, before);
    ck_assert_int_eq(refusal(folder, &err), EXIT_NEWER);
    digest(folder, after);
    ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(test_foreign_database_is_refused)
{
    struct err err = {0};
    struct installation *home;

    fresh("foreign");
    home = open_ok(folder);
    installation_close(&home);
    sh("cd '%s' && rm -f mailshot.db-* && printf 'this is no database at all' > mailshot.db",
        folder);
    ck_assert_int_eq(refusal(folder, &err), EXIT_UNHEALTHY);
}
END_TEST

START_TEST(test_ids_rise_when_the_clock_goes_back)
{
    struct installation *home;
    uint64_t last;

    fresh("ids");
    home = open_ok(folder);
    clock_step_wall(2 * HOUR_MS);
    last = id_next();
    installation_close(&home);
    clock_step_wall(-2 * HOUR_MS);
    id_init(0, 0);
    home = open_ok(folder);
    ck_assert_uint_gt(id_next(), last);
    installation_close(&home);
}
END_TEST

/* ---- broadcasts nobody watched ---------------------------------------------------------------- */

static void
create_run(struct store *st, uint64_t broadcast, enum run_state state, int64_t max_lateness_ms)
{
    struct run_record r = {.broadcast = broadcast,
        .state = RUN_DRAFT,
        .growth_limit = -1,
        .max_lateness_ms = max_lateness_ms};
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    struct run_change c = {.broadcast = broadcast, .if_states = 1u << RUN_DRAFT};
    struct err err = {0};

    runs_create(b, &r);
    c.set = RUN_SET_STATE | RUN_SET_SCHEDULE;
    c.to = r;
    c.to.state = RUN_SCHEDULED;
    c.to.scheduled_at_ms = clock_now_ms() + 24 * HOUR_MS;
    runs_change(b, &c);
    if (state == RUN_SENDING)
        run_start_op(b, broadcast, clock_now_ms());
    ck_assert_msg(store_run(b, &err) == 0, "%s", err.text);
    store_batch_free(&b);
}

static struct run_record
read_run(struct store *st, uint64_t broadcast)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    unsigned op = runs_get(b, broadcast);
    struct run_record r;

    ck_assert_int_eq(store_run(b, NULL), 0);
    ck_assert(runs_result(b, op)->matched);
    r = runs_result(b, op)->runs[0];
    store_batch_free(&b);
    return r;
}

START_TEST(test_a_copy_is_known_and_adopting_parks_everything)
{
    struct installation *home;
    struct err err = {0};
    unsigned n_parked = 0;
    char copy[420];

    fresh("original");
    home = open_ok(folder);
    create_run(home->store, 1, RUN_SENDING, HOUR_MS);
    create_run(home->store, 2, RUN_SCHEDULED, HOUR_MS);
    installation_close(&home);

    snprintf(copy, sizeof(copy), "%s.copy", folder);
    sh("cp -a '%s' '%s'", folder, copy);
    home = open_ok(copy);
    ck_assert(!home->instance.is_adopted);
    ck_assert_msg(
        instance_adopt(home->store, &home->instance, &n_parked, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(n_parked, 2);
    for (uint64_t id = 1; id <= 2; id++) {
        struct run_record r = read_run(home->store, id);

        ck_assert_int_eq(r.state, RUN_PAUSED);
        ck_assert_uint_eq(r.reasons, 1u << PAUSE_MANUAL);
    }
    installation_close(&home);
    home = open_ok(copy);
    ck_assert(home->instance.is_adopted);
    installation_close(&home);

    home = open_ok(folder); /* the original is as it was */
    ck_assert(home->instance.is_adopted);
    ck_assert_int_eq(read_run(home->store, 1).state, RUN_SENDING);
    installation_close(&home);
}
END_TEST

START_TEST(test_a_gap_parks_those_that_do_not_tolerate_it)
{
    static const struct run_reason why = {
        .code = PAUSE_MISSED_START, .message = "a test", .actor = "system:test"};
    struct installation *home;
    struct err err = {0};
    unsigned n = 0;

    fresh("gap");
    home = open_ok(folder);
    create_run(home->store, 1, RUN_SENDING, HOUR_MS);
    create_run(home->store, 2, RUN_SENDING, 5 * HOUR_MS);
    create_run(home->store, 3, RUN_SENDING, 0); /* the default of the house */
    create_run(home->store, 4, RUN_SCHEDULED, HOUR_MS);
    ck_assert_msg(
        park_runs(home->store, 2 * HOUR_MS, 3 * HOUR_MS, &why, &n, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(read_run(home->store, 1).state, RUN_PAUSED);
    ck_assert_uint_eq(read_run(home->store, 1).reasons, 1u << PAUSE_MISSED_START);
    ck_assert_int_eq(read_run(home->store, 2).state, RUN_SENDING);
    ck_assert_int_eq(read_run(home->store, 3).state, RUN_SENDING);
    ck_assert_int_eq(read_run(home->store, 4).state, RUN_SCHEDULED);
    installation_close(&home);
}
END_TEST

START_TEST(test_a_tool_leaves_no_beat)
{
    struct installation *home;
    int64_t beat;

    fresh("tool");
    home = open_ok(folder);
    home->is_tool = false; /* as a daemon ends */
    installation_close(&home);
    home = open_ok(folder);
    beat = home->instance.previous_beat_at_ms;
    ck_assert_int_gt(beat, 0);
    installation_close(&home);
    clock_step(10 * HOUR_MS);
    home = open_ok(folder); /* looks at things ten hours later ... */
    installation_close(&home);
    home = open_ok(folder); /* ... and the daemon still knows how long nobody was there */
    ck_assert_int_eq(home->instance.previous_beat_at_ms, beat);
    installation_close(&home);
}
END_TEST

START_TEST(test_audit_finds_counters_that_lie)
{
    static const char liar[] = "import sqlite3,sys\n"
                               "db = sqlite3.connect(sys.argv[1] + '/mailshot.db')\n"
                               "old = db.execute('SELECT counters FROM runs').fetchone()[0]\n"
                               "new = bytearray(old)\n"
                               "new[4] = 1\n" /* the lowest byte of the first counter */
                               "db.execute('UPDATE runs SET counters = ?', (bytes(new),))\n"
                               "db.commit()\n";
    struct installation *home;
    struct buf report = BUF_INIT;
    struct err err = {0};
    unsigned n = 0;

    fresh("audit");
    home = open_ok(folder);
    create_run(home->store, 1, RUN_SENDING, HOUR_MS);
    ck_assert_int_eq(store_audit(home->store, &report, &n, &err), 0);
    ck_assert_uint_eq(n, 1);
    ck_assert_msg(report.n == 0, "%s", buf_cstr(&report));
    installation_close(&home);
    ck_assert_int_eq(file_write(suite_path("liar.py"), slice_str(liar), 0600, NULL), 0);
    sh("python3 '%s' '%s'", suite_path("liar.py"), folder);
    home = open_ok(folder);
    ck_assert_int_eq(store_audit(home->store, &report, &n, &err), 0);
    ck_assert_uint_gt(report.n, 0);
    installation_close(&home);
    buf_deinit(&report);
}
END_TEST

SUITE_MAIN("installation", test_first_start_makes_everything, test_second_process_is_refused,
    test_missing_and_wrong_keys_touch_nothing, test_newer_store_is_refused,
    test_foreign_database_is_refused, test_ids_rise_when_the_clock_goes_back,
    test_a_copy_is_known_and_adopting_parks_everything,
    test_a_gap_parks_those_that_do_not_tolerate_it, test_a_tool_leaves_no_beat,
    test_audit_finds_counters_that_lie)
