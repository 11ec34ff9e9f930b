#include <string.h>

#include "store/run_moves.h"
#include "store/send_moves.h"
#include "store/sqlite/typed.h"

/*
 * Planning a slice of a page: rows, exclusions, cursor and counters in one step.
 *
 * The unique indexes are the arbiters: a row is inserted without looking first, and only a row that
 * did not go in is asked why. Three answers: the contact has a row (nothing to do), the address has
 * one (the contact becomes an exclusion), or two addresses share a hash (stored one step above).
 *
 * Exclusions are kept as one record per page and reason: the ids of the contacts, eight bytes each,
 * little-endian, so that a place in the list is an offset. A later slice of the page appends.
 */

/** More equal hashes than this in one broadcast do not happen by chance at 63 bits. */
#define HASH_STEPS 4

static const char sql_has_contact[] =
    "SELECT 1 FROM sends WHERE broadcast = ?1 AND broadcast > 0 AND contact = ?2";
static const char sql_address_at[] =
    "SELECT address FROM sends WHERE broadcast = ?1 AND broadcast > 0 AND address_hash = ?2";
static const char sql_exclude[] =
    "INSERT INTO exclusions(broadcast, reason, page, contacts) VALUES(?1, ?2, ?3, ?4)"
    " ON CONFLICT(broadcast, reason, page)"
    " DO UPDATE SET contacts = CAST(contacts || excluded.contacts AS BLOB)";

struct plan_job {
    struct sq_conn *c;
    struct arena *a;
    const struct sends_plan *p;
    struct run_counters *n;
    struct sends_plan_exclusion *excluded; /* what becomes of exclusions and duplicate addresses */
    size_t n_excluded;
    uint64_t *made;
    size_t n_made;
};

/** 1 = the contact has a row, 0 = none, -1 = error. */
static int
has_contact(struct plan_job *j, uint64_t contact, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(j->c, sql_has_contact, err);
    int rc;

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, j->p->broadcast);
    sq_bind_id(stmt, 2, contact);
    rc = sq_step(j->c, stmt, err);
    sqlite3_reset(stmt);
    return rc;
}

enum address_at { ADDRESS_ERROR = -1, ADDRESS_NONE, ADDRESS_SAME, ADDRESS_OTHER };

/** Which address stands at a hash. A blank one was erased and counts as the same: its key is closed. */
static enum address_at
address_at(struct plan_job *j, int64_t hash, struct slice address, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(j->c, sql_address_at, err);
    enum address_at at = ADDRESS_NONE;
    int rc;

    if (stmt == NULL)
        return ADDRESS_ERROR;
    sq_bind_id(stmt, 1, j->p->broadcast);
    sqlite3_bind_int64(stmt, 2, hash);
    if ((rc = sq_step(j->c, stmt, err)) == 1) {
        struct slice there =
            slice_make(sqlite3_column_blob(stmt, 0), (size_t)sqlite3_column_bytes(stmt, 0));

        at = there.n == 0 || slice_eq(there, address) ? ADDRESS_SAME : ADDRESS_OTHER;
        sqlite3_reset(stmt);
    }
    return rc < 0 ? ADDRESS_ERROR : at;
}

static void
add_exclusion(struct plan_job *j, uint64_t contact, enum exclusion_reason reason)
{
    j->excluded[j->n_excluded++] = (struct sends_plan_exclusion){contact, reason};
}

