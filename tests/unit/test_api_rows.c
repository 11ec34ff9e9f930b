/* Rows of broadcasts through the API: the lists behind the figures, and deciding by hand about rows that
 * stand. Rows are brought into their states by the store's own steps, as a sender would. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "store/sends.h"
#include "store/store.h"
#include "support/api_tool.h"
#include "support/suite.h"

#define ROWS 40

static struct engine engine;
static struct api_tool t;
static uint64_t broadcast;
static struct send_row rows[ROWS];

/* Planned, and nothing goes: the profile is paused. */
static void
open_world(const char *name)
{
    char body[160];

    api_tool_open(&t, &engine, name);
    engine_add_profile(&engine);
    engine_add_template(&engine);
    engine_add_contacts(&engine, 0, ROWS);
    api_tool_call(
        &t, "POST", "/agent/broadcasts", "{'slug':'spring','name':'N','templateSlug':'news'}", 201);
    ck_assert(id_parse(slice_str(api_tool_str(&t, "broadcast.id")), &broadcast));
    api_tool_call(&t, "POST", "/agent/profiles/main/pause", "{}", 200);
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/count", "{}", 200);
    snprintf(body, sizeof body, "{'scheduledAt':'now','countToken':'%s','confirmedCount':%d}",
        api_tool_str(&t, "countToken"), ROWS);
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/schedule", body, 200);
    do
        api_tool_call(&t, "GET", "/agent/broadcasts/spring", NULL, 200);
    while (api_tool_str(&t, "broadcast.dispatchedAt")[0] == '\0');
    api_tool_call(&t, "GET", "/agent/broadcasts/spring/sends?limit=500", NULL, 200);
    for (int i = 0; i < ROWS; i++) {
        char path[24];

        snprintf(path, sizeof path, "items.%d.id", i);
        ck_assert(id_parse(slice_str(api_tool_str(&t, path)), &rows[i].id));
    }
}

/* Claim row `i` and settle it, as a session would. */
static void
settle(int i, enum send_state to, enum send_fail_class class, int code)
{
    struct store_batch *b = store_batch_create(engine.store, STORE_URGENT);
    struct err err = {0};
    struct sends_claim claim = {.broadcast = broadcast,
        .id = rows[i].id,
        .token = 1000 + (uint64_t)i,
        .generation = 1,
        .address_hash = 1,
        .seen_seq = store_suppression_seq(engine.store)};
    struct sends_settle outcome = {.broadcast = broadcast,
        .id = rows[i].id,
        .token = claim.token,
        .to = to,
        .fail_class = class,
        .reply_code = code,
        .at_ms = clock_now_ms(),
        .bounce = to == SEND_BOUNCED ? BOUNCE_HARD : BOUNCE_NONE,
        .reply_text = SLICE_LIT("these were the server's words")};
    struct sends_commit commit = {
        .owner = 7, .now_ms = clock_now_ms(), .claims = &claim, .n_claims = 1};
    unsigned op = sends_commit(b, &commit);

    commit = (struct sends_commit){
        .owner = 7, .now_ms = clock_now_ms(), .settles = &outcome, .n_settles = 1};
    sends_commit(b, &commit);
    ck_assert_msg(store_run(b, &err) == 0, "%s", err.text);
    ck_assert_int_eq(sends_result(b, op)->verdicts[0], CLAIM_GRANTED);
    store_batch_free(&b);
}

static int64_t
shown(const char *state)
{
    char path[40];

    api_tool_call(&t, "GET", "/agent/broadcasts/spring?recount=true", NULL, 200);
    ck_assert(api_tool_bool(&t, "ledger.closes"));
    snprintf(path, sizeof path, "ledger.states.%s", state);
    return api_tool_int(&t, path);
}

/* Length of a list, by pages of three. */
static unsigned
walk(const char *query)
{
    char target[200];
    unsigned n = 0;

    snprintf(target, sizeof target, "/agent/broadcasts/spring/sends?limit=3%s", query);
    for (;;) {
        api_tool_call(&t, "GET", target, NULL, 200);
        n += (unsigned)json_count(api_tool_get(&t, "items"));
        if (json_is(api_tool_get(&t, "nextCursor"), JSON_NULL))
            return n;
        snprintf(target, sizeof target, "/agent/broadcasts/spring/sends?limit=3%s&cursor=%s", query,
            api_tool_str(&t, "nextCursor"));
    }
}

