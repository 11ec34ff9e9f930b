#include "api/broadcast_routes.h"

#include <stdio.h>

#include "api/resource.h"
#include "api/send_view.h"
#include "base/bsonx.h"
#include "model/contact.h"
#include "store/sends.h"
#include "store/store.h"

/*
 * The lists behind the figures of a ledger: each number opens a list of that length.
 *
 * States are shown ones. What is shown as held or cancelled may be stored as two or three states, so a
 * list walks the stored states that look alike, one after the other; its cursor says in which it is and
 * where.
 */

#define READS_MAX 8 /* of the store for one page: what is asked for may be rare among the rows */

/* Stored states that look like `shown` in this run. */
static size_t
stored_states(const struct run_record *run, int shown, int out[SEND_STATES])
{
    size_t n = 0;

    for (int s = 0; s < SEND_STATES; s++)
        if ((int)send_state_shown((enum send_state)s, run) == shown)
            out[n++] = s;
    return n;
}

struct walk {
    const struct broadcast_view *v;
    int states[SEND_STATES]; /* -1 = any, alone */
    size_t n_states, at;
    struct sends_list q;
    unsigned wanted;
    struct send_row *rows;
    size_t n_rows;
};

/* "<place in the list of states>.<position in the store>" */
static int
read_cursor(struct api_call *c, struct walk *w, struct err *err)
{
    struct slice rest = api_query(c, "cursor"), at;
    uint64_t n;

    if (rest.p == NULL)
        return 0;
    if (slice_cut(&rest, '.', &at) && slice_u64(at, &n) && n < w->n_states && rest.p != NULL &&
        slice_u64(rest, &w->q.after)) {
        w->at = (size_t)n;
        return 0;
    }
    return err_sub(err, ERR_INVALID, "bad_cursor", "cursor: not one that this list gave");
}

static int
walk_init(struct api_call *c, const struct broadcast_view *v, struct walk *w, struct err *err)
{
    struct slice status = api_query(c, "status");
    struct slice class = api_query(c, "failClass");

    *w = (struct walk){.v = v, .states = {-1}, .n_states = 1, .wanted = api_page_limit(c)};
    w->q = (struct sends_list){.broadcast = v->doc.id, .fail_class = -1};
    if (status.p != NULL)
        w->n_states =
            stored_states(&v->run, send_state_parse(arena_cstr(c->arena, status)), w->states);
    for (int f = 0; class.p != NULL && f < FAIL_CLASSES; f++)
        if (slice_eq_str(class, send_fail_class_name(f)))
            w->q.fail_class = f;
    w->rows = arena_array(c->arena, w->wanted, sizeof(*w->rows));
    return read_cursor(c, w, err);
}

static int
walk_read(struct api_call *c, struct walk *w, struct err *err)
{
    struct store_batch *b = store_batch_create(c->env->store, STORE_URGENT);
    unsigned op;
    int rc;

    w->q.state = w->states[w->at];
    w->q.limit = w->wanted - (unsigned)w->n_rows;
    op = sends_list(b, &w->q);
    if ((rc = store_run(b, err)) == 0) {
        const struct sends_result *r = sends_result(b, op);

        for (size_t i = 0; i < r->n_rows; i++) {
            w->rows[w->n_rows] = r->rows[i];
            w->rows[w->n_rows].address = arena_dup(c->arena, r->rows[i].address);
            w->n_rows++;
        }
        w->q.after = r->next;
        if (r->next == 0)
            w->at++;
    }
    store_batch_free(&b);
    return rc;
}

int
broadcasts_sends(struct api_call *c, struct err *err)
{
    struct broadcast_call bc;
    struct broadcast_view v;
    struct walk w;
    const char *next = "";

    if (broadcast_find(c, &bc, &v, err) != 0 || walk_init(c, &v, &w, err) != 0)
        return -1;
    for (int i = 0; i < READS_MAX && w.at < w.n_states && w.n_rows < w.wanted; i++)
        if (walk_read(c, &w, err) != 0)
            return -1;
    if (w.at < w.n_states)
        next = arena_printf(c->arena, "%zu.%llu", w.at, (unsigned long long)w.q.after);
    api_page_begin(c);
    if (send_view_write_rows(c, &v, w.rows, w.n_rows, err) != 0)
        return -1;
    api_page_end_text(c, slice_str(next));
    return 0;
}

/* ---- exclusions ------------------------------------------------------------------------------ */

struct excluded {
    const uint64_t *ids, *positions;
    size_t n;
};

static int
read_excluded(struct api_call *c, uint64_t broadcast, enum exclusion_reason reason, uint64_t after,
    unsigned limit, struct excluded *out, struct err *err)
{
    struct store_batch *b = store_batch_create(c->env->store, STORE_URGENT);
    unsigned op = sends_exclusions(b, broadcast, reason, after, limit);
    int rc = store_run(b, err);

    if (rc == 0) {
        const struct sends_result *r = sends_result(b, op);
        size_t bytes = r->n_ids * sizeof(*r->ids);

        out->n = r->n_ids;
        out->ids = (const void *)arena_dup(c->arena, slice_make(r->ids, bytes)).p;
        out->positions = (const void *)arena_dup(c->arena, slice_make(r->positions, bytes)).p;
    }
    store_batch_free(&b);
    return rc;
}

/* People in the order of the list; one who has been erased since is shown by id alone. */
static int
write_people(struct api_call *c, const struct excluded *x, const char *reason, struct err *err)
{
    struct store_batch *b = store_batch_create(c->env->store, STORE_URGENT);
    unsigned op = contact_find_op(b, x->ids, x->n);
    int rc = store_run(b, err);

    for (size_t i = 0; rc == 0 && i < x->n; i++) {
        const struct store_result *r = store_batch_result(b, op);
        struct slice external = SLICE_NONE, email = SLICE_NONE;

        for (size_t k = 0; k < r->n_docs; k++)
            if ((uint64_t)bsonx_i64(&r->docs[k], "_id", 0) == x->ids[i]) {
                external = bsonx_str(&r->docs[k], "externalId");
                email = bsonx_str(&r->docs[k], "email");
            }
        jw_obj(&c->w, NULL);
        jw_id(&c->w, "contactId", x->ids[i]);
        jw_cstr(&c->w, "reason", reason);
        jw_str(&c->w, "externalId", external);
        jw_str(&c->w, "email", email);
        jw_end_obj(&c->w);
    }
    store_batch_free(&b);
    return rc;
}

int
broadcasts_exclusions(struct api_call *c, struct err *err)
{
    const char *name = arena_cstr(c->arena, api_query(c, "reason"));
    int reason = exclusion_reason_parse(name);
    unsigned limit = api_page_limit(c);
    struct slice cursor = api_query(c, "cursor");
    struct broadcast_call bc;
    struct broadcast_view v;
    struct excluded x = {0};
    uint64_t after = 0;
    char next[24] = "";

    if (cursor.p != NULL && !slice_u64(cursor, &after))
        return err_sub(err, ERR_INVALID, "bad_cursor", "cursor: not one that this list gave");
    if (broadcast_find(c, &bc, &v, err) != 0 ||
        read_excluded(c, v.doc.id, (enum exclusion_reason)reason, after, limit, &x, err) != 0)
        return -1;
    api_page_begin(c);
    if (x.n > 0 && write_people(c, &x, name, err) != 0)
        return -1;
    if (x.n == limit)
        snprintf(next, sizeof next, "%llu", (unsigned long long)x.positions[x.n - 1]);
    api_page_end_text(c, slice_str(next));
    return 0;
}
