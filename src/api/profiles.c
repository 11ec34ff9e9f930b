#include "api/resources.h"

#include "api/live.h"
#include "api/profiles.h"
#include "api/resource.h"
#include "base/clock.h"
#include "model/audit.h"
#include "model/profile.h"
#include "send/sender.h"
#include "store/store.h"

/*
 * Sending profiles. Secrets go in and never come out: an answer says that there is a password and which
 * DKIM selectors have keys.
 */

static int
find(struct api_call *c, struct profile *p_r, struct err *err)
{
    return profile_get(c->env->store, c->params[0], c->arena, p_r, err);
}

static int
put(struct api_call *c, struct err *err)
{
    struct slice kind = api_body_str(c, "kind");
    struct profile_input in;
    struct profile p;
    bool is_created;

    profile_input_init(&in, slice_eq_str(kind, "capture") ? PROFILE_CAPTURE : PROFILE_SMTP);
    if (profile_input_from_json(c->body, &in, err) != 0)
        return -1;
    in.p.slug = c->params[0];
    if (profile_input_check(&in, err) != 0 ||
        profile_put(c->env->store, c->env->keys, &in, slice_str(c->actor.label), clock_now_ms(),
            c->arena, &p, &is_created, err) != 0)
        return -1;
    if (c->env->sender != NULL)
        sender_profile_changed(c->env->sender, p.id);
    c->status = is_created ? 201 : 200;
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "created", is_created);
    profile_write_json(&c->w, "profile", &p);
    jw_end_obj(&c->w);
    return 0;
}

static int
get(struct api_call *c, struct err *err)
{
    struct live_broadcast live;
    struct profile p;

    if (find(c, &p, err) != 0)
        return -1;
    live_read(c->env, 0, p.id, &live);
    jw_obj(&c->w, NULL);
    profile_write_json(&c->w, "profile", &p);
    live_write_sender(&c->w, "sender", &live);
    jw_end_obj(&c->w);
    return 0;
}

static int
list(struct api_call *c, struct err *err)
{
    const struct profile *profiles;
    size_t n;

    if (profile_list(c->env->store, c->arena, &profiles, &n, err) != 0)
        return -1;
    api_page_begin(c);
    for (size_t i = 0; i < n; i++)
        profile_write_json(&c->w, NULL, &profiles[i]);
    api_page_end(c, 0);
    return 0;
}

static int
set_state(struct api_call *c, enum profile_state state, struct slice reason, bool *changed_r,
    struct err *err)
{
    struct store_batch *b;
    struct profile p;
    unsigned op;
    int rc;

    if (find(c, &p, err) != 0)
        return -1;
    b = store_batch_create(c->env->store, STORE_URGENT);
    op = profile_set_state_op(b, p.id, state, reason, clock_now_ms());
    audit_add_op(b, &(struct audit_entry){
                        .actor = slice_str(c->actor.label),
                        .action = state == PROFILE_PAUSED ? SLICE_LIT("profile.pause")
                                                          : SLICE_LIT("profile.resume"),
                        .resource = SLICE_LIT(PROFILES_COLL),
                        .resource_id = p.slug,
                        .summary = reason,
                        .request_id = slice_str(c->request_id),
                        .at_ms = clock_now_ms(),
                    });
    rc = store_run(b, err);
    *changed_r = rc == 0 && store_batch_result(b, op)->changed > 0;
    store_batch_free(&b);
    if (rc == 0 && c->env->sender != NULL)
        sender_profile_changed(c->env->sender, p.id);
    return rc;
}

static int
answer_state(struct api_call *c, bool is_changed, struct err *err)
{
    struct profile p;

    if (find(c, &p, err) != 0)
        return -1;
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "changed", is_changed);
    profile_write_json(&c->w, "profile", &p);
    jw_end_obj(&c->w);
    return 0;
}

static int
pause_profile(struct api_call *c, struct err *err)
{
    struct slice reason = api_body_str(c, "reason");
    bool is_changed;

    if (reason.n == 0)
        reason = slice_str(arena_printf(c->arena, "paused by %s", c->actor.label));
    if (set_state(c, PROFILE_PAUSED, reason, &is_changed, err) != 0)
        return -1;
    return answer_state(c, is_changed, err);
}

static int
resume_profile(struct api_call *c, struct err *err)
{
    bool is_changed;

    if (set_state(c, PROFILE_ACTIVE, SLICE_NONE, &is_changed, err) != 0)
        return -1;
    return answer_state(c, is_changed, err);
}

/* ---- routes ---------------------------------------------------------------------------------- */

static const char *const kinds[] = {"smtp", "capture", NULL};
static const char *const tls_modes[] = {"none", "starttls", "implicit", NULL};
static const char *const doubts[] = {"leave", "repeat", NULL};

