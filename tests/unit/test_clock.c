/* Stepping and freezing the clocks. */
#include "base/clock.h"

#include "../support/suite.h"

START_TEST(frozen_clocks_stand_still)
{
    int64_t mono, boot;

    clock_set_fake(1750000000000);
    mono = clock_mono_ms();
    boot = clock_boot_ms();
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(clock_now_ms(), 1750000000000);
        ck_assert_int_eq(clock_mono_ms(), mono);
        ck_assert_int_eq(clock_boot_ms(), boot);
    }
    clock_set_fake(0);
}
END_TEST

START_TEST(a_step_moves_all_and_a_wall_step_one)
{
    int64_t mono, boot;
    uint64_t mono_us;

    clock_set_fake(1750000000000);
    mono = clock_mono_ms();
    mono_us = clock_mono_us();
    boot = clock_boot_ms();
    clock_step(1500);
    clock_step(500);
    ck_assert_int_eq(clock_now_ms(), 1750000002000);
    ck_assert_int_eq(clock_mono_ms(), mono + 2000);
    ck_assert_uint_eq(clock_mono_us(), mono_us + 2000000);
    ck_assert_int_eq(clock_boot_ms(), boot + 2000);
    clock_step_wall(-3600000);
    ck_assert_int_eq(clock_now_ms(), 1750000002000 - 3600000);
    ck_assert_int_eq(clock_mono_ms(), mono + 2000);
    clock_set_fake(0);
}
END_TEST

START_TEST(thawed_clocks_run_and_forget_steps)
{
    int64_t before = clock_now_ms();
    int64_t mono = clock_mono_ms();

    clock_set_fake(1000);
    clock_step(86400000);
    clock_set_fake(0);
    ck_assert_int_ge(clock_now_ms(), before);
    ck_assert_int_lt(clock_now_ms(), before + 60000);
    ck_assert_int_ge(clock_mono_ms(), mono);
    ck_assert_int_lt(clock_mono_ms(), mono + 60000);
}
END_TEST

START_TEST(cpu_time_rises_with_work)
{
    uint64_t before = clock_cpu_us();
    volatile unsigned sum = 0;

    while (clock_cpu_us() < before + 2000)
        sum += 1;
    ck_assert_uint_gt(sum, 0);
}
END_TEST

SUITE_MAIN("clock", frozen_clocks_stand_still, a_step_moves_all_and_a_wall_step_one,
    thawed_clocks_run_and_forget_steps, cpu_time_rises_with_work)
