#include "store/send_moves.h"
#include "store/sqlite/typed.h"

/*
 * Reading for people: lists of rows, exclusions, the detail of a row, and the recount. All of it runs
 * on a reader.
 *
 * A list has a bounded cost per page whatever the state asked for. Exceptional states have an index of
 * their own. For the common ones it chooses: few waiting rows (and rows under way, which are always
 * few) are sorted out of their partial index; everything else walks the rows of the broadcast by
 * contact and looks at no more than EXAMINE_MAX of them, leaving a position to go on from.
 */

#define EXAMINE_MAX  5000
#define SORTABLE_MAX 4096

static const char sql_by_contact[] = "SELECT " SQ_ROW_COLUMNS " FROM sends INDEXED BY sends_contact"
                                     " WHERE broadcast = ?1 AND broadcast > 0 AND contact > ?2"
                                     " ORDER BY contact LIMIT ?3";
static const char sql_waiting[] = "SELECT " SQ_ROW_COLUMNS " FROM sends INDEXED BY sends_due"
                                  " WHERE grp = ?1 AND state = 0 AND contact > ?2"
                                  " ORDER BY contact LIMIT ?3";
static const char sql_under_way[] = "SELECT " SQ_ROW_COLUMNS " FROM sends INDEXED BY sends_sending"
                                    " WHERE state = 1 AND broadcast = ?1 AND contact > ?2"
                                    " ORDER BY contact LIMIT ?3";
static const char sql_exceptional[] =
    "SELECT " SQ_ROW_COLUMNS " FROM sends INDEXED BY sends_exceptional"
    " WHERE broadcast = ?1 AND state IS ?4 AND state >= 4 AND id > ?2"
    " ORDER BY id LIMIT ?3";
static const char sql_history[] = "SELECT " SQ_ROW_COLUMNS " FROM sends INDEXED BY sends_history"
                                  " WHERE contact = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
static const char sql_pages[] =
    "SELECT page, contacts FROM exclusions WHERE broadcast = ?1 AND reason = ?2 AND page >= ?3"
    " ORDER BY page";
static const char sql_detail[] =
    "SELECT reply_text, provider_id, content FROM send_details WHERE id = ?1 AND broadcast = ?2";
static const char sql_detail_put[] =
    "INSERT INTO send_details(id, broadcast, reply_text, provider_id, content)"
    " VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(id) DO UPDATE SET"
    " reply_text = iif(excluded.reply_text = '', reply_text, excluded.reply_text),"
    " provider_id = iif(excluded.provider_id = '', provider_id, excluded.provider_id),"
    " content = iif(excluded.content = x'', content, excluded.content)";
static const char sql_all_rows[] =
    "SELECT state, fail_class, sent_at, delivered_at, complained_at, unsubscribed_at, first_open,"
    " first_click, bounce FROM sends INDEXED BY sends_contact"
    " WHERE broadcast = ?1 AND broadcast > 0 ORDER BY contact";
static const char sql_all_pages[] =
    "SELECT reason, sum(length(contacts) / 8) FROM exclusions WHERE broadcast = ?1 GROUP BY reason";

_Static_assert(SEND_BOUNCED == 4, "sends_exceptional begins at bounced");

/* ---- lists of rows --------------------------------------------------------------------------- */

/** Decided on four columns, so that a row which is only passed costs little. */
static bool
is_wanted(const struct sends_list *l, sqlite3_stmt *stmt)
{
    return (l->state < 0 || sqlite3_column_int(stmt, SQ_ROW_COL_STATE) == l->state) &&
           (l->broadcast == 0 || sq_column_id(stmt, SQ_ROW_COL_BROADCAST) == l->broadcast) &&
           (l->contact == 0 || sq_column_id(stmt, SQ_ROW_COL_CONTACT) == l->contact) &&
           (l->fail_class < 0 || sqlite3_column_int(stmt, SQ_ROW_COL_FAIL_CLASS) == l->fail_class);
}

/** Which access serves a list, and whether its position is a contact or an id. */
static int
choose_access(struct sq_conn *c, const struct sends_list *l, struct arena *a, const char **sql_r,
    bool *is_by_contact_r, struct err *err)
{
    struct run_record run = {0};
    int rc;

    *is_by_contact_r = l->contact == 0 && l->state < SEND_BOUNCED;
    if (l->contact != 0) {
        *sql_r = sql_history;
    } else if (l->state >= SEND_BOUNCED) {
        *sql_r = sql_exceptional;
    } else if (l->broadcast == 0) {
        return err_set(err, ERR_INVALID, "a list needs a broadcast, a contact or a state");
    } else if (l->state == SEND_SENDING) {
        *sql_r = sql_under_way;
    } else {
        *sql_r = sql_by_contact;
        if (l->state == SEND_QUEUED) {
            if ((rc = sq_run_load(c, l->broadcast, a, &run, err)) < 0)
                return -1;
            if (rc == 1 && run.n.by_state[SEND_QUEUED] <= SORTABLE_MAX)
                *sql_r = sql_waiting;
        }
    }
    return 0;
}

