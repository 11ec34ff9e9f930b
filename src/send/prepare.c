/*
 * Preparing mails on a CPU worker: rows in, finished RFC 5322 bytes out.
 *
 * A batch is at most PREPARE_BATCH rows of one group. The worker reads them, their contacts, consents
 * and suppressions in two round trips, renders, builds and signs each mail (compose.c) into the buffers of a job
 * that the loop lent it. The suppression sequence is read before the rows, so an opt-out that arrives
 * while a mail is being made is caught by its claim. Rows that must not be mailed come back as settles
 * of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "loop/workers.h"
#include "model/contact.h"
#include "model/subscription.h"
#include "model/suppression.h"
#include "send/internal.h"
#include "send/oneoff.h"
#include "send/prepare_internal.h"
#include "store/store.h"

/* What is known of one row besides the row itself. */
struct row_facts {
    const struct contact *contact;
    int8_t suppressed[2][2]; /* per mail kind: mailed address, contact's current address */
    enum subscription_status consent;
};

static void
dead_row(struct prepare *p, const struct send_row *row, enum send_state to,
    enum send_fail_class fail_class, const char *text)
{
    struct sends_settle *s = &p->dead[p->n_dead];

    memset(s, 0, sizeof(*s));
    s->broadcast = row->broadcast;
    s->id = row->id;
    s->token = row->generation;
    s->to = to;
    s->fail_class = fail_class;
    s->at_ms = p->env.now_ms;
    snprintf(p->dead_text[p->n_dead], PREPARE_TEXT_MAX, "%.*s", PREPARE_TEXT_MAX - 1, text);
    s->reply_text = slice_str(p->dead_text[p->n_dead]);
    p->n_dead++;
}

/* ---- one row --------------------------------------------------------------------------------- */

static bool
is_consent_lost(enum subscription_status s)
{
    return s == SUBSCRIPTION_UNSUBSCRIBED || s == SUBSCRIPTION_BOUNCED ||
           s == SUBSCRIPTION_COMPLAINED;
}

/* Reasons not to mail a row that are known before rendering; true when it was settled. */
static bool
is_stopped(struct prepare *p, const struct send_row *row, const struct content *c,
    const struct row_facts *f)
{
    char text[PREPARE_TEXT_MAX];

    if (row->address.n == 0) {
        dead_row(p, row, SEND_FAILED, FAIL_ADDRESS, "no_recipient: the address is blank");
        return true;
    }
    if (f->contact == NULL) {
        dead_row(p, row, SEND_FAILED, FAIL_ADDRESS, "contact_missing: the contact is gone");
        return true;
    }
    for (int i = 0; i < 2; i++)
        if (f->suppressed[c->kind][i] >= 0) {
            snprintf(text, sizeof(text), "suppressed: %s",
                suppression_reason_name((enum suppression_reason)f->suppressed[c->kind][i]));
            dead_row(p, row, SEND_SUPPRESSED, FAIL_NONE, text);
            return true;
        }
    if (c->kind == MAIL_MARKETING && is_consent_lost(f->consent)) {
        snprintf(text, sizeof(text), "suppressed: %s", subscription_status_name(f->consent));
        dead_row(p, row, SEND_SUPPRESSED, FAIL_NONE, text);
        return true;
    }
    return false;
}

static void
prepare_row(struct prepare *p, const struct send_row *row, const struct row_facts *f)
{
    struct content *own = NULL;
    const struct content *c = p->content;
    struct value vars;
    const struct value *row_vars = NULL;
    enum send_fail_class class;
    struct err err = {0};

    if (row->state != SEND_QUEUED)
        return;
    if (c == NULL) {
        if (oneoff_load(p->sender->args.store, row, p->scratch, &own, &vars, &err) != 0) {
            if (err.code == ERR_TEMP)
                p->is_again = true;
            else
                dead_row(p, row, SEND_FAILED, FAIL_RENDER, err.text);
            return;
        }
        c = own;
        row_vars = &vars;
    }
    if (!is_stopped(p, row, c, f)) {
        if (prepare_mail(p, p->jobs[p->n_made], row, c, f->contact, row_vars, &class, &err) == 0)
            p->n_made++;
        else
            dead_row(p, row, SEND_FAILED, class, err.text);
    }
    content_unref(&own);
}

/* ---- one batch, on the worker ---------------------------------------------------------------- */

