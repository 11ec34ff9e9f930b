/* What an installation is made of, through the API: profiles, tokens, the audit, status, queries. */
#include <stdio.h>
#include <string.h>

#include "support/api_tool.h"
#include "support/suite.h"

static struct engine engine;
static struct api_tool t;

#define SMTP(host, more)                                                                           \
    "{'name':'M','kind':'smtp','host':'" host "','fromEmail':'n@example.org'" more "}"

START_TEST(secrets_go_in_and_never_come_out)
{
    api_tool_open(&t, &engine, "profiles");
    api_tool_call(&t, "PUT", "/agent/profiles/main",
        SMTP("mx.example.org", ",'username':'u','password':'very secret'"), 201);
    ck_assert(api_tool_bool(&t, "profile.hasPassword"));
    ck_assert(api_tool_bool(&t, "profile.isDefault"));
    ck_assert_str_eq(api_tool_str(&t, "profile.tls"), "starttls");
    ck_assert_ptr_null(strstr(buf_cstr(&t.raw), "very secret"));
    /* kept where nothing else is said, but never given to another host */
    api_tool_call(&t, "PUT", "/agent/profiles/main",
        SMTP("mx.example.org", ",'username':'u','pacePerSecond':5"), 200);
    ck_assert(api_tool_bool(&t, "profile.hasPassword"));
    api_tool_refuse(&t, "PUT", "/agent/profiles/main", SMTP("mx.example.net", ",'username':'u'"),
        400, "validation_failed");
    api_tool_call(&t, "GET", "/agent/profiles/main", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "profile.host"), "mx.example.org");
    ck_assert(json_is(api_tool_get(&t, "sender"), JSON_NULL));
    ck_assert_ptr_null(strstr(buf_cstr(&t.raw), "very secret"));
    api_tool_call(&t, "POST", "/admin/db/query", "{'collection':'profiles'}", 200);
    ck_assert_ptr_null(strstr(buf_cstr(&t.raw), "very secret"));
    api_tool_close(&t);
}
END_TEST

START_TEST(profiles_that_must_not_be)
{
    static const struct api_tool_case cases[] = {
        {"PUT", "/agent/profiles/x", "{'name':'M'}", 400, "validation_failed"},
        {"PUT", "/agent/profiles/x", SMTP("", ""), 400, "validation_failed"},
        {"PUT", "/agent/profiles/x", SMTP("mx.example.org", ",'tls':'none','password':'p'"), 400,
            "validation_failed"},
        {"PUT", "/agent/profiles/x", SMTP("mx.example.org", ",'port':70000"), 400,
            "validation_failed"},
        {"PUT", "/agent/profiles/x", SMTP("mx.example.org", ",'kind2':1"), 400,
            "validation_failed"},
        {"PUT", "/agent/profiles/X_X", SMTP("mx.example.org", ""), 400, "validation_failed"},
        {"PUT", "/agent/profiles/x",
            SMTP("mx.example.org", ",'dkim':[{'domain':'example.org','selector':'s',"
                                   "'privateKey':'no key'}]"),
            400, "validation_failed"},
        {"GET", "/agent/profiles/none", NULL, 404, "profile_unknown"},
        {"POST", "/agent/profiles/none/pause", "{}", 404, "profile_unknown"},
        {"POST", "/agent/profiles/none/test", "{'contactId':'a'}", 404, "profile_unknown"},
        {NULL, NULL, NULL, 0, NULL},
    };

    api_tool_open(&t, &engine, "bad_profiles");
    api_tool_refuse_all(&t, cases);
    api_tool_call(&t, "GET", "/agent/profiles", NULL, 200);
    ck_assert_uint_eq(json_count(api_tool_get(&t, "items")), 0);
    api_tool_close(&t);
}
END_TEST

START_TEST(a_profile_is_tested_by_a_real_mail)
{
    char target[100];

    api_tool_open(&t, &engine, "profile_test");
    engine_add_profile(&engine);
    api_tool_refuse(
        &t, "POST", "/agent/profiles/main/test", "{'contactId':'a'}", 404, "contact_not_found");
    api_tool_call(&t, "POST", "/v1/contacts", "{'externalId':'a','email':'a@example.org'}", 201);
    for (int i = 0; i < 2; i++) {
        api_tool_call(&t, "POST", "/agent/profiles/main/test", "{'contactId':'a'}", 201);
        snprintf(target, sizeof target, "/agent/sends/%s/wait?timeoutMs=20000",
            api_tool_str(&t, "sendId"));
        api_tool_call(&t, "GET", target, NULL, 200);
        ck_assert(api_tool_bool(&t, "reached"));
        ck_assert_str_eq(api_tool_str(&t, "send.provider"), "main");
    }
    ck_assert_uint_eq(engine_captured(&engine), 2);
    api_tool_call(&t, "POST", "/agent/profiles/main/pause", "{'reason':'relay moves'}", 200);
    ck_assert(api_tool_bool(&t, "changed"));
    api_tool_call(&t, "POST", "/agent/profiles/main/pause", "{'reason':'again'}", 200);
    ck_assert(!api_tool_bool(&t, "changed"));
    ck_assert_str_eq(api_tool_str(&t, "profile.stateReason"), "relay moves");
    api_tool_call(&t, "GET", "/agent/status", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "profiles.0.reason"), "relay moves");
    api_tool_call(&t, "POST", "/agent/profiles/main/resume", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "profile.state"), "active");
    api_tool_close(&t);
}
END_TEST