int
sq_sends_list(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_list *l = op->args;
    struct sends_result *res = &op->sends_out;
    struct send_row *rows = arena_array(a, l->limit, sizeof(*rows));
    size_t examined = 0;
    uint64_t last = 0;
    sqlite3_stmt *stmt;
    bool is_by_contact;
    const char *sql;
    int rc = 0;

    if (choose_access(c, l, a, &sql, &is_by_contact, err) != 0 ||
        (stmt = sq_prepare_fixed(c, sql, err)) == NULL)
        return -1;
    sq_bind_id(stmt, 1, l->contact != 0 ? l->contact : l->broadcast);
    sq_bind_id(stmt, 2, l->after);
    sqlite3_bind_int(stmt, 3, EXAMINE_MAX);
    if (sql == sql_exceptional)
        sqlite3_bind_int(stmt, 4, l->state);
    while (res->n_rows < l->limit && (rc = sq_step(c, stmt, err)) == 1) {
        examined++;
        last = sq_column_id(stmt, is_by_contact ? SQ_ROW_COL_CONTACT : SQ_ROW_COL_ID);
        if (is_wanted(l, stmt))
            sq_row_read(stmt, a, &rows[res->n_rows++]);
    }
    sqlite3_reset(stmt);
    res->rows = rows;
    res->next = res->n_rows == l->limit || examined == EXAMINE_MAX ? last : 0;
    res->matched = res->n_rows > 0;
    return rc < 0 ? -1 : 0;
}

/* ---- exclusions ------------------------------------------------------------------------------ */

static uint64_t
get_id(const unsigned char *p)
{
    uint64_t v = 0;

    for (int byte = 7; byte >= 0; byte--)
        v = v << 8 | p[byte];
    return v;
}

/** Copy the contacts of one record from index `from` on; false when the result is full. */
static bool
take_page(sqlite3_stmt *stmt, size_t from, unsigned limit, uint64_t *ids, uint64_t *positions,
    size_t *n_r)
{
    uint64_t page = sq_column_id(stmt, 0);
    const unsigned char *p = sqlite3_column_blob(stmt, 1);
    size_t n = (size_t)sqlite3_column_bytes(stmt, 1) / 8;

    for (size_t i = from; i < n && *n_r < limit; i++) {
        ids[*n_r] = get_id(p + i * 8);
        positions[*n_r] = page << 32 | (i + 1);
        (*n_r)++;
    }
    return *n_r < limit;
}

int
sq_sends_exclusions(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_excl_args *args = op->args;
    uint64_t *ids = arena_array(a, args->limit, sizeof(*ids));
    uint64_t *positions = arena_array(a, args->limit, sizeof(*positions));
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_pages, err);
    size_t n = 0;
    int rc;

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, args->broadcast);
    sqlite3_bind_int(stmt, 2, (int)args->reason);
    sq_bind_id(stmt, 3, args->after >> 32);
    while ((rc = sq_step(c, stmt, err)) == 1) {
        bool is_first = sq_column_id(stmt, 0) == args->after >> 32;
        size_t from = is_first ? (size_t)(args->after & UINT32_MAX) : 0;

        if (!take_page(stmt, from, args->limit, ids, positions, &n))
            break;
    }
    sqlite3_reset(stmt);
    op->sends_out.ids = ids;
    op->sends_out.positions = positions;
    op->sends_out.n_ids = n;
    op->sends_out.matched = n > 0;
    return rc < 0 ? -1 : 0;
}

/* ---- details --------------------------------------------------------------------------------- */

int
sq_sends_detail(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_ids_args *args = op->args;
    struct send_detail *d = &op->sends_out.detail;
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_detail, err);
    int rc;

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, args->ids[0]);
    sq_bind_id(stmt, 2, args->broadcast);
    if ((rc = sq_step(c, stmt, err)) == 1) {
        d->reply_text = sq_column_slice(stmt, 0, a);
        d->provider_id = sq_column_slice(stmt, 1, a);
        d->content = sq_column_slice(stmt, 2, a);
        sqlite3_reset(stmt);
    }
    op->sends_out.matched = rc == 1;
    return rc < 0 ? -1 : 0;
}

int
sq_detail_put(struct sq_conn *c, uint64_t broadcast, uint64_t id, const struct send_detail *d,
    struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_detail_put, err);

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, id);
    sq_bind_id(stmt, 2, broadcast);
    sq_bind_text(stmt, 3, d->reply_text);
    sq_bind_text(stmt, 4, d->provider_id);
    sq_bind_blob(stmt, 5, d->content);
    return sq_exec(c, stmt, err);
}

/* ---- recount --------------------------------------------------------------------------------- */

static int
recount_rows(struct sq_conn *c, uint64_t broadcast, struct run_counters *n, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_all_rows, err);
    int rc;

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, broadcast);
    while ((rc = sq_step(c, stmt, err)) == 1) {
        struct send_row row = {.state = (enum send_state)sqlite3_column_int(stmt, 0),
            .fail_class = (enum send_fail_class)sqlite3_column_int(stmt, 1),
            .sent_at_ms = sqlite3_column_int64(stmt, 2),
            .delivered_at_ms = sqlite3_column_int64(stmt, 3),
            .complained_at_ms = sqlite3_column_int64(stmt, 4),
            .unsubscribed_at_ms = sqlite3_column_int64(stmt, 5),
            .first_open_ms = sqlite3_column_int64(stmt, 6),
            .first_click_ms = sqlite3_column_int64(stmt, 7),
            .bounce = (enum bounce_type)sqlite3_column_int(stmt, 8)};

        send_move_count(n, &row, 1);
    }
    return rc;
}

static int
recount_exclusions(struct sq_conn *c, uint64_t broadcast, struct run_counters *n, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(c, sql_all_pages, err);
    int rc;

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, broadcast);
    while ((rc = sq_step(c, stmt, err)) == 1) {
        int reason = sqlite3_column_int(stmt, 0);

        if (reason >= 0 && reason < EXCL_REASONS)
            n->excluded[reason] = sqlite3_column_int64(stmt, 1);
    }
    return rc;
}

int
sq_sends_recount(struct sq_conn *c, uint64_t broadcast, struct run_counters *n, struct err *err)
{
    *n = (struct run_counters){0};
    if (recount_rows(c, broadcast, n, err) != 0)
        return -1;
    return recount_exclusions(c, broadcast, n, err);
}
