/*
 * Counting an audience: the eligible stream, read to its end.
 *
 * A contact that has a row already is found by merging two ascending walks: the stream goes by contact
 * id, and the contacts of the rows are sorted first. Distinct addresses are found by sorting their
 * hashes: of each group, one is eligible and the others are duplicates; where a row holds the address,
 * all are. A value carries the hash shifted by one, and 0 in the lowest bit when it comes from a row, so
 * rows sort first in their group.
 */
#include "audience/count.h"

#include <string.h>

#include "base/clock.h"
#include "store/sends.h"
#include "store/store.h"
#include "audience/spill.h"

#define ROWS_PER_READ 500

struct counting {
    struct store *st;
    const struct count_query *q;
    struct count_progress *progress;
    struct count_result *r;
    struct spill *sent;      /* contacts that have a row */
    struct spill *addresses; /* hash << 1 | is_new */
    bool has_sent;           /* `next_sent` is valid */
    uint64_t next_sent;
};

static int
check_cancel(const struct counting *c, struct err *err)
{
    if (c->progress != NULL && atomic_load(&c->progress->cancel))
        return err_sub(err, ERR_REFUSED, "cancelled", "the count was cancelled");
    return 0;
}

/* ---- rows that exist ------------------------------------------------------------------------- */

static int
keep_rows(struct counting *c, const struct sends_result *res, struct err *err)
{
    for (size_t i = 0; i < res->n_rows; i++) {
        const struct send_row *row = &res->rows[i];

        if (spill_add(c->sent, row->contact, err) != 0 ||
            spill_add(c->addresses, (uint64_t)row->address_hash << 1, err) != 0)
            return -1;
    }
    c->r->rows += res->n_rows;
    return 0;
}

static int
read_rows(struct counting *c, struct err *err)
{
    uint64_t after = 0;

    do {
        struct store_batch *b = store_batch_create(c->st, STORE_BULK);
        unsigned op = sends_list(b, &(struct sends_list){.broadcast = c->q->broadcast,
                                        .state = -1,
                                        .fail_class = -1,
                                        .after = after,
                                        .limit = ROWS_PER_READ});
        int rc = store_run(b, err);

        if (rc == 0) {
            after = sends_result(b, op)->next;
            rc = keep_rows(c, sends_result(b, op), err);
        }
        store_batch_free(&b);
        if (rc != 0 || check_cancel(c, err) != 0)
            return -1;
    } while (after != 0);
    return 0;
}

static int
next_sent(struct counting *c, struct err *err)
{
    int more = spill_next(c->sent, &c->next_sent, err);

    c->has_sent = more > 0;
    return more < 0 ? -1 : 0;
}

/* Is there a row for this contact? The stream comes with rising ids. */
static int
is_sent(struct counting *c, uint64_t contact, bool *sent_r, struct err *err)
{
    while (c->has_sent && c->next_sent < contact) {
        if (next_sent(c, err) != 0)
            return -1;
    }
    *sent_r = c->has_sent && c->next_sent == contact;
    return 0;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static int
count_page(struct counting *c, const struct eligible_page *page, struct err *err)
{
    c->r->database_matched += page->n_read;
    c->r->matched += page->n;
    for (size_t i = 0; i < page->n; i++) {
        const struct eligible_contact *e = &page->contacts[i];
        bool sent;

        if (is_sent(c, e->contact, &sent, err) != 0)
            return -1;
        if (sent)
            c->r->already_sent++;
        else if (e->verdict >= 0)
            c->r->excluded[e->verdict]++;
        else if (spill_add(c->addresses, (uint64_t)e->address_hash << 1 | 1, err) != 0)
            return -1;
    }
    return 0;
}

static int
walk(struct counting *c, struct err *err)
{
    char cursor[ELIGIBLE_CURSOR_MAX];
    size_t n_cursor = c->q->cursor.n;
    struct arena *a = arena_create(256 * 1024);
    struct eligible_page page = {.is_last = false};
    int rc = 0;

    if (n_cursor > sizeof(cursor))
        rc = err_sub(err, ERR_INVALID, "bad_cursor", "no cursor of this stream");
    else if (n_cursor > 0)
        memcpy(cursor, c->q->cursor.p, n_cursor);
    while (rc == 0 && !page.is_last) {
        arena_reset(a);
        rc = eligible_read_page(c->st, &c->q->stream, slice_make(cursor, n_cursor), a, &page, err);
        if (rc != 0)
            break;
        memcpy(cursor, page.cursor.p != NULL ? page.cursor.p : "", page.cursor.n);
        n_cursor = page.cursor.n;
        rc = count_page(c, &page, err);
        if (rc == 0)
            rc = check_cancel(c, err);
        if (c->progress != NULL)
            atomic_fetch_add(&c->progress->read, page.n_read);
    }
    arena_free(&a);
    return rc;
}

static int
count_distinct(struct counting *c, struct err *err)
{
    uint64_t v, group = UINT64_MAX;
    int more;

    if (spill_sort(c->addresses, err) != 0)
        return -1;
    while ((more = spill_next(c->addresses, &v, err)) > 0) {
        bool is_new = (v & 1) != 0, is_first = v >> 1 != group;

        group = v >> 1;
        if (!is_new)
            continue;
        if (is_first)
            c->r->eligible++;
        else
            c->r->excluded[EXCL_DUPLICATE_ADDRESS]++;
    }
    return more;
}

int
count_run(struct store *st, const struct count_query *q, struct count_progress *progress,
    struct count_result *r_r, struct err *err)
{
    struct counting c = {.st = st, .q = q, .progress = progress, .r = r_r};
    int64_t start_ms = clock_mono_ms();
    int rc = 0;

    memset(r_r, 0, sizeof(*r_r));
    c.sent = spill_create(q->spill_dir);
    c.addresses = spill_create(q->spill_dir);
    if (q->broadcast != 0)
        rc = read_rows(&c, err);
    if (rc == 0)
        rc = spill_sort(c.sent, err);
    if (rc == 0)
        rc = next_sent(&c, err);
    if (rc == 0)
        rc = walk(&c, err);
    if (rc == 0)
        rc = count_distinct(&c, err);
    spill_free(&c.addresses);
    spill_free(&c.sent);
    r_r->computed_ms = clock_mono_ms() - start_ms;
    return rc;
}
