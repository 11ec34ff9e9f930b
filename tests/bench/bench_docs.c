/*
 * Cost of documents on the embedded store: inserts, point reads, keyset pages, a filtered walk, and what
 * the writer adds to a batch that does next to nothing.
 *
 * Rates and costs are per second of CPU of the whole process, so that a busy machine does not blur
 * them; only the longest wait is by the clock on the wall.
 *
 * Usage: bench_docs [contacts [folder]]. Prints one line per measure: name value unit target ok|short.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/loop.h"
#include "store/sqlite/sqlite_store.h"
#include "store/store.h"

#define PAGE         500u
#define POINT_READS  50000u
#define POINT_GROUP  10u
#define TINY_BATCHES 100000u
#define TINY_WINDOW  1000u

static int n_short;

/** `is_rate`: more is better. */
static void
report(const char *name, double value, const char *unit, double target, bool is_rate)
{
    bool is_ok = is_rate ? value >= target : value <= target;

    n_short += !is_ok;
    printf("%s %.2f %s %.2f %s\n", name, value, unit, target, is_ok ? "ok" : "short");
    fflush(stdout);
}

static void
must_run(struct store_batch *b)
{
    struct err err;

    err_clear(&err);
    if (store_run(b, &err) != 0) {
        fprintf(stderr, "bench_docs: %s\n", err.text);
        exit(1);
    }
}

