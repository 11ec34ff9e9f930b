#include "loop/loop_internal.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

/*
 * The mailbox (declared in loop.h): how other threads get something done in the loop.
 *
 * A post puts a call on a list under a lock; only the one that finds the list empty writes to the
 * eventfd, so a burst of results costs one wake-up. The loop takes the whole list at once. A wake
 * that arrives between the look at the mailbox and the wait is not lost: the eventfd stays readable.
 */

void
loop_mailbox_init(struct loop *l)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};

    list_init(&l->mailbox);
    pthread_mutex_init(&l->mailbox_lock, NULL);
    l->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->event_fd < 0)
        loop_fatal("eventfd");
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->event_fd, &ev) != 0)
        loop_fatal("epoll_ctl(eventfd)");
}

void
loop_mailbox_deinit(struct loop *l)
{
    loop_calls_drop(&l->mailbox);
    pthread_mutex_destroy(&l->mailbox_lock);
    close(l->event_fd);
}

void
loop_mailbox_run(struct loop *l)
{
    struct list calls;
    uint64_t count;
    /* Emptied before the list is taken: a later post makes it readable again. */
    ssize_t ignored = read(l->event_fd, &count, sizeof count);

    (void)ignored;
    list_init(&calls);
    pthread_mutex_lock(&l->mailbox_lock);
    list_move(&calls, &l->mailbox);
    pthread_mutex_unlock(&l->mailbox_lock);
    loop_calls_run(l, &calls, "mail");
}

void
loop_wake(struct loop *l)
{
    static const uint64_t one = 1;
    int saved_errno = errno; /* may run in a signal handler */
    /* Fails only when the counter is full, that is, when the loop is awake anyway. */
    ssize_t ignored = write(l->event_fd, &one, sizeof one);

    (void)ignored;
    errno = saved_errno;
}

void
loop_post(struct loop *l, loop_fn *fn, void *arg)
{
    struct loop_call_node *c = mem_alloc(sizeof *c);
    bool was_empty;

    c->fn = fn;
    c->arg = arg;
    pthread_mutex_lock(&l->mailbox_lock);
    was_empty = list_empty(&l->mailbox);
    list_push_back(&l->mailbox, &c->node);
    pthread_mutex_unlock(&l->mailbox_lock);
    if (was_empty)
        loop_wake(l);
}

struct waiting_call {
    loop_fn *fn;
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t finished;
    bool is_done;
};

static void
on_waiting_call(void *arg)
{
    struct waiting_call *c = arg;

    c->fn(c->arg);
    /* Signalled under the lock: the caller's stack holds `c` and goes away once it has the lock. */
    pthread_mutex_lock(&c->lock);
    c->is_done = true;
    pthread_cond_signal(&c->finished);
    pthread_mutex_unlock(&c->lock);
}

void
loop_call(struct loop *l, loop_fn *fn, void *arg)
{
    struct waiting_call c = {.fn = fn, .arg = arg};

    assert(!loop_is_current(l));
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.finished, NULL);
    loop_post(l, on_waiting_call, &c);
    pthread_mutex_lock(&c.lock);
    while (!c.is_done)
        pthread_cond_wait(&c.finished, &c.lock);
    pthread_mutex_unlock(&c.lock);
    pthread_cond_destroy(&c.finished);
    pthread_mutex_destroy(&c.lock);
}
