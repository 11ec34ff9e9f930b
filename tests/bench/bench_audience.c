/*
 * Cost of an audience on the embedded store: CSV import with consent, counting with two field
 * conditions, and one page of the stream at the start and at the end of the list.
 *
 * Usage: bench_audience [contacts [folder]]. Prints one line per measure: name value unit target
 * ok|short. CPU time is that of the whole process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "audience/count.h"
#include "audience/import.h"
#include "audience/segment.h"
#include "crypto/crypto.h"
#include "store/sqlite/sqlite_store.h"
#include "store/store.h"

#define REPEATS 50

static const char segment_text[] =
    "{\"filters\":[{\"kind\":\"subscriptionStatus\",\"equals\":\"subscribed\"},"
    "{\"kind\":\"fieldEquals\",\"field\":\"country\",\"value\":\"AT\"},"
    "{\"kind\":\"fieldIn\",\"field\":\"plan\",\"values\":[\"pro\",\"free\"]}]}";

static void
report(const char *name, double value, const char *unit, double target, bool is_good)
{
    printf("%s %.2f %s %.2f %s\n", name, value, unit, target, is_good ? "ok" : "short");
    fflush(stdout);
}

static void
fail(const struct err *err)
{
    fprintf(stderr, "bench_audience: %s\n", err->text);
    exit(1);
}

static struct store *
open_store(const char *folder)
{
    static const char *const files[] = {"mailshot.db", "mailshot.db-wal", "mailshot.db-shm"};
    struct store_open_args args = {.path = folder, .create = true, .fingerprint = "bench"};
    struct err err = {ERR_NONE, "", "", ""};
    struct store *st;

    mkdir(folder, 0700);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[600];

        snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        unlink(path);
    }
    if ((st = store_open(sqlite_store_driver(), &args, NULL, &err)) == NULL)
        fail(&err);
    return st;
}

static void
import(struct store *st, const struct crypto_keys *keys, unsigned n)
{
    struct import_options o = {.subscribe = true, .now_ms = clock_now_ms()};
    struct import *im = import_create(st, keys, &o, NULL);
    struct err err = {ERR_NONE, "", "", ""};
    struct buf text = BUF_INIT;
    uint64_t cpu_us = clock_cpu_us(), wall_us = clock_mono_us();
    double rate;

    buf_append_str(&text, "email,name,country,plan,tags,timezone\n");
    for (unsigned i = 0; i < n; i++) {
        buf_printf(&text, "person.%u@example%u.org,Person %u,AT,%s,a|b,Europe/Vienna\n", i, i % 97,
            i, i % 3 == 0 ? "free" : "pro");
        if (text.n < 60000 && i + 1 < n)
            continue;
        if (import_feed(im, buf_slice(&text), &err) != 0)
            fail(&err);
        buf_clear(&text);
    }
    if (import_finish(im, &err) != 0)
        fail(&err);
    cpu_us = clock_cpu_us() - cpu_us;
    rate = n / ((double)cpu_us / 1e6);
    report("import_rate", rate, "rows/cpu-s", 25000, rate >= 25000);
    report("import_wall", n / ((double)(clock_mono_us() - wall_us) / 1e6), "rows/s", 10000, true);
    if (import_result(im)->subscribed != n)
        fprintf(stderr, "bench_audience: only %llu consents\n",
            (unsigned long long)import_result(im)->subscribed);
    buf_deinit(&text);
    import_free(&im);
}

static void
count(struct store *st, const struct segment *s, unsigned n, const char *folder)
{
    struct count_query q = {
        .stream = {.segment = s, .kind = MAIL_MARKETING, .now_ms = clock_now_ms()},
        .spill_dir = folder};
    struct err err = {ERR_NONE, "", "", ""};
    struct count_result r;
    uint64_t cpu_us = clock_cpu_us();
    double rate;

    if (count_run(st, &q, NULL, &r, &err) != 0)
        fail(&err);
    rate = n / ((double)(clock_cpu_us() - cpu_us) / 1e6);
    report("count_rate", rate, "contacts/cpu-s", 300000, rate >= 300000);
    if (r.eligible != n)
        fprintf(stderr, "bench_audience: %llu eligible of %u\n", (unsigned long long)r.eligible, n);
}

/* Microseconds of CPU for one page behind the cursor. */
static double
page_cost(struct store *st, const struct eligible_query *q, struct slice cursor)
{
    struct err err = {ERR_NONE, "", "", ""};
    struct arena *a = arena_create(0);
    uint64_t cpu_us = clock_cpu_us();

    for (int i = 0; i < REPEATS; i++) {
        struct eligible_page page;

        arena_reset(a);
        if (eligible_read_page(st, q, cursor, a, &page, &err) != 0)
            fail(&err);
    }
    arena_free(&a);
    return (double)(clock_cpu_us() - cpu_us) / REPEATS;
}

static void
pages(struct store *st, const struct segment *s, unsigned n)
{
    struct eligible_query q = {.segment = s, .kind = MAIL_MARKETING, .now_ms = clock_now_ms()};
    struct err err = {ERR_NONE, "", "", ""};
    struct arena *a = arena_create(0);
    char cursor[ELIGIBLE_CURSOR_MAX];
    size_t n_cursor = 0;
    double first, last;

    for (unsigned read = 0; read + 2 * ELIGIBLE_PAGE_MAX <= n;) {
        struct eligible_page page;

        arena_reset(a);
        if (eligible_read_page(st, &q, slice_make(cursor, n_cursor), a, &page, &err) != 0)
            fail(&err);
        read += (unsigned)page.n_read;
        n_cursor = page.cursor.n;
        memcpy(cursor, page.cursor.p, n_cursor);
    }
    first = page_cost(st, &q, SLICE_NONE);
    last = page_cost(st, &q, slice_make(cursor, n_cursor));
    report("page_cost_first", first, "us/page", 1667, first <= 1667);
    report("plan_page_cost", last / first, "x_of_first_page", 1.2, last <= first * 1.2);
    arena_free(&a);
}

int
main(int argc, char **argv)
{
    unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100000;
    const char *folder = argc > 2 ? argv[2] : "bench_audience.tmp";
    const uint8_t key[CRYPTO_KEY_SIZE] = {1};
    struct crypto_keys *keys = crypto_keys_create(key, key, key);
    struct err err = {ERR_NONE, "", "", ""};
    struct segment *s = segment_parse_text(slice_str(segment_text), NULL, &err);
    struct store *st = open_store(folder);
    struct rusage usage;

    if (s == NULL)
        fail(&err);
    import(st, keys, n);
    count(st, s, n, folder);
    pages(st, s, n);
    getrusage(RUSAGE_SELF, &usage);
    report("audience_rss", (double)usage.ru_maxrss / 1024, "MiB", 64, usage.ru_maxrss <= 64 * 1024);
    store_close(&st);
    segment_free(&s);
    crypto_keys_free(&keys);
    return 0;
}