static int
compare_contacts(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

struct facts_read {
    unsigned contacts_op, consent_op, suppression_op;
    uint64_t sorted[PREPARE_BATCH];
    enum subscription_status consent[PREPARE_BATCH];
    struct contact *contacts;
    size_t n_contacts;
    int64_t hashes[2 * PREPARE_BATCH];       /* of the rows, then of drifted contacts */
    int8_t suppressed[2][2 * PREPARE_BATCH]; /* per mail kind */
};

static const struct contact *
contact_by_id(const struct facts_read *fr, uint64_t id)
{
    for (size_t i = 0; i < fr->n_contacts; i++)
        if (fr->contacts[i].id == id)
            return &fr->contacts[i];
    return NULL;
}

static void
read_contacts(struct prepare *p, const struct store_batch *b, struct facts_read *fr)
{
    const struct store_result *r = store_batch_result(b, fr->contacts_op);

    fr->contacts = arena_array(p->scratch, r->n_docs + 1, sizeof(*fr->contacts));
    fr->n_contacts = 0;
    for (size_t i = 0; i < r->n_docs; i++)
        if (contact_from_bson(&r->docs[i], p->scratch, &fr->contacts[fr->n_contacts]) &&
            fr->contacts[fr->n_contacts].deleted_at_ms == 0)
            fr->n_contacts++;
}

static void
facts_of_row(const struct facts_read *fr, const struct send_row *row, size_t n_rows, size_t i,
    struct row_facts *f)
{
    const uint64_t *at =
        bsearch(&row->contact, fr->sorted, n_rows, sizeof(fr->sorted[0]), compare_contacts);

    f->contact = contact_by_id(fr, row->contact);
    f->consent = at != NULL ? fr->consent[at - fr->sorted] : SUBSCRIPTION_NONE;
    for (int kind = 0; kind < 2; kind++) {
        f->suppressed[kind][0] = fr->suppressed[kind][i];
        f->suppressed[kind][1] = fr->suppressed[kind][n_rows + i];
    }
}

/* A contact whose address has changed since planning is also held to the opt-outs of the new one. */
static int
read_drifted(struct prepare *p, struct facts_read *fr, const struct send_row *rows, size_t n)
{
    bool is_drifted = false;
    int rc = 0;

    for (size_t i = 0; i < n; i++) {
        const struct contact *c = contact_by_id(fr, rows[i].contact);

        if (c != NULL && c->email_hash != 0 && c->email_hash != rows[i].address_hash) {
            fr->hashes[n + i] = c->email_hash;
            is_drifted = true;
        }
    }
    for (int kind = 0; is_drifted && rc == 0 && kind < 2; kind++) {
        struct suppression_query q = {.kind = (enum mail_kind)kind, .now_ms = p->env.now_ms};

        rc = suppression_lookup(
            p->sender->args.store, &q, fr->hashes + n, n, fr->suppressed[kind] + n, &p->err);
    }
    return rc;
}

/* Second round trip: contacts by id, consents, suppressions of the addresses. */
static int
read_facts(struct prepare *p, struct facts_read *fr, const struct send_row *rows, size_t n)
{
    struct store_batch *b = store_batch_create(p->sender->args.store, STORE_URGENT);
    int rc;

    memset(fr->hashes, 0, sizeof(fr->hashes));
    memset(fr->suppressed, -1, sizeof(fr->suppressed));
    for (size_t i = 0; i < n; i++) {
        fr->sorted[i] = rows[i].contact;
        fr->hashes[i] = rows[i].address_hash;
    }
    qsort(fr->sorted, n, sizeof(fr->sorted[0]), compare_contacts);
    fr->contacts_op = contact_find_op(b, fr->sorted, n);
    fr->consent_op = subscription_lookup_op(b, fr->sorted, n);
    fr->suppression_op = suppression_lookup_op(b, fr->hashes, n);
    rc = store_run(b, &p->err);
    if (rc == 0) {
        read_contacts(p, b, fr);
        subscription_lookup_result(b, fr->consent_op, fr->sorted, n, fr->consent);
        for (int kind = 0; kind < 2; kind++) {
            struct suppression_query q = {.kind = (enum mail_kind)kind, .now_ms = p->env.now_ms};

            suppression_lookup_result(
                b, fr->suppression_op, &q, fr->hashes, n, fr->suppressed[kind]);
        }
        rc = read_drifted(p, fr, rows, n);
    }
    p->facts = b; /* contacts borrow from it */
    return rc;
}

static int
prepare_rows(struct prepare *p, const struct send_row *rows, size_t n)
{
    struct facts_read fr;
    uint64_t started_us = clock_thread_cpu_us();
    int rc = read_facts(p, &fr, rows, n);

    prepare_spend(p, STAGE_READ, started_us);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct row_facts f;

        facts_of_row(&fr, &rows[i], n, i, &f);
        prepare_row(p, &rows[i], &f);
    }
    store_batch_free(&p->facts);
    return rc;
}

static void
prepare_run(void *arg)
{
    struct prepare *p = arg;
    struct store_batch *b = store_batch_create(p->sender->args.store, STORE_URGENT);
    unsigned op;

    p->seen_seq = store_suppression_seq(p->sender->args.store);
    p->env.now_ms = clock_now_ms();
    op = sends_get(b, p->group->is_broadcast ? p->group->id : 0, p->ids, p->n_ids);
    p->rc = store_run(b, &p->err);
    if (p->rc == 0) {
        const struct sends_result *r = sends_result(b, op);

        if (r->n_rows > 0)
            p->rc = prepare_rows(p, r->rows, r->n_rows);
    }
    store_batch_free(&b);
}

