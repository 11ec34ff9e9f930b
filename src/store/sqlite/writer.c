/*
 * The writer thread: takes batches from two bounded queues, urgent first, runs them in groups
 * (group.c) and does its housekeeping between groups, where it delays nobody's transaction.
 *
 * A group commits as soon as the queue is empty, so a lone batch waits for nothing, and under load
 * groups grow by themselves. Bulk passed over in eight groups running gets a turn.
 *
 * Housekeeping: the checkpointer is woken each time the WAL has grown by 4 MiB; past 64 MiB, when it has
 * moved all but a rest, the writer moves that and begins the WAL anew (readers holding old snapshots
 * keep it from that); TRUNCATE when idle for a second; and while there was no room a probe each second,
 * so that the store comes back by itself.
 */
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "store/sqlite/core.h"

#define STEP_PAGES       1000  /* 4 MiB of WAL between checkpoints */
#define WAL_LIMIT_PAGES  16384 /* 64 MiB */
#define WAL_MAX_PAGES    65536 /* 256 MiB: begin anew whatever is left to move */
#define REST_PAGES       256   /* what the writer moves itself */
#define BULK_TURN_GROUPS 8u
#define IDLE_MS          1000
#define TRUNCATE_WAIT_MS 50 /* for readers, per try */

void
sq_queue_push(struct sq_queue *q, struct store_batch *b)
{
    b->next = NULL;
    if (q->tail != NULL)
        q->tail->next = b;
    else
        q->head = b;
    q->tail = b;
    q->n++;
}

struct store_batch *
sq_queue_pop(struct sq_queue *q)
{
    struct store_batch *b = q->head;

    if (b == NULL)
        return NULL;
    if ((q->head = b->next) == NULL)
        q->tail = NULL;
    b->next = NULL;
    q->n--;
    return b;
}

