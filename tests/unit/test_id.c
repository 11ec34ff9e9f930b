/* Ids: order under a moving clock and many threads, layout, text form. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"

#include "../support/suite.h"

#define NOW_MS INT64_C(1780000000000)

START_TEST(layout_holds_time_instance_and_sequence)
{
    uint64_t id;

    clock_set_fake(NOW_MS);
    id_init(517, 0);
    id = id_next();
    ck_assert_int_eq(id_time_ms(id), NOW_MS);
    ck_assert_uint_eq(id >> 12 & 1023, 517);
    ck_assert_uint_eq(id & 4095, 0);
    ck_assert_uint_eq(id_next(), id + 1);
    ck_assert_int_eq(id_high_water_ms(), NOW_MS);
    clock_set_fake(0);
}
END_TEST

START_TEST(ids_rise_when_the_clock_steps_back)
{
    uint64_t last = 0;

    clock_set_fake(NOW_MS + 1000);
    id_init(517, 0);
    for (int i = 0; i < 20000; i++) {
        uint64_t id = id_next();

        ck_assert_uint_gt(id, last);
        last = id;
        if (i % 100 == 0)
            clock_step_wall(i % 200 == 0 ? -60000 : 59000);
    }
    clock_set_fake(0);
}
END_TEST

START_TEST(ids_rise_when_a_sequence_is_used_up)
{
    static uint64_t ids[10000];
    uint64_t last;

    clock_set_fake(NOW_MS + 100000);
    last = id_next();
    id_next_many(ids, 0);
    id_next_many(ids, 10000);
    for (int i = 0; i < 10000; i++) {
        ck_assert_uint_gt(ids[i], last);
        ck_assert_uint_eq(ids[i] >> 12 & 1023, 517);
        last = ids[i];
    }
    ck_assert_int_eq(id_time_ms(last), NOW_MS + 100002);
    ck_assert_uint_gt(id_next(), last);
    clock_set_fake(0);
}
END_TEST

START_TEST(a_floor_and_a_new_instance_keep_the_order)
{
    uint64_t last, id;

    clock_set_fake(NOW_MS + 200000);
    last = id_next();
    id_init(517, NOW_MS + 300000);
    id = id_next();
    ck_assert_int_eq(id_time_ms(id), NOW_MS + 300000);
    ck_assert_uint_gt(id, last);
    last = id;
    id_init(3, NOW_MS);
    id = id_next();
    ck_assert_uint_eq(id >> 12 & 1023, 3);
    ck_assert_uint_gt(id, last);
    clock_set_fake(0);
}
END_TEST

#define THREADS    4
#define PER_THREAD 20000

static void *
make_ids(void *arg)
{
    uint64_t *ids = arg;

    for (int i = 0; i < PER_THREAD; i++)
        ids[i] = id_next();
    return NULL;
}

static int
compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

START_TEST(threads_never_share_an_id)
{
    uint64_t *ids = mem_array(THREADS * PER_THREAD, sizeof *ids);
    pthread_t threads[THREADS];

    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, make_ids, ids + t * PER_THREAD);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int i = 1; i < THREADS * PER_THREAD; i++)
        if (i % PER_THREAD != 0 && ids[i] <= ids[i - 1])
            ck_abort_msg("order of thread %d", i / PER_THREAD);
    qsort(ids, THREADS * PER_THREAD, sizeof *ids, compare_ids);
    for (int i = 1; i < THREADS * PER_THREAD; i++)
        if (ids[i] == ids[i - 1])
            ck_abort_msg("given twice: %llx", (unsigned long long)ids[i]);
    mem_free(ids);
}
END_TEST

START_TEST(text_round_trips_and_sorts_like_the_number)
{
    static const uint64_t ids[] = {1, 31, 32, 0x0123456789abcdef, INT64_MAX - 1, INT64_MAX};
    char before[ID_TEXT_SIZE] = "";

    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char text[ID_TEXT_SIZE];
        uint64_t back = 0;

        ck_assert_uint_eq(strlen(id_text(ids[i], text)), 13);
        ck_assert(id_parse(slice_str(text), &back));
        ck_assert_uint_eq(back, ids[i]);
        ck_assert_int_lt(strcmp(before, text), 0);
        memcpy(before, text, sizeof text);
    }
}
END_TEST

START_TEST(parser_takes_either_case_and_look_alikes)
{
    static const struct {
        const char *text;
        uint64_t id; /* 0: refused */
    } rows[] = {{"0000000000001", 1}, {"000000000000I", 1}, {"000000000000l", 1},
        {"OoO000000000z", 31}, {"000000000000Z", 31}, {"7ZZZZZZZZZZZZ", INT64_MAX},
        {"0000000000000", 0}, {"8000000000000", 0}, {"000000000000U", 0}, {"000000000001", 0},
        {"00000000000001", 0}, {"000000000000-", 0}, {"00000000000\xc3\xa9", 0}, {"", 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t id = 0;
        bool ok = id_parse(slice_str(rows[i].text), &id);

        ck_assert_msg(ok == (rows[i].id != 0), "%s", rows[i].text);
        ck_assert_uint_eq(id, rows[i].id);
    }
}
END_TEST

SUITE_MAIN("id", layout_holds_time_instance_and_sequence, ids_rise_when_the_clock_steps_back,
    ids_rise_when_a_sequence_is_used_up, a_floor_and_a_new_instance_keep_the_order,
    threads_never_share_an_id, text_round_trips_and_sorts_like_the_number,
    parser_takes_either_case_and_look_alikes)
