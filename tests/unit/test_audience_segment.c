/* The segment language: what is taken, what it means, what goes to the store. */
#include <string.h>

#include "base/bsonx.h"
#include "audience/segment.h"
#include "support/model_world.h"
#include "support/suite.h"

static struct model_world w;

static struct segment *
parse(const char *text, struct buf *issues)
{
    struct json *j = model_world_json(&w, text);
    struct segment *s = segment_parse(j, issues, &w.err);

    json_free(&j);
    return s;
}

START_TEST(names_every_fault)
{
    static const struct {
        const char *json, *issue;
    } cases[] = {
        {"[]", "segment: must be an object"},
        {"{}", "filters: must be a list of 0 to 50 filters"},
        {"{'filters':[],'x':1}", "segment: unknown member \"x\""},
        {"{'filters':[7]}", "filters.0: must be a filter"},
        {"{'filters':[{}]}", "filters.0.kind: is no filter kind"},
        {"{'filters':[{'kind':'everybody'}]}", "filters.0.kind: is no filter kind"},
        {"{'filters':[{'kind':'firedEvent','eventName':'x'}]}",
            "filters.0.kind: firedEvent is not supported"},
        {"{'filters':[{'kind':'opened'}]}", "filters.0.kind: opened is not supported"},
        {"{'filters':[{'kind':'fieldEquals','field':'a'}]}", "filters.0.value: is required"},
        {"{'filters':[{'kind':'fieldEquals','field':'a','value':{'$ne':1}}]}",
            "filters.0.value: must be a string, number, boolean or null"},
        {"{'filters':[{'kind':'fieldEquals','field':'a','value':[1]}]}",
            "filters.0.value: must be a string, number, boolean or null"},
        {"{'filters':[{'kind':'fieldEquals','field':'','value':1}]}",
            "filters.0.field: must be a string of 1 to 256 characters"},
        {"{'filters':[{'kind':'fieldExists','field':'$where'}]}",
            "filters.0.field: has an empty part, or one that starts with '$'"},
        {"{'filters':[{'kind':'fieldExists','field':'a.$b'}]}",
            "filters.0.field: has an empty part, or one that starts with '$'"},
        {"{'filters':[{'kind':'fieldExists','field':'a..b'}]}",
            "filters.0.field: has an empty part, or one that starts with '$'"},
        {"{'filters':[{'kind':'fieldExists','field':'a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p'}]}",
            "filters.0.field: has more than 15 parts"},
        {"{'filters':[{'kind':'fieldEquals','field':'a','value':9007199254740994}]}",
            "filters.0.value: is a number that cannot be kept exactly"},
        {"{'filters':[{'kind':'fieldIn','field':'a','values':[1,[2]]}]}",
            "filters.0.values.1: must be a string, number, boolean or null"},
        {"{'filters':[{'kind':'fieldIn','field':'a','values':1}]}",
            "filters.0.values: must be a list of at most 1000 values"},
        {"{'filters':[{'kind':'hasTag','tag':''}]}",
            "filters.0.tag: must be a string of 1 to 256 characters"},
        {"{'filters':[{'kind':'hasTag','tag':'a','withinDay':3}]}",
            "filters.0: unknown member \"withinDay\""},
        {"{'filters':[{'kind':'subscriptionStatus','equals':'happy'}]}",
            "filters.0.equals: is no subscription status"},
        {"{'filters':[{'kind':'any','filters':[]}]}",
            "filters.0.filters: must be a list of 1 to 50 filters"},
        {"{'filters':[{'kind':'not'}]}", "filters.0.filter: must be a filter"},
        {"{'filters':[{'kind':'hasTag','tag':'ok'},{'kind':'any','filters':["
         "{'kind':'not','filter':{'kind':'hasTag'}},{'kind':'nope'}]}]}",
            "filters.1.filters.0.filter.tag: must be a string of 1 to 256 characters; "
            "filters.1.filters.1.kind: is no filter kind"},
    };

    model_world_open(&w);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf issues = BUF_INIT;

        ck_assert_msg(parse(cases[i].json, &issues) == NULL, "accepted: %s", cases[i].json);
        ck_assert_str_eq(w.err.sub, "invalid_segment");
        ck_assert_int_eq(w.err.code, ERR_INVALID);
        ck_assert_str_eq(buf_cstr(&issues), cases[i].issue);
        ck_assert_int_eq(strncmp(w.err.text, cases[i].issue, 60), 0);
        buf_deinit(&issues);
    }
    model_world_close(&w);
}
END_TEST

