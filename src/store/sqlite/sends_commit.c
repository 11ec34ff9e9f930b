#include "store/run_moves.h"
#include "store/send_moves.h"
#include "store/sqlite/typed.h"

/*
 * The durable step of the pipeline: settle what sessions have finished, then claim what they send
 * next, all in the transaction the batch runs in. No mail goes out before its claim is on disk, so
 * whatever dies later, a row in `sending` is the only one that can be in doubt.
 *
 * A claim passes three gates in this order: its run lets rows go, no opt-out newer than the claimant's
 * knowledge names the address, and the row itself is waiting, of the same generation, and due. All
 * three are read in the same transaction, after everything that was committed before it.
 *
 * The two moves that nearly every mail makes, waiting to sending and sending to sent, are tried as one
 * conditional UPDATE each, which saves loading the row (a third of the cost). Their conditions are the
 * plainest case of send_move_claim() and send_move_settle(); a row that is not that plain is loaded
 * and goes the general way, which also finds out why.
 */

/** A row's hash may stand this many steps above that of its address (see sends_plan.c). */
#define HASH_STEPS 4

static const char sql_plain_claim[] =
    "UPDATE sends SET state = 1, claim_token = ?3, owner = ?4, attempt = attempt + 1"
    " WHERE id = ?1 AND broadcast = ?2 AND state = 0 AND generation = ?5 AND due_at <= ?6";
static const char sql_plain_sent[] =
    "UPDATE sends SET state = 2, owner = 0, sent_at = ?4, fail_class = ?5, reply_code = ?6,"
    " enhanced_code = ?7 WHERE id = ?1 AND broadcast = ?2 AND state = 1 AND claim_token = ?3"
    " AND sent_at = 0 AND delivered_at = 0 AND bounced_at = 0 AND complained_at = 0";

/** Run a plain move: 1 = it was one, and the counters have moved; 0 = go the general way. */
static int
plain_move(struct sq_touches *t, sqlite3_stmt *stmt, uint64_t broadcast,
    const struct send_row *before, const struct send_row *after, struct err *err)
{
    struct sq_touch *touch = sq_touch_get(t, broadcast, err);

    if (touch == NULL || sq_exec(t->c, stmt, err) != 0)
        return -1;
    if (sqlite3_changes(t->c->db) == 0)
        return 0;
    sq_touch_count(touch, before, after);
    return 1;
}

static int
plain_sent(struct sq_touches *t, const struct sends_settle *s, struct err *err)
{
    static const struct send_row before = {.state = SEND_SENDING};
    static const struct send_row after = {.state = SEND_SENT, .sent_at_ms = 1};
    sqlite3_stmt *stmt;

    if (s->to != SEND_SENT || s->token == 0 || s->at_ms == 0)
        return 0;
    if ((stmt = sq_prepare_fixed(t->c, sql_plain_sent, err)) == NULL)
        return -1;
    sq_bind_id(stmt, 1, s->id);
    sq_bind_id(stmt, 2, s->broadcast);
    sq_bind_id(stmt, 3, s->token);
    sqlite3_bind_int64(stmt, 4, s->at_ms);
    sqlite3_bind_int(stmt, 5, (int)s->fail_class);
    sqlite3_bind_int(stmt, 6, s->reply_code);
    sqlite3_bind_int(stmt, 7, s->enhanced_code);
    return plain_move(t, stmt, s->broadcast, &before, &after, err);
}

static int
plain_claim(struct sq_touches *t, const struct sends_commit *commit,
    const struct sends_claim *claim, struct err *err)
{
    static const struct send_row before = {.state = SEND_QUEUED};
    static const struct send_row after = {.state = SEND_SENDING};
    sqlite3_stmt *stmt = sq_prepare_fixed(t->c, sql_plain_claim, err);

    if (stmt == NULL)
        return -1;
    sq_bind_id(stmt, 1, claim->id);
    sq_bind_id(stmt, 2, claim->broadcast);
    sq_bind_id(stmt, 3, claim->token);
    sq_bind_id(stmt, 4, commit->owner);
    sqlite3_bind_int64(stmt, 5, claim->generation);
    sqlite3_bind_int64(stmt, 6, commit->now_ms);
    return plain_move(t, stmt, claim->broadcast, &before, &after, err);
}

