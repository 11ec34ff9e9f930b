/*
 * Counting as a job of its own.
 *
 * The table of running jobs belongs to the loop; API workers reach it with loop_call(). A job runs on
 * one thread of its own, so a long count delays no mail and no request. Its result is written to the
 * store before anybody is told, together with a binding: a hash over everything the number depends on.
 * A token is redeemed by computing the binding again and comparing.
 */
#include "broadcast/count_jobs.h"

#include <stdio.h>
#include <string.h>

#include <bson/bson.h>

#include "audience/segment.h"
#include "base/base64.h"
#include "base/bsonx.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "broadcast/actions_internal.h"
#include "broadcast/broadcasts.h"
#include "crypto/crypto.h"
#include "loop/latch.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "store/store.h"

#define COUNTS_COLL "counts"
#define MAX_JOBS    16

struct count_jobs {
    struct loop *loop;
    struct store *store;
    struct workers *worker;
    char *data_dir;
    struct list jobs; /* running or waiting */
    size_t n_jobs;
};

struct count_job {
    struct list node;
    struct count_jobs *owner; /* NULL when it runs in its caller */
    unsigned refs;            /* the loop's; the table holds one */
    struct store *store;
    const char *data_dir;
    uint64_t id, broadcast;
    enum count_purpose purpose;
    char binding[65];
    struct segment *segment;
    char *cursor;
    size_t cursor_n;
    struct latch *latch;
    struct count_progress progress;
    struct count_result result;
    int rc;
    struct err err;
    int64_t expires_at_ms;
};

static const char *const purpose_names[] = {
    [COUNT_SCHEDULE] = "schedule",
    [COUNT_RESUME] = "resume",
};

/* ---- what a number depends on ---------------------------------------------------------------- */

static int
make_binding(const struct broadcast_call *c, const struct broadcast_view *v,
    enum count_purpose purpose, char out[65], struct err *err)
{
    struct template_version t;
    struct buf text = BUF_INIT, hex = BUF_INIT;
    uint8_t digest[CRYPTO_SHA256_SIZE];

    if (broadcast_template(c, &v->doc, &t, err) != 0)
        return -1;
    buf_printf(&text, "%s|%llu|%.*s|%u|%lld|", purpose_names[purpose],
        (unsigned long long)v->doc.id, SLICE_FMT(t.slug), t.version,
        (long long)run_rows(&v->run.n));
    buf_append_slice(&text, v->run.cursor);
    buf_append_char(&text, '|');
    buf_append_slice(&text, v->doc.segment);
    crypto_sha256(buf_slice(&text), digest);
    hex_encode(slice_make(digest, sizeof(digest)), &hex);
    memcpy(out, buf_cstr(&hex), 65);
    buf_deinit(&text);
    buf_deinit(&hex);
    return 0;
}

/* ---- the stored result ----------------------------------------------------------------------- */

static void
job_to_bson(const struct count_job *j, bson_t *doc)
{
    bson_t excluded;
    char key[16];

    bsonx_add_i64(doc, "_id", (int64_t)j->id);
    bsonx_add_i64(doc, "broadcast", (int64_t)j->broadcast);
    bsonx_add_str(doc, "purpose", slice_str(purpose_names[j->purpose]));
    bsonx_add_str(doc, "binding", slice_str(j->binding));
    bsonx_add_time(doc, "expiresAt", j->expires_at_ms);
    if (j->rc != 0) {
        bsonx_add_str(doc, "error", slice_str(j->err.text));
        bsonx_add_str(doc, "errorSub", slice_str(j->err.sub));
        return;
    }
    bsonx_add_i64(doc, "databaseMatched", (int64_t)j->result.database_matched);
    bsonx_add_i64(doc, "matched", (int64_t)j->result.matched);
    bsonx_add_i64(doc, "eligible", (int64_t)j->result.eligible);
    bsonx_add_i64(doc, "alreadySent", (int64_t)j->result.already_sent);
    bsonx_add_i64(doc, "rows", (int64_t)j->result.rows);
    bsonx_add_i64(doc, "computedMs", j->result.computed_ms);
    bson_append_array_begin(doc, "excluded", 8, &excluded);
    for (int i = 0; i < EXCL_REASONS; i++) {
        snprintf(key, sizeof(key), "%d", i);
        bsonx_add_i64(&excluded, key, (int64_t)j->result.excluded[i]);
    }
    bson_append_array_end(doc, &excluded);
}