void
sq_writer_add(struct sq_store *s, struct store_batch *b)
{
    struct sq_writer *w = &s->writer;
    bool is_taken;

    b->queued_at_us = clock_mono_us();
    pthread_mutex_lock(&w->lock);
    is_taken = w->queue[b->prio].n < SQ_QUEUE_MAX && !w->is_stopping;
    if (is_taken) {
        sq_queue_push(&w->queue[b->prio], b);
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    if (!is_taken) {
        metric_add(s->m.busy, 1);
        err_sub(&b->err, ERR_TEMP, "store_busy", "the write queue is full");
        store_batch_complete(b);
    }
}

/* The lock is held. */
static struct store_batch *
take_locked(struct sq_writer *w)
{
    struct sq_queue *urgent = &w->queue[STORE_URGENT], *bulk = &w->queue[STORE_BULK];

    if (bulk->n > 0 && (urgent->n == 0 || w->passed_over >= BULK_TURN_GROUPS)) {
        w->passed_over = 0;
        return sq_queue_pop(bulk);
    }
    return sq_queue_pop(urgent);
}

struct store_batch *
sq_writer_next(struct sq_store *s)
{
    struct sq_writer *w = &s->writer;
    struct store_batch *b;

    pthread_mutex_lock(&w->lock);
    b = take_locked(w);
    pthread_mutex_unlock(&w->lock);
    return b;
}

/* ---- room on the disk ------------------------------------------------------------------------ */

static void
publish_full(struct sq_store *s)
{
    struct sq_writer *w = &s->writer;
    bool is_full = w->is_low || w->had_no_room;

    if (is_full != atomic_load(&w->is_full)) {
        atomic_store(&w->is_full, is_full);
        metric_set(s->m.full, is_full);
        log_warn(NULL, is_full ? "store.full" : "store.room", "low=%d failed=%d", w->is_low,
            w->had_no_room);
    }
}

/* At most once a second: is the disk under its limit? */
static void
check_space(struct sq_store *s)
{
    struct sq_writer *w = &s->writer;
    int64_t now_ms = clock_mono_ms(), free_bytes;
    struct err err;

    if (s->is_memory || w->min_free_bytes <= 0)
        return;
    if (w->space_checked_ms != 0 && now_ms - w->space_checked_ms < IDLE_MS)
        return;
    w->space_checked_ms = now_ms;
    free_bytes = file_free_bytes(s->folder, &err);
    w->is_low = free_bytes >= 0 && free_bytes < w->min_free_bytes;
    publish_full(s);
}

bool
sq_writer_has_room(struct sq_store *s, struct store_batch *b)
{
    check_space(s);
    if (b->prio != STORE_BULK || !b->is_write || !s->writer.is_low)
        return true;
    err_sub(&b->err, ERR_TEMP, "disk_full", "free disk space is under its limit");
    return false;
}

void
sq_writer_note_room(struct sq_store *s, bool had_no_room)
{
    s->writer.had_no_room = had_no_room;
    publish_full(s);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static int
on_wal(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct sq_store *s = arg;

    (void)db;
    (void)name;
    if (pages < s->writer.wal_pages)
        atomic_store(&s->checkpointer.done_pages, 0); /* the WAL was begun anew */
    s->writer.wal_pages = pages;
    return SQLITE_OK;
}

static void
checkpoint(struct sq_store *s, int mode)
{
    struct sq_writer *w = &s->writer;
    int in_wal = 0, done = 0, rc;

    sqlite3_busy_timeout(s->wconn.db, TRUNCATE_WAIT_MS);
    rc = sqlite3_wal_checkpoint_v2(s->wconn.db, NULL, mode, &in_wal, &done);
    sqlite3_busy_timeout(s->wconn.db, 5000);
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY) {
        log_warn(NULL, "store.checkpoint", "code=%d text=\"%s\"", rc, sqlite3_errmsg(s->wconn.db));
        if ((rc & 0xff) == SQLITE_FULL || (rc & 0xff) == SQLITE_IOERR)
            sq_writer_note_room(s, true);
        return;
    }
    if (in_wal >= 0) {
        w->wal_pages = in_wal;
        atomic_store(&s->checkpointer.done_pages, done);
    }
    metric_set(s->m.wal_pages, w->wal_pages);
}

/* The WAL is long: move what is left and begin it anew, at most once a second. */
static void
restart_wal(struct sq_store *s)
{
    int64_t now_ms = clock_mono_ms();

    if (now_ms - s->writer.restart_tried_ms < IDLE_MS)
        return;
    s->writer.restart_tried_ms = now_ms;
    checkpoint(s, SQLITE_CHECKPOINT_RESTART);
}

/* Between groups: see to it that the WAL stays short. */
static void
checkpoint_step(struct sq_store *s)
{
    struct sq_writer *w = &s->writer;
    struct sq_checkpointer *k = &s->checkpointer;
    int rest;

    if (s->is_memory || atomic_load(&k->is_busy))
        return;
    if (atomic_exchange(&k->had_no_room, false))
        sq_writer_note_room(s, true);
    rest = w->wal_pages - atomic_load(&k->done_pages);
    metric_set(s->m.wal_pages, w->wal_pages);
    if (w->wal_pages >= WAL_MAX_PAGES || (w->wal_pages >= WAL_LIMIT_PAGES && rest <= REST_PAGES))
        restart_wal(s);
    else if (rest >= (w->wal_pages >= WAL_LIMIT_PAGES ? REST_PAGES : STEP_PAGES))
        sq_checkpointer_wake(s);
}

void
sq_writer_truncate(struct sq_store *s)
{
    if (!s->is_memory)
        checkpoint(s, SQLITE_CHECKPOINT_TRUNCATE);
}

/* ---- thread ---------------------------------------------------------------------------------- */

/* A write of one byte's worth: does the disk take it again? */
static void
probe_room(struct sq_store *s)
{
    struct err err;

    if (sq_conn_sql(&s->wconn,
            "BEGIN IMMEDIATE;"
            "INSERT OR REPLACE INTO store_meta(key, value) VALUES('probe', randomblob(8));"
            "COMMIT",
            &err) == 0) {
        sq_writer_note_room(s, false);
        return;
    }
    if (!sqlite3_get_autocommit(s->wconn.db))
        sqlite3_exec(s->wconn.db, "ROLLBACK", NULL, NULL, NULL);
}

static void
on_idle(struct sq_store *s)
{
    struct sq_writer *w = &s->writer;

    check_space(s);
    if (w->had_no_room)
        probe_room(s);
    else if (!s->is_memory && w->wal_pages > 0 && !atomic_load(&s->checkpointer.is_busy))
        checkpoint(s, SQLITE_CHECKPOINT_TRUNCATE);
}

/* Wait for work, at most a second. The lock is held; false = nothing came. */
static bool
wait_locked(struct sq_writer *w)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += IDLE_MS / 1000;
    while (w->queue[0].n + w->queue[1].n == 0 && !w->is_stopping) {
        if (pthread_cond_timedwait(&w->wake, &w->lock, &until) == ETIMEDOUT)
            break;
    }
    return w->queue[0].n + w->queue[1].n > 0;
}

static void *
writer_main(void *arg)
{
    struct sq_store *s = arg;
    struct sq_writer *w = &s->writer;
    struct sq_queue group = {0};
    bool is_stopping = false;

    pthread_setname_np(pthread_self(), "store-writer");
    while (!is_stopping) {
        pthread_mutex_lock(&w->lock);
        if (wait_locked(w))
            sq_queue_push(&group, take_locked(w));
        is_stopping = w->is_stopping && group.n == 0;
        pthread_mutex_unlock(&w->lock);
        if (group.n > 0) {
            sq_group_run(s, &group);
            pthread_mutex_lock(&w->lock);
            w->passed_over = w->queue[STORE_BULK].n > 0 ? w->passed_over + 1 : 0;
            pthread_mutex_unlock(&w->lock);
            checkpoint_step(s);
        } else if (!is_stopping) {
            on_idle(s);
        }
    }
    return NULL;
}

int
sq_writer_start(struct sq_store *s, struct err *err)
{
    struct sq_writer *w = &s->writer;
    pthread_condattr_t attr;
    int rc;

    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    sqlite3_wal_hook(s->wconn.db, on_wal, s);
    if ((rc = pthread_create(&w->thread, NULL, writer_main, s)) != 0) {
        pthread_cond_destroy(&w->wake);
        pthread_mutex_destroy(&w->lock);
        return err_errno(err, rc, "start the store's writer");
    }
    w->is_started = true;
    return 0;
}

void
sq_writer_stop(struct sq_store *s)
{
    struct sq_writer *w = &s->writer;

    if (!w->is_started)
        return;
    pthread_mutex_lock(&w->lock);
    w->is_stopping = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    w->is_started = false;
}
