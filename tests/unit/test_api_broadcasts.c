/* Broadcasts through the API: from the draft to the closed ledger, and every refusal on the way. */
#include <stdio.h>
#include <string.h>

#include "support/api_tool.h"
#include "support/suite.h"

static struct engine engine;
static struct api_tool t;

#define DRAFT(slug) "{'slug':'" slug "','name':'N','templateSlug':'news'}"

static void
open_world(const char *name, unsigned contacts)
{
    api_tool_open(&t, &engine, name);
    engine_add_profile(&engine);
    engine_add_template(&engine);
    if (contacts > 0)
        engine_add_contacts(&engine, 0, contacts);
}

/* Count, and write the body of a schedule or resume. */
static const char *
confirm(const char *slug, const char *figure, int off)
{
    static char body[200];
    char target[100];

    snprintf(target, sizeof target, "/agent/broadcasts/%s/count", slug);
    api_tool_call(&t, "POST", target, "{}", 200);
    snprintf(body, sizeof body, "{%s'countToken':'%s','confirmedCount':%lld}",
        strcmp(figure, "recipientCount") == 0 ? "'scheduledAt':'now'," : "",
        api_tool_str(&t, "countToken"), (long long)api_tool_int(&t, figure) + off);
    return body;
}

static void
check_ledger(const char *slug, int64_t eligible)
{
    static const char *const names[] = {"queued", "held", "sending", "sent", "delivered", "bounced",
        "complained", "suppressed", "failed", "cancelled", "unknown"};
    int64_t sum = 0, excluded = 0, n;
    char target[100];

    snprintf(target, sizeof target, "/agent/broadcasts/%s?recount=true", slug);
    api_tool_call(&t, "GET", target, NULL, 200);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[40];

        snprintf(path, sizeof path, "ledger.states.%s", names[i]);
        sum += api_tool_int(&t, path);
    }
    for (const struct json *e = json_first(api_tool_get(&t, "ledger.excluded")); e != NULL;
         e = json_next(e)) {
        ck_assert(json_int(e, &n));
        excluded += n;
    }
    ck_assert_int_eq(api_tool_int(&t, "ledger.eligible"), eligible);
    ck_assert_int_eq(sum, eligible);
    ck_assert_int_eq(api_tool_int(&t, "ledger.matched"), eligible + excluded);
    ck_assert(api_tool_bool(&t, "ledger.closes"));
    ck_assert(api_tool_bool(&t, "ledger.recounted.agrees"));
}

START_TEST(everything_from_draft_to_sent)
{
    open_world("draft_to_sent", 120);
    api_tool_call(&t, "POST", "/v1/contacts/by-email/x", NULL, 405);
    api_tool_call(&t, "POST", "/agent/suppressions", "{'email':'user5@r5.example.org'}", 201);
    api_tool_call(&t, "POST", "/agent/broadcasts", DRAFT("spring"), 201);
    ck_assert_str_eq(api_tool_str(&t, "broadcast.status"), "draft");
    api_tool_call(&t, "PATCH", "/agent/broadcasts/spring",
        "{'name':'Spring','vars':{'x':1},'maxLatenessMinutes':30,'audienceGrowthPct':0}", 200);
    ck_assert_str_eq(api_tool_str(&t, "broadcast.name"), "Spring");
    ck_assert_int_eq(api_tool_int(&t, "broadcast.maxLatenessMinutes"), 30);
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/schedule",
        confirm("spring", "recipientCount", 0), 200);
    ck_assert_str_eq(api_tool_str(&t, "broadcast.status"), "scheduled");
    ck_assert_int_eq(api_tool_int(&t, "broadcast.confirmedCount"), 119);
    api_tool_call(
        &t, "GET", "/agent/broadcasts/spring/wait?status=sent&timeoutMs=30000", NULL, 200);
    ck_assert(api_tool_bool(&t, "reached"));
    check_ledger("spring", 119);
    ck_assert_int_eq(api_tool_int(&t, "ledger.states.sent"), 119);
    ck_assert_int_eq(api_tool_int(&t, "progress.done"), 119);
    ck_assert_int_eq(api_tool_int(&t, "progress.open"), 0);
    ck_assert_int_eq(api_tool_int(&t, "stats.accepted"), 119);
    ck_assert_uint_eq(engine_captured(&engine), 119);
    api_tool_call(
        &t, "GET", "/agent/broadcasts/spring/exclusions?reason=suppressed_manual", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "items.0.email"), "user5@r5.example.org");
    api_tool_call(&t, "GET", "/agent/broadcasts?limit=1", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "items.0.broadcast.slug"), "spring");
    ck_assert_int_eq(api_tool_int(&t, "items.0.statusBreakdown.sent"), 119);
    api_tool_close(&t);
}
END_TEST

