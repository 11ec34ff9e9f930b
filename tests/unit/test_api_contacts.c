/* Contacts, consent, suppressions and import through the API. */
#include <stdio.h>
#include <string.h>

#include "support/api_tool.h"
#include "support/suite.h"

static struct engine engine;
static struct api_tool t;

static void
add(const char *id, const char *email)
{
    char body[300];

    snprintf(body, sizeof body, "{'externalId':'%s','email':'%s','subscribe':true}", id, email);
    api_tool_call(&t, "POST", "/agent/contacts", body, 201);
}

START_TEST(contact_is_created_changed_and_found)
{
    api_tool_open(&t, &engine, "contacts");
    api_tool_call(&t, "POST", "/v1/contacts",
        "{'externalId':'c/1','email':' Ana@B\xc3\xbc"
        "cher.example.org ','fields':{'name':'Ana','n':1},'tags':['x'],"
        "'timezone':'Europe/Berlin','locale':'de-DE'}",
        201);
    ck_assert_str_eq(api_tool_str(&t, "contact.email"), "Ana@B\xc3\xbc"
                                                        "cher.example.org");
    ck_assert(json_is(api_tool_get(&t, "subscription"), JSON_NULL));
    api_tool_call(
        &t, "PATCH", "/v1/contacts/c%2F1", "{'fields':{'n':null,'m':2},'locale':null}", 200);
    ck_assert_int_eq(api_tool_int(&t, "contact.fields.m"), 2);
    ck_assert(json_get(api_tool_get(&t, "contact.fields"), "n") == NULL);
    ck_assert_str_eq(api_tool_str(&t, "contact.fields.name"), "Ana");
    ck_assert_str_eq(api_tool_str(&t, "contact.locale"), "");
    /* one address, however it is spelt */
    api_tool_call(&t, "GET", "/agent/contacts/by-email/ana%40xn--bcher-kva.example.org", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "contact.externalId"), "c/1");
    api_tool_call(&t, "POST", "/v1/contacts/c%2F1/tags", "{'add':['y'],'remove':['x']}", 200);
    ck_assert_str_eq(api_tool_str(&t, "contact.tags.0"), "y");
    api_tool_close(&t);
}
END_TEST

START_TEST(bad_contacts_are_refused)
{
    static const struct api_tool_case cases[] = {
        {"POST", "/v1/contacts", "{}", 400, "validation_failed"},
        {"POST", "/v1/contacts", "{'email':'nonsense'}", 400, "validation_failed"},
        {"POST", "/v1/contacts", "{'email':'a@example.org','nmae':'x'}", 400, "validation_failed"},
        {"POST", "/v1/contacts", "{'email':'a@example.org','fields':{'name':'A\\r\\nBcc: e'}}", 400,
            "validation_failed"},
        {"POST", "/v1/contacts", "{'email':'a@example.org','timezone':'Moon/Base'}", 400,
            "validation_failed"},
        {"POST", "/v1/contacts", "{'email':'b@example.org','externalId':'a'}", 409,
            "contact_exists"},
        {"PATCH", "/v1/contacts/b", "{'externalId':'a'}", 409, "contact_exists"},
        {"PATCH", "/v1/contacts/none", "{}", 404, "contact_not_found"},
        {"GET", "/v1/contacts/none", NULL, 404, "contact_not_found"},
        {"GET", "/v1/contacts/by-email/none%40example.org", NULL, 404, "contact_not_found"},
        {"GET", "/v1/contacts/by-email/nonsense", NULL, 400, "validation_failed"},
        {"POST", "/v1/contacts/a/tags", "{}", 400, "no_tags"},
        {"POST", "/v1/contacts/a/tags", "{'add':['x'],'remove':['x']}", 400, "tag_conflict"},
        {"GET", "/v1/contacts?limit=all", NULL, 400, "validation_failed"},
        {"GET", "/v1/contacts?limit=501", NULL, 400, "validation_failed"},
        {"GET", "/v1/contacts?limit=0", NULL, 400, "validation_failed"},
        {"GET", "/v1/contacts?cursor=x", NULL, 400, "bad_cursor"},
        {"GET", "/v1/contacts?page=2", NULL, 400, "validation_failed"},
        {"POST", "/v1/contacts", "{'email':", 400, "invalid_json"},
        {NULL, NULL, NULL, 0, NULL},
    };

    api_tool_open(&t, &engine, "bad_contacts");
    add("a", "a@example.org");
    add("b", "b2@example.org");
    api_tool_refuse_all(&t, cases);
    api_tool_refuse(&t, "GET", "/v1/contacts?limit=all", NULL, 400, "validation_failed");
    ck_assert_ptr_nonnull(strstr(api_tool_str(&t, "message"), "500"));
    api_tool_refuse(&t, "GET", "/v1/contacts/none", NULL, 404, "contact_not_found");
    ck_assert_str_eq(api_tool_str(&t, "externalId"), "none");
    api_tool_close(&t);
}
END_TEST