/** A hash that spreads like a keyed one, so that its index is written all over. */
static int64_t
spread(uint64_t n)
{
    n = (n ^ n >> 31) * UINT64_C(0x9E3779B97F4A7C15);
    n = (n ^ n >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    return (int64_t)(n >> 1);
}

/** About 400 bytes, as a contact with a few fields. */
static bson_t *
make_contact(uint64_t id)
{
    bson_t *doc = bson_new(), fields, tags;
    char text[64];

    bson_append_int64(doc, "_id", 3, (int64_t)id);
    snprintf(text, sizeof text, "customer-%llu", (unsigned long long)id);
    bson_append_utf8(doc, "externalId", 10, text, -1);
    snprintf(text, sizeof text, "person.%llu@example.com", (unsigned long long)id);
    bson_append_utf8(doc, "email", 5, text, -1);
    bson_append_int64(doc, "emailHash", 9, spread(id));
    bson_append_array_begin(doc, "tags", 4, &tags);
    bson_append_utf8(&tags, "0", 1, id % 2 == 0 ? "even" : "odd", -1);
    bson_append_utf8(&tags, "1", 1, id % 10 == 0 ? "tenth" : "other", -1);
    bson_append_array_end(doc, &tags);
    bson_append_document_begin(doc, "fields", 6, &fields);
    bson_append_utf8(&fields, "firstName", 9, "Margarethe", -1);
    bson_append_utf8(&fields, "lastName", 8, "Oberhuber-Lindqvist", -1);
    bson_append_utf8(&fields, "city", 4, id % 7 == 0 ? "Graz" : "Innsbruck", -1);
    bson_append_utf8(
        &fields, "note", 4, "met at the spring fair, asked for the catalogue by post", -1);
    bson_append_int32(&fields, "orders", 6, (int32_t)(id % 50));
    bson_append_document_end(doc, &fields);
    bson_append_utf8(doc, "timezone", 8, "Europe/Vienna", -1);
    bson_append_date_time(doc, "createdAt", 9, 1700000000000 + (int64_t)id);
    bson_append_date_time(doc, "updatedAt", 9, 1700000000000 + (int64_t)(id / 1000));
    return doc;
}

static void
bench_inserts(struct store *st, uint64_t n)
{
    uint64_t us = 0, longest_us = 0;

    for (uint64_t from = 1; from <= n; from += PAGE) {
        struct store_batch *b = store_batch_create(st, STORE_BULK);
        bson_t *docs[PAGE];
        uint64_t started_us, cpu_us, took_us;

        for (uint64_t i = 0; i < PAGE; i++)
            docs[i] = make_contact(from + i);
        started_us = clock_mono_us();
        cpu_us = clock_cpu_us();
        store_insert(b, "contacts", (const bson_t *const *)docs, PAGE);
        must_run(b);
        took_us = clock_mono_us() - started_us;
        us += clock_cpu_us() - cpu_us;
        longest_us = took_us > longest_us ? took_us : longest_us;
        for (uint64_t i = 0; i < PAGE; i++)
            bson_destroy(docs[i]);
        store_batch_free(&b);
    }
    report("insert_500", (double)n * 1e6 / (double)us, "docs/cpu-s", 40000, true);
    report("insert_500_longest", (double)longest_us / 1000, "ms", 250, false);
}

static void
bench_point_reads(struct store *st, uint64_t n)
{
    uint64_t started_us = clock_cpu_us();

    for (unsigned i = 0; i < POINT_READS; i++) {
        struct store_batch *b = store_batch_create(st, STORE_URGENT);

        store_find_id(b, "contacts", 1 + (uint64_t)spread(i) % n);
        must_run(b);
        store_batch_free(&b);
    }
    report("get_alone_by_id", (double)(clock_cpu_us() - started_us) / POINT_READS, "us_cpu", 10,
        false);
    started_us = clock_cpu_us();
    for (unsigned i = 0; i < POINT_READS; i += POINT_GROUP) {
        struct store_batch *b = store_batch_create(st, STORE_URGENT);

        for (unsigned k = 0; k < POINT_GROUP; k++)
            store_find_id(b, "contacts", 1 + (uint64_t)spread(i + k) % n);
        must_run(b);
        store_batch_free(&b);
    }
    report("get_by_id", (double)(clock_cpu_us() - started_us) / POINT_READS, "us_cpu", 5, false);
    started_us = clock_cpu_us();
    for (unsigned i = 0; i < POINT_READS; i++) {
        struct store_batch *b = store_batch_create(st, STORE_URGENT);
        bson_t filter = BSON_INITIALIZER;

        bson_append_int64(&filter, "emailHash", 9, spread(1 + i % n));
        store_find(b, "contacts", STORE_INDEXED, &filter, NULL);
        must_run(b);
        store_batch_free(&b);
        bson_destroy(&filter);
    }
    report("get_by_hash", (double)(clock_cpu_us() - started_us) / POINT_READS, "us_cpu", 15, false);
}

/** Walk all pages of a filter in id order; returns the documents found. */
static uint64_t
walk(struct store *st, const bson_t *filter, uint64_t *us_r)
{
    uint64_t started_us = clock_cpu_us(), n = 0;
    bson_t after = BSON_INITIALIZER;
    bool has_after = false, is_last = false;

    while (!is_last) {
        struct store_batch *b = store_batch_create(st, STORE_BULK);
        struct store_find find = {.after = has_after ? &after : NULL, .limit = PAGE};
        unsigned op = store_find(b, "contacts", STORE_SCAN, filter, &find);
        const struct store_result *r;
        bson_iter_t it;

        must_run(b);
        r = store_batch_result(b, op);
        n += r->n_docs;
        is_last = r->n_docs < PAGE;
        if (!is_last && bson_iter_init_find(&it, &r->docs[r->n_docs - 1], "_id")) {
            bson_reinit(&after);
            bson_append_iter(&after, "_id", 3, &it);
            has_after = true;
        }
        store_batch_free(&b);
    }
    bson_destroy(&after);
    *us_r = clock_cpu_us() - started_us;
    return n;
}

static void
bench_walks(struct store *st, uint64_t n)
{
    bson_t *tagged = BCON_NEW("tags", "tenth", "fields.orders", "{", "$gte", BCON_INT32(0), "}");
    uint64_t us, found;

    found = walk(st, NULL, &us);
    report("keyset_page_500", (double)found * 1e6 / (double)us, "docs/cpu-s", 1e6, true);
    found = walk(st, tagged, &us);
    if (found != n / 10) {
        fprintf(stderr, "bench_docs: %llu found\n", (unsigned long long)found);
        exit(1);
    }
    report("filtered_walk", (double)us * 1000 / (double)n, "ns_cpu/doc", 1500, false);
    bson_destroy(tagged);
}

/* ---- the writer alone -------------------------------------------------------------------------- */

struct tiny {
    struct store *st;
    unsigned n_sent, n_done;
};

static void on_tiny(struct store_batch *b, void *arg);

static void
send_tiny(struct tiny *t)
{
    struct store_batch *b = store_batch_create(t->st, STORE_URGENT);

    store_note_suppressed(b, (int64_t)t->n_sent++);
    store_submit(b, on_tiny, t);
}

static void
on_tiny(struct store_batch *b, void *arg)
{
    struct tiny *t = arg;

    store_batch_free(&b);
    t->n_done++;
    if (t->n_sent < TINY_BATCHES)
        send_tiny(t);
}

static void
bench_writer(struct store *st, struct loop *loop)
{
    struct tiny t = {.st = st};
    uint64_t cpu_us = clock_cpu_us();

    while (t.n_sent < TINY_WINDOW)
        send_tiny(&t);
    while (t.n_done < TINY_BATCHES)
        loop_turn(loop, 100);
    report("tiny_batch", (double)(clock_cpu_us() - cpu_us) / TINY_BATCHES, "us_cpu", 15, false);
}

int
main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) / PAGE * PAGE : 200000;
    const char *folder = argc > 2 ? argv[2] : "bench_docs.data";
    struct store_open_args args = {.path = folder, .create = true, .fingerprint = "bench"};
    struct loop *loop = loop_create();
    char file[512];
    struct err err;
    struct store *st;

    log_set_level(LOG_WARN);
    mkdir(folder, 0700);
    snprintf(file, sizeof file, "%s/mailshot.db", folder);
    unlink(file);
    err_clear(&err);
    if ((st = store_open(sqlite_store_driver(), &args, loop, &err)) == NULL) {
        fprintf(stderr, "bench_docs: %s\n", err.text);
        return 1;
    }
    bench_inserts(st, n);
    bench_point_reads(st, n);
    bench_walks(st, n);
    bench_writer(st, loop);
    store_close(&st);
    loop_free(&loop);
    unlink(file);
    return n_short == 0 ? 0 : 2;
}
