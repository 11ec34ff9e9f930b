#include "api/resources.h"

#include "api/contacts.h"
#include "api/guard.h"
#include "api/resource.h"
#include "api/send_view.h"
#include "base/clock.h"
#include "crypto/crypto.h"
#include "model/contact.h"
#include "model/subscription.h"
#include "model/suppression.h"
#include "store/sends.h"
#include "store/store.h"

/*
 * Contacts: create, change, read, list, tag. The same handlers serve agents (/agent/contacts, where what
 * touches consent is guarded) and applications (/v1/contacts); the rows differ in scope and flags only.
 */

/* ---- shown ----------------------------------------------------------------------------------- */

static int
read_subscription(struct api_call *c, const struct contact *contact, struct subscription *s_r,
    bool *has_r, struct err *err)
{
    *has_r = true;
    if (subscription_get(c->env->store, contact->id, c->arena, s_r, err) == 0)
        return 0;
    if (err->code != ERR_NOTFOUND)
        return -1;
    err_clear(err);
    *has_r = false;
    return 0;
}

int
contacts_answer(struct api_call *c, const struct contact *contact, struct err *err)
{
    const struct suppression *rows = NULL;
    struct subscription subscription;
    size_t n = 0;
    bool has;

    if (read_subscription(c, contact, &subscription, &has, err) != 0)
        return -1;
    if (contact->email_hash != 0 &&
        suppression_list_address(c->env->store, contact->email_hash, c->arena, &rows, &n, err) != 0)
        return -1;
    jw_obj(&c->w, NULL);
    contact_write_json(&c->w, "contact", contact);
    if (c->env->n_test_contacts > 0)
        jw_bool(&c->w, "isTestContact", api_guard_is_test(c->env, contact));
    else
        jw_null(&c->w, "isTestContact");
    subscription_write_json(&c->w, "subscription", has ? &subscription : NULL);
    jw_arr(&c->w, "suppressions");
    for (size_t i = 0; i < n; i++)
        suppression_write_json(&c->w, NULL, &rows[i]);
    jw_end_arr(&c->w);
    jw_end_obj(&c->w);
    return 0;
}

int
contacts_get(struct api_call *c, struct err *err)
{
    struct contact contact;

    if (api_contact_find(c, c->params[0], &contact, err) != 0)
        return -1;
    return contacts_answer(c, &contact, err);
}

int
contacts_get_email(struct api_call *c, struct err *err)
{
    struct contact contact;

    if (contact_get_email(c->env->store, c->env->keys, c->params[0], c->arena, &contact, err) !=
        0) {
        if (err->code == ERR_NOTFOUND)
            err_sub(err, ERR_NOTFOUND, "contact_not_found", "no contact has this address");
        return -1;
    }
    return contacts_answer(c, &contact, err);
}