static void
outcome_from_bson(const bson_t *doc, struct count_outcome *o)
{
    struct slice error = bsonx_str(doc, "error");
    char path[32];

    memset(o, 0, sizeof(*o));
    o->id = (uint64_t)bsonx_i64(doc, "_id", 0);
    o->broadcast = (uint64_t)bsonx_i64(doc, "broadcast", 0);
    o->purpose = slice_eq_str(bsonx_str(doc, "purpose"), "resume") ? COUNT_RESUME : COUNT_SCHEDULE;
    o->expires_at_ms = bsonx_i64(doc, "expiresAt", 0);
    o->is_done = true;
    o->is_failed = error.n > 0;
    snprintf(o->error, sizeof(o->error), "%.*s", SLICE_FMT(error));
    snprintf(o->error_sub, sizeof(o->error_sub), "%.*s", SLICE_FMT(bsonx_str(doc, "errorSub")));
    o->result.database_matched = (uint64_t)bsonx_i64(doc, "databaseMatched", 0);
    o->result.matched = (uint64_t)bsonx_i64(doc, "matched", 0);
    o->result.eligible = (uint64_t)bsonx_i64(doc, "eligible", 0);
    o->result.already_sent = (uint64_t)bsonx_i64(doc, "alreadySent", 0);
    o->result.rows = (uint64_t)bsonx_i64(doc, "rows", 0);
    o->result.computed_ms = bsonx_i64(doc, "computedMs", 0);
    o->progress = o->result.database_matched;
    for (int i = 0; i < EXCL_REASONS; i++) {
        snprintf(path, sizeof(path), "excluded.%d", i);
        o->result.excluded[i] = (uint64_t)bsonx_i64(doc, path, 0);
    }
}

static int
store_result(struct count_job *j, struct err *err)
{
    struct store_batch *b = store_batch_create(j->store, STORE_URGENT);
    bson_t doc = BSON_INITIALIZER;
    const bson_t *docs[1] = {&doc};
    int rc;

    job_to_bson(j, &doc);
    store_insert(b, COUNTS_COLL, docs, 1);
    rc = store_run(b, err);
    store_batch_free(&b);
    bson_destroy(&doc);
    return rc;
}

/* ---- the job --------------------------------------------------------------------------------- */

static void
job_run(void *arg)
{
    struct count_job *j = arg;
    struct count_query q = {
        .stream = {.segment = j->segment, .kind = MAIL_MARKETING, .now_ms = clock_now_ms()},
        .cursor = slice_make(j->cursor, j->cursor_n),
        .broadcast = j->broadcast,
        .spill_dir = j->data_dir,
    };
    struct err err;

    j->rc = count_run(j->store, &q, &j->progress, &j->result, &j->err);
    j->expires_at_ms = clock_now_ms() + COUNT_LIFETIME_MS;
    if (store_result(j, &err) != 0 && j->rc == 0) {
        j->rc = -1;
        j->err = err;
    }
    latch_open(j->latch);
}

static void
job_free(struct count_job *j)
{
    segment_free(&j->segment);
    latch_unref(&j->latch);
    mem_free(j->cursor);
    mem_free(j);
}

static void
job_unref(void *arg)
{
    struct count_job *j = arg;

    if (--j->refs == 0)
        job_free(j);
}

static void
job_done(void *arg)
{
    struct count_job *j = arg;
    struct log_ctx ctx = {.broadcast = j->broadcast};

    if (j->rc == 0)
        log_info(&ctx, "broadcast.counted", "eligible=%llu ms=%lld",
            (unsigned long long)j->result.eligible, (long long)j->result.computed_ms);
    else
        log_warn(&ctx, "broadcast.count_failed", "error=\"%s\"", j->err.text);
    list_del(&j->node);
    j->owner->n_jobs--;
    job_unref(j);
}