/* `depth` filters, one inside the other. */
static struct segment *
nested(unsigned depth)
{
    struct buf text = BUF_INIT;
    struct segment *s;

    buf_append_str(&text, "{\"filters\":[");
    for (unsigned i = 1; i < depth; i++)
        buf_append_str(&text, "{\"kind\":\"not\",\"filter\":");
    buf_append_str(&text, "{\"kind\":\"hasTag\",\"tag\":\"x\"}");
    for (unsigned i = 1; i < depth; i++)
        buf_append_char(&text, '}');
    buf_append_str(&text, "]}");
    s = segment_parse_text(buf_slice(&text), NULL, &w.err);
    buf_deinit(&text);
    return s;
}

/* A list of `n` lists of `m` leaves. */
static struct segment *
wide(unsigned n, unsigned m)
{
    struct buf text = BUF_INIT;
    struct segment *s;

    buf_append_str(&text, "{\"filters\":[");
    for (unsigned i = 0; i < n; i++) {
        buf_printf(&text, "%s{\"kind\":\"any\",\"filters\":[", i > 0 ? "," : "");
        for (unsigned k = 0; k < m; k++)
            buf_printf(&text, "%s{\"kind\":\"hasTag\",\"tag\":\"x\"}", k > 0 ? "," : "");
        buf_append_str(&text, "]}");
    }
    buf_append_str(&text, "]}");
    s = segment_parse_text(buf_slice(&text), NULL, &w.err);
    buf_deinit(&text);
    return s;
}

START_TEST(bounds_the_tree)
{
    struct segment *s;

    model_world_open(&w);
    ck_assert_ptr_nonnull(s = nested(SEGMENT_MAX_DEPTH));
    segment_free(&s);
    ck_assert_ptr_null(nested(SEGMENT_MAX_DEPTH + 1));
    ck_assert_ptr_null(nested(25));
    ck_assert_ptr_nonnull(s = wide(10, 49));
    segment_free(&s);
    ck_assert_ptr_null(wide(10, 50));
    ck_assert_ptr_null(wide(51, 1));
    ck_assert_ptr_null(wide(1, 51));
    model_world_close(&w);
}
END_TEST

START_TEST(equal_segments_are_equal_bytes)
{
    static const char *const same[] = {
        "{'filters':[{'kind':'fieldEquals','field':'plan','value':1}]}",
        "{'filters':[{'value':1.0,'field':'fields.plan','kind':'fieldEquals'}]}",
    };
    static const char *const other =
        "{'filters':[{'kind':'fieldEquals','field':'plan','value':'1'}]}";
    char hash[3][65];
    struct segment *s, *back;

    model_world_open(&w);
    for (int i = 0; i < 3; i++) {
        s = parse(i < 2 ? same[i] : other, NULL);
        ck_assert_ptr_nonnull(s);
        segment_hash(s, hash[i]);
        segment_free(&s);
    }
    ck_assert_str_eq(hash[0], hash[1]);
    ck_assert_str_ne(hash[0], hash[2]);

    s = parse("{'filters':[{'kind':'any','filters':[{'kind':'fieldIn','field':'a.b',"
              "'values':[null,true,-3,2.5,'x','2026-01-02T03:04:05Z']},"
              "{'kind':'not','filter':{'kind':'notHasTag','tag':'t'}}]},"
              "{'kind':'subscriptionStatus','equals':'bounced'},"
              "{'kind':'fieldExists','field':'email'}]}",
        NULL);
    ck_assert_ptr_nonnull(s);
    {
        bson_t doc = BSON_INITIALIZER;

        segment_to_bson(s, &doc);
        back = segment_from_bson(bsonx_bytes(&doc), &w.err);
        ck_assert_ptr_nonnull(back);
        bson_destroy(&doc);
    }
    segment_hash(s, hash[0]);
    segment_hash(back, hash[1]);
    ck_assert_str_eq(hash[0], hash[1]);
    segment_free(&s);
    segment_free(&back);
    model_world_close(&w);
}
END_TEST