START_TEST(each_figure_opens_a_list_of_its_length)
{
    static const struct api_tool_case cases[] = {
        {"GET", "/agent/broadcasts/spring/sends?status=gone", NULL, 400, "validation_failed"},
        {"GET", "/agent/broadcasts/spring/sends?failClass=gone", NULL, 400, "validation_failed"},
        {"GET", "/agent/broadcasts/spring/sends?limit=all", NULL, 400, "validation_failed"},
        {"GET", "/agent/broadcasts/spring/sends?cursor=x", NULL, 400, "bad_cursor"},
        {"GET", "/agent/broadcasts/spring/sends?cursor=99.1", NULL, 400, "bad_cursor"},
        {"GET", "/agent/broadcasts/none/sends", NULL, 404, "not_found"},
        {"GET", "/agent/broadcasts/spring/exclusions", NULL, 400, "validation_failed"},
        {"GET", "/agent/broadcasts/spring/exclusions?reason=manual", NULL, 400,
            "validation_failed"},
        {"GET", "/agent/broadcasts/spring/exclusions?reason=no_consent&cursor=x", NULL, 400,
            "bad_cursor"},
        {NULL, NULL, NULL, 0, NULL},
    };

    open_world("lists");
    for (int i = 0; i < 10; i++)
        settle(i, SEND_SENT, FAIL_NONE, 250);
    for (int i = 10; i < 14; i++)
        settle(i, SEND_FAILED, i < 12 ? FAIL_MESSAGE : FAIL_EXPIRED, 554);
    for (int i = 14; i < 19; i++)
        settle(i, SEND_BOUNCED, FAIL_RECIPIENT, 550);
    ck_assert_int_eq(shown("sent"), 10);
    ck_assert_uint_eq(walk("&status=sent"), 10);
    ck_assert_int_eq(shown("failed"), 4);
    ck_assert_uint_eq(walk("&status=failed"), 4);
    ck_assert_uint_eq(walk("&status=failed&failClass=expired"), 2);
    ck_assert_int_eq(shown("bounced"), 5);
    ck_assert_uint_eq(walk("&status=bounced"), 5);
    ck_assert_uint_eq(walk("&status=queued"), ROWS - 19);
    ck_assert_uint_eq(walk(""), ROWS);
    api_tool_call(&t, "GET", "/agent/broadcasts/spring/sends?status=bounced", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "items.0.errorMessage"), "these were the server's words");
    ck_assert_str_eq(api_tool_str(&t, "items.0.failClass"), "recipient");
    ck_assert_str_eq(api_tool_str(&t, "items.0.bounceType"), "hard");
    ck_assert_int_eq(api_tool_int(&t, "items.0.replyCode"), 550);
    api_tool_refuse_all(&t, cases);
    /* held is a view: the same rows under another name */
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/pause", "{}", 200);
    ck_assert_int_eq(shown("held"), ROWS - 19);
    ck_assert_uint_eq(walk("&status=held"), ROWS - 19);
    ck_assert_uint_eq(walk("&status=queued"), 0);
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/cancel", NULL, 200);
    ck_assert_uint_eq(walk("&status=cancelled"), ROWS - 19);
    api_tool_close(&t);
}
END_TEST

START_TEST(a_mail_of_a_broadcast_is_found_through_it)
{
    char target[120], id[ID_TEXT_SIZE];

    open_world("one_row");
    settle(0, SEND_FAILED, FAIL_MESSAGE, 554);
    snprintf(target, sizeof target, "/agent/sends/%s", id_text(rows[0].id, id));
    api_tool_refuse(&t, "GET", target, NULL, 404, "not_found");
    snprintf(target, sizeof target, "/agent/sends/%s?broadcast=spring", id);
    api_tool_call(&t, "GET", target, NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "send.status"), "failed");
    ck_assert_str_eq(api_tool_str(&t, "send.broadcastSlug"), "spring");
    snprintf(target, sizeof target, "/agent/sends/%s/wait?broadcast=spring&status=terminal", id);
    api_tool_call(&t, "GET", target, NULL, 200);
    ck_assert(api_tool_bool(&t, "reached"));
    api_tool_close(&t);
}
END_TEST

START_TEST(rows_are_put_back_by_the_number)
{
    static const struct api_tool_case cases[] = {
        {"POST", "/agent/broadcasts/spring/sends/requeue", "{'state':'failed'}", 400,
            "confirmedCount_required"},
        {"POST", "/agent/broadcasts/spring/sends/requeue", "{'state':'sent','confirmedCount':1}",
            400, "validation_failed"},
        {"POST", "/agent/broadcasts/spring/sends/requeue", "{'state':'failed','confirmedCount':3}",
            409, "count_mismatch"},
        {"POST", "/agent/broadcasts/spring/sends/requeue",
            "{'state':'failed','failClass':'expired','confirmedCount':4}", 409, "count_mismatch"},
        {"POST", "/agent/broadcasts/spring/sends/requeue",
            "{'state':'failed','ids':['x'],'confirmedCount':1}", 400, "validation_failed"},
        {"POST", "/agent/broadcasts/none/sends/requeue", "{'state':'failed','confirmedCount':1}",
            404, "not_found"},
        {NULL, NULL, NULL, 0, NULL},
    };
    char body[160], id[ID_TEXT_SIZE];

    open_world("requeue");
    for (int i = 0; i < 4; i++)
        settle(i, SEND_FAILED, i < 3 ? FAIL_MESSAGE : FAIL_EXPIRED, 554);
    api_tool_refuse_all(&t, cases);
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/sends/requeue",
        "{'state':'failed','failClass':'expired','confirmedCount':1}", 200);
    ck_assert_int_eq(api_tool_int(&t, "requeued"), 1);
    snprintf(body, sizeof body, "{'state':'failed','ids':['%s'],'confirmedCount':1}",
        id_text(rows[0].id, id));
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/sends/requeue", body, 200);
    ck_assert_int_eq(api_tool_int(&t, "requeued"), 1);
    ck_assert_int_eq(shown("failed"), 2);
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/sends/requeue",
        "{'state':'failed','confirmedCount':2}", 200);
    ck_assert_int_eq(shown("failed"), 0);
    ck_assert_int_eq(shown("queued"), ROWS);
    /* and they go, as another generation */
    api_tool_call(&t, "POST", "/agent/profiles/main/resume", NULL, 200);
    api_tool_call(
        &t, "GET", "/agent/broadcasts/spring/wait?status=sent&timeoutMs=30000", NULL, 200);
    ck_assert(api_tool_bool(&t, "reached"));
    ck_assert_int_eq(shown("sent"), ROWS);
    ck_assert_uint_eq(engine_captured(&engine), ROWS);
    api_tool_close(&t);
}
END_TEST

