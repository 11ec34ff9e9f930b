/*
 * Cost of the send rows on the embedded store: CPU of the whole process per row, the longest wait for
 * one batch, and whether control operations stay the same whatever the number of rows.
 *
 * Usage: bench_sends [rows [folder]]. Prints one line per measure: name value unit target ok|short.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/runs.h"
#include "store/sends.h"
#include "store/sqlite/sqlite_store.h"
#include "store/store.h"

#define RUN     UINT64_C(0x0153000000000001) /* as wide as real ids are */
#define SMALL   UINT64_C(0x0153000000000002)
#define OWNER   UINT64_C(11)
#define SLICE   100u
#define STEP    50u
#define PAGE    500u
#define T0      INT64_C(1700000000000)
#define MOVES   200000u
#define REPEATS 200

struct cost {
    uint64_t cpu_us, wall_us, longest_us;
};

static void
report(const char *name, double value, const char *unit, double target)
{
    printf("%s %.2f %s %.2f %s\n", name, value, unit, target, value <= target ? "ok" : "short");
    fflush(stdout);
}

/** Run a batch and free it, adding what it cost; results must have been read by `then`. */
static void
run(struct store_batch *b, struct cost *cost)
{
    uint64_t cpu_us = clock_cpu_us(), wall_us = clock_mono_us(), took_us;
    struct err err;

    err_clear(&err);
    if (store_run(b, &err) != 0) {
        fprintf(stderr, "bench_sends: %s\n", err.text);
        exit(1);
    }
    took_us = clock_mono_us() - wall_us;
    cost->cpu_us += clock_cpu_us() - cpu_us;
    cost->wall_us += took_us;
    if (took_us > cost->longest_us)
        cost->longest_us = took_us;
}

static void
create_run(struct store *st, uint64_t broadcast)
{
    struct run_record r = {.broadcast = broadcast, .state = RUN_SENDING, .fence = 1};
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    struct cost ignored = {0};

    runs_create(b, &r);
    run(b, &ignored);
    store_batch_free(&b);
}

