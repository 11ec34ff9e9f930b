#include "api/oneoff_call.h"

#include <bson/bson.h>

#include "api/send_view.h"
#include "base/bsonx.h"
#include "base/clock.h"
#include "base/id.h"
#include "model/contact.h"
#include "model/profile.h"
#include "model/template_content.h"
#include "send/oneoff.h"
#include "send/sender.h"
#include "store/store.h"

/*
 * What sends one mail at somebody's wish: a template, a broadcast's test, a profile's test. It is a row
 * like any other and takes the same pipeline: suppressions, tracking, retries.
 */

#define VARS_DEPTH 16

int
oneoff_profile(
    struct api_call *c, const struct template_content *t, struct profile *p, struct err *err)
{
    int rc = t->profile.n > 0 ? profile_get(c->env->store, t->profile, c->arena, p, err)
                              : profile_get_default(c->env->store, c->arena, p, err);

    if (rc != 0) {
        if (err->code == ERR_NOTFOUND)
            err->code = ERR_CONFLICT;
        return -1;
    }
    if (t->kind == MAIL_MARKETING && p->kind != PROFILE_CAPTURE && c->env->public_url[0] == '\0')
        return err_sub(err, ERR_CONFLICT, "public_url_required",
            "set publicUrl first: recipients must be able to unsubscribe");
    return 0;
}

int
oneoff_queue(struct api_call *c, const struct oneoff_request *r, uint64_t *id_r, bool *existing_r,
    struct err *err)
{
    struct oneoff o = {
        .contact = r->contact->id,
        .profile = r->profile->id,
        .address = r->contact->email,
        .address_hash = r->contact->email_hash,
        .template_slug = r->template_slug,
        .version = r->version,
        .vars = r->vars,
        .key = r->key,
        .origin = slice_str(r->origin),
        .now_ms = clock_now_ms(),
    };

    if (r->contact->email_hash == 0)
        return err_sub(err, ERR_CONFLICT, "no_address", "the contact has no address");
    if (oneoff_insert(c->env->store, &o, id_r, existing_r, err) != 0)
        return -1;
    if (c->env->sender != NULL)
        sender_oneoff_added(c->env->sender, r->profile->id);
    return 0;
}

struct slice
oneoff_key(struct api_call *c, const char *prefix)
{
    char id[ID_TEXT_SIZE];

    return slice_str(arena_printf(c->arena, "%s:%s", prefix,
        c->idempotency_key != NULL ? c->idempotency_key : id_text(id_next(), id)));
}

int
oneoff_vars(struct api_call *c, const char *name, struct slice *vars_r, struct err *err)
{
    const struct json *j = json_get(c->body, name);
    struct err why = {0};
    bson_t doc;

    *vars_r = SLICE_NONE;
    if (!json_is(j, JSON_OBJECT))
        return 0;
    if (bsonx_from_json(j, VARS_DEPTH, &doc, &why) != 0)
        return err_field(err, name, "%s: %s", name, why.text);
    *vars_r = arena_dup(c->arena, bsonx_bytes(&doc));
    bson_destroy(&doc);
    return 0;
}

int
oneoff_write_send(struct api_call *c, const char *name, uint64_t id, struct err *err)
{
    struct store_batch *b = store_batch_create(c->env->store, STORE_URGENT);
    unsigned op = sends_get(b, 0, &id, 1);
    int rc = store_run(b, err);

    if (rc == 0) {
        const struct sends_result *r = sends_result(b, op);

        rc = send_view_write_row(c, name, r->n_rows == 1 ? &r->rows[0] : NULL, err);
    }
    store_batch_free(&b);
    return rc;
}
