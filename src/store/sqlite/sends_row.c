#include "store/sqlite/typed.h"

#include <string.h>

#include "store/run_moves.h"
#include "store/send_moves.h"

/*
 * One row in and out of its table, and the runs that an operation touches.
 *
 * A move is always the same three steps: load the row, let send_moves.c decide, save it and move the
 * counters by the difference of what the row counted. So counters and rows cannot drift apart by a
 * forgotten case: there is no other place that counts.
 */

/* Column order of SQ_ROW_COLUMNS; the UPDATE sets everything that a move can change. SQLite touches
 * only the indexes whose columns or condition are among these: never the unique ones. */
static const char sql_load[] =
    "SELECT " SQ_ROW_COLUMNS " FROM sends WHERE id = ?1 AND broadcast = ?2";
static const char sql_save[] =
    "UPDATE sends SET state = ?2, generation = ?3, attempt = ?4, claim_token = ?5, owner = ?6,"
    " due_at = ?7, delay_min = ?8, fail_class = ?9, reply_code = ?10, enhanced_code = ?11,"
    " sent_at = ?12, delivered_at = ?13, bounced_at = ?14, complained_at = ?15,"
    " unsubscribed_at = ?16, first_open = ?17, first_click = ?18, bounce = ?19 WHERE id = ?1";
static const char sql_insert[] =
    "INSERT INTO sends(" SQ_ROW_COLUMNS ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
    " ?12, 0, 0, ?13, 0, 0, 0, 0, ?14, 0, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING";

struct slice
sq_column_slice(sqlite3_stmt *stmt, int i, struct arena *a)
{
    const void *p = sqlite3_column_blob(stmt, i);
    int n = sqlite3_column_bytes(stmt, i);

    return n > 0 ? arena_dup(a, slice_make(p, (size_t)n)) : SLICE_NONE;
}

void
sq_row_read(sqlite3_stmt *stmt, struct arena *a, struct send_row *row)
{
    int i = 0;

    row->id = sq_column_id(stmt, i++);
    row->broadcast = sq_column_id(stmt, i++);
    row->state = (enum send_state)sqlite3_column_int(stmt, i++);
    row->group = sq_column_id(stmt, i++);
    row->contact = sq_column_id(stmt, i++);
    row->address = a != NULL ? sq_column_slice(stmt, i, a) : SLICE_NONE;
    i++;
    row->address_hash = sqlite3_column_int64(stmt, i++);
    row->profile = sq_column_id(stmt, i++);
    row->lane = (enum send_lane)sqlite3_column_int(stmt, i++);
    row->generation = (uint32_t)sqlite3_column_int64(stmt, i++);
    row->attempt = (uint32_t)sqlite3_column_int64(stmt, i++);
    row->page = (uint32_t)sqlite3_column_int64(stmt, i++);
    row->claim_token = sq_column_id(stmt, i++);
    row->owner = sq_column_id(stmt, i++);
    row->due_at_ms = sqlite3_column_int64(stmt, i++);
    row->delay_min = (uint32_t)sqlite3_column_int64(stmt, i++);
    row->fail_class = (enum send_fail_class)sqlite3_column_int(stmt, i++);
    row->reply_code = sqlite3_column_int(stmt, i++);
    row->enhanced_code = sqlite3_column_int(stmt, i++);
    row->created_at_ms = sqlite3_column_int64(stmt, i++);
    row->sent_at_ms = sqlite3_column_int64(stmt, i++);
    row->delivered_at_ms = sqlite3_column_int64(stmt, i++);
    row->bounced_at_ms = sqlite3_column_int64(stmt, i++);
    row->complained_at_ms = sqlite3_column_int64(stmt, i++);
    row->unsubscribed_at_ms = sqlite3_column_int64(stmt, i++);
    row->first_open_ms = sqlite3_column_int64(stmt, i++);
    row->first_click_ms = sqlite3_column_int64(stmt, i++);
    row->bounce = (enum bounce_type)sqlite3_column_int(stmt, i++);
}

int
sq_row_load(
    struct sq_conn *c, uint64_t broadcast, uint64_t id, struct send_row *row, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_load, err);
    int rc;

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, id);
    sq_bind_id(stmt, 2, broadcast);
    if ((rc = sq_step(c, stmt, err)) == 1) {
        sq_row_read(stmt, NULL, row);
        sqlite3_reset(stmt);
    }
    return rc;
}

