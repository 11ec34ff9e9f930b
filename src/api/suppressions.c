#include "api/resources.h"

#include "api/resource.h"
#include "base/clock.h"
#include "base/id.h"
#include "model/audit.h"
#include "model/contact.h"
#include "model/opt_out.h"
#include "model/suppression.h"
#include "store/store.h"

/*
 * Addresses that must not be mailed. Adding is durable when it is answered and holds for every mail
 * claimed afterwards. Removing a row is for the owner alone: it may undo a complaint.
 */

static int
read_address(struct api_call *c, struct suppression_address *out, struct err *err)
{
    struct buf key = BUF_INIT;
    int64_t hash;
    int rc = contact_address(c->env->keys, api_body_str(c, "email"), &key, &hash, err);

    if (rc == 0)
        suppression_address_of(c->env->keys, arena_dup(c->arena, buf_slice(&key)), out);
    buf_deinit(&key);
    return rc;
}

static int
write_rows(struct api_call *c, const char *name, int64_t hash, struct err *err)
{
    const struct suppression *rows;
    size_t n;

    if (suppression_list_address(c->env->store, hash, c->arena, &rows, &n, err) != 0)
        return -1;
    jw_arr(&c->w, name);
    for (size_t i = 0; i < n; i++)
        suppression_write_json(&c->w, NULL, &rows[i]);
    jw_end_arr(&c->w);
    return 0;
}

static int
list(struct api_call *c, struct err *err)
{
    unsigned limit = api_page_limit(c);
    const struct suppression *rows;
    uint64_t after;
    size_t n;

    if (api_page_after(c, &after, err) != 0 ||
        suppression_list(c->env->store, after, limit, c->arena, &rows, &n, err) != 0)
        return -1;
    api_page_begin(c);
    for (size_t i = 0; i < n; i++)
        suppression_write_json(&c->w, NULL, &rows[i]);
    api_page_end(c, n == limit ? rows[n - 1].id : 0);
    return 0;
}

static int
add(struct api_call *c, struct err *err)
{
    struct slice scope = api_body_str(c, "scope"), source = api_body_str(c, "source");
    struct slice reason = api_body_str(c, "reason");
    struct opt_out o = {
        .scope = scope.n > 0 ? scope : SLICE_LIT("all"),
        .reason = SUPPRESSION_MANUAL,
        .source = source.n > 0 ? source : SLICE_LIT("api"),
        .notes = api_body_str(c, "notes"),
        .actor = slice_str(c->actor.label),
        .now_ms = clock_now_ms(),
        .expires_at_ms = api_body_time(c, "expiresAt"),
    };
    struct store_batch *b;
    int rc;

    if (reason.n > 0)
        o.reason = (enum suppression_reason)suppression_reason_parse(reason);
    if (!suppression_scope_valid(o.scope))
        return err_field(
            err, "scope", "scope: must be all, marketing, transactional or category:<slug>");
    if (o.expires_at_ms != 0 && o.expires_at_ms <= o.now_ms)
        return err_field(err, "expiresAt", "expiresAt: must be in the future");
    if (read_address(c, &o.address, err) != 0)
        return -1;
    b = store_batch_create(c->env->store, STORE_URGENT);
    opt_out_ops(b, &o);
    rc = store_run(b, err);
    store_batch_free(&b);
    if (rc != 0)
        return -1;
    c->status = 201;
    jw_obj(&c->w, NULL);
    rc = write_rows(c, "suppressions", o.address.hash, err);
    jw_end_obj(&c->w);
    return rc;
}

static int
check(struct api_call *c, struct err *err)
{
    struct slice kind = api_body_str(c, "kind");
    struct suppression_query q = {
        .kind = kind.n > 0 ? (enum mail_kind)mail_kind_parse(kind) : MAIL_MARKETING,
        .category = api_body_str(c, "category"),
        .now_ms = clock_now_ms(),
    };
    struct suppression_address address;
    int8_t verdict;
    int rc;

    if (read_address(c, &address, err) != 0 ||
        suppression_lookup(c->env->store, &q, &address.hash, 1, &verdict, err) != 0)
        return -1;
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "suppressed", verdict >= 0);
    jw_cstr(&c->w, "reason",
        verdict >= 0 ? suppression_reason_name((enum suppression_reason)verdict) : NULL);
    rc = write_rows(c, "suppressions", address.hash, err);
    jw_end_obj(&c->w);
    return rc;
}