/* A walk by pages of two while one is changed and one is added. */
START_TEST(pages_meet_everybody_once)
{
    unsigned seen[8] = {0};
    char target[120] = "/v1/contacts?limit=2";
    unsigned n_pages = 0;

    api_tool_open(&t, &engine, "paging");
    for (int i = 1; i <= 6; i++) {
        char id[16], email[40];

        snprintf(id, sizeof id, "c%d", i);
        snprintf(email, sizeof email, "c%d@example.org", i);
        add(id, email);
    }
    do {
        const struct json *items;

        api_tool_call(&t, "GET", target, NULL, 200);
        items = api_tool_get(&t, "items");
        for (const struct json *e = json_first(items); e != NULL; e = json_next(e))
            seen[json_str(json_get(e, "externalId")).p[1] - '0']++;
        snprintf(target, sizeof target, "/v1/contacts?limit=2&cursor=%s",
            api_tool_str(&t, "nextCursor"));
        if (json_is(api_tool_get(&t, "nextCursor"), JSON_NULL))
            break;
        if (n_pages++ == 0) {
            api_tool_call(&t, "PATCH", "/v1/contacts/c2", "{'email':'zz@example.org'}", 200);
            add("c7", "c7@example.org");
        }
        ck_assert_uint_lt(n_pages, 10);
    } while (true);
    for (int i = 1; i <= 6; i++)
        ck_assert_uint_eq(seen[i], 1);
    ck_assert_uint_le(seen[7], 1);
    api_tool_close(&t);
}
END_TEST

START_TEST(lists_are_narrowed)
{
    static const struct {
        const char *target, *first;
        unsigned n;
    } cases[] = {
        {"/v1/contacts", "a1", 3},
        {"/v1/contacts?emailPrefix=ANA", "a1", 1},
        {"/v1/contacts?emailPrefix=a", "a1", 2},
        {"/v1/contacts?externalIdPrefix=b", "b1", 1},
        {"/v1/contacts?tag=vip", "a2", 1},
        {"/v1/contacts?tag=none", NULL, 0},
    };

    api_tool_open(&t, &engine, "filters");
    add("a1", "Ana@example.org");
    add("a2", "arno@example.org");
    add("b1", "bo@example.org");
    api_tool_call(&t, "POST", "/v1/contacts/a2/tags", "{'add':['vip']}", 200);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        api_tool_call(&t, "GET", cases[i].target, NULL, 200);
        ck_assert_msg(json_count(api_tool_get(&t, "items")) == cases[i].n, "%s", cases[i].target);
        if (cases[i].n > 0)
            ck_assert_str_eq(api_tool_str(&t, "items.0.externalId"), cases[i].first);
    }
    api_tool_close(&t);
}
END_TEST

START_TEST(consent_goes_and_comes)
{
    api_tool_open(&t, &engine, "consent");
    add("a", "a@example.org");
    api_tool_call(&t, "POST", "/agent/contacts/a/unsubscribe", "{}", 200);
    ck_assert_str_eq(api_tool_str(&t, "subscription.status"), "unsubscribed");
    api_tool_call(&t, "POST", "/agent/suppressions/check", "{'email':'A@example.org'}", 200);
    ck_assert(api_tool_bool(&t, "suppressed"));
    ck_assert_str_eq(api_tool_str(&t, "reason"), "unsubscribed");
    /* a transactional mail is another matter */
    api_tool_call(&t, "POST", "/agent/suppressions/check",
        "{'email':'a@example.org','kind':'transactional'}", 200);
    ck_assert(!api_tool_bool(&t, "suppressed"));
    /* creating the same person anew gives no consent back */
    api_tool_refuse(&t, "POST", "/agent/contacts",
        "{'externalId':'a','email':'a@example.org','subscribe':true}", 409, "contact_exists");
    api_tool_call(&t, "POST", "/agent/contacts/a/subscribe", "{'source':'form'}", 200);
    ck_assert_str_eq(api_tool_str(&t, "subscription.status"), "subscribed");
    ck_assert_int_eq(api_tool_int(&t, "removedSuppressions"), 1);
    api_tool_call(&t, "GET", "/agent/contacts/a/unsubscribe-url", NULL, 200);
    ck_assert_ptr_nonnull(
        strstr(api_tool_str(&t, "unsubscribeUrl"), "https://mail.example/m/unsub/"));
    api_tool_close(&t);
}
END_TEST

START_TEST(opt_in_lifts_no_complaint)
{
    char row[80], target[120];

    api_tool_open(&t, &engine, "complaint");
    add("a", "a@example.org");
    api_tool_call(&t, "POST", "/agent/suppressions",
        "{'email':'a@example.org','reason':'complaint','notes':'by phone'}", 201);
    snprintf(row, sizeof row, "%s", api_tool_str(&t, "suppressions.0.id"));
    api_tool_refuse(&t, "POST", "/agent/contacts/a/subscribe", "{}", 409, "opted_out");
    api_tool_call(&t, "POST", "/agent/suppressions/check", "{'email':'a@example.org'}", 200);
    ck_assert_str_eq(api_tool_str(&t, "reason"), "complaint");
    /* a test contact may be made a blank sheet */
    api_tool_call(&t, "POST", "/agent/contacts/a/reset", "{'suppressions':false}", 200);
    ck_assert_int_eq(api_tool_int(&t, "removedSuppressions"), 0);
    api_tool_call(&t, "POST", "/agent/contacts/a/reset", "{}", 200);
    ck_assert_int_eq(api_tool_int(&t, "removedSuppressions"), 1);
    ck_assert_str_eq(api_tool_str(&t, "subscription.status"), "subscribed");
    snprintf(target, sizeof target, "/agent/suppressions/%s", row);
    api_tool_refuse(&t, "DELETE", target, NULL, 404, "not_found");
    api_tool_refuse(&t, "DELETE", "/agent/suppressions/nonsense", NULL, 404, "not_found");
    api_tool_close(&t);
}
END_TEST

