/* A one-shot latch: a flag, a condition variable and a count of holders under one mutex. */
#include "loop/latch.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/mem.h"

struct latch {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool is_open;
    unsigned refs;
};

struct latch *
latch_create(void)
{
    struct latch *l = mem_zalloc(sizeof(*l));
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->opened, &attr);
    pthread_condattr_destroy(&attr);
    l->refs = 1;
    return l;
}

struct latch *
latch_ref(struct latch *l)
{
    pthread_mutex_lock(&l->lock);
    l->refs++;
    pthread_mutex_unlock(&l->lock);
    return l;
}

void
latch_unref(struct latch **lp)
{
    struct latch *l = *lp;
    unsigned left;

    *lp = NULL;
    if (l == NULL)
        return;
    pthread_mutex_lock(&l->lock);
    left = --l->refs;
    pthread_mutex_unlock(&l->lock);
    if (left > 0)
        return;
    pthread_cond_destroy(&l->opened);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

void
latch_open(struct latch *l)
{
    pthread_mutex_lock(&l->lock);
    l->is_open = true;
    pthread_cond_broadcast(&l->opened);
    pthread_mutex_unlock(&l->lock);
}

bool
latch_wait(struct latch *l, int64_t timeout_ms)
{
    struct timespec until;
    bool is_open;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&l->lock);
    while (!l->is_open && pthread_cond_timedwait(&l->opened, &l->lock, &until) != ETIMEDOUT)
        continue;
    is_open = l->is_open;
    pthread_mutex_unlock(&l->lock);
    return is_open;
}
