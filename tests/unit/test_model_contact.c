/* Contacts: what is taken, what is refused, how they are found, changed and listed. */
#include <string.h>

#include "base/bsonx.h"
#include "crypto/crypto.h"
#include "model/subscription.h"
#include "support/model_world.h"
#include "support/suite.h"

static struct model_world w;

static bool
is(struct slice s, const char *text)
{
    return slice_eq_str(s, text);
}

START_TEST(creates_and_finds)
{
    struct contact c, got;

    model_world_open(&w);
    c = model_world_contact(&w,
        "{'externalId':'u1','email':' Ana@Example.org ','tags':['vip','beta','vip'],"
        "'fields':{'name':'Ana','age':7,'gone':null},'timezone':'Europe/Berlin','locale':'de-AT'}");
    ck_assert(is(c.external_id, "u1"));
    ck_assert(is(c.email, "Ana@Example.org"));
    ck_assert(is(c.email_key, "ana@example.org"));
    ck_assert_uint_eq(c.n_tags, 2);
    ck_assert_int_eq(c.created_at_ms, MODEL_NOW);
    ck_assert(c.email_hash == crypto_address_hash(w.keys, SLICE_LIT("ana@example.org")));

    ck_assert_int_eq(contact_get(w.st, c.id, w.a, &got, &w.err), 0);
    ck_assert(is(got.email, "Ana@Example.org") && is(got.locale, "de-AT"));
    ck_assert_int_eq(contact_get_external(w.st, SLICE_LIT("u1"), w.a, &got, &w.err), 0);
    ck_assert_uint_eq(got.id, c.id);
    ck_assert_int_eq(
        contact_get_email(w.st, w.keys, SLICE_LIT("ANA@EXAMPLE.ORG"), w.a, &got, &w.err), 0);
    ck_assert_uint_eq(got.id, c.id);
    ck_assert_int_eq(contact_get_external(w.st, SLICE_LIT("u2"), w.a, &got, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "contact_not_found");
    ck_assert_int_eq(w.err.code, ERR_NOTFOUND);
    model_world_close(&w);
}
END_TEST

START_TEST(shows_itself)
{
    struct contact c;
    struct value v;
    struct buf out = BUF_INIT;
    struct json_writer jw;
    struct json *j;

    model_world_open(&w);
    c = model_world_contact(&w, "{'externalId':'u1','email':'a@example.org','tags':['x'],"
                                "'fields':{'name':'Zoe','list':[1,2]}}");
    jw_init(&jw, &out);
    contact_write_json(&jw, NULL, &c);
    j = json_parse(buf_slice(&out), 0, 0, &w.err);
    ck_assert_ptr_nonnull(j);
    ck_assert(is(json_str(json_get(j, "email")), "a@example.org"));
    ck_assert(is(json_str(json_get(json_get(j, "fields"), "name")), "Zoe"));
    ck_assert(json_is(json_get(j, "timezone"), JSON_NULL));
    json_free(&j);
    buf_deinit(&out);

    contact_to_value(w.a, &c, &v);
    ck_assert(is(value_get(&v, SLICE_LIT("email"))->s, "a@example.org"));
    ck_assert(is(value_get(value_get(&v, SLICE_LIT("fields")), SLICE_LIT("name"))->s, "Zoe"));
    ck_assert_uint_eq(value_get(&v, SLICE_LIT("tags"))->array.n, 1);
    ck_assert_int_eq(value_get(&v, SLICE_LIT("locale"))->type, VALUE_UNDEFINED);
    model_world_close(&w);
}
END_TEST

/* Line breaks and other control characters never get in, so they can never get out into a header. */
START_TEST(refuses_bad_input)
{
    static const struct {
        const char *json, *field;
    } cases[] = {
        {"{'email':'ana@example.org','fields':{'name':'Ana\\r\\nBcc: eve@example.com'}}", "fields"},
        {"{'email':'ana@example.org','fields':{'a':{'b':['x\\u0007']}}}", "fields"},
        {"{'email':'ana@example.org','fields':{'a\\u0001':1}}", "fields"},
        {"{'email':'ana@example.org','fields':{'$ne':1}}", "fields"},
        {"{'email':'ana@example.org','fields':{'a.b':1}}", "fields"},
        {"{'email':'ana@example.org','fields':[]}", "fields"},
        {"{'email':'ana@example.org\\r\\nBcc: x@example.com'}", "email"},
        {"{'email':'not-an-address'}", "email"},
        {"{'email':''}", "email"},
        {"{'externalId':'x'}", "email"},
        {"{'email':7}", "email"},
        {"{'email':'a@example.org','externalId':''}", "externalId"},
        {"{'email':'a@example.org','externalId':'a\\nb'}", "externalId"},
        {"{'email':'a@example.org','tags':['']}", "tags"},
        {"{'email':'a@example.org','tags':'x'}", "tags"},
        {"{'email':'a@example.org','tags':[1]}", "tags"},
        {"{'email':'a@example.org','tags':['a\\tb']}", "tags"},
        {"{'email':'a@example.org','timezone':'Europe/Atlantis'}", "timezone"},
        {"{'email':'a@example.org','timezone':'../../etc/passwd'}", "timezone"},
        {"{'email':'a@example.org','locale':'d'}", "locale"},
        {"{'email':'a@example.org','locale':'de_AT'}", "locale"},
        {"{'email':'a@example.org','locale':'de-'}", "locale"},
    };

    model_world_open(&w);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json *j = model_world_json(&w, cases[i].json);
        struct contact_input in;
        struct contact c;
        int rc = contact_input_from_json(j, w.a, &in, &w.err);

        if (rc == 0)
            rc = contact_create(w.st, w.keys, &in, MODEL_NOW, w.a, &c, &w.err);
        ck_assert_msg(rc == -1, "accepted: %s", cases[i].json);
        ck_assert_int_eq(w.err.code, ERR_INVALID);
        ck_assert_str_eq(w.err.field, cases[i].field);
        ck_assert_ptr_null(strstr(w.err.text, "example"));
        json_free(&j);
    }
    model_world_close(&w);
}
END_TEST

