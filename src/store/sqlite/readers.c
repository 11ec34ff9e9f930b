/*
 * Readers: a pool of connections, each with one user at a time. Submitted batches run on half as
 * many threads; a blocking caller (a worker, a tool) runs on its own thread with a connection it
 * borrows. Readers never wait for the writer: WAL gives each its snapshot.
 */
#include "base/clock.h"
#include "base/metrics.h"
#include "store/sqlite/core.h"

static struct sq_conn *
borrow_conn(struct sq_readers *r)
{
    struct sq_conn *c;

    pthread_mutex_lock(&r->lock);
    while (r->n_free == 0)
        pthread_cond_wait(&r->conn_free, &r->lock);
    c = r->free[--r->n_free];
    pthread_mutex_unlock(&r->lock);
    return c;
}

static void
return_conn(struct sq_readers *r, struct sq_conn *c)
{
    pthread_mutex_lock(&r->lock);
    r->free[r->n_free++] = c;
    pthread_cond_signal(&r->conn_free);
    pthread_mutex_unlock(&r->lock);
}

void
sq_readers_run(struct sq_store *s, struct store_batch *b)
{
    struct sq_conn *c = borrow_conn(&s->readers);

    sq_batch_read(c, b);
    return_conn(&s->readers, c);
}

void
sq_readers_add(struct sq_store *s, struct store_batch *b)
{
    struct sq_readers *r = &s->readers;
    bool is_taken;

    pthread_mutex_lock(&r->lock);
    is_taken = r->queue[b->prio].n < SQ_QUEUE_MAX && !r->is_stopping;
    if (is_taken) {
        sq_queue_push(&r->queue[b->prio], b);
        pthread_cond_signal(&r->work);
    }
    pthread_mutex_unlock(&r->lock);
    if (!is_taken) {
        metric_add(s->m.busy, 1);
        err_sub(&b->err, ERR_TEMP, "store_busy", "the read queue is full");
        store_batch_complete(b);
    }
}

static void *
reader_main(void *arg)
{
    struct sq_store *s = arg;
    struct sq_readers *r = &s->readers;

    pthread_setname_np(pthread_self(), "store-reader");
    for (;;) {
        struct store_batch *b;

        pthread_mutex_lock(&r->lock);
        while (r->queue[0].n + r->queue[1].n == 0 && !r->is_stopping)
            pthread_cond_wait(&r->work, &r->lock);
        if ((b = sq_queue_pop(&r->queue[STORE_URGENT])) == NULL)
            b = sq_queue_pop(&r->queue[STORE_BULK]);
        pthread_mutex_unlock(&r->lock);
        if (b == NULL)
            return NULL; /* stopping, and the queues are empty */
        sq_readers_run(s, b);
        store_batch_complete(b);
    }
}

int
sq_readers_start(struct sq_store *s, unsigned n, struct err *err)
{
    struct sq_readers *r = &s->readers;
    int rc;

    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->conn_free, NULL);
    pthread_cond_init(&r->work, NULL);
    if (n == 0)
        n = 4;
    if (n > SQ_READERS_MAX)
        n = SQ_READERS_MAX;
    while (r->n_conns < n) {
        if (sq_conn_open(s, &r->conns[r->n_conns], false, false, err) != 0)
            return -1;
        r->free[r->n_free++] = &r->conns[r->n_conns++];
    }
    for (unsigned i = 0; i < (n + 1) / 2; i++) {
        if ((rc = pthread_create(&r->threads[i], NULL, reader_main, s)) != 0)
            return err_errno(err, rc, "start a reader of the store");
        r->n_threads++;
    }
    return 0;
}

void
sq_readers_stop(struct sq_store *s)
{
    struct sq_readers *r = &s->readers;

    pthread_mutex_lock(&r->lock);
    r->is_stopping = true;
    pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->lock);
    for (unsigned i = 0; i < r->n_threads; i++)
        pthread_join(r->threads[i], NULL);
    for (unsigned i = 0; i < r->n_conns; i++)
        sq_conn_close(&r->conns[i]);
    pthread_cond_destroy(&r->work);
    pthread_cond_destroy(&r->conn_free);
    pthread_mutex_destroy(&r->lock);
}
