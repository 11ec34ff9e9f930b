#include <stdio.h>
#include <string.h>

#include "store/sqlite/typed.h"

/*
 * Instance records on the embedded store. One process at a time has the folder (its lock says so), so
 * the number is always 0 and there is no beat to wait for. What the records are for is the fingerprint:
 * a folder whose fingerprint this database has not seen is a copy, and a copy sends nothing until
 * somebody adopts it. A record stays when another folder starts, so a folder that comes home is known;
 * adopting drops all others.
 */

#define INSTANCE_COLUMNS                                                                           \
    "fingerprint, number, incarnation, started_at, beat_at, id_high_water, is_adopted"

static const char sql_list[] =
    "SELECT " INSTANCE_COLUMNS " FROM instances ORDER BY number, fingerprint";
static const char sql_put[] =
    "INSERT INTO instances(" INSTANCE_COLUMNS ")"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    " ON CONFLICT(fingerprint) DO UPDATE SET number = excluded.number,"
    " incarnation = excluded.incarnation, started_at = excluded.started_at,"
    " beat_at = excluded.beat_at, id_high_water = excluded.id_high_water,"
    " is_adopted = excluded.is_adopted";
static const char sql_beat[] =
    "UPDATE instances SET beat_at = ?3, id_high_water = max(id_high_water, ?4)"
    " WHERE number = ?1 AND incarnation = ?2";
static const char sql_adopt[] =
    "UPDATE instances SET is_adopted = 1 WHERE number = ?1 AND incarnation = ?2";
static const char sql_drop_others[] = "DELETE FROM instances WHERE incarnation <> ?1";

static void
read_record(sqlite3_stmt *stmt, struct instance_record *r)
{
    const char *fingerprint = (const char *)sqlite3_column_text(stmt, 0);

    memset(r, 0, sizeof(*r));
    snprintf(r->fingerprint, sizeof(r->fingerprint), "%s", fingerprint != NULL ? fingerprint : "");
    r->number = (unsigned)sqlite3_column_int(stmt, 1);
    r->incarnation = sq_column_id(stmt, 2);
    r->started_at_ms = sqlite3_column_int64(stmt, 3);
    r->beat_at_ms = sqlite3_column_int64(stmt, 4);
    r->id_high_water_ms = sqlite3_column_int64(stmt, 5);
    r->is_adopted = sqlite3_column_int(stmt, 6) != 0;
}

static int
load_all(struct sq_conn *c, struct arena *a, struct instances_result *res, struct err *err)
{
    size_t n = 0, cap = 4;
    struct instance_record *records = arena_array(a, cap, sizeof(*records));
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_list, err);
    int rc;

    if (stmt == NULL)
        return -1;
    while ((rc = sq_step(c, stmt, err)) == 1) {
        if (n == cap) {
            struct instance_record *grown = arena_array(a, cap * 2, sizeof(*grown));

            memcpy(grown, records, n * sizeof(*records));
            records = grown;
            cap *= 2;
        }
        read_record(stmt, &records[n++]);
    }
    res->records = records;
    res->n_records = n;
    res->matched = n > 0;
    return rc;
}

static int
put_record(struct sq_conn *c, const struct instance_record *r, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_put, err);

    if (stmt == NULL)
        return -1;
    sq_bind_text(stmt, 1, slice_str(r->fingerprint));
    sqlite3_bind_int64(stmt, 2, r->number);
    sq_bind_id(stmt, 3, r->incarnation);
    sqlite3_bind_int64(stmt, 4, r->started_at_ms);
    sqlite3_bind_int64(stmt, 5, r->beat_at_ms);
    sqlite3_bind_int64(stmt, 6, r->id_high_water_ms);
    sqlite3_bind_int(stmt, 7, r->is_adopted);
    return sq_exec(c, stmt, err);
}

/** The first folder of a new store is the installation; a known one keeps what it was. Ids start above
 * whatever any folder has used, since they all meet in these tables. */
static int
op_start(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    struct instance_record *mine = arena_zalloc(a, sizeof(*mine));
    struct instances_result all;

    if (load_all(c, a, &all, err) != 0)
        return -1;
    *mine = *(const struct instance_record *)op->args;
    mine->number = 0;
    mine->is_adopted = all.n_records == 0;
    for (size_t i = 0; i < all.n_records; i++) {
        const struct instance_record *r = &all.records[i];

        if (r->id_high_water_ms > mine->id_high_water_ms)
            mine->id_high_water_ms = r->id_high_water_ms;
        if (strcmp(r->fingerprint, mine->fingerprint) == 0)
            mine->is_adopted = r->is_adopted;
    }
    if (put_record(c, mine, err) != 0)
        return -1;
    op->inst_out = (struct instances_result){.matched = true, .records = mine, .n_records = 1};
    return 0;
}

static int
op_beat(struct sq_conn *c, struct store_op *op, struct err *err)
{
    const struct instance_record *r = op->args;
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_beat, err);

    if (stmt == NULL)
        return -1;
    sqlite3_bind_int64(stmt, 1, r->number);
    sq_bind_id(stmt, 2, r->incarnation);
    sqlite3_bind_int64(stmt, 3, r->beat_at_ms);
    sqlite3_bind_int64(stmt, 4, r->id_high_water_ms);
    if (sq_exec(c, stmt, err) != 0)
        return -1;
    op->inst_out.matched = sqlite3_changes(c->db) > 0;
    return 0;
}

static int
op_adopt(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct instances_adopt_args *args = op->args;
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_adopt, err);

    if (stmt == NULL)
        return -1;
    sqlite3_bind_int64(stmt, 1, args->number);
    sq_bind_id(stmt, 2, args->incarnation);
    if (sq_exec(c, stmt, err) != 0)
        return -1;
    if (sqlite3_changes(c->db) == 0)
        return 0; /* not the running incarnation */
    if ((stmt = sq_prepare_fixed(c, sql_drop_others, err)) == NULL)
        return -1;
    sq_bind_id(stmt, 1, args->incarnation);
    if (sq_exec(c, stmt, err) != 0)
        return -1;
    return load_all(c, a, &op->inst_out, err);
}

int
sq_op_instances(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    switch (op->kind) {
    case OP_INSTANCES_START: return op_start(c, op, a, err);
    case OP_INSTANCES_BEAT: return op_beat(c, op, err);
    case OP_INSTANCES_ADOPT: return op_adopt(c, op, a, err);
    default: return load_all(c, a, &op->inst_out, err);
    }
}
