#include "api/profiles.h"

#include "api/guard.h"
#include "api/oneoff_call.h"
#include "api/resource.h"
#include "base/bsonx.h"
#include "base/clock.h"
#include "model/contact.h"
#include "model/profile.h"
#include "model/template_doc.h"

/*
 * Does a profile really send? One mail to a test contact through it, by the same pipeline as every other
 * mail; whoever asked then waits for that mail. The mail comes from a template of its own that is
 * published the first time it is needed, so its text can be changed like any other.
 */

#define TEST_TEMPLATE "profile-test"

static const char test_html[] =
    "<!doctype html><html><body><p>Hello {{contact.email}},</p>"
    "<p>this mail shows that the sending profile <b>{{vars.profile}}</b> works. It was asked for "
    "by {{vars.actor}} at {{now}}.</p></body></html>";

static int
publish_template(
    struct api_call *c, const struct profile *p, struct template_doc *t, struct err *err)
{
    struct template_content content = {
        .kind = MAIL_TRANSACTIONAL,
        .subject = SLICE_LIT("Test of the sending profile {{vars.profile}}"),
        .html = slice_str(test_html),
        .from_name = p->from_name,
        .from_email = p->from_email,
    };
    struct template_put put = {
        .slug = SLICE_LIT(TEST_TEMPLATE),
        .name = SLICE_LIT("Test of a sending profile"),
        .description = SLICE_LIT("What POST /agent/profiles/:slug/test sends"),
        .content = &content,
        .actor = slice_str(c->actor.label),
        .now_ms = clock_now_ms(),
    };
    bool is_created;

    return template_doc_publish(c->env->store, &put, c->arena, t, &is_created, err);
}

static int
find_template(struct api_call *c, const struct profile *p, struct template_doc *t, struct err *err)
{
    int rc = template_doc_get(c->env->store, SLICE_LIT(TEST_TEMPLATE), c->arena, t, err);

    if (rc == 0 && t->version > 0)
        return 0;
    if (rc != 0 && err->code != ERR_NOTFOUND)
        return -1;
    err_clear(err);
    return publish_template(c, p, t, err);
}

static struct slice
make_vars(struct api_call *c, const struct profile *p)
{
    bson_t vars = BSON_INITIALIZER;
    struct slice bytes;

    bsonx_add_str(&vars, "profile", p->name);
    bsonx_add_str(&vars, "actor", slice_str(c->actor.label));
    bytes = arena_dup(c->arena, bsonx_bytes(&vars));
    bson_destroy(&vars);
    return bytes;
}

int
profile_test(struct api_call *c, struct err *err)
{
    struct oneoff_request r = {.origin = "profile-test"};
    struct profile p;
    struct contact contact;
    struct template_doc t;
    bool is_existing;
    uint64_t id;

    if (profile_get(c->env->store, c->params[0], c->arena, &p, err) != 0 ||
        api_contact_find(c, api_body_str(c, "contactId"), &contact, err) != 0 ||
        api_guard_contact(c, &contact, err) != 0 || find_template(c, &p, &t, err) != 0)
        return -1;
    r.contact = &contact;
    r.profile = &p;
    r.template_slug = t.slug;
    r.version = t.version;
    r.vars = make_vars(c, &p);
    r.key = oneoff_key(c, "profile-test");
    if (oneoff_queue(c, &r, &id, &is_existing, err) != 0 ||
        api_audit(c, "profile.test", PROFILES_COLL, p.slug, "", err) != 0)
        return -1;
    c->status = is_existing ? 200 : 201;
    jw_obj(&c->w, NULL);
    jw_id(&c->w, "sendId", id);
    if (oneoff_write_send(c, "send", id, err) != 0)
        return -1;
    jw_end_obj(&c->w);
    return 0;
}
