/*
 * The pace of a profile and the limits of receiver domains, on a clock that only the test moves.
 */
#include "../support/suite.h"
#include "base/clock.h"
#include "transport/domain_gate.h"
#include "transport/pace.h"

#define START_MS INT64_C(1800000000000)

/* Take as fast as allowed for `ms`; returns how many went. */
static unsigned
take_for(struct pace *p, int64_t ms)
{
    unsigned n = 0;

    while (ms > 0) {
        int64_t wait_ms = pace_take(p, LANE_BULK);

        if (wait_ms == 0) {
            n++;
            continue;
        }
        if (wait_ms > ms)
            wait_ms = ms;
        clock_step(wait_ms);
        ms -= wait_ms;
    }
    return n;
}

START_TEST(test_rate)
{
    static const struct {
        double per_second;
        unsigned burst, min, max; /* mails in ten seconds */
    } cases[] = {
        {10, 0, 100, 102}, {1, 0, 10, 11}, {0.5, 0, 5, 6}, {250, 0, 2500, 2551}, {10, 5, 104, 106}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pace *p;
        unsigned n;

        clock_set_fake(START_MS);
        p = pace_create(cases[i].per_second, cases[i].burst);
        n = take_for(p, 10000);
        ck_assert_msg(
            n >= cases[i].min && n <= cases[i].max, "%g/s: %u in 10 s", cases[i].per_second, n);
        /* Idle time earns a burst, not an hour's worth. */
        clock_step(3600000);
        ck_assert_uint_le(take_for(p, 1000), cases[i].max / 10 + cases[i].max / 50 + 6);
        pace_free(&p);
    }
    clock_set_fake(0);
}
END_TEST

START_TEST(test_unlimited)
{
    struct pace *p;

    clock_set_fake(START_MS);
    p = pace_create(0, 0);
    for (int i = 0; i < 100000; i++)
        ck_assert_int_eq(pace_take(p, LANE_BULK), 0);
    ck_assert(!pace_is_limited(p));
    pace_free(&p);
    clock_set_fake(0);
}
END_TEST

START_TEST(test_throttled)
{
    struct pace *p;
    unsigned n;

    clock_set_fake(START_MS);
    p = pace_create(100, 0);
    take_for(p, 2000);
    /* A volley of replies to what was on the wire counts once. */
    for (int i = 0; i < 50; i++)
        pace_throttled(p, 0);
    ck_assert(pace_is_limited(p));
    ck_assert_double_eq(pace_rate(p), 50);
    clock_step(500);
    pace_throttled(p, 0);
    ck_assert_double_eq(pace_rate(p), 50);
    clock_step(600);
    pace_throttled(p, 0);
    ck_assert_double_le(pace_rate(p), 28);
    n = take_for(p, 1000);
    ck_assert_msg(n >= 20 && n <= 35, "%u", n);
    /* Half a minute without throttling brings it back, gently. */
    take_for(p, 4000);
    ck_assert(pace_is_limited(p));
    ck_assert_double_le(pace_rate(p), 60);
    take_for(p, 20000);
    ck_assert(!pace_is_limited(p));
    ck_assert_double_eq(pace_rate(p), 100);
    pace_free(&p);
    clock_set_fake(0);
}
END_TEST

/* What was really sent is halved where there is no rate, or one that never limited anything. */
static void
check_throttled_at_400(double configured)
{
    struct pace *p;

    clock_set_fake(START_MS);
    p = pace_create(configured, 0);
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < 400; i++)
            ck_assert_int_eq(pace_take(p, LANE_BULK), 0);
        clock_step(1000);
    }
    pace_take(p, LANE_BULK);
    pace_throttled(p, 0);
    ck_assert_double_eq(pace_rate(p), 200);
    ck_assert_int_gt(pace_take(p, LANE_BULK), 0);
    clock_step(3000);
    pace_take(p, LANE_BULK);
    ck_assert(pace_is_limited(p));
    ck_assert_double_le(pace_rate(p), 260);
    clock_step(120000);
    pace_take(p, LANE_BULK);
    ck_assert_double_eq(pace_rate(p), configured);
    ck_assert(!pace_is_limited(p));
    pace_free(&p);
    clock_set_fake(0);
}

START_TEST(test_throttled_unlimited)
{
    check_throttled_at_400(0);
    check_throttled_at_400(1000000);
}
END_TEST

START_TEST(test_floor_and_hold)
{
    struct pace *p;

    clock_set_fake(START_MS);
    p = pace_create(10, 0);
    for (int i = 0; i < 100; i++) {
        pace_throttled(p, 0);
        clock_step(1000);
    }
    /* Never so slow that nobody would notice that the relay is well again. */
    ck_assert_double_ge(pace_rate(p), 0.1);
    pace_throttled(p, 20000);
    ck_assert_int_eq(pace_take(p, LANE_IMMEDIATE), 20000);
    clock_step(20000);
    ck_assert_int_eq(pace_take(p, LANE_IMMEDIATE), 0);
    pace_throttled(p, 86400000);
    ck_assert_int_eq(pace_take(p, LANE_BULK), 300000);
    pace_free(&p);
    clock_set_fake(0);
}
END_TEST