/* Address keys are lower case. */
static struct slice
lower(struct arena *a, struct slice s)
{
    char *copy = arena_cstr(a, s);

    for (char *p = copy; *p != '\0'; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    return slice_make(copy, s.n);
}

int
contacts_list(struct api_call *c, struct err *err)
{
    struct contact_list q = {
        .limit = api_page_limit(c),
        .email_prefix = lower(c->arena, api_query(c, "emailPrefix")),
        .external_prefix = api_query(c, "externalIdPrefix"),
        .tag = api_query(c, "tag"),
    };
    struct contact_page page;

    if (api_page_after(c, &q.after_id, err) != 0 ||
        contact_list(c->env->store, &q, c->arena, &page, err) != 0)
        return -1;
    api_page_begin(c);
    for (size_t i = 0; i < page.n; i++)
        contact_write_json(&c->w, NULL, &page.contacts[i]);
    api_page_end(c, page.has_more && page.n > 0 ? page.contacts[page.n - 1].id : 0);
    return 0;
}

/* ---- written --------------------------------------------------------------------------------- */

static const char id_taken[] = "another contact has this externalId";

/* A first consent only: whoever opted out before has to be asked, not created anew. */
static int
give_consent(struct api_call *c, const struct contact *contact, struct err *err)
{
    struct slice source = api_body_str(c, "source");
    struct subscription s;
    struct subscription_change change = {
        .contact = contact->id,
        .email_hash = contact->email_hash,
        .source = source.n > 0 ? source : SLICE_LIT("api"),
        .now_ms = clock_now_ms(),
    };

    return subscription_subscribe(c->env->store, &change, c->arena, &s, err);
}

int
contacts_create(struct api_call *c, struct err *err)
{
    struct contact_input in;
    struct contact contact;

    if (contact_input_from_json(c->body, c->arena, &in, err) != 0 ||
        contact_create(c->env->store, c->env->keys, &in, clock_now_ms(), c->arena, &contact, err) !=
            0)
        return api_reword(err, "contact_exists", id_taken);
    if (json_bool(json_get(c->body, "subscribe"), false) && give_consent(c, &contact, err) != 0)
        return -1;
    c->status = 201;
    return contacts_answer(c, &contact, err);
}

int
contacts_patch(struct api_call *c, struct err *err)
{
    struct contact_input in;
    struct contact old, contact;

    if (contact_input_from_json(c->body, c->arena, &in, err) != 0 ||
        api_contact_find(c, c->params[0], &old, err) != 0 ||
        contact_patch(
            c->env->store, c->env->keys, old.id, &in, clock_now_ms(), c->arena, &contact, err) != 0)
        return api_reword(err, "contact_exists", id_taken);
    return contacts_answer(c, &contact, err);
}

/* ---- tags ------------------------------------------------------------------------------------ */

static size_t
read_tags(struct api_call *c, const char *name, struct slice **tags_r)
{
    const struct json *list = json_get(c->body, name);
    size_t n = 0;

    *tags_r = arena_array(c->arena, json_count(list) + 1, sizeof(**tags_r));
    for (const struct json *e = json_first(list); e != NULL; e = json_next(e))
        (*tags_r)[n++] = json_str(e);
    return n;
}

static int
check_tags(struct api_call *c, const struct slice *add, size_t n_add, const struct slice *remove,
    size_t n_remove, struct err *err)
{
    if (n_add + n_remove == 0)
        return err_sub(err, ERR_INVALID, "no_tags", "name tags to add or to remove");
    for (size_t i = 0; i < n_add; i++)
        for (size_t k = 0; k < n_remove; k++)
            if (slice_eq(add[i], remove[k])) {
                jw_arr(api_details(c), "tags");
                jw_str(api_details(c), NULL, add[i]);
                jw_end_arr(api_details(c));
                return err_sub(
                    err, ERR_INVALID, "tag_conflict", "a tag is to be added and removed");
            }
    return 0;
}

int
contacts_tags(struct api_call *c, struct err *err)
{
    struct slice *add, *remove;
    size_t n_add = read_tags(c, "add", &add), n_remove = read_tags(c, "remove", &remove);
    struct contact contact;

    if (api_contact_find(c, c->params[0], &contact, err) != 0 ||
        api_guard_contact(c, &contact, err) != 0 ||
        check_tags(c, add, n_add, remove, n_remove, err) != 0 ||
        contact_change_tags(c->env->store, contact.id, add, n_add, remove, n_remove, clock_now_ms(),
            c->arena, &contact, err) != 0)
        return -1;
    return contacts_answer(c, &contact, err);
}

/* ---- mail they got ----------------------------------------------------------------------------- */

int
contacts_sends(struct api_call *c, struct err *err)
{
    struct sends_list q = {.state = -1, .fail_class = -1, .limit = api_page_limit(c)};
    struct contact contact;
    struct store_batch *b;
    unsigned op;
    int rc;

    if (api_contact_find(c, c->params[0], &contact, err) != 0 ||
        api_page_after(c, &q.after, err) != 0)
        return -1;
    q.contact = contact.id;
    b = store_batch_create(c->env->store, STORE_URGENT);
    op = sends_list(b, &q);
    if ((rc = store_run(b, err)) == 0) {
        const struct sends_result *r = sends_result(b, op);

        api_page_begin(c);
        rc = send_view_write_rows(c, NULL, r->rows, r->n_rows, err);
        api_page_end(c, r->next);
    }
    store_batch_free(&b);
    return rc;
}
