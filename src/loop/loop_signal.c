#include "loop/loop_internal.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/mem.h"

/*
 * Signals as events (declared in loop.h). The signal is blocked and read from a signalfd, so its
 * handler is an ordinary callback. Threads inherit the mask of their creator, hence the rule to add
 * signals before any thread is started.
 */

struct signal_handler {
    struct list node;
    int signo;
    loop_signal_fn *fn;
    void *arg;
};

void
loop_signal_init(struct loop *l)
{
    l->signal_fd = -1;
    sigemptyset(&l->signals);
    list_init(&l->signal_handlers);
}

static void
signal_run_handlers(struct loop *l, int signo)
{
    LIST_EACH(node, next, &l->signal_handlers)
    {
        struct signal_handler *h = LIST_ENTRY(node, struct signal_handler, node);

        if (h->signo == signo)
            h->fn(signo, h->arg);
    }
}

static void
on_signal(unsigned events, void *arg)
{
    struct loop *l = arg;
    struct signalfd_siginfo info;

    while (read(l->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        signal_run_handlers(l, (int)info.ssi_signo);
}

void
loop_signal_add(struct loop *l, int signo, loop_signal_fn *fn, void *arg)
{
    struct signal_handler *h = mem_zalloc(sizeof *h);
    bool is_first = l->signal_fd < 0;

    h->signo = signo;
    h->fn = fn;
    h->arg = arg;
    list_push_back(&l->signal_handlers, &h->node);
    sigaddset(&l->signals, signo);
    if (pthread_sigmask(SIG_BLOCK, &l->signals, NULL) != 0)
        loop_fatal("pthread_sigmask");
    l->signal_fd = signalfd(l->signal_fd, &l->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l->signal_fd < 0)
        loop_fatal("signalfd");
    if (is_first)
        l->signal_watch = loop_fd_add(l, l->signal_fd, LOOP_READ, on_signal, l);
}

void
loop_signal_deinit(struct loop *l)
{
    struct list *node;

    loop_fd_del(&l->signal_watch);
    if (l->signal_fd >= 0)
        close(l->signal_fd);
    while ((node = list_pop_front(&l->signal_handlers)) != NULL)
        mem_free(LIST_ENTRY(node, struct signal_handler, node));
}