START_TEST(drafts_that_must_not_be)
{
    static const struct api_tool_case cases[] = {
        {"POST", "/agent/broadcasts", "{}", 400, "validation_failed"},
        {"POST", "/agent/broadcasts", DRAFT("Bad_Slug"), 400, "validation_failed"},
        {"POST", "/agent/broadcasts", DRAFT("one"), 409, "slug_taken"},
        {"POST", "/agent/broadcasts",
            "{'slug':'two','name':'N','templateSlug':'news','recipientCap':5}", 400,
            "validation_failed"},
        {"POST", "/agent/broadcasts", "{'slug':'two','name':'N','templateSlug':'internal'}", 409,
            "template_not_marketing"},
        {"POST", "/agent/broadcasts",
            "{'slug':'two','name':'N','templateSlug':'news','segmentDefinition':{'filters':[]}}",
            422, "segment_requires_subscribed"},
        {"POST", "/agent/broadcasts",
            "{'slug':'two','name':'N','templateSlug':'news','segmentDefinition':{'filters':"
            "[{'kind':'any','filters':[{'kind':'subscriptionStatus','equals':'subscribed'}]}]}}",
            422, "segment_requires_subscribed"},
        {"POST", "/agent/broadcasts",
            "{'slug':'two','name':'N','templateSlug':'news','segmentDefinition':{'filters':"
            "[{'kind':'hasTag'}]}}",
            400, "invalid_segment"},
        {"POST", "/agent/broadcasts",
            "{'slug':'two','name':'N','templateSlug':'news','stopRules':{'minSample':0}}", 400,
            "invalid_stop_rules"},
        {"POST", "/agent/broadcasts",
            "{'slug':'two','name':'N','templateSlug':'news','stopRules':{'other':1}}", 400,
            "invalid_stop_rules"},
        {"POST", "/agent/broadcasts",
            "{'slug':'two','name':'N','templateSlug':'news','vars':{'a.b':1}}", 400,
            "validation_failed"},
        {"PATCH", "/agent/broadcasts/none", "{'name':'x'}", 404, "not_found"},
        {"PATCH", "/agent/broadcasts/one", "{'slug':'x'}", 400, "validation_failed"},
        {"DELETE", "/agent/broadcasts/none", NULL, 404, "not_found"},
        {"GET", "/agent/broadcasts/none", NULL, 404, "not_found"},
        {"GET", "/agent/broadcasts/Bad_Slug", NULL, 404, "not_found"},
        {"GET", "/agent/broadcasts?limit=501", NULL, 400, "validation_failed"},
        {"GET", "/agent/broadcasts?cursor=x", NULL, 400, "bad_cursor"},
        {NULL, NULL, NULL, 0, NULL},
    };

    open_world("bad_drafts", 0);
    api_tool_call(&t, "PUT", "/agent/templates/internal",
        "{'name':'I','kind':'transactional','fromName':'F','fromEmail':'f@example.org',"
        "'subject':'S','body':{'html':'x'}}",
        201);
    /* a template may be written after its broadcast */
    api_tool_call(
        &t, "POST", "/agent/broadcasts", "{'slug':'early','name':'N','templateSlug':'later'}", 201);
    api_tool_call(&t, "POST", "/agent/broadcasts", DRAFT("one"), 201);
    api_tool_refuse_all(&t, cases);
    api_tool_call(&t, "DELETE", "/agent/broadcasts/one", NULL, 200);
    api_tool_refuse(&t, "GET", "/agent/broadcasts/one", NULL, 404, "not_found");
    api_tool_close(&t);
}
END_TEST

