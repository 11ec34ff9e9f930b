/*
 * Loading what a group's mails have in common.
 *
 * The pinned version is compiled once per process and group; rendering then only reads. Everything
 * hangs on one arena, so letting go is one call.
 */
#include "send/content.h"

#include <string.h>

#include "base/mem.h"
#include "crypto/crypto.h"
#include "message/links.h"
#include "model/broadcast_doc.h"
#include "model/template_doc.h"
#include "store/runs.h"

static void
content_free(struct content *c)
{
    template_free(&c->subject);
    template_free(&c->preheader);
    template_free(&c->html);
    template_free(&c->text);
    arena_free(&c->arena);
    mem_free(c);
}

void
content_unref(struct content **cp)
{
    struct content *c = *cp;

    *cp = NULL;
    if (c != NULL && --c->refs == 0)
        content_free(c);
}

static struct content *
content_create(void)
{
    struct content *c = mem_zalloc(sizeof(*c));

    c->refs = 1;
    c->arena = arena_create(0);
    return c;
}

/* The plain-text part: the author's, or one derived from the HTML source (expressions stay). */
static int
compile_text(struct content *c, const struct template_content *t, struct err *err)
{
    struct buf derived = BUF_INIT;
    struct slice source = t->text;
    int rc = 0;

    if (slice_trim(source).n == 0) {
        rc = links_html_to_text(t->html, &derived, err);
        source = buf_slice(&derived);
    }
    if (rc == 0 && (c->text = template_compile(source, TEMPLATE_TEXT, err)) == NULL) {
        err_prefix(err, "text");
        rc = -1;
    }
    buf_deinit(&derived);
    return rc;
}

/* The HTML part with its links instrumented; the preheader's block is put in when there is one. */
static int
compile_html(struct content *c, const struct template_content *t, struct err *err)
{
    const struct link_table *table;
    struct buf with_preheader = BUF_INIT;
    struct slice source = t->html;

    if (slice_trim(t->preheader).n > 0) {
        links_insert_preheader(t->html, &with_preheader);
        source = buf_slice(&with_preheader);
    }
    c->html = links_compile_html(source, t->track_clicks, t->track_opens, &table, err);
    buf_deinit(&with_preheader);
    if (c->html == NULL) {
        err_prefix(err, "html");
        return -1;
    }
    c->has_html = true;
    c->n_links = (uint32_t)table->n_links;
    return 0;
}

static int
compile_parts(struct content *c, const struct template_content *t, struct err *err)
{
    if ((c->subject = template_compile(t->subject, TEMPLATE_TEXT, err)) == NULL) {
        err_prefix(err, "subject");
        return -1;
    }
    if ((c->preheader = template_compile(t->preheader, TEMPLATE_TEXT, err)) == NULL) {
        err_prefix(err, "preheader");
        return -1;
    }
    if (!t->is_text_only && slice_trim(t->html).n > 0 && compile_html(c, t, err) != 0)
        return -1;
    return compile_text(c, t, err);
}

int
content_compile(const struct template_content *t, struct content **c_r, struct err *err)
{
    struct content *c = content_create();

    c->kind = t->kind;
    if (compile_parts(c, t, err) != 0) {
        content_free(c);
        return -1;
    }
    *c_r = c;
    return 0;
}

int
content_load_template(
    struct store *st, struct slice slug, uint32_t version, struct content **c_r, struct err *err)
{
    struct content *c = content_create();
    struct template_version v;

    if (template_version_get(st, slug, version, c->arena, &v, err) != 0)
        goto fail;
    c->template_slug = v.slug;
    c->version = v.version;
    c->kind = v.content.kind;
    c->from_name = v.content.from_name;
    c->from_address = v.content.from_email;
    c->reply_to = v.content.reply_to;
    if (compile_parts(c, &v.content, err) != 0)
        goto fail;
    *c_r = c;
    return 0;

fail:
    err_prefix(err, "template %.*s version %u", SLICE_FMT(slug), version);
    content_free(c);
    return -1;
}