START_TEST(bounds_tags_and_fields)
{
    struct slice tags[CONTACT_MAX_TAGS + 1];
    struct contact_input in = {
        .set = CONTACT_SET_EMAIL | CONTACT_SET_TAGS, .email = SLICE_LIT("a@example.org")};
    bson_t big;
    char *text = malloc(CONTACT_MAX_FIELDS_BYTES);

    model_world_open(&w);
    for (size_t i = 0; i <= CONTACT_MAX_TAGS; i++)
        tags[i] = slice_str(arena_printf(w.a, "tag%zu", i));
    in.tags = tags;
    in.n_tags = CONTACT_MAX_TAGS;
    ck_assert_int_eq(contact_input_check(&in, &w.err), 0);
    in.n_tags++;
    ck_assert_int_eq(contact_input_check(&in, &w.err), -1);

    memset(text, 'x', CONTACT_MAX_FIELDS_BYTES);
    bson_init(&big);
    bsonx_add_str(&big, "a", slice_make(text, CONTACT_MAX_FIELDS_BYTES));
    in = (struct contact_input){.set = CONTACT_SET_FIELDS, .fields = bsonx_bytes(&big)};
    ck_assert_int_eq(contact_input_check(&in, &w.err), -1);
    ck_assert_str_eq(w.err.field, "fields");
    bson_destroy(&big);
    free(text);
    model_world_close(&w);
}
END_TEST

/* The A-label spelling of a domain names the same contact. */
START_TEST(knows_both_spellings_of_a_domain)
{
    struct contact c, got;

    model_world_open(&w);
    c = model_world_contact(&w, "{'email':'info@b\xc3\xbc"
                                "cher.example.org'}");
    ck_assert(is(c.email, "info@b\xc3\xbc"
                          "cher.example.org"));
    ck_assert_int_eq(contact_get_email(w.st, w.keys, SLICE_LIT("info@xn--bcher-kva.example.org"),
                         w.a, &got, &w.err),
        0);
    ck_assert_uint_eq(got.id, c.id);
    model_world_close(&w);
}
END_TEST

