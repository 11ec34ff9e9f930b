/* Templates: checks of the content, drafts, versions that never change. */
#include <string.h>

#include "model/template_doc.h"
#include "support/model_world.h"
#include "support/suite.h"

static struct model_world w;

static struct template_content
content(const char *subject)
{
    return (struct template_content){.kind = MAIL_MARKETING,
        .subject = slice_str(subject),
        .preheader = SLICE_LIT(""),
        .html = SLICE_LIT("<p>Hello {{contact.fields.name}}</p>"),
        .from_name = SLICE_LIT("Shop"),
        .from_email = SLICE_LIT("news@example.org"),
        .track_opens = true,
        .n_links = 3};
}

static int
publish(const char *slug, const char *subject, bool discard, struct template_doc *t, bool *created)
{
    struct template_content c = content(subject);

    return template_doc_publish(w.st,
        &(struct template_put){.slug = slice_str(slug),
            .name = SLICE_LIT("Spring"),
            .content = &c,
            .actor = SLICE_LIT("agent:test"),
            .now_ms = MODEL_NOW,
            .is_discard_draft = discard},
        w.a, t, created, &w.err);
}

START_TEST(versions_never_change)
{
    struct template_doc t;
    struct template_version v;
    bool created;

    model_world_open(&w);
    ck_assert_int_eq(publish("spring", "One", false, &t, &created), 0);
    ck_assert(created);
    ck_assert_uint_eq(t.version, 1);
    ck_assert_int_eq(publish("spring", "Two", false, &t, &created), 0);
    ck_assert(!created);
    ck_assert_uint_eq(t.version, 2);
    ck_assert(slice_eq_str(t.live.subject, "Two"));
    ck_assert_int_eq(template_version_get(w.st, SLICE_LIT("spring"), 1, w.a, &v, &w.err), 0);
    ck_assert(slice_eq_str(v.content.subject, "One"));
    ck_assert_uint_eq(v.content.n_links, 3);
    ck_assert(v.content.track_opens && !v.content.track_clicks);
    ck_assert(slice_eq_str(v.published_by, "agent:test"));
    ck_assert_int_eq(template_version_get(w.st, SLICE_LIT("spring"), 3, w.a, &v, &w.err), -1);
    ck_assert_int_eq(w.err.code, ERR_NOTFOUND);
    ck_assert_int_eq(template_doc_get(w.st, SLICE_LIT("../x"), w.a, &t, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "template_not_found");
    model_world_close(&w);
}
END_TEST

START_TEST(a_draft_is_not_lost_by_publishing)
{
    struct template_content c = content("Draft");
    struct template_put put = {.slug = SLICE_LIT("spring"),
        .content = &c,
        .actor = SLICE_LIT("agent:test"),
        .now_ms = MODEL_NOW};
    struct template_doc t;
    bool created;

    model_world_open(&w);
    ck_assert_int_eq(template_doc_save_draft(w.st, &put, w.a, &t, &created, &w.err), 0);
    ck_assert(created && t.has_draft && t.version == 0);
    ck_assert(slice_eq_str(t.name, "spring"));
    ck_assert_int_eq(publish("spring", "Live", false, &t, &created), -1);
    ck_assert_str_eq(w.err.sub, "draft_exists");
    ck_assert_int_eq(publish("spring", "Live", true, &t, &created), 0);
    ck_assert(!created && !t.has_draft && t.version == 1);
    ck_assert_int_eq(template_doc_save_draft(w.st, &put, w.a, &t, &created, &w.err), 0);
    ck_assert(!created && t.has_draft && t.version == 1);
    ck_assert(slice_eq_str(t.live.subject, "Live") && slice_eq_str(t.draft.subject, "Draft"));
    model_world_close(&w);
}
END_TEST

START_TEST(lists_by_slug_without_bodies)
{
    static const char *const slugs[] = {"b", "a", "c"};
    const struct template_doc *list;
    struct template_doc t;
    size_t n;
    bool created;

    model_world_open(&w);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(publish(slugs[i], "S", false, &t, &created), 0);
    ck_assert_int_eq(template_doc_list(w.st, SLICE_NONE, 2, w.a, &list, &n, &w.err), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert(slice_eq_str(list[0].slug, "a") && slice_eq_str(list[1].slug, "b"));
    ck_assert(slice_eq_str(list[0].live.subject, "S"));
    ck_assert_uint_eq(list[0].live.html.n, 0);
    ck_assert_int_eq(template_doc_list(w.st, SLICE_LIT("b"), 2, w.a, &list, &n, &w.err), 0);
    ck_assert_uint_eq(n, 1);
    ck_assert(slice_eq_str(list[0].slug, "c"));
    model_world_close(&w);
}
END_TEST

START_TEST(refuses_bad_content)
{
    static const struct {
        const char *json, *field, *sub;
    } cases[] = {
        {"{'subject':''}", "subject", "validation_failed"},
        {"{'subject':'a\\nb'}", "subject", "validation_failed"},
        {"{'subject':7}", "subject", "validation_failed"},
        {"{'kind':'spam'}", "kind", "validation_failed"},
        {"{'fromName':'a\\r\\nb'}", "fromName", "validation_failed"},
        {"{'fromEmail':'nobody'}", "fromEmail", "validation_failed"},
        {"{'replyTo':'a@b@c'}", "replyTo", "validation_failed"},
        {"{'providerOverride':'No Slug'}", "providerOverride", "validation_failed"},
        {"{'bodyFormat':'pdf'}", "bodyFormat", "validation_failed"},
        {"{'trackOpens':1}", "trackOpens", "validation_failed"},
        {"{'body':'x'}", "body", "validation_failed"},
        {"{'body':{'html':'  \\n '}}", "", "empty_body"},
        {"{'bodyFormat':'text_only'}", "", "empty_body"},
    };

    model_world_open(&w);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json *j = model_world_json(&w, cases[i].json);
        struct template_content c = content("ok");
        int rc = template_content_from_json(j, true, &c, &w.err);

        if (rc == 0)
            rc = template_content_check(&c, &w.err);
        ck_assert_msg(rc == -1, "accepted: %s", cases[i].json);
        ck_assert_str_eq(w.err.sub, cases[i].sub);
        if (cases[i].field[0] != '\0')
            ck_assert_str_eq(w.err.field, cases[i].field);
        json_free(&j);
    }
    model_world_close(&w);
}
END_TEST

START_TEST(tracks_marketing_only_by_default)
{
    struct template_content c = {.kind = MAIL_MARKETING};
    struct json *j;

    model_world_open(&w);
    j = model_world_json(&w, "{'kind':'transactional','subject':'Hi','trackClicks':true}");
    ck_assert_int_eq(template_content_from_json(j, true, &c, &w.err), 0);
    ck_assert(!c.track_opens && c.track_clicks && c.kind == MAIL_TRANSACTIONAL);
    json_free(&j);
    j = model_world_json(&w, "{'kind':'marketing'}");
    ck_assert_int_eq(template_content_from_json(j, true, &c, &w.err), 0);
    ck_assert(c.track_opens && c.track_clicks);
    json_free(&j);
    model_world_close(&w);
}
END_TEST

SUITE_MAIN("model_template_doc", versions_never_change, a_draft_is_not_lost_by_publishing,
    lists_by_slug_without_bodies, refuses_bad_content, tracks_marketing_only_by_default)