START_TEST(plans_what_goes_where)
{
    static const struct {
        const char *json;
        bool consent, post, status, documents;
        unsigned pushed;
    } cases[] = {
        {"{'filters':[]}", false, false, false, false, 0},
        {"{'filters':[{'kind':'subscriptionStatus','equals':'subscribed'}]}", true, false, false,
            false, 0},
        {"{'filters':[{'kind':'subscriptionStatus','equals':'bounced'}]}", false, true, true, false,
            0},
        {"{'filters':[{'kind':'hasTag','tag':'a'},{'kind':'hasTag','tag':'b'}]}", false, false,
            false, false, 2},
        {"{'filters':[{'kind':'any','filters':[{'kind':'subscriptionStatus',"
         "'equals':'subscribed'}]}]}",
            false, true, true, false, 0},
        {"{'filters':[{'kind':'any','filters':[{'kind':'hasTag','tag':'a'},"
         "{'kind':'subscriptionStatus','equals':'bounced'}]},"
         "{'kind':'not','filter':{'kind':'fieldExists','field':'x'}}]}",
            false, true, true, true, 1},
    };

    model_world_open(&w);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct segment *s = parse(cases[i].json, NULL);
        const struct segment_plan *plan = segment_plan(s);
        bson_t clauses;
        unsigned pushed = bsonx_doc(plan->filter, "$and", &clauses) ? bson_count_keys(&clauses) : 0;

        ck_assert_int_eq(plan->is_consent, cases[i].consent);
        ck_assert_int_eq(segment_requires_subscribed(s), cases[i].consent);
        ck_assert_int_eq(plan->needs_post, cases[i].post);
        ck_assert_int_eq(plan->needs_status, cases[i].status);
        ck_assert_int_eq(plan->needs_documents, cases[i].documents);
        ck_assert_uint_eq(pushed, cases[i].pushed);
        segment_free(&s);
    }
    model_world_close(&w);
}
END_TEST

