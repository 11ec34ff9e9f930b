#include "loop/loop_internal.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>

#include "base/mem.h"

/*
 * Watches on file descriptors (declared in loop.h). epoll keeps the pointer to the watch; a deleted
 * watch goes to the list of the dead, where later events of the same batch still find it, marked,
 * and is released at the end of the turn.
 */

struct loop_fd {
    struct list node; /* in fds or dead_fds */
    struct loop *loop;
    int fd;
    unsigned events;
    bool is_dead;
    loop_fd_fn *fn;
    void *arg;
};

static uint32_t
epoll_mask(unsigned events)
{
    /* EPOLLERR and EPOLLHUP are always reported. */
    return ((events & LOOP_READ) != 0 ? (uint32_t)EPOLLIN | EPOLLRDHUP : 0) |
           ((events & LOOP_WRITE) != 0 ? (uint32_t)EPOLLOUT : 0);
}

struct loop_fd *
loop_fd_add(struct loop *l, int fd, unsigned events, loop_fd_fn *fn, void *arg)
{
    struct loop_fd *w = mem_zalloc(sizeof *w);
    struct epoll_event ev = {.events = epoll_mask(events), .data.ptr = w};

    w->loop = l;
    w->fd = fd;
    w->events = events;
    w->fn = fn;
    w->arg = arg;
    /* Fails for a descriptor that is closed, watched already or a regular file: our mistakes. */
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
        loop_fatal("epoll_ctl(add)");
    list_push_back(&l->fds, &w->node);
    return w;
}

void
loop_fd_set(struct loop_fd *w, unsigned events)
{
    struct epoll_event ev = {.events = epoll_mask(events), .data.ptr = w};

    assert(!w->is_dead);
    if (w->events == events)
        return;
    w->events = events;
    if (epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_MOD, w->fd, &ev) != 0)
        loop_fatal("epoll_ctl(mod)");
}

void
loop_fd_del(struct loop_fd **wp)
{
    struct loop_fd *w = *wp;

    if (w == NULL)
        return;
    *wp = NULL;
    assert(!w->is_dead);
    w->is_dead = true;
    /* A library may have closed the descriptor before it told us; epoll has forgotten it then. */
    if (epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL) != 0 && errno != EBADF &&
        errno != ENOENT)
        loop_fatal("epoll_ctl(del)");
    list_del(&w->node);
    list_push_back(&w->loop->dead_fds, &w->node);
}

void
loop_fd_dispatch(struct loop_fd *w, uint32_t epoll_events)
{
    struct loop *l = w->loop;
    unsigned events = 0;

    if (w->is_dead)
        return;
    if ((epoll_events & (EPOLLIN | EPOLLRDHUP)) != 0)
        events |= LOOP_READ;
    if ((epoll_events & EPOLLOUT) != 0)
        events |= LOOP_WRITE;
    if ((epoll_events & (EPOLLERR | EPOLLHUP)) != 0)
        events |= LOOP_ERROR;
    /* An earlier callback of this batch may have asked for less. */
    events &= w->events | LOOP_ERROR;
    if (events == 0)
        return;
    w->fn(events, w->arg);
    loop_callback_end(l, "fd");
}

static void
list_release(struct list *watches)
{
    struct list *node;

    while ((node = list_pop_front(watches)) != NULL)
        mem_free(LIST_ENTRY(node, struct loop_fd, node));
}

void
loop_fd_bury(struct loop *l)
{
    list_release(&l->dead_fds);
}

void
loop_fd_deinit(struct loop *l)
{
    list_release(&l->fds);
    list_release(&l->dead_fds);
}
