#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/** Wall clock, milliseconds since the Unix epoch, UTC. Tests can move it. */
int64_t clock_now_ms(void);
/** Monotonic clock for timers and durations (CLOCK_MONOTONIC). Moves with clock_step(). */
int64_t clock_mono_ms(void);
/** The same in microseconds. */
uint64_t clock_mono_us(void);
/** CLOCK_BOOTTIME in milliseconds: goes on while the machine sleeps. Used by the instance fence. */
int64_t clock_boot_ms(void);
/** CPU time of the process in microseconds (all threads), and of the calling thread alone. */
uint64_t clock_cpu_us(void);
uint64_t clock_thread_cpu_us(void);

/** Move wall, monotonic and boot clock forward (test builds and unit tests); may be called often.
 * The loop must be woken by the caller. */
void clock_step(int64_t delta_ms);
/** Move the wall clock only, in either direction, as an operator or NTP would. */
void clock_step_wall(int64_t delta_ms);
/** Freeze all clocks, the wall clock at `wall_ms`; only the two steps move them then. 0 thaws. Both
 * forget earlier steps. For unit tests. */
void clock_set_fake(int64_t wall_ms);

#endif
