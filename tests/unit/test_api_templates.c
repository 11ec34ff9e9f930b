/* Templates through the API: what is published, what is refused, how it renders and is sent. */
#include <stdio.h>
#include <string.h>

#include "support/api_tool.h"
#include "support/suite.h"

static struct engine engine;
static struct api_tool t;

#define CONTENT(subject, html)                                                                     \
    "{'name':'T','kind':'marketing','fromName':'F','fromEmail':'f@example.org','subject':"         \
    "'" subject "','body':{'html':'" html "'}}"

static void
open_world(const char *name)
{
    api_tool_open(&t, &engine, name);
    engine_add_profile(&engine);
    api_tool_call(&t, "POST", "/v1/contacts",
        "{'externalId':'a','email':'a@example.org','fields':{'name':'<Ana>'}}", 201);
}

START_TEST(versions_are_published_and_stay)
{
    open_world("versions");
    api_tool_call(&t, "PUT", "/agent/templates/news",
        CONTENT("One", "<a href=\\'https://example.com/a\\'>x</a>"), 201);
    ck_assert_int_eq(api_tool_int(&t, "version"), 1);
    ck_assert_int_eq(api_tool_int(&t, "template.links"), 1);
    ck_assert(api_tool_bool(&t, "template.trackOpens"));
    api_tool_call(&t, "PUT", "/agent/templates/news", CONTENT("Two", "<p>x</p>"), 200);
    ck_assert(!api_tool_bool(&t, "created"));
    ck_assert_int_eq(api_tool_int(&t, "version"), 2);
    api_tool_call(&t, "GET", "/agent/templates/news/versions/1", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "version.subject"), "One");
    api_tool_call(&t, "GET", "/agent/templates/news", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "template.subject"), "Two");
    ck_assert_str_eq(api_tool_str(&t, "template.body.html"), "<p>x</p>");
    api_tool_call(&t, "PUT", "/agent/templates/alpha", CONTENT("A", "x"), 201);
    api_tool_call(&t, "GET", "/agent/templates?limit=1", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "items.0.slug"), "alpha");
    api_tool_call(&t, "GET", "/agent/templates?limit=1&cursor=alpha", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "items.0.slug"), "news");
    api_tool_close(&t);
}
END_TEST

START_TEST(what_cannot_be_sent_is_not_published)
{
    static const struct api_tool_case cases[] = {
        {"PUT", "/agent/templates/Bad_Slug", CONTENT("S", "x"), 400, "validation_failed"},
        {"PUT", "/agent/templates/t", "{'name':'T'}", 400, "validation_failed"},
        {"PUT", "/agent/templates/t", CONTENT("S", "  "), 400, "empty_body"},
        {"PUT", "/agent/templates/t", CONTENT("{{#if x}}", "x"), 422, "compile_failed"},
        {"PUT", "/agent/templates/t", CONTENT("S", "<p>\\n  {{#each a}}</p>"), 422,
            "compile_failed"},
        {"PUT", "/agent/templates/t", CONTENT("S", "<a href=\\'javascript:alert(1)\\'>x</a>"), 422,
            "compile_failed"},
        {"GET", "/agent/templates/t", NULL, 404, "template_not_found"},
        {"GET", "/agent/templates/t/versions/1", NULL, 404, "template_not_found"},
        {"POST", "/agent/templates/t/render", "{'contactId':'a'}", 404, "template_not_found"},
        {"POST", "/agent/templates/t/send", "{'contactId':'a'}", 404, "template_not_found"},
        {NULL, NULL, NULL, 0, NULL},
    };

    open_world("refused_templates");
    api_tool_refuse_all(&t, cases);
    api_tool_refuse(&t, "PUT", "/agent/templates/t", CONTENT("S", "<p>\\n  {{#each a}}</p>"), 422,
        "compile_failed");
    ck_assert_str_eq(api_tool_str(&t, "part"), "html");
    ck_assert_int_eq(api_tool_int(&t, "line"), 2);
    ck_assert_int_eq(api_tool_int(&t, "column"), 3);
    ck_assert_str_eq(api_tool_str(&t, "reason"), "template_syntax");
    ck_assert_str_ne(api_tool_str(&t, "problem"), "");
    api_tool_close(&t);
}
END_TEST