START_TEST(suppressions_are_listed_checked_and_removed)
{
    static const struct api_tool_case cases[] = {
        {"POST", "/agent/suppressions", "{'email':'x'}", 400, "validation_failed"},
        {"POST", "/agent/suppressions", "{'email':'a@example.org','scope':'some'}", 400,
            "validation_failed"},
        {"POST", "/agent/suppressions", "{'email':'a@example.org','reason':'gdpr_forget'}", 400,
            "validation_failed"},
        {"POST", "/agent/suppressions",
            "{'email':'a@example.org','expiresAt':'2020-01-01T00:00:00Z'}", 400,
            "validation_failed"},
        {"POST", "/agent/suppressions", "{'email':'a@example.org','expiresAt':'tomorrow'}", 400,
            "validation_failed"},
        {"GET", "/agent/suppressions?cursor=x", NULL, 400, "bad_cursor"},
        {NULL, NULL, NULL, 0, NULL},
    };
    char target[100];

    api_tool_open(&t, &engine, "suppressions");
    api_tool_refuse_all(&t, cases);
    for (int i = 0; i < 3; i++) {
        char body[80];

        snprintf(body, sizeof body, "{'email':'s%d@example.org','scope':'category:news'}", i);
        api_tool_call(&t, "POST", "/agent/suppressions", body, 201);
    }
    api_tool_call(&t, "POST", "/agent/suppressions/check", "{'email':'s1@example.org'}", 200);
    ck_assert(!api_tool_bool(&t, "suppressed"));
    api_tool_call(&t, "POST", "/agent/suppressions/check",
        "{'email':'s1@example.org','category':'news'}", 200);
    ck_assert(api_tool_bool(&t, "suppressed"));
    api_tool_call(&t, "GET", "/agent/suppressions?limit=2", NULL, 200);
    ck_assert_uint_eq(json_count(api_tool_get(&t, "items")), 2);
    snprintf(target, sizeof target, "/agent/suppressions?limit=2&cursor=%s",
        api_tool_str(&t, "nextCursor"));
    api_tool_call(&t, "GET", target, NULL, 200);
    ck_assert_uint_eq(json_count(api_tool_get(&t, "items")), 1);
    snprintf(target, sizeof target, "/agent/suppressions/%s", api_tool_str(&t, "items.0.id"));
    api_tool_call(&t, "DELETE", target, NULL, 200);
    api_tool_refuse(&t, "DELETE", target, NULL, 404, "not_found");
    api_tool_close(&t);
}
END_TEST

START_TEST(csv_is_imported)
{
    static const char csv[] =
        "\xef\xbb\xbf"
        "email;name;city\r\nana@example.org;Jos\xc3\xa9;\"K\xc3\xb6ln; Mitte\"\r\n"
        "not-an-address;X;Y\r\n";

    api_tool_open(&t, &engine, "import");
    api_tool_raw(&t, "POST", "/v1/contacts/import?dryRun=true", slice_str(csv), 200);
    ck_assert_int_eq(api_tool_int(&t, "added"), 1);
    api_tool_call(&t, "GET", "/v1/contacts", NULL, 200);
    ck_assert_uint_eq(json_count(api_tool_get(&t, "items")), 0);
    api_tool_raw(&t, "POST", "/v1/contacts/import?subscribe=true", slice_str(csv), 200);
    ck_assert_int_eq(api_tool_int(&t, "added"), 1);
    ck_assert_int_eq(api_tool_int(&t, "refused"), 1);
    ck_assert_int_eq(api_tool_int(&t, "subscribed"), 1);
    ck_assert_int_eq(api_tool_int(&t, "refusedLines.0.line"), 3);
    api_tool_call(&t, "GET", "/v1/contacts/by-email/ana%40example.org", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "contact.fields.city"), "K\xc3\xb6ln; Mitte");
    api_tool_raw(&t, "POST", "/v1/contacts/import", SLICE_LIT("name\nX\n"), 400);
    ck_assert_str_eq(api_tool_str(&t, "error"), "bad_header");
    api_tool_close(&t);
}
END_TEST

SUITE_MAIN("api_contacts", contact_is_created_changed_and_found, bad_contacts_are_refused,
    pages_meet_everybody_once, lists_are_narrowed, consent_goes_and_comes,
    opt_in_lifts_no_complaint, suppressions_are_listed_checked_and_removed, csv_is_imported)