/* ---- in the loop ----------------------------------------------------------------------------- */

static struct prepare *
prepare_create(struct channel *ch, struct group *g, const uint64_t *ids, size_t n)
{
    struct sender *s = ch->sender;
    struct prepare *p = mem_zalloc(sizeof(*p));

    p->sender = s;
    p->channel = ch;
    p->group = g;
    p->content = g->content;
    if (p->content != NULL)
        p->content->refs++;
    p->outlet = ch->outlet;
    p->outlet->refs++;
    memcpy(p->ids, ids, n * sizeof(*ids));
    p->n_ids = n;
    p->scratch = arena_create(16 * 1024);
    p->env = (struct render_env){
        .keys = s->args.keys,
        .public_url = slice_str(s->public_url),
        .sender_address = slice_str(s->sender_address),
        .unsubscribe_lifetime_ms = s->args.unsubscribe_lifetime_ms,
    };
    render_parts_init(&p->parts);
    for (size_t i = 0; i < n; i++) {
        p->jobs[i] = job_get(s);
        p->jobs[i]->state = JOB_PREPARING;
        map_u64_put(s->busy, ids[i], p->jobs[i]);
    }
    return p;
}

static void
prepare_free(struct prepare *p)
{
    content_unref(&p->content);
    outlet_unref(&p->outlet);
    arena_free(&p->scratch);
    render_parts_deinit(&p->parts);
    buf_deinit(&p->message);
    buf_deinit(&p->key);
    mem_free(p);
}

static void
hand_over(struct prepare *p)
{
    struct sender *s = p->sender;
    bool is_wanted = !p->group->is_closed && sender_may_work(s, p->group) && !p->channel->is_stale;

    for (size_t i = 0; i < p->n_ids; i++)
        map_u64_del(s->busy, p->ids[i]);
    for (size_t i = 0; i < p->n_ids; i++) {
        struct job *j = p->jobs[i];

        if (i >= p->n_made || !is_wanted) {
            j->id = 0;
            job_put(s, j);
            continue;
        }
        map_u64_put(s->busy, j->id, j);
        channel_prepared(p->channel, j);
    }
    if (p->n_dead > 0)
        shelve_submit(s, p->channel->profile, p->dead, p->n_dead);
    if (!is_wanted && !p->group->is_closed)
        group_rewind(p->group);
}

/* The stages are shown as one counter each. */
static void
count_stages(const struct prepare *p)
{
    static struct metric *metrics[STAGES];
    static const char *const labels[STAGES] = {
        "stage=\"read\"", "stage=\"render\"", "stage=\"mime\"", "stage=\"sign\""};

    for (int i = 0; i < STAGES; i++) {
        if (metrics[i] == NULL)
            metrics[i] = metric_counter("mailshot_prepare_microseconds_total",
                "CPU time spent preparing mails, by stage", labels[i]);
        metric_add(metrics[i], (int64_t)p->spent_us[i]);
    }
}

static void
prepare_done(void *arg)
{
    struct prepare *p = arg;
    struct sender *s = p->sender;
    struct group *g = p->group;

    s->n_prepare_jobs--;
    g->n_preparing--;
    p->channel->n_preparing[g->lane] -= p->n_ids;
    count_stages(p);
    if (p->rc != 0) {
        struct log_ctx ctx = {.broadcast = g->is_broadcast ? g->id : 0};

        log_warn(&ctx, "send.prepare_failed", "error=\"%s\"", p->err.text);
        p->n_made = p->n_dead = 0;
    }
    hand_over(p);
    if ((p->rc != 0 || p->is_again) && !g->is_closed)
        group_rewind(g);
    prepare_free(p);
    group_return(g);
    sender_kick(s);
    sender_check_stopped(s);
}

bool
prepare_start(struct channel *ch, struct group *g, const uint64_t *ids, size_t n)
{
    struct sender *s = ch->sender;
    struct prepare *p = prepare_create(ch, g, ids, n);

    group_lend(g);
    s->n_prepare_jobs++;
    g->n_preparing++;
    ch->n_preparing[g->lane] += n;
    if (workers_submit(s->args.cpu, prepare_run, prepare_done, p))
        return true;
    s->n_prepare_jobs--;
    g->n_preparing--;
    ch->n_preparing[g->lane] -= n;
    for (size_t i = 0; i < n; i++) {
        map_u64_del(s->busy, ids[i]);
        p->jobs[i]->id = 0;
        job_put(s, p->jobs[i]);
    }
    prepare_free(p);
    group_rewind(g);
    group_return(g);
    return false;
}
