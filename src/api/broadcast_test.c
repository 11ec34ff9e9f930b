#include "api/broadcast_routes.h"

#include <bson/bson.h>

#include "api/guard.h"
#include "api/oneoff_call.h"
#include "api/resource.h"
#include "base/bsonx.h"
#include "model/contact.h"
#include "model/profile.h"
#include "model/template_doc.h"

/*
 * A broadcast's mail to test contacts: one-off mails with the template and the variables it would have.
 * They have no broadcast id, so they count in no figure of it. Every contact is looked up and checked
 * before the first mail is made.
 */

#define CONTACTS_MAX 10

struct test_send {
    struct broadcast_call bc;
    struct broadcast_view v;
    struct template_doc t;
    struct profile profile;
    struct contact contacts[CONTACTS_MAX];
    size_t n;
    struct slice vars;
};

/* The broadcast's variables, with those of the call over them. */
static int
merge_vars(struct api_call *c, struct test_send *ts, struct err *err)
{
    bson_t given, stored, merged = BSON_INITIALIZER;
    struct slice bytes;
    bson_iter_t it;

    if (oneoff_vars(c, "vars", &bytes, err) != 0)
        return -1;
    if (bytes.n == 0 || ts->v.doc.vars.n == 0 || !bsonx_view(bytes, &given) ||
        !bsonx_view(ts->v.doc.vars, &stored)) {
        ts->vars = bytes.n > 0 ? bytes : ts->v.doc.vars;
        bson_destroy(&merged);
        return 0;
    }
    bson_concat(&merged, &given);
    for (bson_iter_init(&it, &stored); bson_iter_next(&it);)
        if (!bson_has_field(&given, bson_iter_key(&it)))
            bson_append_iter(&merged, NULL, 0, &it);
    ts->vars = arena_dup(c->arena, bsonx_bytes(&merged));
    bson_destroy(&merged);
    return 0;
}

/* Marketing or not: a test is a mail to a test contact. */
static int
find_template(struct api_call *c, struct test_send *ts, struct err *err)
{
    if (template_doc_get(c->env->store, ts->v.doc.template_slug, c->arena, &ts->t, err) != 0) {
        if (err->code == ERR_NOTFOUND)
            err_sub(err, ERR_CONFLICT, "template_not_found", "the template does not exist");
        return -1;
    }
    if (ts->t.version == 0)
        return err_sub(err, ERR_CONFLICT, "not_published", "the template is not published");
    if (ts->v.doc.profile.n > 0)
        ts->t.live.profile = ts->v.doc.profile;
    return oneoff_profile(c, &ts->t.live, &ts->profile, err);
}

static int
find_contacts(struct api_call *c, struct test_send *ts, struct err *err)
{
    const struct json *list = json_get(c->body, "contactIds");

    for (const struct json *e = json_first(list); e != NULL && ts->n < CONTACTS_MAX;
         e = json_next(e)) {
        if (api_contact_find(c, json_str(e), &ts->contacts[ts->n], err) != 0 ||
            api_guard_contact(c, &ts->contacts[ts->n], err) != 0)
            return -1;
        ts->n++;
    }
    return 0;
}

/* One contact's mail; what fails is said for this contact, the others go. */
static int
send_one(struct api_call *c, struct test_send *ts, const struct contact *contact, struct slice base,
    struct err *err)
{
    struct oneoff_request r = {
        .contact = contact,
        .profile = &ts->profile,
        .template_slug = ts->t.slug,
        .version = ts->t.version,
        .vars = ts->vars,
        .key = slice_str(arena_printf(
            c->arena, "oneoff:%.*s:%.*s", SLICE_FMT(base), SLICE_FMT(contact->external_id))),
        .origin = arena_printf(c->arena, "broadcast-test:%.*s", SLICE_FMT(ts->v.doc.slug)),
    };
    struct err why = {0};
    bool is_existing;
    uint64_t id;

    jw_obj(&c->w, NULL);
    jw_str(&c->w, "externalId", contact->external_id);
    if (oneoff_queue(c, &r, &id, &is_existing, &why) == 0) {
        jw_id(&c->w, "sendId", id);
        jw_bool(&c->w, "existing", is_existing);
        if (oneoff_write_send(c, "send", id, err) != 0)
            return -1;
    } else {
        jw_null(&c->w, "sendId");
        jw_cstr(&c->w, "error", why.sub[0] != '\0' ? why.sub : err_code_name(why.code));
    }
    jw_end_obj(&c->w);
    return 0;
}

int
broadcasts_test_send(struct api_call *c, struct err *err)
{
    struct test_send *ts = arena_zalloc(c->arena, sizeof(*ts));
    struct slice base;

    if (broadcast_find(c, &ts->bc, &ts->v, err) != 0 || find_template(c, ts, err) != 0 ||
        find_contacts(c, ts, err) != 0 || merge_vars(c, ts, err) != 0 ||
        api_audit(c, "agent.broadcast.test-send", BROADCASTS_COLL, ts->v.doc.slug, "", err) != 0)
        return -1;
    base = oneoff_key(c, arena_printf(c->arena, "broadcast-test:%.*s", SLICE_FMT(ts->v.doc.slug)));
    c->status = 201;
    jw_obj(&c->w, NULL);
    jw_obj(&c->w, "broadcast");
    jw_str(&c->w, "slug", ts->v.doc.slug);
    jw_cstr(&c->w, "status", run_state_name((int)ts->v.run.state));
    jw_end_obj(&c->w);
    jw_str(&c->w, "templateSlug", ts->t.slug);
    jw_arr(&c->w, "sends");
    for (size_t i = 0; i < ts->n; i++)
        if (send_one(c, ts, &ts->contacts[i], base, err) != 0)
            return -1;
    jw_end_arr(&c->w);
    jw_end_obj(&c->w);
    return 0;
}