static int
remove_row(struct api_call *c, struct err *err)
{
    struct store_batch *b;
    char text[ID_TEXT_SIZE];
    unsigned op;
    uint64_t id;
    int rc;

    if (api_id_param(c, 0, &id, err) != 0)
        return -1;
    b = store_batch_create(c->env->store, STORE_URGENT);
    op = suppression_remove_op(b, id);
    store_require(b, op, ERR_NOTFOUND, "not_found");
    audit_add_op(b, &(struct audit_entry){
                        .actor = slice_str(c->actor.label),
                        .action = SLICE_LIT("suppression.remove"),
                        .resource = SLICE_LIT(SUPPRESSIONS_COLL),
                        .resource_id = slice_str(id_text(id, text)),
                        .request_id = slice_str(c->request_id),
                        .at_ms = clock_now_ms(),
                    });
    rc = store_run(b, err);
    store_batch_free(&b);
    if (rc != 0)
        return api_reword(err, "not_found", "there is no suppression with this id");
    jw_obj(&c->w, NULL);
    jw_bool(&c->w, "removed", true);
    jw_end_obj(&c->w);
    return 0;
}

/* ---- routes ---------------------------------------------------------------------------------- */

static const char *const reasons[] = {
    "unsubscribed", "hard_bounce", "complaint", "manual", "list_cleaning", NULL};
static const char *const kinds[] = {"marketing", "transactional", NULL};

static const struct api_field list_query[] = {
    API_PAGE_FIELDS,
    {.name = NULL},
};

static const struct api_field add_fields[] = {
    {.name = "email", .type = FIELD_EMAIL, .is_required = true},
    {.name = "scope",
        .type = FIELD_STRING,
        .min = 1,
        .max = 200,
        .help = "all unless given; marketing, transactional, category:<slug>"},
    {.name = "reason", .type = FIELD_STRING, .one_of = reasons, .help = "manual unless given"},
    {.name = "source", .type = FIELD_STRING, .min = 1, .max = 256},
    {.name = "notes", .type = FIELD_STRING, .max = 1000},
    {.name = "expiresAt", .type = FIELD_TIME, .is_nullable = true, .help = "never unless given"},
    {.name = NULL},
};

static const struct api_field check_fields[] = {
    {.name = "email", .type = FIELD_EMAIL, .is_required = true},
    {.name = "kind", .type = FIELD_STRING, .one_of = kinds, .help = "marketing unless given"},
    {.name = "category", .type = FIELD_STRING, .min = 1, .max = 128},
    {.name = NULL},
};

static const char *const remove_errors[] = {"not_found", NULL};
static const char *const page_errors[] = {"bad_cursor", NULL};

const struct api_route api_suppression_routes[] = {
    {
        .method = "GET",
        .path = "/agent/suppressions",
        .summary = "Suppressed addresses, by id",
        .scope = API_READ,
        .query = list_query,
        .handler = list,
        .errors = page_errors,
    },
    {
        .method = "POST",
        .path = "/agent/suppressions",
        .summary = "Suppress an address; holds for every mail claimed after the answer",
        .scope = API_CONTACTS,
        .body = add_fields,
        .handler = add,
    },
    {
        .method = "POST",
        .path = "/agent/suppressions/check",
        .summary = "May an address be mailed?",
        .scope = API_READ,
        .body = check_fields,
        .handler = check,
    },
    {
        .method = "DELETE",
        .path = "/agent/suppressions/:id",
        .summary = "Remove a suppression, whatever its reason",
        .scope = API_ADMIN,
        .flags = API_OWNER_ONLY,
        .handler = remove_row,
        .errors = remove_errors,
    },
    {.method = NULL},
};
