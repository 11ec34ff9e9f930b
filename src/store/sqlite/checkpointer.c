/*
 * The checkpointer: a thread that moves pages from the WAL into the database beside the writer.
 *
 * A PASSIVE checkpoint blocks nobody, but syncing the database takes as long as the disk likes (tens of
 * milliseconds for a thousand pages), and inside the writer that was the longest stall of every
 * opt-out. Here it delays nothing. Only the writer can make the WAL begin anew, so it does that itself
 * when the WAL has grown long and next to nothing is left to move (writer.c).
 */
#include "base/log.h"
#include "store/sqlite/core.h"

static void
run_pass(struct sq_store *s)
{
    struct sq_checkpointer *k = &s->checkpointer;
    int in_wal = 0, done = 0;
    int rc = sqlite3_wal_checkpoint_v2(k->conn.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_wal, &done);

    if (rc == SQLITE_OK) {
        atomic_store(&k->done_pages, done);
        return;
    }
    if ((rc & 0xff) == SQLITE_BUSY)
        return;
    log_warn(NULL, "store.checkpoint", "code=%d text=\"%s\"", rc, sqlite3_errmsg(k->conn.db));
    if ((rc & 0xff) == SQLITE_FULL || (rc & 0xff) == SQLITE_IOERR)
        atomic_store(&k->had_no_room, true);
}

static void *
checkpointer_main(void *arg)
{
    struct sq_store *s = arg;
    struct sq_checkpointer *k = &s->checkpointer;

    pthread_setname_np(pthread_self(), "store-ckpt");
    for (;;) {
        pthread_mutex_lock(&k->lock);
        while (!k->is_wanted && !k->is_stopping)
            pthread_cond_wait(&k->wake, &k->lock);
        k->is_wanted = false;
        pthread_mutex_unlock(&k->lock);
        if (k->is_stopping)
            return NULL;
        run_pass(s);
        atomic_store(&k->is_busy, false);
    }
}

int
sq_checkpointer_start(struct sq_store *s, struct err *err)
{
    struct sq_checkpointer *k = &s->checkpointer;
    int rc;

    if (s->is_memory)
        return 0;
    if (sq_conn_open(s, &k->conn, false, false, err) != 0)
        return -1;
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->wake, NULL);
    if ((rc = pthread_create(&k->thread, NULL, checkpointer_main, s)) != 0) {
        sq_conn_close(&k->conn);
        pthread_cond_destroy(&k->wake);
        pthread_mutex_destroy(&k->lock);
        return err_errno(err, rc, "start the checkpointer of the store");
    }
    k->is_started = true;
    return 0;
}

void
sq_checkpointer_stop(struct sq_store *s)
{
    struct sq_checkpointer *k = &s->checkpointer;

    if (!k->is_started)
        return;
    pthread_mutex_lock(&k->lock);
    k->is_stopping = true;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    k->is_started = false;
    sq_conn_close(&k->conn);
    pthread_cond_destroy(&k->wake);
    pthread_mutex_destroy(&k->lock);
}

void
sq_checkpointer_wake(struct sq_store *s)
{
    struct sq_checkpointer *k = &s->checkpointer;

    atomic_store(&k->is_busy, true);
    pthread_mutex_lock(&k->lock);
    k->is_wanted = true;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
}
