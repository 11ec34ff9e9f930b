#include "api/send_view.h"

#include <stdio.h>
#include <stdlib.h>

#include <bson/bson.h>

#include "base/bsonx.h"
#include "broadcast/broadcasts.h"
#include "model/contact.h"
#include "model/profile.h"
#include "store/store.h"

/*
 * Rows of the pipeline as people see them. A row is lean: what a reader wants beside it (external id,
 * slugs, the relay's words) is looked up for a whole page at once: two batches, and one read per
 * broadcast and profile that occurs on the page.
 */

struct page {
    struct api_call *c;
    const struct send_row *rows;
    size_t n;
    /* contacts, ascending ids */
    uint64_t *ids;
    struct slice *external;
    size_t n_contacts;
    /* one per row */
    struct send_detail *details;
    /* what occurs on the page */
    struct broadcast_view *views;
    size_t n_views;
    struct profile *profiles;
    size_t n_profiles;
};

/* ---- looking up ------------------------------------------------------------------------------ */

static int
compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void
collect_contacts(struct page *p)
{
    size_t n = 0;

    p->ids = arena_array(p->c->arena, p->n, sizeof(*p->ids));
    for (size_t i = 0; i < p->n; i++)
        p->ids[i] = p->rows[i].contact;
    qsort(p->ids, p->n, sizeof(*p->ids), compare_ids);
    for (size_t i = 0; i < p->n; i++)
        if (n == 0 || p->ids[n - 1] != p->ids[i])
            p->ids[n++] = p->ids[i];
    p->n_contacts = n;
    p->external = arena_array(p->c->arena, n, sizeof(*p->external));
    for (size_t i = 0; i < n; i++)
        p->external[i] = SLICE_NONE;
}

static int
read_contacts(struct page *p, struct err *err)
{
    struct store_batch *b = store_batch_create(p->c->env->store, STORE_URGENT);
    unsigned op = contact_find_op(b, p->ids, p->n_contacts);
    int rc = store_run(b, err);

    if (rc == 0) {
        const struct store_result *r = store_batch_result(b, op);

        for (size_t i = 0; i < r->n_docs; i++) {
            uint64_t id = (uint64_t)bsonx_i64(&r->docs[i], "_id", 0);
            const uint64_t *at = bsearch(&id, p->ids, p->n_contacts, sizeof(*p->ids), compare_ids);

            if (at != NULL)
                p->external[at - p->ids] =
                    arena_dup(p->c->arena, bsonx_str(&r->docs[i], "externalId"));
        }
    }
    store_batch_free(&b);
    return rc;
}

/* Ordinary rows have nothing to tell: only those with a story, and one-off mail, are looked up. */
static bool
has_story(const struct send_row *row)
{
    return row->broadcast == 0 || row->fail_class != FAIL_NONE || row->state == SEND_UNKNOWN ||
           row->state == SEND_BOUNCED || row->state == SEND_FAILED;
}

static int
read_details(struct page *p, struct err *err)
{
    struct store_batch *b = store_batch_create(p->c->env->store, STORE_URGENT);
    unsigned *ops = arena_array(p->c->arena, p->n, sizeof(*ops));
    bool is_any = false;
    int rc = 0;

    p->details = arena_zalloc(p->c->arena, p->n * sizeof(*p->details));
    for (size_t i = 0; i < p->n; i++) {
        if (p->n > 1 && !has_story(&p->rows[i]))
            continue;
        ops[i] = sends_detail(b, p->rows[i].broadcast, p->rows[i].id);
        is_any = true;
    }
    if (is_any)
        rc = store_run(b, err);
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        const struct send_detail *d;

        if (p->n > 1 && !has_story(&p->rows[i]))
            continue;
        d = &sends_result(b, ops[i])->detail;
        p->details[i].reply_text = arena_dup(p->c->arena, d->reply_text);
        p->details[i].provider_id = arena_dup(p->c->arena, d->provider_id);
        p->details[i].content = arena_dup(p->c->arena, d->content);
    }
    store_batch_free(&b);
    return rc;
}

static const struct broadcast_view *
view_of(const struct page *p, uint64_t broadcast)
{
    for (size_t i = 0; i < p->n_views; i++)
        if (p->views[i].doc.id == broadcast)
            return &p->views[i];
    return NULL;
}

static const struct profile *
profile_of(const struct page *p, uint64_t profile)
{
    for (size_t i = 0; i < p->n_profiles; i++)
        if (p->profiles[i].id == profile)
            return &p->profiles[i];
    return NULL;
}

static int
read_broadcasts(struct page *p, const struct broadcast_view *known, struct err *err)
{
    p->views = arena_array(p->c->arena, p->n + 1, sizeof(*p->views));
    if (known != NULL)
        p->views[p->n_views++] = *known;
    for (size_t i = 0; i < p->n; i++) {
        struct broadcast_view *v = &p->views[p->n_views];

        if (p->rows[i].broadcast == 0 || view_of(p, p->rows[i].broadcast) != NULL)
            continue;
        if (broadcast_doc_get_id(
                p->c->env->store, p->rows[i].broadcast, p->c->arena, &v->doc, &v->run, err) != 0)
            return -1;
        p->n_views++;
    }
    return 0;
}

static int
read_profiles(struct page *p, struct err *err)
{
    p->profiles = arena_array(p->c->arena, p->n + 1, sizeof(*p->profiles));
    for (size_t i = 0; i < p->n; i++) {
        if (p->rows[i].profile == 0 || profile_of(p, p->rows[i].profile) != NULL)
            continue;
        if (profile_get_id(p->c->env->store, p->rows[i].profile, p->c->arena,
                &p->profiles[p->n_profiles], err) == 0)
            p->n_profiles++;
        else if (err->code != ERR_NOTFOUND)
            return -1;
        else
            err_clear(err);
    }
    return 0;
}

