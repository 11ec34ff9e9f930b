#include "api/broadcast_routes.h"

#include <stdio.h>

#include "api/live.h"
#include "api/resource.h"
#include "base/id.h"
#include "control/run_table.h"
#include "model/audit.h"
#include "store/sends.h"
#include "store/store.h"

/*
 * Deciding by hand about rows that stand: put back what failed or is in doubt, or say what became of
 * what is in doubt. Both want the number that the caller believes to act on, and both are audited. Rows
 * are moved in bounded steps; each is one transaction.
 */

#define STEP_ROWS 500

struct repair {
    struct api_call *c;
    struct broadcast_call bc;
    struct broadcast_view v;
    uint64_t *ids;
    size_t n_ids;
    int64_t confirmed;
};

/* Ids of the body, each once as the schema has checked their form; none = all that fit. */
static void
read_ids(struct repair *r)
{
    const struct json *list = json_get(r->c->body, "ids");

    r->ids = arena_array(r->c->arena, json_count(list) + 1, sizeof(*r->ids));
    for (const struct json *e = json_first(list); e != NULL; e = json_next(e))
        if (id_parse(json_str(e), &r->ids[r->n_ids]))
            r->n_ids++;
}

static int
repair_init(struct repair *r, struct api_call *c, struct err *err)
{
    *r = (struct repair){.c = c};
    if (broadcast_find(c, &r->bc, &r->v, err) != 0)
        return -1;
    read_ids(r);
    if (json_int(json_get(c->body, "confirmedCount"), &r->confirmed))
        return 0;
    return err_sub(
        err, ERR_INVALID, "confirmedCount_required", "confirmedCount: how many rows this is about");
}

static int
check_count(struct repair *r, int64_t expected, struct err *err)
{
    if (r->confirmed == expected)
        return 0;
    jw_int(api_details(r->c), "expected", expected);
    jw_int(api_details(r->c), "confirmedCount", r->confirmed);
    return err_sub(err, ERR_CONFLICT, "count_mismatch", "expected %lld, confirmed %lld",
        (long long)expected, (long long)r->confirmed);
}

static void
audit_op(struct repair *r, struct store_batch *b, const char *action, const char *what)
{
    audit_add_op(b, &(struct audit_entry){
                        .actor = r->bc.actor,
                        .action = slice_str(action),
                        .resource = SLICE_LIT(BROADCASTS_COLL),
                        .resource_id = r->v.doc.slug,
                        .summary = slice_str(what),
                        .request_id = slice_str(r->c->request_id),
                        .at_ms = r->bc.now_ms,
                    });
}

/* Keep the runs a step touched: the table in the loop, and the view that is answered. */
static void
note_runs(struct repair *r, const struct sends_result *res)
{
    for (size_t i = 0; i < res->n_runs; i++) {
        if (r->bc.b->runs != NULL)
            run_table_post(r->bc.b->runs, &res->runs[i]);
        if (res->runs[i].broadcast == r->v.doc.id) {
            r->v.run = res->runs[i];
            r->v.run.cursor = arena_dup(r->c->arena, r->v.run.cursor);
            r->v.run.reason_detail = arena_dup(r->c->arena, r->v.run.reason_detail);
        }
    }
}

/* ---- requeue --------------------------------------------------------------------------------- */

/* Rows in the state and class: from the counters where they know, else by walking the list. */
static int
count_rows(struct repair *r, enum send_state from, enum send_fail_class class, int64_t *n_r,
    struct err *err)
{
    struct sends_list q = {
        .broadcast = r->v.doc.id, .state = (int)from, .fail_class = (int)class, .limit = 500};
    int rc;

    *n_r = r->v.run.n.by_state[from];
    if (class == FAIL_NONE)
        return 0;
    *n_r = 0;
    do {
        struct store_batch *b = store_batch_create(r->c->env->store, STORE_URGENT);
        unsigned op = sends_list(b, &q);

        q.after = 0;
        if ((rc = store_run(b, err)) == 0) {
            *n_r += (int64_t)sends_result(b, op)->n_rows;
            q.after = sends_result(b, op)->next;
        }
        store_batch_free(&b);
    } while (rc == 0 && q.after != 0);
    return rc;
}

static int
requeue_step(struct repair *r, struct sends_requeue *q, uint64_t *moved, struct err *err)
{
    struct store_batch *b = store_batch_create(r->c->env->store, STORE_URGENT);
    unsigned op = sends_requeue(b, q);
    const struct sends_result *res;
    int rc;

    if (q->after_id == 0)
        audit_op(r, b, "broadcast.requeue",
            arena_printf(r->c->arena, "%lld confirmed, from %s", (long long)r->confirmed,
                send_state_name((int)q->from)));
    rc = store_run(b, err);
    if (rc == 0) {
        res = sends_result(b, op);
        if (!res->matched)
            rc = err_sub(err, ERR_CONFLICT, "not_requeueable",
                "rows go back to the queue of a broadcast that is sending, paused or sent");
        *moved += res->count;
        q->after_id = res->next;
        note_runs(r, res);
    }
    store_batch_free(&b);
    return rc;
}