START_TEST(tokens_are_shown_once)
{
    static const struct api_tool_case cases[] = {
        {"POST", "/admin/tokens", "{'actor':'a'}", 400, "validation_failed"},
        {"POST", "/admin/tokens", "{'actor':'a','scopes':[]}", 400, "validation_failed"},
        {"POST", "/admin/tokens", "{'actor':'a','scopes':['root']}", 400, "validation_failed"},
        {"POST", "/admin/tokens", "{'actor':'','scopes':['read']}", 400, "validation_failed"},
        {"DELETE", "/admin/tokens/0000000000001", NULL, 404, "not_found"},
        {"DELETE", "/admin/tokens/x", NULL, 404, "not_found"},
        {NULL, NULL, NULL, 0, NULL},
    };
    char token[80], target[60];

    api_tool_open(&t, &engine, "tokens");
    api_tool_refuse_all(&t, cases);
    api_tool_call(&t, "POST", "/admin/tokens", "{'actor':'agent:x','scopes':['read','test']}", 201);
    snprintf(token, sizeof token, "%s", api_tool_str(&t, "token"));
    snprintf(target, sizeof target, "/admin/tokens/%s", api_tool_str(&t, "id"));
    ck_assert_uint_ge(strlen(token), 24);
    api_tool_call(&t, "GET", "/admin/tokens", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "items.0.scopes.1"), "test");
    ck_assert_ptr_null(strstr(buf_cstr(&t.raw), token));
    api_tool_call(&t, "DELETE", target, NULL, 200);
    api_tool_refuse(&t, "DELETE", target, NULL, 404, "not_found");
    api_tool_call(&t, "GET", "/admin/tokens", NULL, 200);
    ck_assert_str_ne(api_tool_str(&t, "items.0.revokedAt"), "");
    api_tool_close(&t);
}
END_TEST

START_TEST(everything_done_is_on_record)
{
    char cursor[80];

    api_tool_open(&t, &engine, "audit");
    api_tool_call(&t, "PUT", "/agent/profiles/main", SMTP("mx.example.org", ""), 201);
    api_tool_call(&t, "POST", "/v1/contacts", "{'externalId':'a','email':'a@example.org'}", 201);
    api_tool_call(&t, "POST", "/v1/contacts/a/unsubscribe", "{}", 200);
    api_tool_call(&t, "POST", "/v1/contacts/a/subscribe", "{}", 200);
    api_tool_call(&t, "GET", "/agent/audit?limit=2", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "items.0.action"), "contact.subscribe");
    ck_assert_str_eq(api_tool_str(&t, "items.0.actor"), "owner:local");
    ck_assert_str_eq(api_tool_str(&t, "items.1.action"), "suppression.add");
    ck_assert_ptr_null(strstr(buf_cstr(&t.raw), "a@example.org"));
    snprintf(
        cursor, sizeof cursor, "/agent/audit?limit=2&cursor=%s", api_tool_str(&t, "nextCursor"));
    api_tool_call(&t, "GET", cursor, NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "items.0.action"), "profile.create");
    ck_assert(json_is(api_tool_get(&t, "nextCursor"), JSON_NULL));
    api_tool_refuse(&t, "GET", "/agent/audit?resource=profiles", NULL, 400, "validation_failed");
    api_tool_refuse(&t, "GET", "/agent/audit?cursor=x", NULL, 400, "bad_cursor");
    api_tool_close(&t);
}
END_TEST

START_TEST(status_and_queries)
{
    static const struct api_tool_case cases[] = {
        {"POST", "/agent/tick", NULL, 409, "daemon_required"},
        {"POST", "/admin/db/query", "{}", 400, "validation_failed"},
        {"POST", "/admin/db/query", "{'collection':'none'}", 400, "unknown_collection"},
        {"POST", "/admin/db/query", "{'collection':'contacts','filter':{'$where':'1'}}", 400,
            "unsupported_filter"},
        {"POST", "/admin/db/query", "{'collection':'contacts','limit':501}", 400,
            "validation_failed"},
        {NULL, NULL, NULL, 0, NULL},
    };

    api_tool_open(&t, &engine, "status");
    api_tool_refuse_all(&t, cases);
    api_tool_call(&t, "POST", "/v1/contacts",
        "{'externalId':'a','email':'a@example.org','fields':{'n':5}}", 201);
    api_tool_call(&t, "POST", "/admin/db/query",
        "{'collection':'contacts','filter':{'fields.n':{'$gt':4}}}", 200);
    ck_assert_str_eq(api_tool_str(&t, "items.0.externalId"), "a");
    api_tool_call(&t, "GET", "/agent/status", NULL, 200);
    ck_assert(api_tool_bool(&t, "daemon"));
    ck_assert(!api_tool_bool(&t, "testContactsConfigured"));
    ck_assert(json_is(api_tool_get(&t, "tick"), JSON_NULL));
    ck_assert_int_eq(api_tool_int(&t, "queue.inFlight"), 0);
    api_tool_close(&t);
}
END_TEST

SUITE_MAIN("api_house", secrets_go_in_and_never_come_out, profiles_that_must_not_be,
    a_profile_is_tested_by_a_real_mail, tokens_are_shown_once, everything_done_is_on_record,
    status_and_queries)