static const struct api_field dkim_fields[] = {
    {.name = "domain", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 253},
    {.name = "selector", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 63},
    {.name = "privateKey",
        .type = FIELD_STRING,
        .max = 16384,
        .help = "PEM; the stored key of this selector stays when it is left out"},
    {.name = NULL},
};

static const struct api_field profile_fields[] = {
    {.name = "name", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 200},
    {.name = "kind", .type = FIELD_STRING, .one_of = kinds, .help = "smtp unless given"},
    {.name = "fromName", .type = FIELD_STRING, .max = 200},
    {.name = "fromEmail", .type = FIELD_EMAIL, .is_required = true},
    {.name = "host",
        .type = FIELD_STRING,
        .max = 253,
        .help = "smtp: name or address of the relay"},
    {.name = "port", .type = FIELD_INT, .min = 1, .max = 65535, .help = "587 unless given"},
    {.name = "tls", .type = FIELD_STRING, .one_of = tls_modes, .help = "starttls unless given"},
    {.name = "tlsVerify", .type = FIELD_BOOL},
    {.name = "username", .type = FIELD_STRING, .max = 256, .is_nullable = true},
    {.name = "password",
        .type = FIELD_STRING,
        .max = 1024,
        .help = "kept when it is left out, unless the host changes"},
    {.name = "ehloName", .type = FIELD_STRING, .max = 253, .is_nullable = true},
    {.name = "bounceDomain",
        .type = FIELD_STRING,
        .max = 253,
        .is_nullable = true,
        .help = "of the return path; else the domain of fromEmail"},
    {.name = "pacePerSecond",
        .type = FIELD_INT,
        .max = 1000000,
        .help = "10 for smtp, unlimited for capture unless given"},
    {.name = "maxSessions", .type = FIELD_INT, .min = 1, .max = 1000},
    {.name = "captureDir", .type = FIELD_STRING, .max = 1024, .help = "capture: folder for files"},
    {.name = "isDefault", .type = FIELD_BOOL},
    {.name = "inDoubtBulk", .type = FIELD_STRING, .one_of = doubts, .help = "leave unless given"},
    {.name = "inDoubtImmediate",
        .type = FIELD_STRING,
        .one_of = doubts,
        .help = "repeat unless given"},
    {.name = "dkim", .type = FIELD_ARRAY, .max = PROFILE_MAX_DKIM, .items = dkim_fields},
    {.name = NULL},
};

static const struct api_field pause_fields[] = {
    {.name = "reason", .type = FIELD_STRING, .max = 200},
    {.name = NULL},
};

static const struct api_field test_fields[] = {
    {.name = "contactId",
        .type = FIELD_STRING,
        .is_required = true,
        .min = 1,
        .max = 256,
        .help = "externalId of a test contact"},
    {.name = NULL},
};

static const char *const test_errors[] = {"profile_unknown", "contact_not_found",
    "test_contacts_not_configured", "not_a_test_contact", "no_address", NULL};
static const char *const unknown_errors[] = {"profile_unknown", NULL};

const struct api_route api_profile_routes[] = {
    {
        .method = "GET",
        .path = "/agent/profiles",
        .summary = "Sending profiles",
        .scope = API_ADMIN,
        .handler = list,
    },
    {
        .method = "PUT",
        .path = "/agent/profiles/:slug",
        .summary = "Create or replace a sending profile; the first one is the default",
        .scope = API_ADMIN,
        .body = profile_fields,
        .handler = put,
    },
    {
        .method = "GET",
        .path = "/agent/profiles/:slug",
        .summary = "A profile and how its sender fares",
        .scope = API_ADMIN,
        .handler = get,
        .errors = unknown_errors,
    },
    {
        .method = "POST",
        .path = "/agent/profiles/:slug/pause",
        .summary = "Hold all mail of a profile",
        .scope = API_ADMIN,
        .body = pause_fields,
        .handler = pause_profile,
        .errors = unknown_errors,
    },
    {
        .method = "POST",
        .path = "/agent/profiles/:slug/resume",
        .summary = "Let mail of a profile go again; broadcasts that paused with it wait for their "
                   "own resume",
        .scope = API_ADMIN,
        .handler = resume_profile,
        .errors = unknown_errors,
    },
    {
        .method = "POST",
        .path = "/agent/profiles/:slug/test",
        .summary = "Send a test mail through a profile to a test contact; wait for it by its id",
        .scope = API_ADMIN,
        .flags = API_TEST_CONTACTS | API_CREATES_MAIL,
        .body = test_fields,
        .handler = profile_test,
        .errors = test_errors,
    },
    {.method = NULL},
};