/* The meaning of equality, one row per case; `doc` is the stored contact. */
START_TEST(means_what_it_says)
{
    static const struct {
        const char *fields, *filter;
        bool holds;
    } cases[] = {
        {"{}", "{'kind':'fieldEquals','field':'a','value':null}", true},
        {"{'a':null}", "{'kind':'fieldEquals','field':'a','value':null}", true},
        {"{'a':1}", "{'kind':'fieldEquals','field':'a','value':null}", false},
        {"{'a':{'b':null}}", "{'kind':'fieldExists','field':'a.b'}", true},
        {"{}", "{'kind':'fieldExists','field':'a'}", false},
        {"{'a':['x','y']}", "{'kind':'fieldEquals','field':'a','value':'y'}", true},
        {"{'a':[['y']]}", "{'kind':'fieldEquals','field':'a','value':'y'}", false},
        {"{'a':[{'b':1},{'b':2}]}", "{'kind':'fieldEquals','field':'a.b','value':2}", true},
        {"{'a':[{'b':1},{}]}", "{'kind':'fieldEquals','field':'a.b','value':null}", true},
        {"{'a':[1,2]}", "{'kind':'fieldEquals','field':'a.b','value':null}", false},
        {"{'a':[5,6]}", "{'kind':'fieldEquals','field':'a.1','value':6}", true},
        {"{'a':1}", "{'kind':'fieldEquals','field':'a','value':1.0}", true},
        {"{'a':1.5}", "{'kind':'fieldEquals','field':'a','value':1.5}", true},
        {"{'a':1}", "{'kind':'fieldEquals','field':'a','value':'1'}", false},
        {"{'a':'1'}", "{'kind':'fieldEquals','field':'a','value':1}", false},
        {"{'a':true}", "{'kind':'fieldEquals','field':'a','value':1}", false},
        {"{'a':true}", "{'kind':'fieldEquals','field':'a','value':true}", true},
        {"{'a':'X'}", "{'kind':'fieldEquals','field':'a','value':'x'}", false},
        {"{'a':'x'}", "{'kind':'fieldIn','field':'a','values':['y','x']}", true},
        {"{'a':'x'}", "{'kind':'fieldIn','field':'a','values':[]}", false},
        {"{}", "{'kind':'fieldIn','field':'a','values':['y',null]}", true},
        {"{}", "{'kind':'not','filter':{'kind':'fieldIn','field':'c','values':['US']}}", true},
        {"{'email':'fake'}", "{'kind':'fieldEquals','field':'email','value':'e@example.org'}",
            true},
        {"{'email':'fake'}", "{'kind':'fieldEquals','field':'fields.email','value':'fake'}", true},
        {"{}", "{'kind':'fieldEquals','field':'createdAt','value':'2025-10-09T08:53:20Z'}", true},
        {"{}", "{'kind':'fieldEquals','field':'createdAt','value':'2025-10-09T10:53:20+02:00'}",
            true},
        {"{}", "{'kind':'fieldEquals','field':'createdAt','value':1760000000000}", false},
        {"{'at':'2025-10-09T08:53:20Z'}",
            "{'kind':'fieldEquals','field':'at','value':'2025-10-09T08:53:20Z'}", true},
        {"{}", "{'kind':'hasTag','tag':'vip'}", true},
        {"{}", "{'kind':'hasTag','tag':'VIP'}", false},
        {"{}", "{'kind':'notHasTag','tag':'nope'}", true},
        {"{}", "{'kind':'fieldEquals','field':'tags','value':'beta'}", true},
        {"{}", "{'kind':'subscriptionStatus','equals':'bounced'}", true},
        {"{}", "{'kind':'not','filter':{'kind':'subscriptionStatus','equals':'bounced'}}", false},
        {"{}",
            "{'kind':'any','filters':[{'kind':'hasTag','tag':'no'},"
            "{'kind':'subscriptionStatus','equals':'bounced'}]}",
            true},
    };

    model_world_open(&w);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct contact_input in;
        struct json *j = model_world_json(
            &w, arena_printf(w.a, "{'email':'e@example.org','tags':['vip','beta'],'fields':%s}",
                    cases[i].fields));
        struct segment *s = parse(arena_printf(w.a, "{'filters':[%s]}", cases[i].filter), NULL);
        bson_t doc = BSON_INITIALIZER;

        ck_assert_int_eq(contact_input_from_json(j, w.a, &in, &w.err), 0);
        ck_assert_int_eq(contact_build(w.keys, &in, 1, MODEL_NOW, &doc, &w.err), 0);
        ck_assert_msg(s != NULL, "%s: %s", cases[i].filter, w.err.text);
        ck_assert_msg(segment_match(s, &doc, SUBSCRIPTION_BOUNCED) == cases[i].holds, "%s on %s",
            cases[i].filter, cases[i].fields);
        bson_destroy(&doc);
        segment_free(&s);
        json_free(&j);
    }
    model_world_close(&w);
}
END_TEST

START_TEST(the_default_is_the_subscribed)
{
    struct segment *s = segment_default();

    ck_assert_ptr_nonnull(s);
    ck_assert(segment_requires_subscribed(s));
    ck_assert(!segment_plan(s)->needs_post);
    segment_free(&s);
    ck_assert_ptr_null(s);
}
END_TEST

SUITE_MAIN("audience_segment", names_every_fault, bounds_the_tree, equal_segments_are_equal_bytes,
    plans_what_goes_where, means_what_it_says, the_default_is_the_subscribed)
