/*
 * The embedded driver: opens the database of a data folder, checks that it is ours to open, applies
 * migrations, starts the writer and the readers, and routes batches to them.
 *
 * Without a path the database is private memory of the writer's connection, which then serves reads
 * as well: same code, same order, no file. It is meant for tests and for tools that keep nothing.
 */
#include "store/sqlite/sqlite_store.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "store/sqlite/core.h"

static void
register_metrics(struct sq_store *s)
{
    for (int k = 0; k < OP_KINDS; k++) {
        char label[64];

        snprintf(label, sizeof(label), "op=\"%s\"", store_op_name((enum store_op_kind)k));
        s->m.count[k] = metric_counter("mailshot_store_ops_total", "Operations run", label);
        s->m.us[k] = metric_counter(
            "mailshot_store_op_microseconds_total", "Time spent in operations", label);
        s->m.rows[k] =
            metric_counter("mailshot_store_rows_total", "Rows and documents touched", label);
    }
    s->m.groups = metric_counter("mailshot_store_groups_total", "Group commits", NULL);
    s->m.group_us =
        metric_histogram_us("mailshot_store_group_seconds", "Time of one group commit", NULL);
    s->m.wait_us = metric_histogram_us(
        "mailshot_store_write_seconds", "From queueing a write to its durability", NULL);
    s->m.longest = metric_gauge("mailshot_store_longest_stall_microseconds",
        "Longest time a write has waited to be durable", NULL);
    s->m.busy = metric_counter(
        "mailshot_store_busy_total", "Batches refused because the queue was full", NULL);
    s->m.full = metric_gauge("mailshot_store_full", "1 while the store cannot write", NULL);
    s->m.wal_pages = metric_gauge("mailshot_store_wal_pages", "Pages in the write-ahead log", NULL);
}

static char *
join_path(const char *folder, const char *name)
{
    struct buf b = BUF_INIT;

    buf_printf(&b, "%s/%s", folder, name);
    buf_append_char(&b, '\0');
    return buf_take(&b, NULL);
}

static void
free_store(struct sq_store *s)
{
    sq_conn_close(&s->wconn);
    mem_free(s->folder);
    mem_free(s->file);
    mem_free(s);
}

static int
open_database(struct sq_store *s, const struct store_open_args *args, struct err *err)
{
    const struct schema *schema = s->st->schema;

    if (sq_conn_open(s, &s->wconn, true, args->create || s->is_memory, err) != 0)
        return -1;
    if (sq_schema_check(&s->wconn, schema, args->fingerprint, err) != 0)
        return -1;
    if (!s->is_memory && sq_conn_sql(&s->wconn, "PRAGMA journal_mode=WAL", err) != 0)
        return -1;
    return sq_schema_apply(&s->wconn, schema, args->fingerprint, err);
}

static int
driver_open(struct store *st, const struct store_open_args *args, void **impl_r, struct err *err)
{
    struct sq_store *s = mem_zalloc(sizeof(*s));

    s->st = st;
    s->is_memory = args->path == NULL;
    s->writer.min_free_bytes = args->min_free_bytes;
    if (!s->is_memory) {
        s->folder = mem_strdup(args->path);
        s->file = join_path(args->path, "mailshot.db");
    }
    register_metrics(s);
    if (open_database(s, args, err) != 0)
        goto fail;
    if (!s->is_memory && sq_readers_start(s, args->n_readers, err) != 0)
        goto fail_readers;
    if (sq_checkpointer_start(s, err) != 0)
        goto fail_readers;
    if (sq_writer_start(s, err) != 0)
        goto fail_checkpointer;
    log_info(NULL, "store.open", "driver=sqlite schema=%u file=%s", schema_version(st->schema),
        s->is_memory ? "memory" : s->file);
    *impl_r = s;
    return 0;

fail_checkpointer:
    sq_checkpointer_stop(s);
fail_readers:
    if (!s->is_memory)
        sq_readers_stop(s);
fail:
    free_store(s);
    return -1;
}

static void
driver_close(void **impl)
{
    struct sq_store *s = *impl;

    if (s == NULL)
        return;
    if (!s->is_memory)
        sq_readers_stop(s); /* first: their snapshots keep the WAL long */
    sq_writer_stop(s);
    sq_checkpointer_stop(s);
    sq_writer_truncate(s);
    free_store(s);
    *impl = NULL;
}

static void
driver_submit(void *impl, struct store_batch *b)
{
    struct sq_store *s = impl;

    if (b->is_write || s->is_memory)
        sq_writer_add(s, b);
    else
        sq_readers_add(s, b);
}

static void
driver_run(void *impl, struct store_batch *b)
{
    struct sq_store *s = impl;
    sem_t done;

    if (!b->is_write && !s->is_memory) {
        sq_readers_run(s, b);
        return;
    }
    sem_init(&done, 0, 0);
    b->waiter = &done;
    sq_writer_add(s, b);
    while (sem_wait(&done) != 0) /* a signal handler ran */
        ;
    sem_destroy(&done);
    b->waiter = NULL;
}

static uint64_t
driver_suppression_seq(const void *impl)
{
    const struct sq_store *s = impl;

    return atomic_load_explicit(&s->notes.published, memory_order_acquire);
}

static bool
driver_is_full(const void *impl)
{
    const struct sq_store *s = impl;

    return atomic_load(&s->writer.is_full);
}

const struct store_driver *
sqlite_store_driver(void)
{
    static const struct store_driver driver = {
        .name = "sqlite",
        .open = driver_open,
        .close = driver_close,
        .probe = sq_probe,
        .submit = driver_submit,
        .run = driver_run,
        .suppression_seq = driver_suppression_seq,
        .is_full = driver_is_full,
        .check = sq_check,
        .backup = sq_backup,
    };

    return &driver;
}
