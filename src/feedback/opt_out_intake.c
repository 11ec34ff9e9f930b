/*
 * The way of an opt-out:
 *
 *   submit ─► waiting ─(end of turn)─► one urgent batch ─► DURABLE ─► attribution
 *                │                          │ failed, or a second has passed
 *                └── the store hangs ───────┴─► journal ─► JOURNALLED, or NOT_KEPT
 *
 * At most one batch is under way: what comes meanwhile is the next group, so groups grow with the load
 * and nobody waits for a timer. A batch that took too long is given up, not forgotten: while it hangs,
 * newcomers go straight to the journal. It may still succeed, which does no harm.
 *
 * The gate closes before the first byte goes to the journal. It opens only when the journal is empty
 * and nothing has been sent there since that was seen.
 */
#include "feedback/opt_out_intake.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "control/gates.h"
#include "control/run_table.h"
#include "feedback/attribution.h"
#include "feedback/journal.h"
#include "feedback/journal_fold.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "model/opt_out.h"
#include "store/sends.h"
#include "store/store.h"

#define GROUP_MAX     64   /* opt-outs in one batch: some 15 ms of the writer */
#define WAITING_MAX   4096 /* beyond that people are asked to come back */
#define PATIENCE_MS   1000
#define JOURNAL_QUEUE 256

struct item {
    struct list node;
    struct opt_out o;
    struct token_send ref;
    opt_out_done_fn *done;
    void *arg;
    int64_t since_ms;
    char text[]; /* what the slices of `o` point to */
};

/* The batch under way. */
struct group {
    struct opt_out_intake *in;
    struct list items; /* empty once given up */
};

struct opt_out_intake {
    struct loop *loop;
    struct store *store;
    struct gates *gates;
    struct run_table *runs;
    struct workers *cpu, *writers;
    struct journal *journal;

    struct list waiting;
    size_t n_waiting;
    struct group *group; /* under way, NULL = none */
    bool is_hanging;     /* it has been given up */
    bool is_deferred;    /* flush() comes at the end of the turn */
    struct loop_timer *patience;

    uint64_t appends;   /* begun so far */
    size_t n_appending; /* not finished */
    size_t n_attributing;
    bool is_folding;

    struct metric *kept[3];
};

static void flush(void *arg);

struct opt_out_intake *
opt_out_intake_create(const struct opt_out_intake_args *args)
{
    static const char *const labels[] = {"kept=\"store\"", "kept=\"journal\"", "kept=\"nowhere\""};
    struct opt_out_intake *in = mem_zalloc(sizeof(*in));

    in->loop = args->loop;
    in->store = args->store;
    in->gates = args->gates;
    in->runs = args->runs;
    in->cpu = args->cpu;
    in->writers = workers_create(args->loop, "journal", 1, JOURNAL_QUEUE);
    in->journal = journal_create(args->journal_folder);
    list_init(&in->waiting);
    for (size_t i = 0; i < 3; i++)
        in->kept[i] = metric_counter("mailshot_opt_outs_total",
            "Opt-outs by people, by where they were kept before the answer.", labels[i]);
    return in;
}

void
opt_out_intake_free(struct opt_out_intake **inp)
{
    struct opt_out_intake *in = *inp;

    *inp = NULL;
    if (in == NULL)
        return;
    assert(opt_out_intake_busy(in) == 0);
    workers_free(&in->writers);
    journal_free(&in->journal);
    mem_free(in);
}

size_t
opt_out_intake_busy(const struct opt_out_intake *in)
{
    return in->n_waiting + (in->group != NULL) + in->n_appending + in->n_attributing +
           in->is_folding + in->is_deferred;
}

/* ---- items ----------------------------------------------------------------------------------- */

static struct slice
keep(char **at, struct slice s)
{
    struct slice kept = slice_make(*at, s.n);

    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return kept;
}

static struct item *
item_create(const struct opt_out *o)
{
    size_t size =
        o->address.key.n + o->scope.n + o->source.n + o->notes.n + o->actor.n + o->broadcast.n;
    struct item *it = mem_alloc(sizeof(*it) + size);
    char *at = it->text;

    it->o = *o;
    it->o.address.key = keep(&at, o->address.key);
    it->o.scope = keep(&at, o->scope);
    it->o.source = keep(&at, o->source);
    it->o.notes = keep(&at, o->notes);
    it->o.actor = keep(&at, o->actor);
    it->o.broadcast = keep(&at, o->broadcast);
    return it;
}

static void
answer_all(struct opt_out_intake *in, struct list *items, enum opt_out_kept kept)
{
    for (struct list *node; (node = list_pop_front(items)) != NULL;) {
        struct item *it = LIST_ENTRY(node, struct item, node);

        metric_add(in->kept[kept], 1);
        it->done(kept, it->arg);
        mem_free(it);
    }
}

/* ---- the journal ----------------------------------------------------------------------------- */