int
sq_row_save(struct sq_conn *c, const struct send_row *row, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_save, err);
    int i = 1;

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, i++, row->id);
    sqlite3_bind_int(stmt, i++, (int)row->state);
    sqlite3_bind_int64(stmt, i++, row->generation);
    sqlite3_bind_int64(stmt, i++, row->attempt);
    sq_bind_id(stmt, i++, row->claim_token);
    sq_bind_id(stmt, i++, row->owner);
    sqlite3_bind_int64(stmt, i++, row->due_at_ms);
    sqlite3_bind_int64(stmt, i++, row->delay_min);
    sqlite3_bind_int(stmt, i++, (int)row->fail_class);
    sqlite3_bind_int(stmt, i++, row->reply_code);
    sqlite3_bind_int(stmt, i++, row->enhanced_code);
    sqlite3_bind_int64(stmt, i++, row->sent_at_ms);
    sqlite3_bind_int64(stmt, i++, row->delivered_at_ms);
    sqlite3_bind_int64(stmt, i++, row->bounced_at_ms);
    sqlite3_bind_int64(stmt, i++, row->complained_at_ms);
    sqlite3_bind_int64(stmt, i++, row->unsubscribed_at_ms);
    sqlite3_bind_int64(stmt, i++, row->first_open_ms);
    sqlite3_bind_int64(stmt, i++, row->first_click_ms);
    sqlite3_bind_int(stmt, i++, (int)row->bounce);
    return sq_exec(c, stmt, err);
}

int
sq_row_insert(struct sq_conn *c, const struct send_row *row, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_insert, err);
    int i = 1;

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, i++, row->id);
    sq_bind_id(stmt, i++, row->broadcast);
    sqlite3_bind_int(stmt, i++, (int)row->state);
    sq_bind_id(stmt, i++, row->group);
    sq_bind_id(stmt, i++, row->contact);
    sq_bind_text(stmt, i++, row->address);
    sqlite3_bind_int64(stmt, i++, row->address_hash);
    sq_bind_id(stmt, i++, row->profile);
    sqlite3_bind_int(stmt, i++, (int)row->lane);
    sqlite3_bind_int64(stmt, i++, row->generation);
    sqlite3_bind_int64(stmt, i++, row->attempt);
    sqlite3_bind_int64(stmt, i++, row->page);
    sqlite3_bind_int64(stmt, i++, row->due_at_ms);
    sqlite3_bind_int64(stmt, i++, row->created_at_ms);
    if (sq_exec(c, stmt, err) != 0)
        return -1;
    return sqlite3_changes(c->db) > 0 ? 1 : 0;
}

struct sq_touch *
sq_touch_get(struct sq_touches *t, uint64_t broadcast, struct err *err)
{
    struct sq_touch *touch;
    int rc = 0;

    if (t->n > 0 && t->items[t->last]->run.broadcast == broadcast)
        return t->items[t->last];
    for (size_t i = 0; i < t->n; i++) {
        if (t->items[i]->run.broadcast == broadcast) {
            t->last = i;
            return t->items[i];
        }
    }
    touch = arena_zalloc(t->a, sizeof(*touch));
    if (broadcast != 0 && (rc = sq_run_load(t->c, broadcast, t->a, &touch->run, err)) < 0)
        return NULL;
    touch->run.broadcast = broadcast;
    touch->exists = rc == 1;
    if (t->n == t->cap) {
        size_t cap = t->cap == 0 ? 4 : t->cap * 2;
        struct sq_touch **items = arena_array(t->a, cap, sizeof(struct sq_touch *));

        if (t->n > 0)
            memcpy(items, t->items, t->n * sizeof(struct sq_touch *));
        t->items = items;
        t->cap = cap;
    }
    t->last = t->n;
    t->items[t->n++] = touch;
    return touch;
}

void
sq_touch_count(struct sq_touch *touch, const struct send_row *before, const struct send_row *after)
{
    send_move_count(&touch->run.n, before, -1);
    send_move_count(&touch->run.n, after, 1);
    if (touch->kind == TOUCH_READ)
        touch->kind = TOUCH_COUNTERS;
}

int
sq_touch_move(struct sq_touches *t, const struct send_row *before, const struct send_row *after,
    struct err *err)
{
    struct sq_touch *touch = sq_touch_get(t, after->broadcast, err);

    if (touch == NULL || sq_row_save(t->c, after, err) != 0)
        return -1;
    sq_touch_count(touch, before, after);
    return 0;
}
