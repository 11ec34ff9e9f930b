#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

/*
 * The one place that asks the kernel for the time, so that tests can move or freeze it.
 *
 *   shown = (frozen ? value at the freeze : kernel's) + offset
 *
 * Every clock has the common step; the wall clock has an offset of its own beside it. The variables
 * are atomics because any thread reads the time; only tests write them, so relaxed order will do.
 */

static _Atomic int64_t step_ms;
static _Atomic int64_t wall_step_ms;
static atomic_bool is_frozen;
static _Atomic int64_t frozen_wall_ms;
static _Atomic int64_t frozen_mono_us;
static _Atomic int64_t frozen_boot_ms;

static int64_t
get_relaxed(_Atomic int64_t *v)
{
    return atomic_load_explicit(v, memory_order_relaxed);
}

static int64_t
kernel_us(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static bool
clock_is_frozen(void)
{
    return atomic_load_explicit(&is_frozen, memory_order_relaxed);
}

int64_t
clock_now_ms(void)
{
    int64_t base =
        clock_is_frozen() ? get_relaxed(&frozen_wall_ms) : kernel_us(CLOCK_REALTIME) / 1000;

    return base + get_relaxed(&step_ms) + get_relaxed(&wall_step_ms);
}

uint64_t
clock_mono_us(void)
{
    int64_t base = clock_is_frozen() ? get_relaxed(&frozen_mono_us) : kernel_us(CLOCK_MONOTONIC);

    return (uint64_t)(base + get_relaxed(&step_ms) * 1000);
}

int64_t
clock_mono_ms(void)
{
    return (int64_t)(clock_mono_us() / 1000);
}

int64_t
clock_boot_ms(void)
{
    int64_t base =
        clock_is_frozen() ? get_relaxed(&frozen_boot_ms) : kernel_us(CLOCK_BOOTTIME) / 1000;

    return base + get_relaxed(&step_ms);
}

uint64_t
clock_cpu_us(void)
{
    return (uint64_t)kernel_us(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t
clock_thread_cpu_us(void)
{
    return (uint64_t)kernel_us(CLOCK_THREAD_CPUTIME_ID);
}

void
clock_step(int64_t delta_ms)
{
    atomic_fetch_add(&step_ms, delta_ms);
}

void
clock_step_wall(int64_t delta_ms)
{
    atomic_fetch_add(&wall_step_ms, delta_ms);
}

void
clock_set_fake(int64_t wall_ms)
{
    atomic_store(&step_ms, 0);
    atomic_store(&wall_step_ms, 0);
    atomic_store(&frozen_wall_ms, wall_ms);
    atomic_store(&frozen_mono_us, kernel_us(CLOCK_MONOTONIC));
    atomic_store(&frozen_boot_ms, kernel_us(CLOCK_BOOTTIME) / 1000);
    atomic_store(&is_frozen, wall_ms != 0);
}
