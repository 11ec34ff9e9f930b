/*
 * Open store: the driver's handle, and the way finished batches take back into the loop.
 *
 * Batches finish on the driver's threads. store_batch_complete() puts them on one list; only the
 * first of a run of them posts to the loop, so a group commit of fifty batches costs one wake-up.
 * A blocking caller is woken by its own semaphore instead. Invariant: a batch is on the list, with
 * the driver, or with its owner, never with two of them.
 */
#include "store/store.h"

#include <assert.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "store/driver.h"
#include "store/schema.h"

struct store *
store_open(const struct store_driver *driver, const struct store_open_args *args, struct loop *loop,
    struct err *err)
{
    struct store *st = mem_zalloc(sizeof(*st));

    st->driver = driver;
    st->loop = loop;
    pthread_mutex_init(&st->done_lock, NULL);
    st->schema_arena = arena_create(0);
    if ((st->schema = schema_embedded(st->schema_arena, err)) == NULL)
        goto fail;
    if (driver->open(st, args, &st->impl, err) != 0)
        goto fail;
    return st;

fail:
    err_prefix(err, "store %s", driver->name);
    pthread_mutex_destroy(&st->done_lock);
    arena_free(&st->schema_arena);
    mem_free(st);
    return NULL;
}

/* Loop thread: hand over everything that has finished. Callbacks may submit again. */
static void
deliver_done(void *arg)
{
    struct store *st = arg;
    struct store_batch *b;

    pthread_mutex_lock(&st->done_lock);
    b = st->done_head;
    st->done_head = st->done_tail = NULL;
    pthread_mutex_unlock(&st->done_lock);

    while (b != NULL) {
        struct store_batch *next = b->next;

        b->next = NULL;
        st->n_in_flight--;
        b->done(b, b->arg);
        b = next;
    }
}

void
store_batch_complete(struct store_batch *b)
{
    struct store *st = b->st;
    bool was_empty;

    if (b->waiter != NULL) {
        sem_post(b->waiter);
        return;
    }
    b->next = NULL;
    pthread_mutex_lock(&st->done_lock);
    was_empty = st->done_head == NULL;
    if (was_empty)
        st->done_head = b;
    else
        st->done_tail->next = b;
    st->done_tail = b;
    pthread_mutex_unlock(&st->done_lock);
    if (was_empty)
        loop_post(st->loop, deliver_done, st);
}

void
store_close(struct store **stp)
{
    struct store *st = *stp;

    if (st == NULL)
        return;
    /* A done-callback may submit once more, so let the queue run dry before the driver goes. */
    while (st->n_in_flight > 0)
        loop_turn(st->loop, 100);
    st->driver->close(&st->impl);
    pthread_mutex_destroy(&st->done_lock);
    arena_free(&st->schema_arena);
    mem_free(st);
    *stp = NULL;
}

void
store_submit(struct store_batch *b, store_done_fn *done, void *arg)
{
    struct store *st = b->st;

    assert(st->loop != NULL && done != NULL);
    b->done = done;
    b->arg = arg;
    b->waiter = NULL;
    st->n_in_flight++;
    if (b->err.code != ERR_NONE)
        store_batch_complete(b);
    else
        st->driver->submit(st->impl, b);
}

int
store_run(struct store_batch *b, struct err *err)
{
    if (b->err.code == ERR_NONE)
        b->st->driver->run(b->st->impl, b);
    if (b->err.code == ERR_NONE)
        return 0;
    if (err != NULL)
        *err = b->err;
    return -1;
}

uint64_t
store_suppression_seq(const struct store *st)
{
    return st->driver->suppression_seq(st->impl);
}

bool
store_is_full(const struct store *st)
{
    return st->driver->is_full(st->impl);
}

int
store_probe(const struct store_driver *driver, const struct store_open_args *args, struct err *err)
{
    struct arena *a = arena_create(0);
    const struct schema *schema = schema_embedded(a, err);
    int rc = schema != NULL ? driver->probe(schema, args, err) : -1;

    if (rc != 0)
        err_prefix(err, "store %s", driver->name);
    arena_free(&a);
    return rc;
}

int
store_check(struct store *st, struct buf *report, struct err *err)
{
    return st->driver->check(st->impl, report, err);
}

int
store_backup(struct store *st, const char *path, struct err *err)
{
    return st->driver->backup(st->impl, path, err);
}