START_TEST(doubt_is_resolved_by_the_number)
{
    static const struct api_tool_case cases[] = {
        {"POST", "/agent/broadcasts/spring/sends/resolve", "{'to':'sent'}", 400,
            "confirmedCount_required"},
        {"POST", "/agent/broadcasts/spring/sends/resolve", "{'to':'queued','confirmedCount':1}",
            400, "validation_failed"},
        {"POST", "/agent/broadcasts/spring/sends/resolve", "{'to':'sent','confirmedCount':4}", 409,
            "count_mismatch"},
        {NULL, NULL, NULL, 0, NULL},
    };
    char body[160], id[ID_TEXT_SIZE];

    open_world("resolve");
    for (int i = 0; i < 5; i++)
        settle(i, SEND_UNKNOWN, FAIL_NETWORK, 0);
    api_tool_refuse_all(&t, cases);
    snprintf(body, sizeof body, "{'to':'failed','ids':['%s'],'confirmedCount':1}",
        id_text(rows[0].id, id));
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/sends/resolve", body, 200);
    ck_assert_int_eq(api_tool_int(&t, "resolved"), 1);
    ck_assert_int_eq(shown("failed"), 1);
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/sends/resolve",
        "{'to':'sent','confirmedCount':4}", 200);
    ck_assert_int_eq(api_tool_int(&t, "resolved"), 4);
    ck_assert_int_eq(shown("sent"), 4);
    ck_assert_int_eq(shown("unknown"), 0);
    api_tool_call(&t, "GET", "/agent/audit?resource=broadcasts&resourceId=spring", NULL, 200);
    ck_assert_str_eq(api_tool_str(&t, "items.0.action"), "broadcast.resolve");
    api_tool_close(&t);
}
END_TEST

START_TEST(test_mails_count_in_no_figure)
{
    static const struct api_tool_case cases[] = {
        {"POST", "/agent/broadcasts/spring/test-send", "{'contactIds':[]}", 400,
            "validation_failed"},
        {"POST", "/agent/broadcasts/spring/test-send", "{'contactIds':['a','none']}", 404,
            "contact_not_found"},
        {"POST", "/agent/broadcasts/early/test-send", "{'contactIds':['a']}", 409,
            "template_not_found"},
        {"POST", "/agent/broadcasts/none/test-send", "{'contactIds':['a']}", 404, "not_found"},
        {NULL, NULL, NULL, 0, NULL},
    };
    char target[120];

    open_world("test_send");
    api_tool_call(&t, "POST", "/v1/contacts", "{'externalId':'a','email':'a@example.org'}", 201);
    api_tool_call(
        &t, "POST", "/agent/broadcasts", "{'slug':'early','name':'N','templateSlug':'later'}", 201);
    api_tool_refuse_all(&t, cases);
    ck_assert_uint_eq(engine_captured(&engine), 0);
    api_tool_call(&t, "POST", "/agent/profiles/main/resume", NULL, 200);
    api_tool_call(&t, "POST", "/agent/broadcasts/spring/test-send",
        "{'contactIds':['a'],'vars':{'x':1}}", 201);
    ck_assert_str_eq(api_tool_str(&t, "sends.0.send.origin"), "broadcast-test:spring");
    snprintf(target, sizeof target, "/agent/sends/%s/wait?timeoutMs=20000",
        api_tool_str(&t, "sends.0.sendId"));
    api_tool_call(&t, "GET", target, NULL, 200);
    ck_assert(api_tool_bool(&t, "reached"));
    api_tool_call(
        &t, "GET", "/agent/broadcasts/spring/wait?status=sent&timeoutMs=30000", NULL, 200);
    ck_assert_int_eq(shown("sent"), ROWS);
    ck_assert_uint_eq(engine_captured(&engine), ROWS + 1);
    api_tool_close(&t);
}
END_TEST

SUITE_MAIN("api_rows", each_figure_opens_a_list_of_its_length,
    a_mail_of_a_broadcast_is_found_through_it, rows_are_put_back_by_the_number,
    doubt_is_resolved_by_the_number, test_mails_count_in_no_figure)