START_TEST(external_ids_are_unique)
{
    struct contact_input in = {.set = CONTACT_SET_EMAIL | CONTACT_SET_EXTERNAL_ID,
        .email = SLICE_LIT("b@example.org"),
        .external_id = SLICE_LIT("u1")};
    struct contact c, first;

    model_world_open(&w);
    first = model_world_contact(&w, "{'externalId':'u1','email':'a@example.org'}");
    ck_assert_int_eq(contact_create(w.st, w.keys, &in, MODEL_NOW, w.a, &c, &w.err), -1);
    ck_assert_int_eq(w.err.code, ERR_CONFLICT);
    ck_assert_str_eq(w.err.sub, "contact_exists");
    /* Without one the id stands in, and an address may be shared. */
    in.set = CONTACT_SET_EMAIL;
    in.email = SLICE_LIT("a@example.org");
    ck_assert_int_eq(contact_create(w.st, w.keys, &in, MODEL_NOW, w.a, &c, &w.err), 0);
    ck_assert_uint_eq(c.external_id.n, 13);
    /* Taking another one's id by patch is refused, too. */
    in = (struct contact_input){.set = CONTACT_SET_EXTERNAL_ID, .external_id = SLICE_LIT("u1")};
    ck_assert_int_eq(contact_patch(w.st, w.keys, c.id, &in, MODEL_NOW, w.a, &c, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "contact_exists");
    ck_assert_int_eq(
        contact_get_email(w.st, w.keys, SLICE_LIT("a@example.org"), w.a, &c, &w.err), 0);
    ck_assert_uint_eq(c.id, first.id);
    model_world_close(&w);
}
END_TEST

static struct contact
patch(const struct contact *c, const char *json, int rc)
{
    struct json *j = model_world_json(&w, json);
    struct contact_input in;
    struct contact got;

    ck_assert_int_eq(contact_input_from_json(j, w.a, &in, &w.err), 0);
    ck_assert_int_eq(contact_patch(w.st, w.keys, c->id, &in, MODEL_NOW + 5, w.a, &got, &w.err), rc);
    json_free(&j);
    return rc == 0 ? got : *c;
}

static struct slice
field(const struct contact *c, const char *name)
{
    bson_t view;

    ck_assert(bsonx_view(c->fields, &view));
    return bsonx_str(&view, name);
}

START_TEST(patches_members)
{
    struct contact c, got;
    struct subscription s;

    model_world_open(&w);
    c = model_world_contact(&w, "{'externalId':'u1','email':'a@example.org',"
                                "'fields':{'name':'Ana','city':'Graz'},'timezone':'UTC'}");
    model_world_subscribe(&w, &c);
    got = patch(&c, "{'fields':{'city':null,'plan':'pro'},'timezone':null}", 0);
    ck_assert(is(field(&got, "name"), "Ana"));
    ck_assert(is(field(&got, "plan"), "pro"));
    ck_assert_ptr_null(field(&got, "city").p);
    ck_assert_uint_eq(got.timezone.n, 0);
    ck_assert_int_eq(got.updated_at_ms, MODEL_NOW + 5);
    ck_assert_int_eq(got.created_at_ms, MODEL_NOW);

    /* The consent follows the contact to its new address. */
    got = patch(&c, "{'email':'new@example.org','tags':['t']}", 0);
    ck_assert(is(got.email_key, "new@example.org"));
    ck_assert_int_eq(subscription_get(w.st, c.id, w.a, &s, &w.err), 0);
    ck_assert(s.email_hash == got.email_hash);
    ck_assert_int_eq(
        contact_get_email(w.st, w.keys, SLICE_LIT("a@example.org"), w.a, &got, &w.err), -1);

    patch(&c, "{'email':'nonsense'}", -1);
    ck_assert_str_eq(w.err.field, "email");
    c.id += 4096;
    patch(&c, "{'email':'x@example.org'}", -1);
    ck_assert_str_eq(w.err.sub, "contact_not_found");
    model_world_close(&w);
}
END_TEST

START_TEST(changes_tags)
{
    static const struct slice add[] = {{"b", 1}, {"c", 1}}, remove[] = {{"a", 1}};
    struct contact c;

    model_world_open(&w);
    c = model_world_contact(&w, "{'email':'a@example.org','tags':['a','b']}");
    ck_assert_int_eq(
        contact_change_tags(w.st, c.id, add, 2, remove, 1, MODEL_NOW, w.a, &c, &w.err), 0);
    ck_assert_uint_eq(c.n_tags, 2);
    ck_assert(is(c.tags[0], "b") && is(c.tags[1], "c"));
    ck_assert_int_eq(
        contact_change_tags(w.st, c.id, add, 2, add, 1, MODEL_NOW, w.a, &c, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "tag_conflict");
    model_world_close(&w);
}
END_TEST

/* A list that changes while it is read: nobody twice, nobody of those that stayed missing. */
START_TEST(pages_while_data_change)
{
    struct contact_list q = {.limit = 2};
    struct contact_page page;
    char seen[64] = "";
    uint64_t second = 0;
    int turn = 0;

    model_world_open(&w);
    for (int i = 1; i <= 6; i++)
        model_world_contact(
            &w, arena_printf(w.a, "{'externalId':'c%d','email':'c%d@example.org'}", i, i));
    do {
        ck_assert_int_eq(contact_list(w.st, &q, w.a, &page, &w.err), 0);
        for (size_t i = 0; i < page.n; i++) {
            strncat(seen, page.contacts[i].external_id.p, page.contacts[i].external_id.n);
            if (turn == 0 && i == 1)
                second = page.contacts[i].id;
        }
        q.after_id = page.n > 0 ? page.contacts[page.n - 1].id : q.after_id;
        if (turn++ == 0) {
            struct store_batch *b = store_batch_create(w.st, STORE_URGENT);
            bson_t filter = BSON_INITIALIZER;

            bsonx_add_i64(&filter, "_id", (int64_t)second);
            store_delete(b, CONTACTS_COLL, STORE_INDEXED, &filter, 0);
            model_world_run(&b);
            bson_destroy(&filter);
            model_world_contact(&w, "{'externalId':'c7','email':'c7@example.org'}");
        }
    } while (page.has_more);
    ck_assert_str_eq(seen, "c1c2c3c4c5c6c7");

    q = (struct contact_list){.limit = 100000};
    ck_assert_int_eq(contact_list(w.st, &q, w.a, &page, &w.err), -1);
    ck_assert_int_eq(w.err.code, ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(w.err.text, "500"));
    model_world_close(&w);
}
END_TEST

START_TEST(lists_by_prefix_and_tag)
{
    struct contact_page page;

    model_world_open(&w);
    model_world_contact(&w, "{'externalId':'shop-1','email':'ana@example.org','tags':['vip']}");
    model_world_contact(&w, "{'externalId':'shop-2','email':'ben@example.org'}");
    model_world_contact(
        &w, "{'externalId':'web-1','email':'Anders@example.org','tags':['x','vip']}");
    ck_assert_int_eq(
        contact_list(w.st, &(struct contact_list){.limit = 10, .email_prefix = SLICE_LIT("an")},
            w.a, &page, &w.err),
        0);
    ck_assert_uint_eq(page.n, 2);
    ck_assert_int_eq(contact_list(w.st,
                         &(struct contact_list){.limit = 10, .external_prefix = SLICE_LIT("shop-")},
                         w.a, &page, &w.err),
        0);
    ck_assert_uint_eq(page.n, 2);
    ck_assert_int_eq(
        contact_list(
            w.st, &(struct contact_list){.limit = 10, .tag = SLICE_LIT("vip")}, w.a, &page, &w.err),
        0);
    ck_assert_uint_eq(page.n, 2);
    ck_assert(!page.has_more);
    model_world_close(&w);
}
END_TEST

SUITE_MAIN("model_contact", creates_and_finds, shows_itself, refuses_bad_input,
    bounds_tags_and_fields, knows_both_spellings_of_a_domain, external_ids_are_unique,
    patches_members, changes_tags, pages_while_data_change, lists_by_prefix_and_tag)
