#include "api/templates.h"

#include "api/guard.h"
#include "api/oneoff_call.h"
#include "api/resource.h"
#include "base/clock.h"
#include "message/value.h"
#include "model/contact.h"
#include "model/profile.h"
#include "model/template_doc.h"
#include "send/content.h"
#include "send/render.h"

/*
 * Trying a published template: rendered for a real or an imagined contact, or really sent to a test
 * contact. A preview is not tracked; its unsubscribe address is a genuine one.
 */

#define URL_LIFETIME_MS (INT64_C(90) * 24 * 3600 * 1000)

static int
find_published(struct api_call *c, struct template_doc *t, struct err *err)
{
    if (template_find(c, t, err) != 0)
        return -1;
    if (t->version > 0)
        return 0;
    return err_sub(err, ERR_CONFLICT, "not_published", "the template has no published version");
}

/* ---- render ---------------------------------------------------------------------------------- */

/* {email, externalId?, tags?, fields?, timezone?, locale?}: a contact that is stored nowhere. */
static int
imagine_contact(
    struct api_call *c, const struct json *sample, struct contact *contact, struct err *err)
{
    struct buf key = BUF_INIT;
    struct contact_input in;
    int rc;

    if (contact_input_from_json(sample, c->arena, &in, err) != 0 ||
        contact_input_check(&in, err) != 0)
        return -1;
    *contact = (struct contact){
        .external_id = in.external_id.n > 0 ? in.external_id : SLICE_LIT("sample-contact"),
        .email = slice_trim(in.email),
        .tags = in.tags,
        .n_tags = in.n_tags,
        .fields = in.fields,
        .timezone = in.timezone,
        .locale = in.locale,
        .created_at_ms = clock_now_ms(),
        .updated_at_ms = clock_now_ms(),
    };
    rc = contact_address(c->env->keys, in.email, &key, &contact->email_hash, err);
    contact->email_key = arena_dup(c->arena, buf_slice(&key));
    buf_deinit(&key);
    return rc;
}

static int
choose_contact(struct api_call *c, struct contact *contact, struct err *err)
{
    struct slice id = api_body_str(c, "contactId");
    const struct json *sample = json_get(c->body, "sampleContact");

    if (id.n > 0)
        return api_contact_find(c, id, contact, err);
    if (sample != NULL)
        return imagine_contact(c, sample, contact, err);
    return err_field(err, "contactId", "contactId: name a contact, or give a sampleContact");
}

static void
write_parts(struct api_call *c, const struct template_doc *t, const struct contact *contact,
    const struct render_parts *p)
{
    struct json_writer *w = &c->w;

    jw_obj(w, NULL);
    jw_obj(w, "template");
    jw_str(w, "slug", t->slug);
    jw_cstr(w, "kind", mail_kind_name(t->live.kind));
    jw_int(w, "version", t->version);
    jw_end_obj(w);
    jw_obj(w, "contact");
    jw_str(w, "externalId", contact->external_id);
    jw_str(w, "email", contact->email);
    jw_end_obj(w);
    jw_str(w, "subject", buf_slice(&p->subject));
    jw_str(w, "preheader", buf_slice(&p->preheader));
    jw_str(w, "fromName", t->live.from_name);
    jw_str(w, "fromEmail", t->live.from_email);
    if (t->live.reply_to.n > 0)
        jw_str(w, "replyTo", t->live.reply_to);
    else
        jw_null(w, "replyTo");
    jw_str(w, "html", buf_slice(&p->html));
    jw_str(w, "plainText", buf_slice(&p->text));
    jw_str(w, "unsubscribeUrl", buf_slice(&p->unsubscribe_url));
    jw_int(w, "inertLinks", p->n_inert);
    jw_end_obj(w);
}

int
template_render_preview(struct api_call *c, struct err *err)
{
    struct render_env env = {
        .keys = c->env->keys,
        .public_url = slice_str(c->env->public_url),
        .sender_address = slice_str(c->env->sender_address),
        .unsubscribe_lifetime_ms = URL_LIFETIME_MS,
        .now_ms = clock_now_ms(),
    };
    const struct json *given = json_get(c->body, "vars");
    struct value vars = {.type = VALUE_OBJECT};
    struct render_parts parts;
    struct content *content;
    struct template_doc t;
    struct contact contact;
    int rc;

    if (find_published(c, &t, err) != 0 || choose_contact(c, &contact, err) != 0 ||
        content_load_template(c->env->store, t.slug, t.version, &content, err) != 0)
        return -1;
    if (json_is(given, JSON_OBJECT))
        value_from_json(c->arena, given, &vars);
    render_parts_init(&parts);
    rc = render_mail(&env, content,
        &(struct render_recipient){
            .address_key = contact.email_key,
            .contact = &contact,
            .vars = &vars,
        },
        c->arena, &parts, err);
    if (rc == 0)
        write_parts(c, &t, &contact, &parts);
    render_parts_deinit(&parts);
    content_unref(&content);
    return rc;
}

/* ---- send ------------------------------------------------------------------------------------ */

int
template_send(struct api_call *c, struct err *err)
{
    struct slice key = api_body_str(c, "dedupeKey");
    struct oneoff_request r = {.origin = "template-send"};
    struct template_doc t;
    struct contact contact;
    struct profile profile;
    bool is_existing;
    uint64_t id;

    if (template_find(c, &t, err) != 0 ||
        api_contact_find(c, api_body_str(c, "contactId"), &contact, err) != 0 ||
        api_guard_contact(c, &contact, err) != 0 || find_published(c, &t, err) != 0 ||
        oneoff_profile(c, &t.live, &profile, err) != 0 || oneoff_vars(c, "vars", &r.vars, err) != 0)
        return -1;
    if (key.n == 0)
        key = oneoff_key(c, "agent");
    r.contact = &contact;
    r.profile = &profile;
    r.template_slug = t.slug;
    r.version = t.version;
    r.key = slice_str(arena_printf(c->arena, "oneoff:%.*s", SLICE_FMT(key)));
    if (oneoff_queue(c, &r, &id, &is_existing, err) != 0)
        return -1;
    if (!is_existing && api_audit(c, "agent.send", TEMPLATES_COLL, t.slug, "", err) != 0)
        return -1;
    c->status = is_existing ? 200 : 201;
    jw_obj(&c->w, NULL);
    jw_id(&c->w, "sendId", id);
    jw_str(&c->w, "dedupeKey", key);
    jw_bool(&c->w, "existing", is_existing);
    if (oneoff_write_send(c, "send", id, err) != 0)
        return -1;
    jw_end_obj(&c->w);
    return 0;
}
