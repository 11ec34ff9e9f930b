#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_fd;
struct loop_timer;

#define LOOP_READ  1u
#define LOOP_WRITE 2u
/** Also given to the callback, alone or with the others, on error or hang-up. */
#define LOOP_ERROR 4u

typedef void loop_fn(void *arg);
typedef void loop_fd_fn(unsigned events, void *arg);

/**
 * The one loop thread: level-triggered epoll, a timer heap that feeds the epoll_wait time-out,
 * deferred calls at the end of a turn, and a mailbox (eventfd) for other threads. Everything but
 * loop_post(), loop_call(), loop_wake() and loop_stop() belongs to the loop thread.
 * A callback stays under a millisecond; one longer than 50 ms is logged and counted.
 */
struct loop *loop_create(void);
/** Frees watches, timers, deferred and posted calls that are left without calling them. */
void loop_free(struct loop **l);
/** Turn until loop_stop(). */
void loop_run(struct loop *l);
/** One turn: wait at most `timeout_ms` (-1 = until something happens), run what is ready. */
void loop_turn(struct loop *l, int timeout_ms);
/** Make loop_run() return after the current turn. Any thread, and signal handlers. */
void loop_stop(struct loop *l);
/** Cut a wait short, so that new timers or a stepped clock are seen. Any thread. */
void loop_wake(struct loop *l);

/** Watch a file descriptor (not owned). The callback may delete the watch, also its own. */
struct loop_fd *loop_fd_add(struct loop *l, int fd, unsigned events, loop_fd_fn *fn, void *arg);
void loop_fd_set(struct loop_fd *w, unsigned events);
/** Stop watching; call before close(fd). The callback never comes again. NULL inside is accepted. */
void loop_fd_del(struct loop_fd **w);

/** Call `fn` once after `delay_ms`. The handle is dead when the callback starts. */
struct loop_timer *loop_timer_start(struct loop *l, int64_t delay_ms, loop_fn *fn, void *arg);
/** After this the callback never comes. NULL inside is accepted; leaves NULL. */
void loop_timer_cancel(struct loop_timer **t);

/** Call `fn` at the end of this turn (from a deferred call: of the next); frees and closes go
 * here. */
void loop_defer(struct loop *l, loop_fn *fn, void *arg);
/** Call `fn` in the loop; from any thread. In the order of posting per thread. */
void loop_post(struct loop *l, loop_fn *fn, void *arg);
/** Call `fn` in the loop and wait until it has returned; from any thread but the loop's. The loop
 * must be turning: one that has ended never answers. */
void loop_call(struct loop *l, loop_fn *fn, void *arg);
/** Is this the thread that last entered loop_run() or loop_turn()? */
bool loop_is_current(const struct loop *l);

/** Call `fn` when the signal arrives (signalfd; the signal is blocked in all threads created
 * afterwards, so call this before starting any). */
typedef void loop_signal_fn(int signo, void *arg);
void loop_signal_add(struct loop *l, int signo, loop_signal_fn *fn, void *arg);

/**
 * A library with its own time-out (libmicrohttpd): `timeout` is asked before each wait and returns
 * milliseconds or -1, `run` is called after each wait. At most four hooks.
 */
void loop_hook_add(struct loop *l, int (*timeout)(void *arg), loop_fn *run, void *arg);
void loop_hook_del(struct loop *l, loop_fn *run, void *arg);

#endif