START_TEST(previews_are_rendered)
{
    struct buf body = BUF_INIT;

    open_world("preview");
    api_tool_call(&t, "PUT", "/agent/templates/news",
        CONTENT("Hi {{contact.fields.name}} {{vars.x}}",
            "<p>{{contact.fields.name}}</p><a href=\\'{{unsubscribeUrl}}\\'>u</a>"),
        201);
    api_tool_call(
        &t, "POST", "/agent/templates/news/render", "{'contactId':'a','vars':{'x':7}}", 200);
    ck_assert_str_eq(api_tool_str(&t, "subject"), "Hi <Ana> 7");
    ck_assert_ptr_nonnull(strstr(api_tool_str(&t, "html"), "<p>&lt;Ana&gt;</p>"));
    ck_assert_ptr_nonnull(strstr(api_tool_str(&t, "html"), api_tool_str(&t, "unsubscribeUrl")));
    api_tool_call(&t, "POST", "/agent/templates/news/render",
        "{'sampleContact':{'email':'s@example.org','fields':{'name':'Bo'}}}", 200);
    ck_assert_str_eq(api_tool_str(&t, "subject"), "Hi Bo");
    ck_assert_str_eq(api_tool_str(&t, "contact.externalId"), "sample-contact");
    api_tool_refuse(&t, "POST", "/agent/templates/news/render", "{}", 400, "validation_failed");
    api_tool_refuse(&t, "POST", "/agent/templates/news/render", "{'contactId':'none'}", 404,
        "contact_not_found");
    api_tool_refuse(&t, "POST", "/agent/templates/news/render", "{'sampleContact':{'email':'x'}}",
        400, "validation_failed");
    /* what fails by its data is said, not sent */
    api_tool_call(&t, "PUT", "/agent/templates/loop",
        CONTENT("S", "{{#each vars.a}}{{#each ../vars.a}}{{#each ../../vars.a}}x{{/each}}{{/each}}"
                     "{{/each}}"),
        201);
    buf_append_str(&body, "{'contactId':'a','vars':{'a':[1");
    for (int i = 0; i < 60; i++)
        buf_append_str(&body, ",1");
    buf_append_str(&body, "]}}");
    api_tool_refuse(
        &t, "POST", "/agent/templates/loop/render", buf_cstr(&body), 422, "render_failed");
    buf_deinit(&body);
    api_tool_close(&t);
}
END_TEST

START_TEST(a_mail_is_sent_once_per_key)
{
    char id[20], target[120];

    open_world("template_send");
    api_tool_call(&t, "PUT", "/agent/templates/news", CONTENT("Hi", "x"), 201);
    api_tool_call(&t, "POST", "/agent/templates/news/send",
        "{'contactId':'a','dedupeKey':'k','vars':{'a':1}}", 201);
    snprintf(id, sizeof id, "%s", api_tool_str(&t, "sendId"));
    ck_assert_str_eq(api_tool_str(&t, "send.templateSlug"), "news");
    api_tool_call(
        &t, "POST", "/agent/templates/news/send", "{'contactId':'a','dedupeKey':'k'}", 200);
    ck_assert(api_tool_bool(&t, "existing"));
    ck_assert_str_eq(api_tool_str(&t, "sendId"), id);
    snprintf(target, sizeof target, "/agent/sends/%s/wait?status=sent&timeoutMs=20000", id);
    api_tool_call(&t, "GET", target, NULL, 200);
    ck_assert(api_tool_bool(&t, "reached"));
    ck_assert_str_eq(api_tool_str(&t, "send.status"), "sent");
    ck_assert_uint_eq(engine_captured(&engine), 1);
    snprintf(target, sizeof target, "/agent/sends/%s/wait?status=delivered&timeoutMs=1", id);
    api_tool_call(&t, "GET", target, NULL, 200);
    ck_assert(!api_tool_bool(&t, "reached"));
    api_tool_call(&t, "GET", "/agent/contacts/a/sends", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "items.0.id"), id);
    api_tool_refuse(&t, "GET", "/agent/sends/0000000000001", NULL, 404, "not_found");
    api_tool_refuse(&t, "GET", "/agent/sends/nonsense", NULL, 404, "not_found");
    api_tool_close(&t);
}
END_TEST

SUITE_MAIN("api_templates", versions_are_published_and_stay, what_cannot_be_sent_is_not_published,
    previews_are_rendered, a_mail_is_sent_once_per_key)