/** Insert under the first free hash at or above the address's own. */
static int
plan_row(struct plan_job *j, const struct sends_plan_row *r, struct err *err)
{
    struct send_row row = {.id = r->id,
        .broadcast = j->p->broadcast,
        .group = j->p->broadcast,
        .contact = r->contact,
        .address = r->address,
        .profile = j->p->profile,
        .lane = j->p->lane,
        .page = j->p->page,
        .due_at_ms = r->due_at_ms,
        .created_at_ms = j->p->now_ms};
    int rc;

    send_move_start(&row);
    for (int step = 0; step < HASH_STEPS; step++) {
        enum address_at at;

        row.address_hash = (int64_t)(((uint64_t)r->address_hash + (uint64_t)step) & INT64_MAX);
        if ((rc = sq_row_insert(j->c, &row, err)) < 0)
            return -1;
        if (rc == 1) {
            send_move_count(j->n, &row, 1);
            j->made[j->n_made++] = row.id;
            return 0;
        }
        if ((rc = has_contact(j, r->contact, err)) != 0)
            return rc < 0 ? -1 : 0;
        if ((at = address_at(j, row.address_hash, r->address, err)) == ADDRESS_ERROR)
            return -1;
        if (at == ADDRESS_SAME) {
            add_exclusion(j, r->contact, EXCL_DUPLICATE_ADDRESS);
            return 0;
        }
        if (at == ADDRESS_NONE)
            break; /* neither key is taken, so it was the id */
    }
    return err_sub(err, ERR_CONFLICT, "send_id", "id or address hash of a new send is taken");
}

static int
write_exclusions(
    struct plan_job *j, enum exclusion_reason reason, struct slice contacts, struct err *err)
{
    sqlite3_stmt *stmt = sq_prepare_fixed(j->c, sql_exclude, err);

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, j->p->broadcast);
    sqlite3_bind_int(stmt, 2, (int)reason);
    sqlite3_bind_int64(stmt, 3, j->p->page);
    sq_bind_blob(stmt, 4, contacts);
    return sq_exec(j->c, stmt, err);
}

/** One record per reason, in the order in which the contacts came. */
static int
plan_exclusions(struct plan_job *j, struct err *err)
{
    unsigned char *ids = arena_alloc(j->a, j->n_excluded * 8 + 1);

    for (int reason = 0; reason < EXCL_REASONS; reason++) {
        size_t n = 0;

        for (size_t i = 0; i < j->n_excluded; i++) {
            if (j->excluded[i].reason != (enum exclusion_reason)reason)
                continue;
            for (int byte = 0; byte < 8; byte++)
                ids[n * 8 + byte] = (unsigned char)(j->excluded[i].contact >> (8 * byte));
            n++;
        }
        if (n == 0)
            continue;
        if (write_exclusions(j, (enum exclusion_reason)reason, slice_make(ids, n * 8), err) != 0)
            return -1;
        j->n->excluded[reason] += (int64_t)n;
    }
    return 0;
}

static int
plan_slice(struct plan_job *j, struct err *err)
{
    const struct sends_plan *p = j->p;

    j->made = arena_array(j->a, p->n_rows + 1, sizeof(*j->made));
    j->excluded = arena_array(j->a, p->n_rows + p->n_excluded + 1, sizeof(*j->excluded));
    for (size_t i = 0; i < p->n_rows; i++) {
        if (plan_row(j, &p->rows[i], err) != 0)
            return -1;
    }
    for (size_t i = 0; i < p->n_excluded; i++) {
        int rc = has_contact(j, p->excluded[i].contact, err);

        if (rc < 0)
            return -1;
        if (rc == 0)
            add_exclusion(j, p->excluded[i].contact, p->excluded[i].reason);
    }
    return plan_exclusions(j, err);
}

static bool
condition_holds(const struct sq_touch *touch, const struct sends_plan *p)
{
    return touch->exists && run_lets_claim(&touch->run) && touch->run.fence == p->fence &&
           slice_eq(touch->run.cursor, p->cursor_before);
}

int
sq_sends_plan(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_plan *p = op->args;
    struct sq_touches touches = {.c = c, .a = a};
    struct sq_touch *touch = sq_touch_get(&touches, p->broadcast, err);
    struct plan_job job = {.c = c, .a = a, .p = p};

    if (touch == NULL)
        return -1;
    op->sends_out.matched = condition_holds(touch, p);
    if (op->sends_out.matched) {
        job.n = &touch->run.n;
        if (plan_slice(&job, err) != 0)
            return -1;
        touch->run.page = p->page;
        touch->run.cursor = p->cursor_after;
        if (p->is_last)
            touch->run.dispatched_at_ms = p->now_ms;
        touch->kind = TOUCH_WHOLE;
    }
    op->sends_out.count = job.n_made;
    op->sends_out.ids = job.made;
    op->sends_out.n_ids = job.n_made;
    return sq_touch_flush(&touches, &op->sends_out, err);
}
