/*
 * The schema of a database file: whose it is, what version it has, and bringing it up to ours.
 *
 * Checking comes first and writes nothing: a database of a newer program, of another installation, or
 * not ours at all is left as it was found. Applying takes the database lock, looks again (another
 * process may have been faster) and runs all missing migrations in one transaction.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/sqlite/core.h"
#include "store/sqlite/docs.h"
#include "store/value.h"

#define APPLICATION_ID 0x4d534854 /* "MSHT" */

struct found_schema {
    bool is_new;         /* no table at all */
    int64_t version;     /* newest migration applied */
    int64_t key_version; /* of value_key() in the indexes */
    char fingerprint[128];
};

/* First column of the first row; `fallback` when there is none. */
static int
read_int(struct sq_conn *c, const char *sql, int64_t fallback, int64_t *value_r, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_text(c, sql, err);
    int rc;

    *value_r = fallback;
    if (stmt == NULL || (rc = sq_step(c, stmt, err)) < 0)
        return -1;
    if (rc == 1) {
        *value_r = sqlite3_column_int64(stmt, 0);
        sqlite3_reset(stmt);
    }
    return 0;
}

static int
read_fingerprint(struct sq_conn *c, struct found_schema *f, struct err *err)
{
    sqlite3_stmt *stmt =
        sq_prepare_text(c, "SELECT value FROM store_meta WHERE key='fingerprint'", err);
    int rc;

    if (stmt == NULL || (rc = sq_step(c, stmt, err)) < 0)
        return -1;
    if (rc == 1) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);

        sqlite3_snprintf(sizeof(f->fingerprint), f->fingerprint, "%s", text != NULL ? text : "");
        sqlite3_reset(stmt);
    }
    return 0;
}

static int
read_schema(struct sq_conn *c, struct found_schema *f, struct err *err)
{
    int64_t n_tables, n_ours;

    memset(f, 0, sizeof(*f));
    if (read_int(c, "SELECT count(*) FROM sqlite_schema", 0, &n_tables, err) != 0 ||
        read_int(
            c, "SELECT count(*) FROM sqlite_schema WHERE name='store_meta'", 0, &n_ours, err) != 0)
        return -1;
    f->is_new = n_tables == 0;
    if (f->is_new)
        return 0;
    if (n_ours == 0)
        return err_sub(err, ERR_PERM, "not_a_store", "the database belongs to another program");
    if (read_int(c, "SELECT max(number) FROM store_migrations", 0, &f->version, err) != 0 ||
        read_int(c, "SELECT value FROM store_meta WHERE key='key_version'", 0, &f->key_version,
            err) != 0)
        return -1;
    return read_fingerprint(c, f, err);
}

static int
judge_schema(const struct found_schema *f, const struct schema *schema, const char *fingerprint,
    struct err *err)
{
    if (f->is_new)
        return 0;
    if (f->version > (int64_t)schema_version(schema) || f->key_version > VALUE_KEY_VERSION)
        return err_sub(err, ERR_PERM, "newer_store",
            "the database has schema %lld, this program knows up to %u", (long long)f->version,
            schema_version(schema));
    if (fingerprint != NULL && f->fingerprint[0] != '\0' &&
        strcmp(fingerprint, f->fingerprint) != 0)
        return err_sub(err, ERR_PERM, "keys_differ",
            "the database was made with other keys than those in the key folder");
    return 0;
}

int
sq_schema_check(
    struct sq_conn *c, const struct schema *schema, const char *fingerprint, struct err *err)
{
    struct found_schema f;

    if (read_schema(c, &f, err) != 0)
        return -1;
    return judge_schema(&f, schema, fingerprint, err);
}

/* ---- applying -------------------------------------------------------------------------------- */

static int
create_base(struct sq_conn *c, struct err *err)
{
    char sql[512];

    sqlite3_snprintf(sizeof(sql), sql,
        "PRAGMA application_id=%d;"
        "CREATE TABLE store_meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
        "CREATE TABLE store_migrations(number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
        " applied_at INTEGER NOT NULL);"
        "INSERT INTO store_meta(key, value) VALUES('key_version', %d)",
        APPLICATION_ID, VALUE_KEY_VERSION);
    return sq_conn_sql(c, sql, err);
}

