/*
 * Rendering one mail: the context of a recipient, and the programs of a template version run on it.
 *
 * Root of the context, later rows over earlier ones: contact, vars, event, unsubscribeUrl,
 * senderAddress, broadcast, now, preheader, subject. The unsubscribe URL names the address mailed, so
 * an opt-out always hits the address the mail went to.
 */
#include "send/render.h"

#include <string.h>

#include "base/timefmt.h"
#include "message/links.h"
#include "message/tokens.h"

#define N_ROOT 9

struct link_ctx {
    const struct render_env *env;
    struct token_send send;
    unsigned n_inert;
};

void
render_parts_init(struct render_parts *p)
{
    memset(p, 0, sizeof(*p));
}

void
render_parts_deinit(struct render_parts *p)
{
    buf_deinit(&p->subject);
    buf_deinit(&p->preheader);
    buf_deinit(&p->html);
    buf_deinit(&p->text);
    buf_deinit(&p->unsubscribe_url);
}

/* ---- links ----------------------------------------------------------------------------------- */

static void
link_click(uint32_t ordinal, struct buf *out, void *arg)
{
    const struct link_ctx *l = arg;

    buf_append_slice(out, l->env->public_url);
    token_click_make(l->env->keys, &l->send, ordinal, out);
}

static void
link_click_dynamic(uint32_t ordinal, struct slice target, struct buf *out, void *arg)
{
    const struct link_ctx *l = arg;

    buf_append_slice(out, l->env->public_url);
    token_click_dynamic_make(l->env->keys, &l->send, ordinal, target, out);
}

static void
link_open(struct buf *out, void *arg)
{
    const struct link_ctx *l = arg;

    buf_append_slice(out, l->env->public_url);
    token_open_make(l->env->keys, &l->send, out);
}

static void
link_inert(uint32_t ordinal, void *arg)
{
    struct link_ctx *l = arg;

    (void)ordinal;
    l->n_inert++;
}

/* ---- context --------------------------------------------------------------------------------- */

static void
make_unsubscribe_url(
    const struct render_env *env, const struct render_recipient *to, struct buf *out)
{
    struct token_unsub t = {
        .send = {.broadcast = to->broadcast, .send = to->send},
        .scope = TOKEN_SCOPE_MARKETING,
        .expires_ms = env->now_ms + env->unsubscribe_lifetime_ms,
        .address_key = to->address_key,
    };

    buf_append_slice(out, env->public_url);
    buf_append_slice(out, SLICE_LIT("/m/unsub/"));
    token_unsub_make(env->keys, &t, out);
}

struct root {
    struct value values[N_ROOT];
    struct value_member members[N_ROOT];
    size_t n;
};

static struct value *
root_add(struct root *r, struct slice name, struct value v)
{
    r->values[r->n] = v;
    r->members[r->n] = (struct value_member){name, &r->values[r->n]};
    return &r->values[r->n++];
}

static struct value
broadcast_value(const struct content *c, struct arena *a)
{
    struct value *values = arena_array(a, 2, sizeof(*values));
    struct value_member *members = arena_array(a, 2, sizeof(*members));
    struct value v = {.type = VALUE_OBJECT};

    values[0] = value_str(c->slug);
    values[1] = value_str(c->name);
    members[0] = (struct value_member){SLICE_LIT("slug"), &values[0]};
    members[1] = (struct value_member){SLICE_LIT("name"), &values[1]};
    v.object.members = members;
    v.object.n = 2;
    return v;
}

static void
root_fill(struct root *r, const struct render_env *env, const struct content *c,
    const struct render_recipient *to, const struct render_parts *out, struct arena *scratch)
{
    char iso[TIMEFMT_ISO_SIZE];
    struct value contact;

    r->n = 0;
    contact_to_value(scratch, to->contact, &contact);
    root_add(r, SLICE_LIT("contact"), contact);
    root_add(r, SLICE_LIT("vars"), to->vars != NULL ? *to->vars : c->vars);
    root_add(r, SLICE_LIT("event"), (struct value){.type = VALUE_OBJECT});
    root_add(r, SLICE_LIT("unsubscribeUrl"), value_str(buf_slice(&out->unsubscribe_url)));
    root_add(r, SLICE_LIT("senderAddress"), value_str(env->sender_address));
    if (c->broadcast != 0)
        root_add(r, SLICE_LIT("broadcast"), broadcast_value(c, scratch));
    timefmt_iso(env->now_ms, iso);
    root_add(r, SLICE_LIT("now"), value_str(arena_dup(scratch, slice_str(iso))));
}

/* A header must stay one line: control characters become blanks, runs of blanks one. */
static void
flatten(struct buf *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++) {
        unsigned char c = (unsigned char)b->p[i];

        if (c < 0x20 || c == 0x7f)
            c = ' ';
        if (c == ' ' && (n == 0 || b->p[n - 1] == ' '))
            continue;
        b->p[n++] = (char)c;
    }
    while (n > 0 && b->p[n - 1] == ' ')
        n--;
    b->n = n;
}

int
render_mail(const struct render_env *env, const struct content *c,
    const struct render_recipient *to, struct arena *scratch, struct render_parts *out,
    struct err *err)
{
    struct link_ctx ctx = {.env = env, .send = {.broadcast = to->broadcast, .send = to->send}};
    struct template_links links = {
        .click = link_click,
        .click_dynamic = link_click_dynamic,
        .open = link_open,
        .inert = link_inert,
        .arg = &ctx,
    };
    bool is_tracked = to->send != 0 && env->public_url.n > 0;
    struct root root;
    struct value v = {.type = VALUE_OBJECT};

    buf_clear(&out->subject);
    buf_clear(&out->preheader);
    buf_clear(&out->html);
    buf_clear(&out->text);
    buf_clear(&out->unsubscribe_url);
    make_unsubscribe_url(env, to, &out->unsubscribe_url);
    root_fill(&root, env, c, to, out, scratch);
    v.object.members = root.members;
    v.object.n = root.n;
    if (template_render(c->subject, &v, NULL, NULL, scratch, &out->subject, err) != 0)
        return -1;
    flatten(&out->subject);
    root_add(&root, SLICE_LIT("subject"), value_str(buf_slice(&out->subject)));
    v.object.n = root.n;
    if (template_render(c->preheader, &v, NULL, NULL, scratch, &out->preheader, err) != 0)
        return -1;
    flatten(&out->preheader);
    root_add(&root, SLICE_LIT("preheader"), value_str(buf_slice(&out->preheader)));
    v.object.n = root.n;
    if (c->has_html && template_render(c->html, &v, is_tracked ? &links : NULL, NULL, scratch,
                           &out->html, err) != 0)
        return -1;
    if (template_render(c->text, &v, NULL, NULL, scratch, &out->text, err) != 0)
        return -1;
    out->n_inert = ctx.n_inert;
    return 0;
}