struct append {
    struct opt_out_intake *in;
    struct list items;
    struct buf lines;
    struct err err;
    int rc;
};

static void
run_append(void *job)
{
    struct append *a = job;

    a->rc = journal_append(a->in->journal, buf_slice(&a->lines), &a->err);
}

static void
append_finish(struct append *a)
{
    struct opt_out_intake *in = a->in;

    if (a->rc != 0)
        log_error(NULL, "opt_out.not_kept", "error=\"%s\"", a->err.text);
    answer_all(in, &a->items, a->rc == 0 ? OPT_OUT_JOURNALLED : OPT_OUT_NOT_KEPT);
    in->n_appending--;
    buf_deinit(&a->lines);
    mem_free(a);
}

static void
on_appended(void *job)
{
    append_finish(job);
}

static void
to_journal(struct opt_out_intake *in, struct list *items)
{
    struct append *a;

    if (list_empty(items))
        return;
    gates_set(in->gates, GATE_SCOPE_ALL, GATE_JOURNAL, true,
        "opt-outs wait in the journal for the store to come back");
    in->appends++;
    in->n_appending++;
    a = mem_zalloc(sizeof(*a));
    a->in = in;
    list_init(&a->items);
    list_move(&a->items, items);
    for (struct list *n = a->items.next; n != &a->items; n = n->next) {
        const struct item *it = LIST_ENTRY(n, struct item, node);

        journal_line_write(&it->o, &it->ref, &a->lines);
    }
    if (!workers_submit(in->writers, run_append, on_appended, a)) {
        a->rc = err_set(&a->err, ERR_TEMP, "the journal's queue is full");
        append_finish(a);
    }
}

/* ---- attribution ----------------------------------------------------------------------------- */

struct followup {
    struct opt_out_intake *in;
    size_t n;
    struct attribution a[];
};

static void
followup_end(struct followup *f)
{
    f->in->n_attributing--;
    mem_free(f);
}

static void
on_facts(struct store_batch *b, void *arg)
{
    struct followup *f = arg;

    if (store_batch_err(b) == NULL) {
        const struct sends_result *r = sends_result(b, 0);

        run_table_update(f->in->runs, r->runs, r->n_runs);
    } else {
        log_warn(NULL, "opt_out.unattributed", "error=\"%s\"", store_batch_err(b)->text);
    }
    store_batch_free(&b);
    followup_end(f);
}

static void
on_rows(struct store_batch *read, void *arg)
{
    struct followup *f = arg;
    struct store_batch *write = store_batch_create(f->in->store, STORE_URGENT);

    if (store_batch_err(read) == NULL && attribution_fact_ops(read, f->a, f->n, write) > 0) {
        store_submit(write, on_facts, f);
    } else {
        store_batch_free(&write);
        followup_end(f);
    }
    store_batch_free(&read);
}

/* The opt-out itself is done; which mail it answers is for statistics and stop rules. */
static void
attribute(struct opt_out_intake *in, const struct list *items)
{
    struct followup *f = mem_zalloc(sizeof(*f) + GROUP_MAX * sizeof(f->a[0]));
    struct store_batch *read = store_batch_create(in->store, STORE_URGENT);

    f->in = in;
    for (const struct list *n = items->next; n != items; n = n->next) {
        const struct item *it = LIST_ENTRY(n, struct item, node);

        assert(f->n < GROUP_MAX);
        if (it->ref.send != 0)
            f->a[f->n++] = (struct attribution){
                .ref = it->ref, .address_hash = it->o.address.hash, .at_ms = it->o.now_ms};
    }
    in->n_attributing++;
    if (f->n > 0) {
        attribution_read_ops(read, f->a, f->n);
        store_submit(read, on_rows, f);
    } else {
        store_batch_free(&read);
        followup_end(f);
    }
}

/* ---- the store ------------------------------------------------------------------------------- */

static void
on_patience_out(void *arg)
{
    struct opt_out_intake *in = arg;

    in->patience = NULL;
    in->is_hanging = true;
    log_warn(NULL, "opt_out.store_slow", "waiting=%zu", in->n_waiting);
    to_journal(in, &in->group->items);
    flush(in);
}

static void
flush_at_end_of_turn(struct opt_out_intake *in)
{
    if (in->is_deferred)
        return;
    in->is_deferred = true;
    loop_defer(in->loop, flush, in);
}

static void
on_stored(struct store_batch *b, void *arg)
{
    struct group *g = arg;
    struct opt_out_intake *in = g->in;

    loop_timer_cancel(&in->patience);
    in->group = NULL;
    in->is_hanging = false;
    if (store_batch_err(b) != NULL) {
        log_warn(NULL, "opt_out.store_failed", "error=\"%s\"", store_batch_err(b)->text);
        to_journal(in, &g->items);
    } else if (!list_empty(&g->items)) {
        attribute(in, &g->items);
        answer_all(in, &g->items, OPT_OUT_DURABLE);
    }
    store_batch_free(&b);
    mem_free(g);
    if (in->n_waiting > 0)
        flush_at_end_of_turn(in);
}