static int
apply_step(struct sq_conn *c, const struct schema_step *step, struct err *err)
{
    struct buf sql = BUF_INIT;
    int rc = -1;

    switch (step->kind) {
    case STEP_COLLECTION:
        buf_printf(
            &sql, "CREATE TABLE c_%s(id INTEGER PRIMARY KEY, doc BLOB NOT NULL)", step->name);
        rc = sq_conn_sql(c, buf_cstr(&sql), err);
        break;
    case STEP_INDEX:
        sq_put_index(&sql, step->index);
        rc = sq_conn_sql(c, buf_cstr(&sql), err);
        break;
    case STEP_TYPED: rc = sq_create_typed(c, step->name, err); break;
    }
    buf_deinit(&sql);
    return rc;
}

static int
apply_migration(struct sq_conn *c, const struct schema_migration *m, struct err *err)
{
    sqlite3_stmt *stmt;

    for (unsigned i = 0; i < m->n_steps; i++) {
        if (apply_step(c, &m->steps[i], err) != 0) {
            err_prefix(err, "migration %s, step %u", m->name, i + 1);
            return -1;
        }
    }
    stmt = sq_prepare_text(
        c, "INSERT INTO store_migrations(number, name, applied_at) VALUES(?,?,?)", err);
    if (stmt == NULL)
        return -1;
    sqlite3_bind_int64(stmt, 1, m->number);
    sqlite3_bind_text(stmt, 2, m->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 3, clock_now_ms());
    return sq_exec(c, stmt, err);
}

/* Indexes made with an older form of keys are made anew. */
static int
renew_keys(struct sq_conn *c, const struct found_schema *f, struct err *err)
{
    char sql[160];

    if (f->is_new || f->key_version == VALUE_KEY_VERSION)
        return 0;
    sqlite3_snprintf(sizeof(sql), sql,
        "REINDEX; INSERT OR REPLACE INTO store_meta(key, value) VALUES('key_version', %d)",
        VALUE_KEY_VERSION);
    return sq_conn_sql(c, sql, err);
}

static int
keep_fingerprint(
    struct sq_conn *c, const struct found_schema *f, const char *fingerprint, struct err *err)
{
    sqlite3_stmt *stmt;

    if (fingerprint == NULL || f->fingerprint[0] != '\0')
        return 0;
    stmt = sq_prepare_text(
        c, "INSERT OR REPLACE INTO store_meta(key, value) VALUES('fingerprint', ?)", err);
    if (stmt == NULL)
        return -1;
    sqlite3_bind_text(stmt, 1, fingerprint, -1, SQLITE_STATIC);
    return sq_exec(c, stmt, err);
}

static int
apply_missing(
    struct sq_conn *c, const struct schema *schema, const char *fingerprint, struct err *err)
{
    struct found_schema f;

    if (read_schema(c, &f, err) != 0 || judge_schema(&f, schema, fingerprint, err) != 0)
        return -1;
    if (f.is_new && create_base(c, err) != 0)
        return -1;
    if (renew_keys(c, &f, err) != 0)
        return -1;
    for (unsigned i = 0; i < schema->n_migrations; i++) {
        const struct schema_migration *m = &schema->migrations[i];

        if ((int64_t)m->number <= f.version)
            continue;
        if (apply_migration(c, m, err) != 0)
            return -1;
        log_info(NULL, "store.migrated", "name=%s", m->name);
    }
    return keep_fingerprint(c, &f, fingerprint, err);
}

int
sq_schema_apply(
    struct sq_conn *c, const struct schema *schema, const char *fingerprint, struct err *err)
{
    if (sq_conn_sql(c, "BEGIN IMMEDIATE", err) != 0)
        return -1;
    if (apply_missing(c, schema, fingerprint, err) != 0) {
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    return sq_conn_sql(c, "COMMIT", err);
}
