/* Time zones: names from anybody, offsets, gaps and overlaps. */
#include <pthread.h>
#include <string.h>

#include "base/tz.h"

#include "../support/suite.h"

START_TEST(names_are_checked)
{
    static const char *const good[] = {"UTC", "Europe/Berlin", "Europe/Kiev",
        "America/Argentina/Buenos_Aires", "Etc/GMT+5", "America/Port-au-Prince", "EST5EDT"};
    static const char *const bad[] = {"", "Europe/Atlantis", "../../etc/passwd", "/etc/localtime",
        "Europe/../UTC", "Europe", "Europe/", "UTC ", "XYZ5", "+02:00", ":UTC", "right/UTC",
        "zone.tab", "Europe/Berlin\n", "leapseconds",
        "Europe/BerlinBerlinBerlinBerlinBerlinBerlinBerlinBerlinBerlinBerlin"};

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(tz_valid(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!tz_valid(bad[i]), "%s", bad[i]);
    ck_assert_int_eq(tz_offset_s("Europe/Atlantis", 0), 0);
}
END_TEST

static int64_t
at(const char *text)
{
    int64_t ms = -1;

    ck_assert_msg(timefmt_parse(slice_str(text), &ms), "%s", text);
    return ms;
}

START_TEST(offsets)
{
    ck_assert_int_eq(tz_offset_s("Europe/Berlin", at("2026-01-15T12:00:00Z")), 3600);
    ck_assert_int_eq(tz_offset_s("Europe/Berlin", at("2026-07-15T12:00:00Z")), 7200);
    ck_assert_int_eq(tz_offset_s("Europe/Berlin", at("2026-03-29T00:59:59.999Z")), 3600);
    ck_assert_int_eq(tz_offset_s("Europe/Berlin", at("2026-03-29T01:00:00Z")), 7200);
    ck_assert_int_eq(tz_offset_s("Asia/Kolkata", at("2026-07-15T12:00:00Z")), 19800);
    ck_assert_int_eq(tz_offset_s("America/New_York", at("2060-07-15T12:00:00Z")), -14400);
    ck_assert_int_eq(tz_offset_s("UTC", at("2026-07-15T12:00:00Z")), 0);
}
END_TEST

START_TEST(local_times)
{
    static const struct {
        const char *zone, *wall, *utc;
    } rows[] = {
        {"Europe/Berlin", "2026-03-29T02:30:00Z", "2026-03-29T01:30:00Z"},    /* gap */
        {"Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z"},    /* overlap */
        {"Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z"},    /* behind it */
        {"Europe/Kiev", "2026-06-02T12:00:00Z", "2026-06-02T09:00:00Z"},      /* old alias */
        {"America/New_York", "2026-03-08T02:30:00Z", "2026-03-08T07:30:00Z"}, /* gap */
        {"America/New_York", "2026-11-01T01:30:00Z", "2026-11-01T05:30:00Z"}, /* overlap */
        {"America/New_York", "2026-11-01T05:30:00Z", "2026-11-01T10:30:00Z"},
        {"America/New_York", "2026-09-17T10:00:00Z", "2026-09-17T14:00:00Z"},
        {"Europe/Berlin", "2026-09-18T10:00:00Z", "2026-09-18T08:00:00Z"},
        {"Asia/Kolkata", "2026-09-18T10:00:00Z", "2026-09-18T04:30:00Z"},
        {"Pacific/Kiritimati", "2026-09-18T10:00:00Z", "2026-09-17T20:00:00Z"},
        {"Pacific/Pago_Pago", "2026-09-17T10:00:00Z", "2026-09-17T21:00:00Z"},
        {"Australia/Lord_Howe", "2026-10-04T02:15:00Z", "2026-10-03T15:45:00Z"}, /* gap of 30 min */
        {"Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T22:00:00Z"}, /* a day left out */
        {"UTC", "2026-09-17T10:00:00.250Z", "2026-09-17T10:00:00.250Z"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct civil local;
        char got[TIMEFMT_ISO_SIZE], expected[TIMEFMT_ISO_SIZE];
        int64_t ms;

        civil_from_ms(at(rows[i].wall), &local);
        ck_assert(tz_local_to_ms(rows[i].zone, &local, &ms));
        timefmt_iso(ms, got);
        timefmt_iso(at(rows[i].utc), expected);
        ck_assert_msg(strcmp(got, expected) == 0, "%s %s: %s", rows[i].zone, rows[i].wall, got);
    }
}
END_TEST

START_TEST(unknown_zone_has_no_local_time)
{
    struct civil local = {.year = 2026, .month = 1, .day = 1};
    int64_t ms = 5;

    ck_assert(!tz_local_to_ms("Mars/Olympus", &local, &ms));
    ck_assert_int_eq(ms, 5);
}
END_TEST

static void *
ask_offsets(void *arg)
{
    static const char *const names[] = {"Europe/Paris", "Asia/Tokyo", "America/Chicago"};

    for (int i = 0; i < 300; i++)
        if (!tz_valid(names[i % 3]) || tz_offset_s("Asia/Tokyo", i) != 32400)
            return arg;
    return NULL;
}

START_TEST(threads_share_the_cache)
{
    pthread_t threads[4];
    int mark;

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, ask_offsets, &mark);
    for (int i = 0; i < 4; i++) {
        void *fault;

        pthread_join(threads[i], &fault);
        ck_assert_ptr_null(fault);
    }
}
END_TEST

SUITE_MAIN("tz", names_are_checked, offsets, local_times, unknown_zone_has_no_local_time,
    threads_share_the_cache)