static enum send_fail_class
read_class(struct api_call *c)
{
    struct slice name = api_body_str(c, "failClass");

    for (int f = FAIL_NONE + 1; name.n > 0 && f < FAIL_CLASSES; f++)
        if (slice_eq_str(name, send_fail_class_name(f)))
            return (enum send_fail_class)f;
    return FAIL_NONE;
}

static int
answer(struct repair *r, const char *figure, uint64_t n)
{
    jw_obj(&r->c->w, NULL);
    jw_int(&r->c->w, figure, (int64_t)n);
    jw_cstr(&r->c->w, "status", run_state_name((int)r->v.run.state));
    jw_end_obj(&r->c->w);
    return 0;
}

int
broadcasts_requeue(struct api_call *c, struct err *err)
{
    struct sends_requeue q = {.limit = STEP_ROWS};
    uint64_t moved = 0;
    int64_t expected;
    struct repair r;

    if (repair_init(&r, c, err) != 0)
        return -1;
    q.broadcast = r.v.doc.id;
    q.from = (enum send_state)send_state_parse(arena_cstr(c->arena, api_body_str(c, "state")));
    q.fail_class = read_class(c);
    q.ids = r.ids;
    q.n_ids = r.n_ids;
    q.now_ms = r.bc.now_ms;
    if (count_rows(&r, q.from, q.fail_class, &expected, err) != 0 ||
        check_count(&r, r.n_ids > 0 ? (int64_t)r.n_ids : expected, err) != 0)
        return -1;
    do {
        if (requeue_step(&r, &q, &moved, err) != 0)
            return -1;
    } while (q.after_id != 0);
    live_rows_added(c->env, r.v.doc.id);
    return answer(&r, "requeued", moved);
}

/* ---- resolve --------------------------------------------------------------------------------- */

static int
resolve_step(struct repair *r, const uint64_t *ids, size_t n, enum send_state to, uint64_t *moved,
    struct err *err)
{
    struct store_batch *b = store_batch_create(r->c->env->store, STORE_URGENT);
    unsigned op = sends_resolve(b, r->v.doc.id, ids, n, to, r->bc.now_ms);
    int rc;

    audit_op(r, b, "broadcast.resolve",
        arena_printf(r->c->arena, "%zu rows in doubt are %s", n, send_state_name((int)to)));
    rc = store_run(b, err);
    if (rc == 0) {
        *moved += sends_result(b, op)->count;
        note_runs(r, sends_result(b, op));
    }
    store_batch_free(&b);
    return rc;
}

/* All rows in doubt, a page of the list at a time; resolved rows leave it, so each page is the first. */
static int
resolve_all(struct repair *r, enum send_state to, uint64_t *moved, struct err *err)
{
    struct sends_list q = {
        .broadcast = r->v.doc.id, .state = SEND_UNKNOWN, .fail_class = -1, .limit = STEP_ROWS};
    uint64_t ids[STEP_ROWS];
    int rc;

    do {
        struct store_batch *b = store_batch_create(r->c->env->store, STORE_URGENT);
        unsigned op = sends_list(b, &q);
        size_t n = 0;

        q.after = 0;
        if ((rc = store_run(b, err)) == 0) {
            const struct sends_result *res = sends_result(b, op);

            for (; n < res->n_rows; n++)
                ids[n] = res->rows[n].id;
            q.after = res->next;
        }
        store_batch_free(&b);
        if (rc == 0 && n > 0)
            rc = resolve_step(r, ids, n, to, moved, err);
    } while (rc == 0 && q.after != 0);
    return rc;
}

int
broadcasts_resolve(struct api_call *c, struct err *err)
{
    enum send_state to = slice_eq_str(api_body_str(c, "to"), "sent") ? SEND_SENT : SEND_FAILED;
    uint64_t moved = 0;
    struct repair r;
    int rc;

    if (repair_init(&r, c, err) != 0 ||
        check_count(&r, r.n_ids > 0 ? (int64_t)r.n_ids : r.v.run.n.by_state[SEND_UNKNOWN], err) !=
            0)
        return -1;
    if (r.n_ids > 0)
        rc = resolve_step(&r, r.ids, r.n_ids, to, &moved, err);
    else
        rc = resolve_all(&r, to, &moved, err);
    return rc != 0 ? -1 : answer(&r, "resolved", moved);
}
