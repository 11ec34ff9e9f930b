/*
 * Care of the database file: a full check, and a copy of the running database. Both work on a
 * connection of their own, beside the writer, on the caller's thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/sqlite/core.h"

static int
refuse_memory(const struct sq_store *s, struct err *err)
{
    return s->is_memory ? err_sub(err, ERR_INVALID, "not_a_file", "the store has no file") : 0;
}

/* ---- probe ----------------------------------------------------------------------------------- */

int
sq_probe(const struct schema *schema, const struct store_open_args *args, struct err *err)
{
    struct store st = {.schema = schema};
    struct buf file = BUF_INIT;
    struct sq_store s = {.st = &st};
    struct sq_conn c;
    int rc;

    buf_printf(&file, "%s/mailshot.db", args->path);
    buf_append_char(&file, '\0');
    s.file = file.p;
    if ((rc = sq_conn_open(&s, &c, false, false, err)) == 0) {
        rc = sq_schema_check(&c, schema, args->fingerprint, err);
        sq_conn_close(&c);
    }
    buf_deinit(&file);
    return rc;
}

/* ---- check ----------------------------------------------------------------------------------- */

static int
check_pages(struct sq_conn *c, struct buf *report, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_text(c, "PRAGMA integrity_check(100)", err);
    int rc;

    if (stmt == NULL)
        return -1;
    while ((rc = sq_step(c, stmt, err)) == 1) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);

        if (text != NULL && strcmp(text, "ok") != 0)
            buf_printf(report, "%s\n", text);
    }
    return rc;
}

static int
check_docs(struct sq_conn *c, const struct schema_coll *coll, struct buf *report, struct err *err)
{
    char sql[160];
    sqlite3_stmt *stmt;
    int rc;

    sqlite3_snprintf(
        sizeof(sql), sql, "SELECT id FROM c_%s WHERE NOT bson_valid(doc) LIMIT 100", coll->name);
    if ((stmt = sq_prepare_text(c, sql, err)) == NULL)
        return -1;
    while ((rc = sq_step(c, stmt, err)) == 1)
        buf_printf(report, "%s: document %lld is damaged\n", coll->name,
            (long long)sqlite3_column_int64(stmt, 0));
    return rc;
}

static int
check_conn(struct sq_conn *c, struct buf *report, struct err *err)
{
    int rc = check_pages(c, report, err);

    for (unsigned i = 0; i < c->schema->n_colls && rc == 0; i++)
        rc = check_docs(c, &c->schema->colls[i], report, err);
    return rc;
}

int
sq_check(void *impl, struct buf *report, struct err *err)
{
    struct sq_store *s = impl;
    struct sq_conn c;
    int rc;

    if (refuse_memory(s, err) != 0 || sq_conn_open(s, &c, false, false, err) != 0)
        return -1;
    rc = check_conn(&c, report, err);
    sq_conn_close(&c);
    return rc;
}

/* ---- backup ---------------------------------------------------------------------------------- */

static int
sync_file(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;

    if (fd < 0 || fsync(fd) != 0)
        rc = err_errno(err, errno, "sync %s", path);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* All pages in one step: one snapshot, and no starting over when the writer commits meanwhile. */
static int
copy_pages(struct sq_conn *from, sqlite3 *to, struct err *err)
{
    sqlite3_backup *b = sqlite3_backup_init(to, "main", from->db, "main");
    int rc;

    if (b == NULL)
        return err_set(err, ERR_INTERNAL, "backup: %s", sqlite3_errmsg(to));
    rc = sqlite3_backup_step(b, -1);
    sqlite3_backup_finish(b);
    if (rc == SQLITE_DONE)
        return 0;
    if (rc == SQLITE_FULL || (rc & 0xff) == SQLITE_IOERR)
        return err_sub(err, ERR_TEMP, "disk_full", "backup: %s", sqlite3_errstr(rc));
    return err_set(err, ERR_TEMP, "backup: %s", sqlite3_errstr(rc));
}

/* Write the copy and take it out of WAL mode, so that it is one file. */
static int
write_copy(struct sq_store *s, const char *path, struct err *err)
{
    struct sq_conn from;
    sqlite3 *to = NULL;
    int rc = -1;

    if (file_create(path, SLICE_NONE, 0600, err) != 0)
        return -1;
    if (sq_conn_open(s, &from, false, false, err) != 0)
        return -1;
    if (sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        err_set(err, ERR_TEMP, "open %s: %s", path, sqlite3_errmsg(to));
    else if ((rc = copy_pages(&from, to, err)) == 0 &&
             sqlite3_exec(to, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) != SQLITE_OK)
        rc = err_set(err, ERR_TEMP, "finish %s: %s", path, sqlite3_errmsg(to));
    sqlite3_close(to);
    sq_conn_close(&from);
    return rc == 0 ? sync_file(path, err) : -1;
}

/* A copy nobody has opened is a hope: check it as the database itself is checked. */
static int
verify_copy(struct sq_store *s, const char *path, struct err *err)
{
    struct sq_store copy = {.st = s->st, .file = (char *)(uintptr_t)path};
    struct buf report = BUF_INIT;
    struct sq_conn c;
    int rc;

    if (sq_conn_open(&copy, &c, false, false, err) != 0)
        return -1;
    if ((rc = sq_schema_check(&c, s->st->schema, NULL, err)) == 0)
        rc = check_conn(&c, &report, err);
    if (rc == 0 && report.n > 0)
        rc = err_sub(
            err, ERR_PERM, "store_corrupt", "the copy is damaged: %.200s", buf_cstr(&report));
    buf_deinit(&report);
    sq_conn_close(&c);
    return rc;
}

int
sq_backup(void *impl, const char *path, struct err *err)
{
    struct sq_store *s = impl;
    struct buf part = BUF_INIT;
    int rc = -1;

    if (refuse_memory(s, err) != 0)
        return -1;
    if (file_exists(path))
        return err_sub(err, ERR_CONFLICT, "exists", "%s exists already", path);
    buf_printf(&part, "%s.part", path);
    unlink(buf_cstr(&part));
    if (write_copy(s, buf_cstr(&part), err) == 0 && verify_copy(s, buf_cstr(&part), err) == 0) {
        rc = 0;
        if (rename(buf_cstr(&part), path) != 0)
            rc = err_errno(err, errno, "rename to %s", path);
    }
    if (rc != 0)
        unlink(buf_cstr(&part));
    buf_deinit(&part);
    return rc;
}