/** A hash that spreads like a keyed one, so that the unique index is written all over. */
static int64_t
spread(uint64_t n)
{
    n = (n ^ n >> 31) * UINT64_C(0x9E3779B97F4A7C15);
    n = (n ^ n >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    return (int64_t)(n >> 1);
}

static struct cost
plan(struct store *st, uint64_t broadcast, uint64_t first, uint64_t n)
{
    struct cost cost = {0};

    for (uint64_t done = 0; done < n; done += SLICE) {
        struct sends_plan_row rows[SLICE];
        char addresses[SLICE][40];
        uint64_t next = done + SLICE;
        struct sends_plan p = {.broadcast = broadcast,
            .fence = 1,
            .profile = 5,
            .page = (uint32_t)(done / PAGE + 1),
            .now_ms = T0,
            .rows = rows,
            .n_rows = SLICE,
            .cursor_before = slice_make(&done, done != 0 ? sizeof done : 0),
            .cursor_after = slice_make(&next, sizeof next)};
        struct store_batch *b = store_batch_create(st, STORE_BULK);

        for (uint64_t i = 0; i < SLICE; i++) {
            uint64_t id = first + done + i;

            snprintf(addresses[i], sizeof addresses[i], "person%llu@mail.example.org",
                (unsigned long long)id);
            rows[i] = (struct sends_plan_row){.id = id << 20,
                .contact = id << 18,
                .address = slice_str(addresses[i]),
                .address_hash = spread(id),
                .due_at_ms = T0};
        }
        sends_plan(b, &p);
        run(b, &cost);
        store_batch_free(&b);
    }
    return cost;
}

/** Sessions at work: each commit settles the mails of the step before and claims the next. What
 * feeding the queue costs, a page of due rows at a time, goes to `feed_r`. */
static struct cost
claim_and_settle(struct store *st, uint64_t n_moves, struct cost *feed_r)
{
    struct cost cost = {0};
    struct sends_settle settles[STEP];
    size_t n_settles = 0;
    uint64_t after_id = 0, moved = 0, token = 0;

    while (moved < n_moves) {
        struct store_batch *page = store_batch_create(st, STORE_URGENT);
        unsigned due = sends_due(page, RUN, T0, after_id, T0, PAGE);
        const struct sends_result *r;

        run(page, feed_r);
        r = sends_result(page, due);
        for (size_t i = 0; i + STEP <= r->n_rows; i += STEP) {
            struct store_batch *b = store_batch_create(st, STORE_URGENT);
            struct sends_claim claims[STEP];
            struct sends_commit c = {.owner = OWNER,
                .now_ms = T0,
                .settles = settles,
                .n_settles = n_settles,
                .claims = claims,
                .n_claims = STEP};

            for (size_t j = 0; j < STEP; j++) {
                const struct send_row *row = &r->rows[i + j];

                claims[j] = (struct sends_claim){.broadcast = RUN,
                    .id = row->id,
                    .token = token + j + 1,
                    .generation = 1,
                    .address_hash = row->address_hash,
                    .seen_seq = store_suppression_seq(st)};
            }
            sends_commit(b, &c);
            run(b, &cost);
            store_batch_free(&b);
            for (size_t j = 0; j < STEP; j++)
                settles[j] = (struct sends_settle){.broadcast = RUN,
                    .id = claims[j].id,
                    .token = ++token,
                    .to = SEND_SENT,
                    .reply_code = 250,
                    .at_ms = T0};
            n_settles = STEP;
            after_id = claims[STEP - 1].id;
            moved += STEP;
        }
        if (r->n_rows < STEP)
            moved = n_moves;
        store_batch_free(&page);
    }
    return cost;
}

/** Pause or resume a run. */
static void
toggle(struct store *st, uint64_t broadcast, bool is_pause, struct cost *cost)
{
    struct run_change c = {.broadcast = broadcast,
        .set = RUN_SET_STATE,
        .if_states = is_pause ? 1u << RUN_SENDING : 1u << RUN_PAUSED,
        .reasons_add = is_pause ? 1u << PAUSE_MANUAL : 0,
        .reasons_clear = ~0u};
    struct store_batch *b = store_batch_create(st, STORE_URGENT);

    c.to.state = is_pause ? RUN_PAUSED : RUN_SENDING;
    runs_change(b, &c);
    run(b, cost);
    store_batch_free(&b);
}

/** What a pause of the large run costs, by the cost of one of the small run. They take turns, so that
 * housekeeping of the writer falls on both. */
static double
pause_ratio(struct store *st)
{
    struct cost small = {0}, large = {0};

    for (int i = 0; i < 2 * REPEATS; i++) {
        toggle(st, SMALL, i % 2 == 0, &small);
        toggle(st, RUN, i % 2 == 0, &large);
    }
    return (double)large.cpu_us / (double)small.cpu_us;
}

/** Milliseconds for one page of a list, over the first hundred pages. */
static double
list_cost(struct store *st, enum send_state state)
{
    struct cost cost = {0};

    for (uint64_t after = 0, i = 0; i < 100; i++) {
        struct sends_list l = {
            .broadcast = RUN, .state = (int)state, .fail_class = -1, .after = after, .limit = 100};
        struct store_batch *b = store_batch_create(st, STORE_URGENT);
        unsigned op = sends_list(b, &l);

        run(b, &cost);
        after = sends_result(b, op)->next;
        store_batch_free(&b);
    }
    return (double)cost.wall_us / 100 / 1000;
}

static uint64_t
recount_cost(struct store *st)
{
    struct cost cost = {0};
    struct store_batch *b = store_batch_create(st, STORE_BULK);
    unsigned op = runs_recount(b, RUN);
    const struct run_result *r;

    run(b, &cost);
    r = runs_result(b, op);
    if (!run_counters_equal(&r->before, &r->runs[0].n)) {
        fprintf(stderr, "bench_sends: the recount differs\n");
        exit(1);
    }
    store_batch_free(&b);
    return cost.wall_us;
}

static double
per_row(uint64_t us, uint64_t n)
{
    return (double)us / (double)n;
}

static void
measure(struct store *st, uint64_t n)
{
    uint64_t moves = n < MOVES ? n : MOVES;
    struct cost cost, feed = {0};

    create_run(st, RUN);
    create_run(st, SMALL);
    plan(st, SMALL, 2 * n, 1000);
    cost = plan(st, RUN, 1, n);
    report("sends_insert_cpu", per_row(cost.cpu_us, n), "us/row", 30);
    report("sends_insert_wall", per_row(cost.wall_us, n), "us/row", 80);
    report("sends_insert_longest", (double)cost.longest_us / 1000, "ms", 50);
    cost = claim_and_settle(st, moves, &feed);
    report("sends_feed_cpu", per_row(feed.cpu_us, moves), "us/row", 5);
    report("sends_claim_settle_cpu", per_row(cost.cpu_us, moves), "us/row", 20);
    report("sends_claim_settle_wall", per_row(cost.wall_us, moves), "us/row", 40);
    report("sends_claim_settle_longest", (double)cost.longest_us / 1000, "ms", 50);
    report("pause_cost", pause_ratio(st), "x_of_1000_rows", 1.2);
    report("sends_list_queued_page", list_cost(st, SEND_QUEUED), "ms", 10);
    report("sends_list_sent_page", list_cost(st, SEND_SENT), "ms", 10);
    report("sends_list_failed_page", list_cost(st, SEND_FAILED), "ms", 10);
    report("sends_recount", per_row(recount_cost(st), n), "us/row", 3);
}

int
main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) / SLICE * SLICE : 1000000;
    const char *folder = argc > 2 ? argv[2] : "bench_sends.tmp";
    struct store_open_args args = {.path = folder, .create = true, .fingerprint = "bench"};
    char path[600];
    struct store *st;
    struct stat info;
    struct err err;

    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/mailshot.db", folder);
    unlink(path);
    err_clear(&err);
    if ((st = store_open(sqlite_store_driver(), &args, NULL, &err)) == NULL) {
        fprintf(stderr, "bench_sends: %s\n", err.text);
        return 1;
    }
    measure(st, n);
    store_close(&st);
    if (stat(path, &info) == 0)
        report("sends_file", (double)info.st_size / (double)n, "bytes/row", 400);
    unlink(path);
    rmdir(folder);
    return 0;
}