START_TEST(schedules_that_must_not_be)
{
    static const struct api_tool_case cases[] = {
        {"POST", "/agent/broadcasts/none/count", "{}", 404, "not_found"},
        {"POST", "/agent/broadcasts/early/count", "{}", 409, "template_not_found"},
        {"POST", "/agent/broadcasts/one/schedule", "{'scheduledAt':'now','confirmedCount':3}", 400,
            "validation_failed"},
        {"POST", "/agent/broadcasts/one/schedule", "{'countToken':'x','confirmedCount':3}", 400,
            "scheduledAt_required"},
        {"POST", "/agent/broadcasts/one/schedule",
            "{'scheduledAt':'','countToken':'x','confirmedCount':3}", 400, "scheduledAt_required"},
        {"POST", "/agent/broadcasts/one/schedule",
            "{'scheduledAt':'2026-01-01T00:00:00','countToken':'x','confirmedCount':3}", 400,
            "bad_scheduledAt"},
        {"POST", "/agent/broadcasts/one/schedule", "{'scheduledAt':'now','countToken':'x'}", 400,
            "confirmedCount_required"},
        {"POST", "/agent/broadcasts/one/schedule",
            "{'scheduledAt':'now','countToken':'x','confirmedCount':3}", 409, "count_expired"},
        {"POST", "/agent/broadcasts/one/unschedule", NULL, 409, "not_scheduled"},
        {"POST", "/agent/broadcasts/one/pause", "{}", 409, "not_pausable"},
        {"POST", "/agent/broadcasts/one/resume", "{'countToken':'x'}", 400,
            "confirmedCount_required"},
        {"POST", "/agent/broadcasts/one/resume", "{'countToken':'x','confirmedCount':1}", 409,
            "not_paused"},
        {"GET", "/agent/broadcasts/one/counts/0000000000001", NULL, 404, "not_found"},
        {"GET", "/agent/broadcasts/one/counts/x", NULL, 404, "not_found"},
        {"GET", "/agent/broadcasts/one/wait?status=done", NULL, 400, "validation_failed"},
        {"GET", "/agent/broadcasts/one/wait?timeoutMs=60000", NULL, 400, "validation_failed"},
        {NULL, NULL, NULL, 0, NULL},
    };
    const char *stale;
    char keep[200], target[120];

    open_world("bad_schedules", 3);
    api_tool_call(
        &t, "POST", "/agent/broadcasts", "{'slug':'early','name':'N','templateSlug':'later'}", 201);
    api_tool_call(&t, "POST", "/agent/broadcasts", DRAFT("one"), 201);
    api_tool_refuse_all(&t, cases);
    /* a wrong number names the right one */
    api_tool_refuse(&t, "POST", "/agent/broadcasts/one/schedule",
        confirm("one", "recipientCount", 1), 409, "count_mismatch");
    ck_assert_int_eq(api_tool_int(&t, "expected"), 3);
    ck_assert_int_eq(api_tool_int(&t, "confirmedCount"), 4);
    /* a count that no longer describes the broadcast */
    stale = confirm("one", "recipientCount", 0);
    snprintf(keep, sizeof keep, "%s", stale);
    snprintf(
        target, sizeof target, "/agent/broadcasts/one/counts/%s", api_tool_str(&t, "countToken"));
    api_tool_call(&t, "GET", target, NULL, 200);
    ck_assert_int_eq(api_tool_int(&t, "recipientCount"), 3);
    api_tool_call(&t, "PATCH", "/agent/broadcasts/one",
        "{'segmentDefinition':{'filters':[{'kind':'subscriptionStatus','equals':'subscribed'},"
        "{'kind':'notHasTag','tag':'vip'}]}}",
        200);
    api_tool_refuse(&t, "POST", "/agent/broadcasts/one/schedule", keep, 409, "count_stale");
    api_tool_close(&t);
}
END_TEST

START_TEST(scheduled_may_go_back)
{
    char body[200];

    open_world("unschedule", 3);
    api_tool_call(&t, "POST", "/agent/broadcasts", DRAFT("one"), 201);
    confirm("one", "recipientCount", 0);
    snprintf(body, sizeof body,
        "{'scheduledAt':'2099-01-01T00:00:00+01:00','countToken':'%s','confirmedCount':3}",
        api_tool_str(&t, "countToken"));
    api_tool_call(&t, "POST", "/agent/broadcasts/one/schedule", body, 200);
    ck_assert_str_eq(api_tool_str(&t, "broadcast.scheduledAt"), "2098-12-31T23:00:00.000Z");
    api_tool_refuse(&t, "POST", "/agent/broadcasts/one/schedule", body, 409, "not_draft");
    api_tool_refuse(&t, "PATCH", "/agent/broadcasts/one", "{'name':'x'}", 409, "not_draft");
    api_tool_refuse(&t, "DELETE", "/agent/broadcasts/one", NULL, 409, "not_draft");
    api_tool_call(&t, "POST", "/agent/broadcasts/one/unschedule", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "broadcast.status"), "draft");
    ck_assert(json_is(api_tool_get(&t, "broadcast.scheduledAt"), JSON_NULL));
    api_tool_call(&t, "POST", "/agent/broadcasts/one/cancel", NULL, 200);
    ck_assert_int_eq(api_tool_int(&t, "cancelledSends"), 0);
    api_tool_call(&t, "POST", "/agent/broadcasts/one/cancel", NULL, 200);
    api_tool_close(&t);
}
END_TEST

