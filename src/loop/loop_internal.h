#ifndef LOOP_LOOP_INTERNAL_H
#define LOOP_LOOP_INTERNAL_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/list.h"
#include "loop/loop.h"

#define LOOP_MAX_HOOKS 4

/* A call that waits in the mailbox or among the deferred ones. */
struct loop_call_node {
    struct list node;
    loop_fn *fn;
    void *arg;
};

struct loop_hook {
    int (*timeout)(void *arg);
    loop_fn *run;
    void *arg;
};

struct loop {
    int epoll_fd;
    atomic_bool must_stop;
    _Atomic uintptr_t owner; /* identity of the thread that turns the loop */
    uint64_t callback_from_us;

    struct list fds;      /* struct loop_fd: watched */
    struct list dead_fds; /* deleted in this turn; events of the batch may still point to them */
    struct heap timers;   /* struct loop_timer by due_ms */
    struct list deferred; /* struct loop_call_node */
    struct loop_hook hooks[LOOP_MAX_HOOKS];

    /* Mailbox: the list under its lock, and an eventfd that wakes the wait. */
    int event_fd;
    pthread_mutex_t mailbox_lock;
    struct list mailbox; /* struct loop_call_node */

    int signal_fd; /* -1 until the first loop_signal_add() */
    sigset_t signals;
    struct loop_fd *signal_watch;
    struct list signal_handlers;
};

/* Around every callback: loop_callback_begin() once per phase of a turn, loop_callback_end() after
 * each callback (it is the beginning of the next). Real time, also when tests step the clock. */
void loop_callback_begin(struct loop *l);
void loop_callback_end(struct loop *l, const char *kind);

/* Queue a call; run all that were in `list` when it was called, in order. */
void loop_calls_add(struct list *list, loop_fn *fn, void *arg);
void loop_calls_run(struct loop *l, struct list *calls, const char *kind);
void loop_calls_drop(struct list *calls);

/* loop_fd.c */
void loop_fd_dispatch(struct loop_fd *w, uint32_t epoll_events);
void loop_fd_bury(struct loop *l);
void loop_fd_deinit(struct loop *l);

/* loop_timer.c: milliseconds until the first timer (0 when due), or -1; run what is due. */
int loop_timer_wait_ms(const struct loop *l);
void loop_timer_run(struct loop *l);
void loop_timer_deinit(struct loop *l);

/* loop_mailbox.c */
void loop_mailbox_init(struct loop *l);
void loop_mailbox_run(struct loop *l);
void loop_mailbox_deinit(struct loop *l);

/* loop_signal.c */
void loop_signal_init(struct loop *l);
void loop_signal_deinit(struct loop *l);

/* A system call that cannot fail in a sane process did: log and end. */
void loop_fatal(const char *what) __attribute__((noreturn));

#endif
