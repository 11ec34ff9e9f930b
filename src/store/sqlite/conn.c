/*
 * Connections: open with the pragmas of their role, map SQLite's results to our errors.
 *
 * Every connection belongs to one thread at a time (NOMUTEX). The writer runs with synchronous=FULL,
 * so a commit that returned is on disk. Checkpoints are driven by the writer thread between groups
 * (writer.c); SQLite's own, which would run inside a commit, is off.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "store/sqlite/core.h"

/* Negative cache_size is KiB. secure_delete overwrites what an erasure removed. */
#define PRAGMAS_COMMON                                                                             \
    "PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF; PRAGMA foreign_keys=OFF;"                \
    "PRAGMA cell_size_check=ON;"
#define PRAGMAS_WRITER                                                                             \
    "PRAGMA synchronous=FULL; PRAGMA cache_size=-10240; PRAGMA secure_delete=ON;"                  \
    "PRAGMA wal_autocheckpoint=0; PRAGMA busy_timeout=5000;"
#define PRAGMAS_READER "PRAGMA query_only=ON; PRAGMA cache_size=-2048; PRAGMA busy_timeout=2000;"

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void
on_sqlite_log(void *arg, int code, const char *text)
{
    (void)arg;
    switch (code & 0xff) {
    case SQLITE_CONSTRAINT: /* ordinary answers here */
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA: /* life: a migration, a WAL found after a crash */
    case SQLITE_NOTICE: log_debug(NULL, "store.sqlite", "code=%d text=\"%s\"", code, text); break;
    default: log_warn(NULL, "store.sqlite", "code=%d text=\"%s\"", code, text);
    }
}

static void
init_library(void)
{
    /* Without memory statistics sqlite3_malloc() takes no lock of its own. */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_LOG, on_sqlite_log, NULL);
    sqlite3_initialize();
}

int
sq_error(struct sq_conn *c, int rc, struct err *err)
{
    const char *text = c->db != NULL ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc);

    switch (rc & 0xff) {
    case SQLITE_FULL: return err_sub(err, ERR_TEMP, "disk_full", "no room to write: %s", text);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: return err_sub(err, ERR_TEMP, "disk_full", "disk error %d: %s", rc, text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return err_sub(err, ERR_TEMP, "store_busy", "database is busy: %s", text);
    case SQLITE_CONSTRAINT: return err_sub(err, ERR_CONFLICT, "duplicate", "%s", text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return err_sub(err, ERR_PERM, "store_corrupt", "%s", text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return err_sub(err, ERR_PERM, "store_readonly", "%s", text);
    case SQLITE_MISMATCH: return err_sub(err, ERR_INVALID, "array_in_index", "%s", text);
    case SQLITE_TOOBIG: return err_sub(err, ERR_LIMIT, "too_large", "%s", text);
    default: return err_set(err, ERR_INTERNAL, "sqlite %d: %s", rc, text);
    }
}

int
sq_conn_sql(struct sq_conn *c, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : sq_error(c, rc, err);
}

/* The file is made by us so that it, and the WAL that copies its mode, are private. */
static int
create_private(const char *file, struct err *err)
{
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_errno(err, errno, "create %s", file);
    close(fd);
    return 0;
}

int
sq_conn_open(struct sq_store *s, struct sq_conn *c, bool is_writer, bool create, struct err *err)
{
    const char *file = s->is_memory ? ":memory:" : s->file;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc;

    pthread_once(&library_once, init_library);
    memset(c, 0, sizeof(*c));
    c->owner = s;
    c->schema = s->st->schema;
    c->is_writer = is_writer;
    if (create && !s->is_memory && create_private(file, err) != 0)
        return -1;
    if (!create && access(file, F_OK) != 0 && !s->is_memory)
        return err_sub(err, ERR_NOTFOUND, "no_store", "no database at %s", file);
    if ((rc = sqlite3_open_v2(file, &c->db, flags, NULL)) != SQLITE_OK)
        goto fail;
    if ((rc = sq_functions_add(c->db)) != SQLITE_OK)
        goto fail;
    c->stmts = sq_stmts_create();
    if (sq_conn_sql(c, PRAGMAS_COMMON, err) != 0 ||
        sq_conn_sql(c, is_writer ? PRAGMAS_WRITER : PRAGMAS_READER, err) != 0)
        goto fail_quiet;
    return 0;

fail:
    sq_error(c, rc, err);
fail_quiet:
    sq_conn_close(c);
    return -1;
}

void
sq_conn_close(struct sq_conn *c)
{
    sq_stmts_free(&c->stmts);
    if (c->db != NULL)
        sqlite3_close_v2(c->db);
    c->db = NULL;
}