static int
page_read(struct page *p, const struct broadcast_view *known, struct err *err)
{
    collect_contacts(p);
    if (p->n == 0)
        return 0;
    if (read_contacts(p, err) != 0 || read_details(p, err) != 0 ||
        read_broadcasts(p, known, err) != 0)
        return -1;
    return read_profiles(p, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void
write_text(struct json_writer *w, const char *name, struct slice v)
{
    if (v.n > 0)
        jw_str(w, name, v);
    else
        jw_null(w, name);
}

static void
write_code(struct json_writer *w, const char *name, int code)
{
    if (code != 0)
        jw_int(w, name, code);
    else
        jw_null(w, name);
}

/* 50101 → "5.1.1" (RFC 3463 §2). */
static void
write_enhanced(struct json_writer *w, const char *name, int code)
{
    char text[24];

    snprintf(text, sizeof text, "%d.%d.%d", code / 10000, code / 100 % 100, code % 100);
    jw_cstr(w, name, code != 0 ? text : NULL);
}

static void
write_outcome(struct json_writer *w, const struct send_row *r, const struct send_detail *d)
{
    static const char *const bounces[] = {NULL, "hard", "soft"};
    const char *class =
        r->fail_class != FAIL_NONE ? send_fail_class_name((int)r->fail_class) : NULL;

    jw_cstr(w, "failClass", class);
    write_code(w, "replyCode", r->reply_code);
    write_enhanced(w, "enhancedCode", r->enhanced_code);
    if (d->reply_text.n > 0)
        jw_str(w, "errorMessage", d->reply_text);
    else
        jw_cstr(w, "errorMessage", class);
    write_text(w, "providerMessageId", d->provider_id);
    jw_cstr(w, "bounceType", bounces[r->bounce]);
}

static void
write_times(struct json_writer *w, const struct send_row *r)
{
    jw_time(w, "queuedAt", r->created_at_ms);
    jw_time(w, "dueAt", r->state == SEND_QUEUED ? r->due_at_ms : 0);
    jw_time(w, "sentAt", r->sent_at_ms);
    jw_time(w, "deliveredAt", r->delivered_at_ms);
    jw_time(w, "bouncedAt", r->bounced_at_ms);
    jw_time(w, "complainedAt", r->complained_at_ms);
    jw_time(w, "unsubscribedAt", r->unsubscribed_at_ms);
    jw_time(w, "openedAt", r->first_open_ms);
    jw_time(w, "firstClickAt", r->first_click_ms);
}

/* Slugs: a broadcast's row has those of the broadcast, a one-off row its recipe's. */
static void
write_origin(struct json_writer *w, const struct broadcast_view *v, const struct send_detail *d)
{
    bson_t recipe;

    if (v != NULL) {
        jw_str(w, "broadcastSlug", v->doc.slug);
        jw_str(w, "templateSlug", v->doc.template_slug);
        jw_null(w, "origin");
        return;
    }
    jw_null(w, "broadcastSlug");
    if (bsonx_view(d->content, &recipe)) {
        write_text(w, "templateSlug", bsonx_str(&recipe, "template"));
        write_text(w, "origin", bsonx_str(&recipe, "origin"));
    } else {
        jw_null(w, "templateSlug");
        jw_null(w, "origin");
    }
}

static void
write_row(struct page *p, const char *name, size_t i)
{
    struct json_writer *w = &p->c->w;
    const struct send_row *r = &p->rows[i];
    const struct broadcast_view *v = r->broadcast != 0 ? view_of(p, r->broadcast) : NULL;
    const struct profile *profile = profile_of(p, r->profile);
    const uint64_t *at = bsearch(&r->contact, p->ids, p->n_contacts, sizeof(*p->ids), compare_ids);
    enum send_state shown = v != NULL ? send_state_shown(r->state, &v->run) : r->state;

    jw_obj(w, name);
    jw_id(w, "id", r->id);
    jw_int(w, "generation", r->generation);
    write_origin(w, v, &p->details[i]);
    jw_id(w, "contactId", r->contact);
    write_text(w, "externalId", at != NULL ? p->external[at - p->ids] : SLICE_NONE);
    write_text(w, "email", r->address);
    jw_cstr(w, "lane", r->lane == LANE_BULK ? "bulk" : "immediate");
    jw_cstr(w, "status", send_state_name((int)shown));
    jw_bool(w, "deferred", r->state == SEND_QUEUED && r->fail_class != FAIL_NONE);
    jw_int(w, "attempts", r->attempt);
    write_text(w, "provider", profile != NULL ? profile->slug : SLICE_NONE);
    write_outcome(w, r, &p->details[i]);
    write_times(w, r);
    jw_end_obj(w);
}

int
send_view_write_rows(struct api_call *c, const struct broadcast_view *v,
    const struct send_row *rows, size_t n, struct err *err)
{
    struct page p = {.c = c, .rows = rows, .n = n};

    if (page_read(&p, v, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        write_row(&p, NULL, i);
    return 0;
}

int
send_view_write_row(
    struct api_call *c, const char *name, const struct send_row *row, struct err *err)
{
    struct page p = {.c = c, .rows = row, .n = row != NULL ? 1 : 0};

    if (row == NULL) {
        jw_null(&c->w, name);
        return 0;
    }
    if (page_read(&p, NULL, err) != 0)
        return -1;
    write_row(&p, name, 0);
    return 0;
}