START_TEST(test_lanes)
{
    struct pace *p;
    unsigned n = 0;

    clock_set_fake(START_MS);
    p = pace_create(10, 1);
    ck_assert_int_eq(pace_take(p, LANE_BULK), 0);
    ck_assert_int_gt(pace_take(p, LANE_BULK), 0);
    while (pace_take(p, LANE_IMMEDIATE) == 0)
        n++;
    ck_assert_uint_eq(n, 10);
    /* Bulk pays it back. */
    ck_assert_int_eq(pace_take(p, LANE_BULK), 1100);
    clock_step(1100);
    ck_assert_int_eq(pace_take(p, LANE_BULK), 0);
    ck_assert_int_gt(pace_take(p, LANE_BULK), 0);
    pace_untake(p);
    ck_assert_int_eq(pace_take(p, LANE_BULK), 0);
    pace_free(&p);
    clock_set_fake(0);
}
END_TEST

START_TEST(test_set_rate)
{
    struct pace *p;

    clock_set_fake(START_MS);
    p = pace_create(100, 0);
    pace_throttled(p, 0);
    pace_set_rate(p, 20);
    ck_assert_double_eq(pace_rate(p), 20);
    ck_assert(!pace_is_limited(p));
    pace_set_rate(p, 0);
    ck_assert_double_eq(pace_rate(p), 0);
    ck_assert_int_eq(pace_take(p, LANE_BULK), 0);
    pace_free(&p);
    clock_set_fake(0);
}
END_TEST

/* ---- receiver domains ---------------------------------------------------------------------- */

#define GREY SLICE_LIT("grey.example")
#define GOOD SLICE_LIT("good.example")

START_TEST(test_in_flight)
{
    struct domain_gate_settings settings = {.max_in_flight = 2};
    struct domain_gate *g;

    clock_set_fake(START_MS);
    g = domain_gate_create(&settings);
    ck_assert_int_eq(domain_gate_enter(g, GREY), 0);
    ck_assert_int_eq(domain_gate_enter(g, GREY), 0);
    ck_assert_int_gt(domain_gate_enter(g, GREY), 0);
    ck_assert_int_gt(domain_gate_wait_ms(g, GREY), 0);
    ck_assert_int_eq(domain_gate_enter(g, GOOD), 0);
    domain_gate_leave(g, GREY);
    ck_assert_int_eq(domain_gate_wait_ms(g, GREY), 0);
    ck_assert_int_eq(domain_gate_enter(g, GREY), 0);
    domain_gate_set_limits(g, 0, 0);
    ck_assert_int_eq(domain_gate_enter(g, GREY), 0);
    domain_gate_free(&g);
    clock_set_fake(0);
}
END_TEST

START_TEST(test_per_minute)
{
    struct domain_gate_settings settings = {.per_minute = 30};
    struct domain_gate *g;
    unsigned n = 0;

    clock_set_fake(START_MS);
    g = domain_gate_create(&settings);
    for (int64_t ms = 0; ms < 60000; ms += 100) {
        while (domain_gate_enter(g, GOOD) == 0) {
            domain_gate_leave(g, GOOD);
            n++;
        }
        clock_step(100);
    }
    ck_assert_uint_eq(n, 30);
    ck_assert_int_le(domain_gate_wait_ms(g, GOOD), 2000);
    domain_gate_free(&g);
    clock_set_fake(0);
}
END_TEST

START_TEST(test_block)
{
    struct domain_gate_settings settings = {0};
    struct domain_gate *g;
    size_t blocked;

    clock_set_fake(START_MS);
    g = domain_gate_create(&settings);
    ck_assert_int_eq(domain_gate_enter(g, GREY), 0);
    domain_gate_leave(g, GREY);
    ck_assert_int_eq(domain_gate_block(g, GREY, 300000), 300000);
    ck_assert_int_eq(domain_gate_enter(g, GREY), 300000);
    ck_assert_int_eq(domain_gate_enter(g, GOOD), 0);
    ck_assert_uint_eq(domain_gate_count(g, &blocked), 2);
    ck_assert_uint_eq(blocked, 1);
    clock_step(299999);
    ck_assert_int_eq(domain_gate_enter(g, GREY), 1);
    clock_step(1);
    ck_assert_int_eq(domain_gate_enter(g, GREY), 0);
    domain_gate_leave(g, GREY);

    /* Without a delay: 60 s, doubled each time, not by replies of the same moment; success forgets. */
    for (int64_t want_ms = 60000; want_ms <= 1920000; want_ms *= 2) {
        int64_t capped_ms = want_ms < 1800000 ? want_ms : 1800000;

        ck_assert_int_eq(domain_gate_block(g, GREY, 0), capped_ms);
        ck_assert_int_eq(domain_gate_block(g, GREY, 0), capped_ms);
        clock_step(capped_ms);
    }
    domain_gate_accepted(g, GREY);
    ck_assert_int_eq(domain_gate_block(g, GREY, 0), 60000);
    ck_assert_int_eq(domain_gate_block(g, GREY, INT64_C(999999999999)), 86400000);
    domain_gate_free(&g);
    clock_set_fake(0);
}
END_TEST

START_TEST(test_table_is_bounded)
{
    struct domain_gate_settings settings = {.max_domains = 100};
    struct domain_gate *g = domain_gate_create(&settings);
    size_t blocked;
    char name[32];

    ck_assert_int_eq(domain_gate_enter(g, GOOD), 0);
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof(name), "d%d.example", i);
        domain_gate_block(g, slice_str(name), 60000);
    }
    ck_assert_uint_eq(domain_gate_count(g, &blocked), 100);
    ck_assert_uint_eq(blocked, 99);
    /* The one with a mail under way is still known. */
    domain_gate_leave(g, GOOD);
    domain_gate_free(&g);
}
END_TEST

SUITE_MAIN("pace", test_rate, test_unlimited, test_throttled, test_throttled_unlimited,
    test_floor_and_hold, test_lanes, test_set_rate, test_in_flight, test_per_minute, test_block,
    test_table_is_bounded)
