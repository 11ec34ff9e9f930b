/* Calendar arithmetic and the two text forms of an instant. */
#include <string.h>
#include <time.h>

#include "base/timefmt.h"

#include "../support/suite.h"

START_TEST(calendar_agrees_with_the_c_library)
{
    /* About every 11 days from 1600 to 2400, at odd times of day. */
    for (int64_t s = INT64_C(-11676096000); s < INT64_C(13569465600); s += 950411) {
        time_t t = (time_t)s;
        struct civil c;
        struct tm tm;

        gmtime_r(&t, &tm);
        civil_from_ms(s * 1000 + 7, &c);
        if (c.year != tm.tm_year + 1900 || c.month != tm.tm_mon + 1 || c.day != tm.tm_mday ||
            c.hour != tm.tm_hour || c.minute != tm.tm_min || c.second != tm.tm_sec ||
            c.wday != tm.tm_wday || c.ms != 7 || civil_to_ms(&c) != s * 1000 + 7)
            ck_abort_msg("%lld", (long long)s);
    }
}
END_TEST

START_TEST(texts)
{
    char iso[TIMEFMT_ISO_SIZE], mail[TIMEFMT_MAIL_SIZE];

    ck_assert_str_eq(timefmt_iso(0, iso), "1970-01-01T00:00:00.000Z");
    ck_assert_str_eq(timefmt_iso(-1, iso), "1969-12-31T23:59:59.999Z");
    ck_assert_str_eq(timefmt_iso(1780394400005, iso), "2026-06-02T10:00:00.005Z");
    ck_assert_str_eq(timefmt_mail(1780394400005, mail), "Tue, 2 Jun 2026 10:00:00 +0000");
    ck_assert_str_eq(timefmt_mail(1709164800000, mail), "Thu, 29 Feb 2024 00:00:00 +0000");
}
END_TEST

START_TEST(parsing)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } rows[] = {{"2026-06-02T10:00:00Z", 1780394400000}, {"2026-06-02t10:00:00z", 1780394400000},
        {"2026-06-02T10:00:00.5Z", 1780394400500},
        {"2026-06-02T10:00:00.123456789Z", 1780394400123},
        {"2026-06-02T12:00:00+02:00", 1780394400000}, {"2026-06-02T04:30:00-05:30", 1780394400000},
        {"2024-02-29T00:00:00Z", 1709164800000}, {"1970-01-01T00:00:00Z", 0},
        {"9999-12-31T23:59:59.999Z", 253402300799999}, {"2026-06-02T10:00:00", -1},
        {"2026-06-02 10:00:00Z", -1}, {"2026-06-02", -1}, {"2023-02-29T00:00:00Z", -1},
        {"2100-02-29T00:00:00Z", -1}, {"2026-13-01T00:00:00Z", -1}, {"2026-00-01T00:00:00Z", -1},
        {"2026-04-31T00:00:00Z", -1}, {"2026-06-00T00:00:00Z", -1}, {"2026-06-02T24:00:00Z", -1},
        {"2026-06-02T10:60:00Z", -1}, {"2026-06-02T10:00:60Z", -1}, {"2026-06-02T10:00:00.Z", -1},
        {"2026-06-02T10:00:00.1234567890Z", -1}, {"2026-06-02T10:00:00+24:00", -1},
        {"2026-06-02T10:00:00+02:60", -1}, {"2026-06-02T10:00:00+0200", -1},
        {"2026-06-02T10:00:00Z ", -1}, {"1969-12-31T23:59:59Z", -1},
        {"1970-01-01T00:00:00+00:01", -1}, {"26-06-02T10:00:00Z", -1}, {"-026-06-02T10:00:00Z", -1},
        {"", -1}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ms = -1;
        bool ok = timefmt_parse(slice_str(rows[i].text), &ms);

        ck_assert_msg(ok == (rows[i].ms >= 0), "%s", rows[i].text);
        ck_assert_int_eq(ms, rows[i].ms);
    }
}
END_TEST

SUITE_MAIN("timefmt", calendar_agrees_with_the_c_library, texts, parsing)
