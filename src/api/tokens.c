#include "api/resources.h"

#include "api/auth.h"
#include "api/resource.h"
#include "base/clock.h"
#include "base/mem.h"
#include "model/token_doc.h"

/*
 * Tokens of agents and applications. The text is shown once, when it is made; afterwards only its hash
 * exists.
 */

static void
write_scopes(struct json_writer *w, uint32_t scopes)
{
    jw_arr(w, "scopes");
    for (unsigned bit = 0; bit < 32; bit++)
        if ((scopes & (1u << bit)) != 0 && api_scope_name(1u << bit) != NULL)
            jw_cstr(w, NULL, api_scope_name(1u << bit));
    jw_end_arr(w);
}

static int
create(struct api_call *c, struct err *err)
{
    const struct json *list = json_get(c->body, "scopes");
    struct slice actor = api_body_str(c, "actor");
    struct buf token = BUF_INIT;
    uint32_t scopes = 0;
    uint64_t id;
    int rc;

    for (const struct json *e = json_first(list); e != NULL; e = json_next(e)) {
        uint32_t bit = api_scope_parse(json_str(e));

        if (bit == 0)
            return err_field(err, "scopes",
                "scopes: must be of read, test, templates, broadcasts, contacts, admin");
        scopes |= bit;
    }
    rc = token_doc_create(
        c->env->store, actor, scopes, slice_str(c->actor.label), clock_now_ms(), &token, &id, err);
    if (rc == 0) {
        c->status = 201;
        jw_obj(&c->w, NULL);
        jw_id(&c->w, "id", id);
        jw_str(&c->w, "token", buf_slice(&token));
        jw_str(&c->w, "actor", actor);
        write_scopes(&c->w, scopes);
        jw_end_obj(&c->w);
    }
    mem_wipe(token.p, token.n);
    buf_deinit(&token);
    return rc;
}

static int
list(struct api_call *c, struct err *err)
{
    const struct token_doc *tokens;
    size_t n;

    if (token_doc_list(c->env->store, c->arena, &tokens, &n, err) != 0)
        return -1;
    api_page_begin(c);
    for (size_t i = 0; i < n; i++) {
        jw_obj(&c->w, NULL);
        jw_id(&c->w, "id", tokens[i].id);
        jw_str(&c->w, "actor", tokens[i].actor);
        write_scopes(&c->w, tokens[i].scopes);
        jw_str(&c->w, "createdBy", tokens[i].created_by);
        jw_time(&c->w, "createdAt", tokens[i].created_at_ms);
        jw_time(&c->w, "revokedAt", tokens[i].revoked_at_ms);
        jw_end_obj(&c->w);
    }
    api_page_end(c, 0);
    return 0;
}

static int
revoke(struct api_call *c, struct err *err)
{
    uint64_t id;

    if (api_id_param(c, 0, &id, err) != 0 ||
        token_doc_revoke(c->env->store, id, slice_str(c->actor.label), clock_now_ms(), err) != 0)
        return api_reword(err, "not_found", "no token in force has this id");
    api_tokens_changed(c->env);
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "revoked", true);
    jw_end_obj(&c->w);
    return 0;
}

static const struct api_field create_fields[] = {
    {.name = "actor",
        .type = FIELD_STRING,
        .is_required = true,
        .min = 1,
        .max = 128,
        .help = "label on every audit row, such as agent:deploy-bot"},
    {.name = "scopes",
        .type = FIELD_ARRAY,
        .is_required = true,
        .item_type = FIELD_STRING,
        .min = 1,
        .max = 6,
        .help = "read, test, templates, broadcasts, contacts, admin"},
    {.name = NULL},
};

static const char *const find_errors[] = {"not_found", NULL};

const struct api_route api_token_routes[] = {
    {
        .method = "GET",
        .path = "/admin/tokens",
        .summary = "Tokens, without their text",
        .scope = API_ADMIN,
        .flags = API_OWNER_ONLY,
        .handler = list,
    },
    {
        .method = "POST",
        .path = "/admin/tokens",
        .summary = "Make a token; its text is shown this one time",
        .scope = API_ADMIN,
        .flags = API_OWNER_ONLY,
        .body = create_fields,
        .handler = create,
    },
    {
        .method = "DELETE",
        .path = "/admin/tokens/:id",
        .summary = "Revoke a token; dead everywhere within seconds",
        .scope = API_ADMIN,
        .flags = API_OWNER_ONLY,
        .handler = revoke,
        .errors = find_errors,
    },
    {.method = NULL},
};