static int
keep_detail(struct sq_conn *c, const struct sends_settle *s, struct err *err)
{
    struct send_detail d = {.reply_text = s->reply_text, .provider_id = s->provider_id};

    if (d.reply_text.n == 0 && d.provider_id.n == 0)
        return 0;
    return sq_detail_put(c, s->broadcast, s->id, &d, err);
}

typedef bool settle_fn(struct send_row *row, const struct sends_settle *s);

static int
settle_one(struct sq_touches *t, const struct sends_settle *s, settle_fn *apply, bool *applied_r,
    struct err *err)
{
    struct send_row before, after;
    int rc = apply == send_move_settle ? plain_sent(t, s, err) : 0;

    *applied_r = rc == 1;
    if (rc != 0)
        return rc < 0 ? -1 : keep_detail(t->c, s, err);
    if ((rc = sq_row_load(t->c, s->broadcast, s->id, &before, err)) <= 0)
        return rc;
    after = before;
    if (!apply(&after, s))
        return sq_touch_get(t, s->broadcast, err) != NULL ? 0 : -1;
    *applied_r = true;
    if (sq_touch_move(t, &before, &after, err) != 0)
        return -1;
    return keep_detail(t->c, s, err);
}

static int
settle_all(struct sq_touches *t, const struct sends_settle *s, size_t n, settle_fn *apply,
    struct sends_result *res, struct err *err)
{
    bool *applied = arena_array(t->a, n > 0 ? n : 1, sizeof(*applied));

    for (size_t i = 0; i < n; i++) {
        if (settle_one(t, &s[i], apply, &applied[i], err) != 0)
            return -1;
        res->matched |= applied[i];
    }
    res->applied = applied;
    return 0;
}

static bool
is_suppressed(struct sq_conn *c, const struct sends_claim *claim)
{
    for (uint64_t step = 0; step < HASH_STEPS; step++) {
        uint64_t hash = ((uint64_t)claim->address_hash - step) & INT64_MAX;

        if (sq_suppressed_since(c->owner, (int64_t)hash, claim->seen_seq))
            return true;
    }
    return false;
}

static int
claim_one(struct sq_touches *t, const struct sends_commit *commit, const struct sends_claim *claim,
    enum sends_verdict *verdict_r, struct err *err)
{
    struct sq_touch *touch = sq_touch_get(t, claim->broadcast, err);
    struct send_row before, after;
    int rc;

    if (touch == NULL)
        return -1;
    *verdict_r = CLAIM_NOT_RUNNING;
    if (claim->broadcast != 0 && !(touch->exists && run_lets_claim(&touch->run)))
        return 0;
    *verdict_r = CLAIM_SUPPRESSED;
    if (is_suppressed(t->c, claim))
        return 0;
    *verdict_r = CLAIM_GRANTED;
    if ((rc = plain_claim(t, commit, claim, err)) != 0)
        return rc < 0 ? -1 : 0;
    *verdict_r = CLAIM_GONE;
    if ((rc = sq_row_load(t->c, claim->broadcast, claim->id, &before, err)) <= 0)
        return rc;
    after = before;
    *verdict_r = send_move_claim(&after, claim, commit->owner, commit->now_ms);
    return *verdict_r == CLAIM_GRANTED ? sq_touch_move(t, &before, &after, err) : 0;
}

int
sq_sends_commit(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_commit *commit = op->args;
    struct sq_touches touches = {.c = c, .a = a};
    enum sends_verdict *verdicts = arena_array(a, commit->n_claims + 1, sizeof(*verdicts));

    if (settle_all(&touches, commit->settles, commit->n_settles, send_move_settle, &op->sends_out,
            err) != 0)
        return -1;
    for (size_t i = 0; i < commit->n_claims; i++) {
        if (claim_one(&touches, commit, &commit->claims[i], &verdicts[i], err) != 0)
            return -1;
        op->sends_out.matched |= verdicts[i] == CLAIM_GRANTED;
    }
    op->sends_out.verdicts = verdicts;
    return sq_touch_flush(&touches, &op->sends_out, err);
}

int
sq_sends_settle_queued(struct sq_conn *c, struct store_op *op, struct arena *a, struct err *err)
{
    const struct sends_settle_args *args = op->args;
    struct sq_touches touches = {.c = c, .a = a};

    if (settle_all(&touches, args->s, args->n, send_move_settle_queued, &op->sends_out, err) != 0)
        return -1;
    return sq_touch_flush(&touches, &op->sends_out, err);
}