static struct count_job *
job_create(const struct broadcast_call *c, const struct broadcast_view *v,
    enum count_purpose purpose, struct err *err)
{
    struct count_job *j = mem_zalloc(sizeof(*j));
    struct slice cursor = purpose == COUNT_RESUME ? v->run.cursor : SLICE_NONE;

    j->refs = 1;
    j->latch = latch_create();
    list_init(&j->node);
    j->store = c->b->store;
    j->data_dir = c->b->data_dir;
    j->id = id_next();
    j->broadcast = v->doc.id;
    j->purpose = purpose;
    j->cursor = mem_alloc(cursor.n + 1);
    j->cursor_n = cursor.n;
    if (cursor.n > 0)
        memcpy(j->cursor, cursor.p, cursor.n);
    if (make_binding(c, v, purpose, j->binding, err) != 0 ||
        broadcast_segment(&v->doc, &j->segment, err) != 0) {
        job_free(j);
        return NULL;
    }
    return j;
}

/* A run whose planning has finished has nobody left to count. */
static bool
is_nothing_left(const struct broadcast_view *v, enum count_purpose purpose)
{
    return purpose == COUNT_RESUME && v->run.dispatched_at_ms != 0;
}

/* ---- joining --------------------------------------------------------------------------------- */

struct join {
    struct count_jobs *cj;
    struct count_job *mine, *joined;
    bool is_full;
};

static void
do_join(void *arg)
{
    struct join *jn = arg;
    struct count_jobs *cj = jn->cj;

    LIST_EACH(node, tmp, &cj->jobs)
    {
        struct count_job *j = LIST_ENTRY(node, struct count_job, node);

        if (j->broadcast == jn->mine->broadcast && strcmp(j->binding, jn->mine->binding) == 0) {
            j->refs++;
            jn->joined = j;
            return;
        }
    }
    if (cj->n_jobs >= MAX_JOBS || !workers_submit(cj->worker, job_run, job_done, jn->mine)) {
        jn->is_full = true;
        return;
    }
    jn->mine->owner = cj;
    jn->mine->data_dir = cj->data_dir;
    jn->mine->refs++; /* the table's */
    list_push_back(&cj->jobs, &jn->mine->node);
    cj->n_jobs++;
    jn->joined = jn->mine;
}

static void
job_outcome(const struct count_job *j, bool is_done, struct count_outcome *o)
{
    memset(o, 0, sizeof(*o));
    o->id = j->id;
    o->broadcast = j->broadcast;
    o->purpose = j->purpose;
    o->progress = j->progress.read;
    if (!is_done)
        return;
    o->is_done = true;
    o->is_failed = j->rc != 0;
    o->result = j->result;
    o->expires_at_ms = j->expires_at_ms;
    if (o->is_failed) {
        snprintf(o->error, sizeof(o->error), "%.159s", j->err.text);
        memcpy(o->error_sub, j->err.sub, sizeof(o->error_sub));
    }
}

static int
run_here(struct count_job *j, struct count_outcome *o, struct err *err)
{
    job_run(j);
    job_outcome(j, true, o);
    if (j->rc != 0)
        *err = j->err;
    return j->rc;
}

/* A job that nobody has to wait for: nothing is left to read, the result is written at once. */
static int
run_empty(struct count_job *j, int64_t rows, struct count_outcome *o, struct err *err)
{
    j->result.rows = (uint64_t)rows;
    j->expires_at_ms = clock_now_ms() + COUNT_LIFETIME_MS;
    if (store_result(j, err) != 0)
        return -1;
    job_outcome(j, true, o);
    return 0;
}

int
count_start(const struct broadcast_call *c, const struct broadcast_view *v,
    enum count_purpose purpose, int64_t wait_ms, struct count_outcome *o, struct err *err)
{
    struct count_jobs *cj = c->b->counts;
    struct join jn = {.cj = cj};
    bool is_done;
    int rc;

