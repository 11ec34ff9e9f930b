/*
 * The edge tables of runs and sends against docs/states.md, in both directions, and the view of waiting
 * rows.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "store/runs.h"
#include "store/sends.h"
#include "support/suite.h"

#define STATES_MAX 16

struct edges {
    bool allowed[STATES_MAX][STATES_MAX];
    int n;
};

static struct buf
read_document(void)
{
    const char *folder = getenv("MAILSHOT_SOURCE_DIR");
    struct buf text = BUF_INIT;
    char path[512];
    struct err err;

    snprintf(path, sizeof path, "%s/docs/states.md", folder != NULL ? folder : ".");
    ck_assert_msg(file_read(path, 1 << 20, &text, &err) == 0, "%s", path);
    return text;
}

/** The name in the next cell of a table row, as a C string. */
static void
next_cell(struct slice *row, char out[32])
{
    struct slice cell = SLICE_NONE;

    ck_assert(slice_cut(row, '|', &cell));
    cell = slice_trim(cell);
    ck_assert_uint_lt(cell.n, 32);
    snprintf(out, 32, "%.*s", SLICE_FMT(cell));
}

/** Read the table under `heading`: from and to in the first two cells. */
static struct edges
read_table(const char *heading, int (*parse)(const char *name))
{
    struct buf text = read_document();
    struct slice rest = buf_slice(&text), line;
    struct edges e = {.n = 0};
    bool is_inside = false;

    while (slice_cut(&rest, '\n', &line)) {
        char from[32], to[32];
        struct slice ignored;

        if (slice_starts(line, SLICE_LIT("#")))
            is_inside = slice_eq_str(line, heading);
        if (!is_inside || !slice_starts(line, SLICE_LIT("|")) ||
            slice_starts(line, SLICE_LIT("| from")) || slice_starts(line, SLICE_LIT("|-")))
            continue;
        slice_cut(&line, '|', &ignored);
        next_cell(&line, from);
        next_cell(&line, to);
        ck_assert_msg(parse(from) >= 0 && parse(to) >= 0, "%s -> %s", from, to);
        ck_assert_msg(!e.allowed[parse(from)][parse(to)], "%s -> %s twice", from, to);
        e.allowed[parse(from)][parse(to)] = true;
        e.n++;
    }
    buf_deinit(&text);
    return e;
}

START_TEST(sends_as_documented)
{
    struct edges e = read_table("### Edges of a send", send_state_parse);

    ck_assert_int_gt(e.n, 20);
    for (int from = 0; from < SEND_STATES; from++) {
        for (int to = 0; to < SEND_STATES; to++)
            ck_assert_msg(e.allowed[from][to] ==
                              send_edge_allowed((enum send_state)from, (enum send_state)to),
                "%s -> %s", send_state_name(from), send_state_name(to));
    }
}
END_TEST

START_TEST(runs_as_documented)
{
    struct edges e = read_table("### Edges of a run", run_state_parse);

    ck_assert_int_gt(e.n, 10);
    for (int from = 0; from < RUN_STATES; from++) {
        for (int to = 0; to < RUN_STATES; to++)
            ck_assert_msg((e.allowed[from][to] || from == to) ==
                              run_edge_allowed((enum run_state)from, (enum run_state)to),
                "%s -> %s", run_state_name(from), run_state_name(to));
    }
}
END_TEST

START_TEST(waiting_rows_as_shown)
{
    static const struct {
        enum run_state run;
        uint32_t reasons;
        enum send_state stored, want;
    } cases[] = {
        {RUN_SENDING, 0, SEND_QUEUED, SEND_QUEUED},
        {RUN_SENDING, 0, SEND_HELD, SEND_HELD},
        {RUN_PAUSED, 1u << PAUSE_MANUAL, SEND_QUEUED, SEND_HELD},
        {RUN_PAUSED, 1u << PAUSE_CAP_REACHED, SEND_QUEUED, SEND_QUEUED},
        {RUN_PAUSED, 1u << PAUSE_CAP_REACHED | 1u << PAUSE_MANUAL, SEND_QUEUED, SEND_HELD},
        {RUN_PAUSED, 1u << PAUSE_MANUAL, SEND_SENDING, SEND_SENDING},
        {RUN_PAUSED, 1u << PAUSE_MANUAL, SEND_SENT, SEND_SENT},
        {RUN_CANCELLED, 0, SEND_QUEUED, SEND_CANCELLED},
        {RUN_CANCELLED, 0, SEND_HELD, SEND_CANCELLED},
        {RUN_CANCELLED, 0, SEND_SENDING, SEND_SENDING},
        {RUN_CANCELLED, 0, SEND_FAILED, SEND_FAILED},
        {RUN_SENT, 0, SEND_UNKNOWN, SEND_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run_record r = {.state = cases[i].run, .reasons = cases[i].reasons};

        ck_assert_msg(send_state_shown(cases[i].stored, &r) == cases[i].want, "case %zu", i);
    }
}
END_TEST

START_TEST(sums_of_counters)
{
    struct run_counters n = {.by_state = {[SEND_QUEUED] = 1,
                                 [SEND_SENDING] = 2,
                                 [SEND_HELD] = 4,
                                 [SEND_SENT] = 8,
                                 [SEND_UNKNOWN] = 16},
        .excluded = {[EXCL_NO_CONSENT] = 32, [EXCL_SUPPRESSED_ERASURE] = 64},
        .accepted = 1000};

    ck_assert_int_eq(run_open_rows(&n), 7);
    ck_assert_int_eq(run_rows(&n), 31);
    ck_assert_int_eq(run_matched(&n), 127);
}
END_TEST

SUITE_MAIN(
    "edges", sends_as_documented, runs_as_documented, waiting_rows_as_shown, sums_of_counters)
