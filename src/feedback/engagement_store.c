/*
 * A group of events into the store, on a worker, in two batches:
 *
 *   read:  the sends named, and what is stored of each already
 *   write: new rows, verdicts of old rows that the new ones have changed, first times on the sends
 *
 * Verdicts are made over all events of a mail, since one click among six within a second means
 * something else than one alone. There is one writer of this collection, so nothing can come between
 * the batches but erasure, which an update of a verdict does not undo.
 */
#include <stdlib.h>
#include <string.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/bsonx.h"
#include "base/id.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "control/run_table.h"
#include "feedback/engagement_internal.h"
#include "store/sends.h"
#include "store/store.h"

#define PAGE_MAX 1000

/* An event as it is judged: new, or a row of before. */
struct event {
    struct event *next;
    struct engagement_event e;
    uint64_t id;                        /* 0 = new */
    enum engagement_verdict verdict;    /* old rows: as stored */
    int64_t rules;                      /* old rows: version of the verdict */
    const struct engagement_item *item; /* new ones */
};

/* A mail and its events. */
struct mail {
    struct token_send ref;
    bool is_known; /* the row exists and was sent */
    int64_t sent_at_ms;
    struct event *events;
    size_t n, n_old;
};

struct work {
    struct store *store;
    struct arena *arena;
    struct mail *mails;
    size_t n_mails;
    struct map_u64 *by_send;
};

static struct mail *
mail_of(struct work *w, const struct token_send *ref)
{
    struct mail *m = map_u64_get(w->by_send, ref->send);

    if (m == NULL) {
        m = &w->mails[w->n_mails++];
        *m = (struct mail){.ref = *ref};
        map_u64_put(w->by_send, ref->send, m);
    }
    return m;
}