int
content_load_broadcast(struct store *st, uint64_t broadcast, struct content **c_r, struct err *err)
{
    struct arena *a = arena_create(0);
    struct broadcast_doc d;
    struct run_record run;
    struct content *c = NULL;
    int rc = -1;

    if (broadcast_doc_get_id(st, broadcast, a, &d, &run, err) != 0)
        goto out;
    if (content_load_template(st, d.template_slug, (uint32_t)run.template_version, &c, err) != 0)
        goto out;
    c->broadcast = broadcast;
    c->slug = arena_dup(c->arena, d.slug);
    c->name = arena_dup(c->arena, d.name);
    if (d.vars.n == 0 || !value_from_bson(c->arena, arena_dup(c->arena, d.vars), &c->vars))
        c->vars = (struct value){.type = VALUE_OBJECT};
    *c_r = c;
    rc = 0;
out:
    arena_free(&a);
    return rc;
}

static void
outlet_free(struct outlet *o)
{
    for (size_t i = 0; i < PROFILE_MAX_DKIM; i++)
        crypto_signer_free(&o->signers[i]);
    if (o->password != NULL)
        mem_wipe(o->password, strlen(o->password));
    mem_free(o->password);
    arena_free(&o->arena);
    mem_free(o);
}

void
outlet_unref(struct outlet **op)
{
    struct outlet *o = *op;

    *op = NULL;
    if (o != NULL && --o->refs == 0)
        outlet_free(o);
}

static int
open_signers(struct outlet *o, const struct crypto_keys *keys, struct err *err)
{
    struct buf pem = BUF_INIT;
    int rc = 0;

    for (size_t i = 0; i < o->profile.n_dkim && rc == 0; i++) {
        buf_clear(&pem);
        rc = profile_dkim_key(keys, &o->profile, i, &pem, err);
        if (rc == 0 && (o->signers[i] = crypto_signer_create(buf_slice(&pem), err)) == NULL)
            rc = -1;
        if (pem.n > 0)
            mem_wipe(pem.p, pem.n);
    }
    buf_deinit(&pem);
    return rc;
}

static int
open_password(struct outlet *o, const struct crypto_keys *keys, struct err *err)
{
    struct buf password = BUF_INIT;
    int rc = profile_password(keys, &o->profile, &password, err);

    if (rc == 0 && password.n > 0)
        o->password = mem_strdup(buf_cstr(&password));
    if (password.n > 0)
        mem_wipe(password.p, password.n);
    buf_deinit(&password);
    return rc;
}

int
outlet_load(struct store *st, const struct crypto_keys *keys, uint64_t profile, struct outlet **o_r,
    struct err *err)
{
    struct outlet *o = mem_zalloc(sizeof(*o));

    o->refs = 1;
    o->arena = arena_create(0);
    if (profile_get_id(st, profile, o->arena, &o->profile, err) != 0 ||
        open_password(o, keys, err) != 0 || open_signers(o, keys, err) != 0) {
        outlet_free(o);
        return -1;
    }
    *o_r = o;
    return 0;
}

static enum transport_tls
tls_of(enum profile_tls tls)
{
    switch (tls) {
    case PROFILE_TLS_NONE: return TRANSPORT_TLS_NONE;
    case PROFILE_TLS_STARTTLS: return TRANSPORT_TLS_STARTTLS;
    case PROFILE_TLS_IMPLICIT: return TRANSPORT_TLS_IMPLICIT;
    }
    return TRANSPORT_TLS_STARTTLS;
}

/* A C string of a slice, NULL when it is empty; the outlet's arena keeps it. */
static const char *
text_of(const struct outlet *o, struct slice s)
{
    return s.n > 0 ? arena_cstr(o->arena, s) : NULL;
}

void
outlet_settings(const struct outlet *o, const char *default_ehlo, struct transport_settings *s)
{
    const struct profile *p = &o->profile;
    const char *ehlo = text_of(o, p->ehlo_name);

    memset(s, 0, sizeof(*s));
    s->kind = p->kind == PROFILE_CAPTURE ? "capture" : "smtp";
    s->host = text_of(o, p->host);
    s->port = p->port;
    s->tls = tls_of(p->tls);
    s->tls_verify = p->tls_verify;
    s->username = text_of(o, p->username);
    s->password = o->password;
    s->ehlo_name = ehlo != NULL ? ehlo : default_ehlo;
    s->max_sessions = p->max_sessions;
    s->idle_ms = 30000;
    s->capture_dir = text_of(o, p->capture_dir);
}