/* Planned and held back by a gate, so that the states stand still. */
static void
start_gated(const char *slug, int64_t rows)
{
    char body[100], target[100];

    snprintf(body, sizeof body, "{'slug':'%s','name':'N','templateSlug':'news'}", slug);
    api_tool_call(&t, "POST", "/agent/broadcasts", body, 201);
    api_tool_call(&t, "POST", "/agent/profiles/main/pause", "{'reason':'looking'}", 200);
    snprintf(target, sizeof target, "/agent/broadcasts/%s/schedule", slug);
    api_tool_call(&t, "POST", target, confirm(slug, "recipientCount", 0), 200);
    snprintf(target, sizeof target, "/agent/broadcasts/%s", slug);
    for (int i = 0; i < 2000; i++) {
        api_tool_call(&t, "GET", target, NULL, 200);
        if (api_tool_str(&t, "broadcast.dispatchedAt")[0] != '\0')
            break;
    }
    ck_assert_int_eq(api_tool_int(&t, "ledger.states.queued"), rows);
}

START_TEST(pause_resume_and_cancel_show_what_they_do)
{
    open_world("pause", 60);
    start_gated("spring", 60);
    ck_assert_str_eq(api_tool_str(&t, "gates.0.gate"), "profile");
    ck_assert_str_eq(api_tool_str(&t, "gates.0.why"), "looking");
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/pause", "{'reason':'a typo'}", 200);
    ck_assert_int_eq(api_tool_int(&t, "heldSends"), 60);
    ck_assert_str_eq(api_tool_str(&t, "broadcast.pauseReasonCodes.0"), "manual");
    ck_assert_str_eq(api_tool_str(&t, "broadcast.pauseReasons.0.message"), "a typo");
    api_tool_refuse(&t, "POST", "/agent/broadcasts/spring/pause", "{}", 409, "not_pausable");
    check_ledger("spring", 60);
    ck_assert_int_eq(api_tool_int(&t, "ledger.states.held"), 60);
    ck_assert_int_eq(api_tool_int(&t, "ledger.states.queued"), 0);
    api_tool_call(&t, "GET", "/agent/broadcasts/spring/sends?status=held&limit=100", NULL, 200);
    ck_assert_uint_eq(json_count(api_tool_get(&t, "items")), 60);
    ck_assert_str_eq(api_tool_str(&t, "items.0.status"), "held");
    api_tool_call(&t, "GET", "/agent/broadcasts/spring/sends?status=queued", NULL, 200);
    ck_assert_uint_eq(json_count(api_tool_get(&t, "items")), 0);
    /* the profile must be mended first; then the number is planned and held together */
    api_tool_refuse(&t, "POST", "/agent/broadcasts/spring/resume",
        confirm("spring", "confirmCount", 0), 409, "profile_paused");
    api_tool_call(&t, "POST", "/agent/profiles/main/resume", NULL, 200);
    api_tool_refuse(&t, "POST", "/agent/broadcasts/spring/resume",
        confirm("spring", "confirmCount", 1), 409, "count_mismatch");
    ck_assert_int_eq(api_tool_int(&t, "heldSends"), 60);
    ck_assert_int_eq(api_tool_int(&t, "expected"), 60);
    api_tool_call(
        &t, "POST", "/agent/broadcasts/spring/resume", confirm("spring", "confirmCount", 0), 200);
    api_tool_call(
        &t, "GET", "/agent/broadcasts/spring/wait?status=sent&timeoutMs=30000", NULL, 200);
    ck_assert(api_tool_bool(&t, "reached"));
    check_ledger("spring", 60);
    api_tool_refuse(&t, "POST", "/agent/broadcasts/spring/cancel", NULL, 409, "already_finished");
    api_tool_close(&t);
}
END_TEST

START_TEST(cancelled_rows_are_cancelled)
{
    char next[100];

    open_world("cancel", 30);
    start_gated("spring", 30);
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/cancel", NULL, 200);
    ck_assert_int_eq(api_tool_int(&t, "cancelledSends"), 30);
    check_ledger("spring", 30);
    ck_assert_int_eq(api_tool_int(&t, "ledger.states.cancelled"), 30);
    api_tool_call(&t, "GET", "/agent/broadcasts/spring/sends?status=cancelled&limit=20", NULL, 200);
    ck_assert_uint_eq(json_count(api_tool_get(&t, "items")), 20);
    snprintf(next, sizeof next,
        "/agent/broadcasts/spring/sends?status=cancelled&limit=20&cursor=%s",
        api_tool_str(&t, "nextCursor"));
    api_tool_call(&t, "GET", next, NULL, 200);
    ck_assert_uint_eq(json_count(api_tool_get(&t, "items")), 10);
    api_tool_call(&t, "POST", "/agent/profiles/main/resume", NULL, 200);
    ck_assert_uint_eq(engine_captured(&engine), 0);
    api_tool_close(&t);
}
END_TEST

SUITE_MAIN("api_broadcasts", everything_from_draft_to_sent, drafts_that_must_not_be,
    schedules_that_must_not_be, scheduled_may_go_back, pause_resume_and_cancel_show_what_they_do,
    cancelled_rows_are_cancelled)