static void
add_event(struct work *w, struct mail *m, const struct event *e)
{
    struct event *copy = arena_alloc(w->arena, sizeof(*copy));

    *copy = *e;
    copy->next = m->events;
    m->events = copy;
    m->n++;
    m->n_old += e->id != 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void
note_row(struct work *w, const struct send_row *row)
{
    struct mail *m = map_u64_get(w->by_send, row->id);

    if (m == NULL || m->ref.broadcast != row->broadcast)
        return;
    /* A mail in doubt, or one whose answer is still on its way, may well be in somebody's hands. */
    m->is_known = row->sent_at_ms != 0 || row->state == SEND_SENDING || row->state == SEND_UNKNOWN;
    m->sent_at_ms = row->sent_at_ms;
}

static int
read_sends(struct work *w, struct err *err)
{
    struct store_batch *b = store_batch_create(w->store, STORE_BULK);
    int rc;

    for (size_t i = 0; i < w->n_mails; i++)
        sends_get(b, w->mails[i].ref.broadcast, &w->mails[i].ref.send, 1);
    if ((rc = store_run(b, err)) == 0)
        for (size_t i = 0; i < w->n_mails; i++) {
            const struct sends_result *r = sends_result(b, (unsigned)i);

            for (size_t k = 0; k < r->n_rows; k++)
                note_row(w, &r->rows[k]);
        }
    store_batch_free(&b);
    return rc;
}

static void
note_stored(struct work *w, const bson_t *doc)
{
    struct mail *m = map_u64_get(w->by_send, (uint64_t)bsonx_i64(doc, "send", 0));
    int verdict = engagement_verdict_parse(bsonx_str(doc, "verdict"));
    struct event e = {
        .id = (uint64_t)bsonx_i64(doc, "_id", 0),
        .verdict = verdict >= 0 ? (enum engagement_verdict)verdict : ENGAGEMENT_UNKNOWN,
        .rules = bsonx_i64(doc, "rules", 0),
        .e = {.kind = slice_eq_str(bsonx_str(doc, "kind"), "click") ? ENGAGEMENT_CLICK
                                                                    : ENGAGEMENT_OPEN,
            .ordinal = (uint32_t)bsonx_i64(doc, "ordinal", 0),
            .at_ms = bsonx_i64(doc, "at", 0),
            .user_agent = arena_dup(w->arena, bsonx_str(doc, "userAgent"))},
    };

    if (m != NULL)
        add_event(w, m, &e);
}

static int
read_page(struct work *w, const bson_t *filter, int64_t *after, size_t *n_r, struct err *err)
{
    struct store_batch *b = store_batch_create(w->store, STORE_BULK);
    bson_t at = BSON_INITIALIZER;
    struct store_find opts = {.limit = PAGE_MAX};
    unsigned op;
    int rc;

    if (*after != 0) {
        bsonx_add_i64(&at, "_id", *after);
        opts.after = &at;
    }
    op = store_find(b, ENGAGEMENTS_COLL, STORE_INDEXED, filter, &opts);
    if ((rc = store_run(b, err)) == 0) {
        const struct store_result *r = store_batch_result(b, op);

        for (size_t i = 0; i < r->n_docs; i++)
            note_stored(w, &r->docs[i]);
        *n_r = r->n_docs;
        if (r->n_docs > 0)
            *after = bsonx_i64(&r->docs[r->n_docs - 1], "_id", 0);
    }
    store_batch_free(&b);
    bson_destroy(&at);
    return rc;
}

static int
read_stored(struct work *w, struct err *err)
{
    bson_t filter = BSON_INITIALIZER, cond, in;
    int64_t after = 0;
    size_t n = 0;
    char key[16];
    const char *name;
    int rc;

    bson_append_document_begin(&filter, "send", -1, &cond);
    bson_append_array_begin(&cond, "$in", -1, &in);
    for (size_t i = 0; i < w->n_mails; i++) {
        bson_uint32_to_string((uint32_t)i, &name, key, sizeof(key));
        bsonx_add_i64(&in, name, (int64_t)w->mails[i].ref.send);
    }
    bson_append_array_end(&cond, &in);
    bson_append_document_end(&filter, &cond);
    do
        rc = read_page(w, &filter, &after, &n, err);
    while (rc == 0 && n == PAGE_MAX);
    bson_destroy(&filter);
    return rc;
}

/* ---- judging and writing --------------------------------------------------------------------- */

static struct event **
judge(struct work *w, const struct mail *m, enum engagement_verdict *verdicts)
{
    struct engagement_event *e = arena_array(w->arena, m->n, sizeof(*e));
    struct event **at = arena_array(w->arena, m->n, sizeof(struct event *));
    size_t i = 0;

    for (struct event *v = m->events; v != NULL; v = v->next) {
        at[i] = v;
        e[i++] = v->e;
    }
    engagement_judge(m->sent_at_ms, e, m->n, verdicts);
    return at;
}

/* What a client sent is text only if it is well-formed. */
static struct slice
as_text(struct work *w, struct slice s)
{
    struct buf clean = BUF_INIT;
    struct slice out;

    if (utf8_valid(s))
        return s;
    for (size_t i = 0; i < s.n; i++)
        buf_append_char(&clean, (unsigned char)s.p[i] < 0x80 ? s.p[i] : '?');
    out = arena_dup(w->arena, buf_slice(&clean));
    buf_deinit(&clean);
    return out;
}

static void
insert_row(
    struct work *w, struct store_batch *b, const struct event *v, enum engagement_verdict verdict)
{
    const struct engagement *e = &v->item->e;
    bson_t doc = BSON_INITIALIZER;
    const bson_t *docs[] = {&doc};

    bsonx_add_i64(&doc, "_id", (int64_t)id_next());
    bsonx_add_i64(&doc, "send", (int64_t)e->ref.send);
    bsonx_add_i64(&doc, "broadcast", (int64_t)e->ref.broadcast);
    bsonx_add_str(&doc, "kind", slice_str(e->kind == ENGAGEMENT_CLICK ? "click" : "open"));
    if (e->kind == ENGAGEMENT_CLICK)
        bsonx_add_i64(&doc, "ordinal", e->ordinal);
    if (e->url.n > 0)
        bsonx_add_str(&doc, "url", as_text(w, e->url));
    bsonx_add_time(&doc, "at", e->at_ms);
    bsonx_add_i64(&doc, "count", v->item->count);
    if (e->user_agent.n > 0)
        bsonx_add_str(&doc, "userAgent", as_text(w, e->user_agent));
    bsonx_add_str(&doc, "verdict", slice_str(engagement_verdict_name(verdict)));
    bsonx_add_i64(&doc, "rules", ENGAGEMENT_RULES);
    store_insert(b, ENGAGEMENTS_COLL, docs, 1);
    bson_destroy(&doc);
}

static void
update_verdict(struct store_batch *b, uint64_t id, enum engagement_verdict verdict)
{
    bson_t filter = BSON_INITIALIZER, update = BSON_INITIALIZER, set;

    bsonx_add_i64(&filter, "_id", (int64_t)id);
    bson_append_document_begin(&update, "$set", -1, &set);
    bsonx_add_str(&set, "verdict", slice_str(engagement_verdict_name(verdict)));
    bsonx_add_i64(&set, "rules", ENGAGEMENT_RULES);
    bson_append_document_end(&update, &set);
    store_update(b, ENGAGEMENTS_COLL, STORE_INDEXED, &filter, &update, 0);
    bson_destroy(&filter);
    bson_destroy(&update);
}

static void
write_mail(struct work *w, struct store_batch *b, const struct mail *m, struct engagement_stored *r)
{
    enum engagement_verdict *verdicts = arena_array(w->arena, m->n, sizeof(*verdicts));
    struct event **at = judge(w, m, verdicts);
    size_t rows = m->n_old;

    for (size_t i = 0; i < m->n; i++) {
        if (at[i]->id != 0) {
            if (at[i]->verdict != verdicts[i] || at[i]->rules != ENGAGEMENT_RULES)
                update_verdict(b, at[i]->id, verdicts[i]);
        } else if (rows < ENGAGEMENT_ROWS_OF_SEND) {
            insert_row(w, b, at[i], verdicts[i]);
            rows++;
            r->rows++;
        } else {
            r->ignored++;
        }
    }
}

/* First times: the store keeps the earliest of each kind. */
static size_t
add_facts(const struct mail *m, struct sends_feedback *f)
{
    int64_t first[2] = {0, 0};
    size_t n = 0;

    for (const struct event *v = m->events; v != NULL; v = v->next)
        if (v->id == 0 && (first[v->e.kind] == 0 || v->e.at_ms < first[v->e.kind]))
            first[v->e.kind] = v->e.at_ms;
    for (int kind = 0; kind < 2; kind++)
        if (first[kind] != 0)
            f[n++] = (struct sends_feedback){.broadcast = m->ref.broadcast,
                .id = m->ref.send,
                .fact = kind == ENGAGEMENT_OPEN ? FACT_OPENED : FACT_CLICKED,
                .at_ms = first[kind]};
    return n;
}

static int
write_all(struct work *w, struct run_table *runs, struct engagement_stored *r, struct err *err)
{
    struct store_batch *b = store_batch_create(w->store, STORE_BULK);
    struct sends_feedback *facts = arena_array(w->arena, w->n_mails * 2 + 1, sizeof(*facts));
    size_t n_facts = 0;
    int rc = 0;

    for (size_t i = 0; i < w->n_mails; i++)
        if (w->mails[i].is_known)
            n_facts += add_facts(&w->mails[i], facts + n_facts);
    if (n_facts > 0)
        sends_feedback(b, facts, n_facts); /* operation 0 */
    for (size_t i = 0; i < w->n_mails; i++) {
        if (w->mails[i].is_known)
            write_mail(w, b, &w->mails[i], r);
        else
            r->ignored += w->mails[i].n - w->mails[i].n_old;
    }
    if (n_facts > 0 && (rc = store_run(b, err)) == 0) {
        const struct sends_result *res = sends_result(b, 0);

        for (size_t i = 0; runs != NULL && i < res->n_runs; i++)
            run_table_post(runs, &res->runs[i]);
    }
    store_batch_free(&b);
    return rc;
}

static void
work_init(struct work *w, struct store *st, size_t max_mails)
{
    w->store = st;
    w->arena = arena_create(0);
    w->mails = mem_array(max_mails, sizeof(*w->mails));
    w->n_mails = 0;
    w->by_send = map_u64_create();
}

static void
work_deinit(struct work *w)
{
    map_u64_free(&w->by_send);
    mem_free(w->mails);
    arena_free(&w->arena);
}

int
engagement_store_group(struct store *st, struct run_table *runs, const struct list *items, size_t n,
    struct engagement_stored *r, struct err *err)
{
    struct work w;
    int rc;

    *r = (struct engagement_stored){0};
    work_init(&w, st, n);
    for (const struct list *node = items->next; node != items; node = node->next) {
        const struct engagement_item *it = LIST_ENTRY(node, struct engagement_item, node);
        struct event e = {.item = it,
            .e = {.kind = it->e.kind,
                .ordinal = it->e.ordinal,
                .at_ms = it->e.at_ms,
                .user_agent = it->e.user_agent}};

        add_event(&w, mail_of(&w, &it->e.ref), &e);
    }
    rc = read_sends(&w, err);
    if (rc == 0)
        rc = read_stored(&w, err);
    if (rc == 0)
        rc = write_all(&w, runs, r, err);
    work_deinit(&w);
    return rc;
}

/* ---- judging anew ---------------------------------------------------------------------------- */

static int
find_outdated(struct work *w, uint64_t after_id, unsigned limit, uint64_t *next_r, struct err *err)
{
    struct store_batch *b = store_batch_create(w->store, STORE_BULK);
    bson_t filter = BSON_INITIALIZER, at = BSON_INITIALIZER;
    struct store_find opts = {.limit = limit, .after = &at};
    unsigned op;
    int rc;

    bsonx_add_i64(&at, "_id", (int64_t)after_id);
    op = store_find(b, ENGAGEMENTS_COLL, STORE_SCAN, &filter, &opts);
    if ((rc = store_run(b, err)) == 0) {
        const struct store_result *r = store_batch_result(b, op);

        for (size_t i = 0; i < r->n_docs; i++) {
            struct token_send ref = {.broadcast = (uint64_t)bsonx_i64(&r->docs[i], "broadcast", 0),
                .send = (uint64_t)bsonx_i64(&r->docs[i], "send", 0)};

            if (bsonx_i64(&r->docs[i], "rules", 0) != ENGAGEMENT_RULES)
                mail_of(w, &ref);
        }
        *next_r = r->n_docs == limit ? (uint64_t)bsonx_i64(&r->docs[limit - 1], "_id", 0) : 0;
    }
    store_batch_free(&b);
    bson_destroy(&filter);
    bson_destroy(&at);
    return rc;
}

static int64_t
write_verdicts(struct work *w, struct err *err)
{
    struct store_batch *b = store_batch_create(w->store, STORE_BULK);
    struct engagement_stored none = {0};
    int64_t n = 0;

    for (size_t i = 0; i < w->n_mails; i++) {
        write_mail(w, b, &w->mails[i], &none);
        for (const struct event *v = w->mails[i].events; v != NULL; v = v->next)
            n += v->rules != ENGAGEMENT_RULES;
    }
    if (n > 0 && store_run(b, err) != 0)
        n = -1;
    store_batch_free(&b);
    return n;
}

int64_t
engagements_rejudge(
    struct store *st, uint64_t after_id, unsigned limit, uint64_t *next_r, struct err *err)
{
    struct work w;
    int64_t n = -1;

    work_init(&w, st, limit);
    if (find_outdated(&w, after_id, limit, next_r, err) == 0) {
        if (w.n_mails == 0)
            n = 0;
        else if (read_sends(&w, err) == 0 && read_stored(&w, err) == 0)
            n = write_verdicts(&w, err);
    }
    work_deinit(&w);
    return n;
}