static void
to_store(struct opt_out_intake *in)
{
    struct group *g = mem_zalloc(sizeof(*g));
    struct store_batch *b = store_batch_create(in->store, STORE_URGENT);
    const struct item *oldest = LIST_ENTRY(in->waiting.next, struct item, node);
    int64_t left_ms = oldest->since_ms + PATIENCE_MS - clock_mono_ms();

    g->in = in;
    list_init(&g->items);
    for (int i = 0; i < GROUP_MAX && in->n_waiting > 0; i++) {
        struct list *node = list_pop_front(&in->waiting);

        in->n_waiting--;
        list_push_back(&g->items, node);
        opt_out_ops(b, &LIST_ENTRY(node, struct item, node)->o);
    }
    in->group = g;
    in->patience = loop_timer_start(in->loop, left_ms > 0 ? left_ms : 0, on_patience_out, in);
    store_submit(b, on_stored, g);
}

static void
flush(void *arg)
{
    struct opt_out_intake *in = arg;

    in->is_deferred = false;
    if (in->n_waiting == 0)
        return;
    if (in->is_hanging) {
        in->n_waiting = 0;
        to_journal(in, &in->waiting);
    } else if (in->group == NULL) {
        to_store(in);
    }
}

/* ---- in and out ------------------------------------------------------------------------------ */

static void
refuse_later(void *arg)
{
    struct item *it = arg;

    it->done(OPT_OUT_NOT_KEPT, it->arg);
    mem_free(it);
}

void
opt_out_submit(struct opt_out_intake *in, const struct opt_out *o, const struct token_send *ref,
    opt_out_done_fn *done, void *arg)
{
    struct item *it = item_create(o);

    it->ref = *ref;
    it->done = done;
    it->arg = arg;
    it->since_ms = clock_mono_ms();
    if (in->n_waiting >= WAITING_MAX) {
        metric_add(in->kept[OPT_OUT_NOT_KEPT], 1);
        loop_defer(in->loop, refuse_later, it);
        return;
    }
    list_push_back(&in->waiting, &it->node);
    in->n_waiting++;
    if (in->group == NULL || in->is_hanging)
        flush_at_end_of_turn(in);
}

/* ---- folding --------------------------------------------------------------------------------- */

struct fold_job {
    struct opt_out_intake *in;
    uint64_t appends; /* begun when the fold was */
    bool is_empty;
    opt_out_folded_fn *done;
    void *arg;
    int rc;
    struct err err;
};

static void
run_fold(void *job)
{
    struct fold_job *f = job;
    struct journal_folded r;

    f->rc = journal_fold_opt_outs(f->in->journal, f->in->store, f->in->runs, &r, &f->err);
    f->is_empty = f->rc == 0 && journal_is_empty(f->in->journal);
}

static void
fold_finish(struct fold_job *f)
{
    struct opt_out_intake *in = f->in;

    in->is_folding = false;
    if (f->rc != 0)
        log_error(NULL, "journal.not_folded", "error=\"%s\"", f->err.text);
    if (f->is_empty && in->n_appending == 0 && in->appends == f->appends)
        gates_set(in->gates, GATE_SCOPE_ALL, GATE_JOURNAL, false, NULL);
    if (f->done != NULL)
        f->done(f->rc == 0 ? NULL : &f->err, f->arg);
    mem_free(f);
}

static void
on_fold_run(void *job)
{
    fold_finish(job);
}

static struct fold_job *
fold_create(struct opt_out_intake *in, opt_out_folded_fn *done, void *arg)
{
    struct fold_job *f = mem_zalloc(sizeof(*f));

    assert(!in->is_folding);
    in->is_folding = true;
    f->in = in;
    f->appends = in->appends;
    f->done = done;
    f->arg = arg;
    return f;
}

void
opt_out_intake_settle(struct opt_out_intake *in)
{
    struct fold_job *f = fold_create(in, NULL, NULL);

    gates_set(in->gates, GATE_SCOPE_ALL, GATE_JOURNAL, true, "the journal is being folded");
    run_fold(f);
    fold_finish(f);
}

void
opt_out_intake_fold(struct opt_out_intake *in, opt_out_folded_fn *done, void *arg)
{
    bool is_closed = (gates_closed(in->gates, GATE_SCOPE_ALL) & 1u << GATE_JOURNAL) != 0;
    struct fold_job *f;

    if (!is_closed) { /* the gate closes before anything is written there */
        done(NULL, arg);
        return;
    }
    f = fold_create(in, done, arg);
    if (!workers_submit(in->cpu, run_fold, on_fold_run, f)) {
        f->rc = err_set(&f->err, ERR_TEMP, "all workers are busy");
        fold_finish(f);
    }
}
