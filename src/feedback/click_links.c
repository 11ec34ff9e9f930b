/*
 * The link table is not stored: it follows from the immutable source of a version, with the same
 * compiler that numbered the links when the mail was rendered. So old mails keep working for as long as
 * their version exists, and nothing but the source has to be kept right.
 */
#include "feedback/click_links.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "message/links.h"
#include "model/broadcast_doc.h"
#include "model/template_doc.h"
#include "send/oneoff.h"
#include "store/runs.h"

static struct click_links *
pack(const struct link_table *table)
{
    size_t size = sizeof(struct click_links) + table->n_links * sizeof(struct slice), text = 0;
    struct click_links *l;
    char *at;

    for (size_t i = 0; i < table->n_links; i++)
        text += table->links[i].url.n;
    l = mem_alloc(size + text);
    l->n = table->n_links;
    l->size_bytes = size + text;
    at = (char *)l + size;
    for (size_t i = 0; i < table->n_links; i++) {
        const struct link *link = &table->links[i];
        bool is_usable = link->kind == LINK_STATIC && links_is_http_url(link->url);

        l->urls[i] = is_usable ? slice_make(at, link->url.n) : SLICE_NONE;
        if (is_usable) {
            memcpy(at, link->url.p, link->url.n);
            at += link->url.n;
        }
    }
    return l;
}

/* The preheader's block is put in before links are numbered, as when mails are rendered. */
static int
compile(const struct template_content *t, struct click_links **links_r, struct err *err)
{
    struct buf with_preheader = BUF_INIT;
    const struct link_table *table;
    struct slice source = t->html;
    struct template *html;

    if (slice_trim(t->preheader).n > 0) {
        links_insert_preheader(t->html, &with_preheader);
        source = buf_slice(&with_preheader);
    }
    if ((html = links_compile_html(source, true, true, &table, err)) != NULL)
        *links_r = pack(table);
    template_free(&html);
    buf_deinit(&with_preheader);
    return *links_r != NULL ? 0 : -1;
}

static int
version_of_broadcast(struct store *st, uint64_t broadcast, struct arena *a,
    struct template_version *v_r, struct err *err)
{
    struct broadcast_doc d;
    struct run_record run;

    if (broadcast_doc_get_id(st, broadcast, a, &d, &run, err) != 0)
        return -1;
    return template_version_get(st, d.template_slug, (uint32_t)run.template_version, a, v_r, err);
}

static int
version_of_oneoff(
    struct store *st, uint64_t send, struct arena *a, struct template_version *v_r, struct err *err)
{
    struct send_row row = {.id = send};
    struct content *c = NULL;
    struct value vars;
    int rc;

    if (oneoff_load(st, &row, a, &c, &vars, err) != 0)
        return -1;
    rc = template_version_get(st, c->template_slug, c->version, a, v_r, err);
    content_unref(&c);
    return rc;
}

int
click_links_load(
    struct store *st, const struct token_send *ref, struct click_links **links_r, struct err *err)
{
    struct arena *a = arena_create(0);
    struct template_version v;
    int rc;

    *links_r = NULL;
    rc = ref->broadcast != 0 ? version_of_broadcast(st, ref->broadcast, a, &v, err)
                             : version_of_oneoff(st, ref->send, a, &v, err);
    if (rc == 0)
        rc = compile(&v.content, links_r, err);
    arena_free(&a);
    return rc;
}
