#include <string.h>

#include "store/send_moves.h"
#include "store/sqlite/typed.h"

/*
 * What feeds the queue: the waiting rows of a group in due order, the groups of one-off mail, rows by
 * id, and the insertion of one-off rows.
 *
 * A page of due rows is two index ranges rather than one comparison of pairs: first the rows of the
 * very due time the last page ended in, by id, then the later ones. A broadcast planned in one go has
 * one due time for a million rows, so a range on the time alone would walk all of them again.
 */

static const char sql_due_same[] = "SELECT " SQ_ROW_COLUMNS " FROM sends INDEXED BY sends_due"
                                   " WHERE grp = ?1 AND state = 0 AND due_at = ?2 AND id > ?3"
                                   " ORDER BY id LIMIT ?4";
static const char sql_due_later[] = "SELECT " SQ_ROW_COLUMNS " FROM sends INDEXED BY sends_due"
                                    " WHERE grp = ?1 AND state = 0 AND due_at > ?2"
                                    " AND due_at <= ?3 ORDER BY due_at, id LIMIT ?4";
static const char sql_due_next[] =
    "SELECT due_at FROM sends INDEXED BY sends_due WHERE grp = ?1 AND state = 0"
    " AND due_at > ?2 ORDER BY due_at LIMIT 1";
static const char sql_next_group[] =
    "SELECT grp, broadcast FROM sends INDEXED BY sends_due WHERE state = 0 AND grp > ?1"
    " ORDER BY grp LIMIT 1";
static const char sql_get[] =
    "SELECT " SQ_ROW_COLUMNS " FROM sends WHERE id = ?1 AND broadcast = ?2";

/** Append what `stmt` yields, up to `cap` rows. */
static int
collect_rows(struct sq_conn *c, sqlite3_stmt *stmt, struct arena *a, struct send_row *rows,
    size_t cap, size_t *n_r, struct err *err)
{
    int rc = 0;

    while (*n_r < cap && (rc = sq_step(c, stmt, err)) == 1)
        sq_row_read(stmt, a, &rows[(*n_r)++]);
    sqlite3_reset(stmt);
    return rc < 0 ? -1 : 0;
}

static int
due_same(struct sq_conn *c, const struct sends_due_args *args, struct arena *a,
    struct send_row *rows, size_t *n_r, struct err *err)
{
    sqlite3_stmt *stmt;

    if (args->after_due_ms > args->now_ms)
        return 0;
    if ((stmt = sq_prepare_fixed(c, sql_due_same, err)) == NULL)
        return -1;
    sq_bind_id(stmt, 1, args->group);
    sqlite3_bind_int64(stmt, 2, args->after_due_ms);
    sq_bind_id(stmt, 3, args->after_id);
    sqlite3_bind_int64(stmt, 4, args->n);
    return collect_rows(c, stmt, a, rows, args->n, n_r, err);
}

static int
due_later(struct sq_conn *c, const struct sends_due_args *args, struct arena *a,
    struct send_row *rows, size_t *n_r, struct err *err)
{
    sqlite3_stmt *stmt;

    if (*n_r == args->n)
        return 0;
    if ((stmt = sq_prepare_fixed(c, sql_due_later, err)) == NULL)
        return -1;
    sq_bind_id(stmt, 1, args->group);
    sqlite3_bind_int64(stmt, 2, args->after_due_ms);
    sqlite3_bind_int64(stmt, 3, args->now_ms);
    sqlite3_bind_int64(stmt, 4, args->n - (int64_t)*n_r);
    return collect_rows(c, stmt, a, rows, args->n, n_r, err);
}

/** The earliest due time after now. */
static int
due_next(
    struct sq_conn *c, const struct sends_due_args *args, int64_t *next_due_ms_r, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_due_next, err);
    int rc;

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, args->group);
    sqlite3_bind_int64(stmt, 2, args->now_ms);
    if ((rc = sq_step(c, stmt, err)) == 1) {
        *next_due_ms_r = sqlite3_column_int64(stmt, 0);
        sqlite3_reset(stmt);
    }
    return rc < 0 ? -1 : 0;
}

int
sq_sends_due(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_due_args *args = op->args;
    struct send_row *rows = arena_array(a, args->n, sizeof(*rows));
    size_t n = 0;

    if (due_same(c, args, a, rows, &n, err) != 0 || due_later(c, args, a, rows, &n, err) != 0 ||
        due_next(c, args, &op->sends_out.next_due_ms, err) != 0)
        return -1;
    op->sends_out.rows = rows;
    op->sends_out.n_rows = n;
    op->sends_out.matched = n > 0;
    return 0;
}

/** Skips from group to group along the due index: as many steps as there are groups, not rows. */
int
sq_sends_groups(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    size_t n = 0, cap = 16;
    uint64_t *ids = arena_array(a, cap, sizeof(*ids));
    uint64_t last = 0;
    int rc = 1;

    while (rc == 1) {
        sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_next_group, err);

        if (stmt == NULL)
            return -1;
        sq_bind_id(stmt, 1, last);
        if ((rc = sq_step(c, stmt, err)) != 1)
            break;
        last = sq_column_id(stmt, 0);
        if (sq_column_id(stmt, 1) == 0) {
            if (n == cap) {
                uint64_t *grown = arena_array(a, cap * 2, sizeof(*grown));

                memcpy(grown, ids, n * sizeof(*ids));
                ids = grown;
                cap *= 2;
            }
            ids[n++] = last;
        }
        sqlite3_reset(stmt);
    }
    op->sends_out.ids = ids;
    op->sends_out.n_ids = n;
    op->sends_out.matched = n > 0;
    return rc < 0 ? -1 : 0;
}

int
sq_sends_get(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_ids_args *args = op->args;
    struct send_row *rows = arena_array(a, args->n + 1, sizeof(*rows));
    size_t n = 0;

    for (size_t i = 0; i < args->n; i++) {
        sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_get, err);

        if (stmt == NULL)
            return -1;
        sq_bind_id(stmt, 1, args->ids[i]);
        sq_bind_id(stmt, 2, args->broadcast);
        if (collect_rows(c, stmt, a, rows, n + 1, &n, err) != 0)
            return -1;
    }
    op->sends_out.rows = rows;
    op->sends_out.n_rows = n;
    op->sends_out.matched = n > 0;
    return 0;
}

int
sq_sends_oneoff(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_oneoff_args *args = op->args;
    struct send_detail detail = {.content = args->content};
    struct send_row row = args->row;
    int rc;

    row.broadcast = 0;
    row.group = row.profile;
    row.page = 0;
    send_move_start(&row);
    if ((rc = sq_row_insert(c, &row, err)) < 0)
        return -1;
    if (rc == 0)
        return err_sub(err, ERR_CONFLICT, "send_id", "id of a new send is taken");
    op->sends_out.matched = true;
    op->sends_out.count = 1;
    return detail.content.n > 0 ? sq_detail_put(c, 0, row.id, &detail, err) : 0;
}