    if ((jn.mine = job_create(c, v, purpose, err)) == NULL)
        return -1;
    if (is_nothing_left(v, purpose) || cj == NULL) {
        rc = cj == NULL && !is_nothing_left(v, purpose)
                 ? run_here(jn.mine, o, err)
                 : run_empty(jn.mine, run_rows(&v->run.n), o, err);
        job_free(jn.mine);
        return rc;
    }
    loop_call(cj->loop, do_join, &jn);
    if (jn.joined != jn.mine)
        job_free(jn.mine);
    if (jn.is_full)
        return err_sub(err, ERR_LIMIT, "too_many_counts", "too many counts are under way");
    is_done = latch_wait(jn.joined->latch, wait_ms);
    job_outcome(jn.joined, is_done, o);
    loop_post(cj->loop, job_unref, jn.joined);
    if (o->is_failed)
        return err_sub(err, ERR_TEMP, o->error_sub, "%s", o->error);
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct peek {
    struct count_jobs *cj;
    uint64_t id;
    struct count_outcome *o;
    bool is_found;
};

static void
do_peek(void *arg)
{
    struct peek *p = arg;

    LIST_EACH(node, tmp, &p->cj->jobs)
    {
        const struct count_job *j = LIST_ENTRY(node, struct count_job, node);

        if (j->id == p->id) {
            job_outcome(j, false, p->o);
            p->is_found = true;
        }
    }
}

static int
read_stored(
    struct store *st, uint64_t id, struct count_outcome *o, char binding[65], struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    unsigned op = store_find_id(b, COUNTS_COLL, id);
    int rc = store_run(b, err);

    if (rc == 0 && store_batch_result(b, op)->n_docs == 0)
        rc = err_sub(err, ERR_NOTFOUND, "not_found", "there is no such count");
    if (rc == 0) {
        const bson_t *doc = &store_batch_result(b, op)->docs[0];

        outcome_from_bson(doc, o);
        snprintf(binding, 65, "%.*s", SLICE_FMT(bsonx_str(doc, "binding")));
    }
    store_batch_free(&b);
    return rc;
}

int
count_get(const struct broadcast_call *c, uint64_t broadcast, struct slice id,
    struct count_outcome *o, struct err *err)
{
    struct peek p = {.cj = c->b->counts, .o = o};
    char binding[65];

    if (!id_parse(id, &p.id))
        return err_sub(err, ERR_NOTFOUND, "not_found", "there is no such count");
    if (p.cj != NULL)
        loop_call(p.cj->loop, do_peek, &p);
    if (!p.is_found && read_stored(c->b->store, p.id, o, binding, err) != 0)
        return -1;
    if (o->broadcast != broadcast)
        return err_sub(err, ERR_NOTFOUND, "not_found", "there is no such count");
    return 0;
}

int
count_redeem(const struct broadcast_call *c, const struct broadcast_view *v,
    enum count_purpose purpose, struct slice token, struct count_outcome *o, struct err *err)
{
    char stored[65], now[65];
    uint64_t id;

    if (!id_parse(token, &id) || read_stored(c->b->store, id, o, stored, err) != 0) {
        if (id_parse(token, &id) && err->code != ERR_NOTFOUND)
            return -1;
        return err_sub(err, ERR_CONFLICT, "count_expired", "count again: this count is unknown");
    }
    if (o->expires_at_ms < c->now_ms)
        return err_sub(err, ERR_CONFLICT, "count_expired", "count again: this count is too old");
    if (make_binding(c, v, purpose, now, err) != 0)
        return -1;
    if (o->is_failed || strcmp(stored, now) != 0)
        return err_sub(err, ERR_CONFLICT, "count_stale",
            "count again: segment, template, purpose or rows changed since");
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct count_jobs *
count_jobs_create(struct loop *l, struct store *st, const char *data_dir)
{
    struct count_jobs *cj = mem_zalloc(sizeof(*cj));

    cj->loop = l;
    cj->store = st;
    cj->data_dir = mem_strdup(data_dir);
    list_init(&cj->jobs);
    cj->worker = workers_create(l, "count", 1, MAX_JOBS);
    return cj;
}

void
count_jobs_free(struct count_jobs **cjp)
{
    struct count_jobs *cj = *cjp;

    if (cj == NULL)
        return;
    LIST_EACH(node, tmp, &cj->jobs)
    LIST_ENTRY(node, struct count_job, node)->progress.cancel = true;
    workers_free(&cj->worker);
    mem_free(cj->data_dir);
    mem_free(cj);
    *cjp = NULL;
}
