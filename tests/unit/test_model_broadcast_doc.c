/* Definitions of broadcasts and their stop rules. */
#include "base/bsonx.h"
#include "model/broadcast_doc.h"
#include "store/runs.h"
#include "support/model_world.h"
#include "support/suite.h"

static struct model_world w;
static bson_t segment;

static struct broadcast_doc
definition(const char *slug)
{
    return (struct broadcast_doc){.slug = slice_str(slug),
        .name = SLICE_LIT("Spring"),
        .template_slug = SLICE_LIT("spring"),
        .segment = bsonx_bytes(&segment),
        .growth_limit_pct = -1};
}

static void
open_world(void)
{
    bson_t list;

    model_world_open(&w);
    bson_init(&segment);
    bson_append_array_begin(&segment, "filters", -1, &list);
    bson_append_array_end(&segment, &list);
}

static void
close_world(void)
{
    bson_destroy(&segment);
    model_world_close(&w);
}

static int
create(struct broadcast_doc *d)
{
    return broadcast_doc_create(w.st, d, SLICE_LIT("agent:test"), MODEL_NOW, &w.err);
}

START_TEST(creates_with_a_run)
{
    struct broadcast_doc d, got;
    struct run_record run;

    open_world();
    d = definition("one");
    d.stop_rules = (struct stop_rules){.set = STOP_RULES_COMPLAINT, .complaint_ppm = 3000};
    ck_assert_int_eq(create(&d), 0);
    ck_assert_int_eq(broadcast_doc_get(w.st, SLICE_LIT("one"), w.a, &got, &run, &w.err), 0);
    ck_assert_uint_eq(got.id, d.id);
    ck_assert_uint_eq(run.broadcast, d.id);
    ck_assert_int_eq(run.state, RUN_DRAFT);
    ck_assert_uint_eq(got.stop_rules.complaint_ppm, 3000);
    ck_assert_uint_eq(got.stop_rules.set, STOP_RULES_COMPLAINT);
    ck_assert(slice_eq(got.segment, d.segment));
    ck_assert_uint_eq(got.vars.n, 0);
    ck_assert(slice_eq_str(got.created_by, "agent:test"));

    d = definition("one");
    ck_assert_int_eq(create(&d), -1);
    ck_assert_str_eq(w.err.sub, "slug_taken");
    d = definition("No Slug");
    ck_assert_int_eq(create(&d), -1);
    ck_assert_str_eq(w.err.field, "slug");
    close_world();
}
END_TEST

static void
set_state(uint64_t id, enum run_state from, enum run_state to)
{
    struct store_batch *b = store_batch_create(w.st, STORE_URGENT);
    unsigned op = runs_change(b,
        &(struct run_change){
            .broadcast = id, .if_states = 1u << from, .set = RUN_SET_STATE, .to = {.state = to}});

    store_require(b, op, ERR_CONFLICT, "edge");
    model_world_run(&b);
}

START_TEST(only_drafts_change)
{
    struct broadcast_doc d, got, change = {.name = SLICE_LIT("New name")};
    struct run_record run;

    open_world();
    d = definition("one");
    ck_assert_int_eq(create(&d), 0);
    ck_assert_int_eq(broadcast_doc_patch(w.st, d.id, &change, BROADCAST_SET_NAME,
                         SLICE_LIT("agent:test"), MODEL_NOW + 1, w.a, &got, &w.err),
        0);
    ck_assert(slice_eq_str(got.name, "New name") && slice_eq_str(got.template_slug, "spring"));
    ck_assert_int_eq(got.updated_at_ms, MODEL_NOW + 1);

    set_state(d.id, RUN_DRAFT, RUN_SCHEDULED);
    change.name = SLICE_LIT("Too late");
    ck_assert_int_eq(broadcast_doc_patch(w.st, d.id, &change, BROADCAST_SET_NAME,
                         SLICE_LIT("agent:test"), MODEL_NOW, w.a, &got, &w.err),
        -1);
    ck_assert_int_eq(w.err.code, ERR_CONFLICT);
    ck_assert_str_eq(w.err.sub, "not_draft");
    ck_assert_int_eq(broadcast_doc_delete(w.st, d.id, SLICE_LIT("a"), MODEL_NOW, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "not_draft");
    ck_assert_int_eq(broadcast_doc_get_id(w.st, d.id, w.a, &got, &run, &w.err), 0);
    ck_assert(slice_eq_str(got.name, "New name"));
    ck_assert_int_eq(run.state, RUN_SCHEDULED);
    close_world();
}
END_TEST

START_TEST(lists_newest_first)
{
    static const char *const slugs[] = {"a", "b", "c"};
    const struct broadcast_doc *docs;
    const struct run_record *runs;
    struct broadcast_doc d;
    size_t n;

    open_world();
    for (size_t i = 0; i < 3; i++) {
        d = definition(slugs[i]);
        ck_assert_int_eq(create(&d), 0);
    }
    ck_assert_int_eq(broadcast_doc_list(w.st, 0, 2, w.a, &docs, &runs, &n, &w.err), 0);
    ck_assert_uint_eq(n, 2);
    ck_assert(slice_eq_str(docs[0].slug, "c") && slice_eq_str(docs[1].slug, "b"));
    ck_assert_uint_eq(runs[1].broadcast, docs[1].id);
    ck_assert_int_eq(broadcast_doc_list(w.st, docs[1].id, 2, w.a, &docs, &runs, &n, &w.err), 0);
    ck_assert_uint_eq(n, 1);
    ck_assert(slice_eq_str(docs[0].slug, "a"));
    ck_assert_int_eq(broadcast_doc_delete(w.st, docs[0].id, SLICE_LIT("x"), MODEL_NOW, &w.err), 0);
    ck_assert_int_eq(broadcast_doc_get(w.st, SLICE_LIT("a"), w.a, &d, NULL, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "not_found");
    close_world();
}
END_TEST

START_TEST(reads_stop_rules_strictly)
{
    static const struct {
        const char *json;
        bool ok;
    } cases[] = {
        {"null", true},
        {"{}", true},
        {"{'enabled':false,'hardBounceRatePct':2.5,'complaintRatePct':0.1,"
         "'unsubscribeRatePct':100,'minSample':1}",
            true},
        {"{'enabled':1}", false},
        {"{'hardBounceRatePct':-1}", false},
        {"{'hardBounceRatePct':100.5}", false},
        {"{'hardBounceRatePct':'2'}", false},
        {"{'minSample':0}", false},
        {"{'minSample':1.5}", false},
        {"{'minSample':1000001}", false},
        {"{'bounceRatePct':1}", false},
        {"[]", false},
    };
    struct stop_rules r;

    open_world();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json *j = model_world_json(&w, cases[i].json);

        ck_assert_msg(
            (stop_rules_from_json(j, &r, &w.err) == 0) == cases[i].ok, "%s", cases[i].json);
        if (!cases[i].ok)
            ck_assert_str_eq(w.err.sub, "invalid_stop_rules");
        if (i == 2) {
            ck_assert_uint_eq(r.hard_bounce_ppm, 25000);
            ck_assert_uint_eq(r.complaint_ppm, 1000);
            ck_assert_uint_eq(r.unsubscribe_ppm, 1000000);
            ck_assert(!r.enabled && r.set == 31u);
        }
        json_free(&j);
    }
    close_world();
}
END_TEST

SUITE_MAIN("model_broadcast_doc", creates_with_a_run, only_drafts_change, lists_newest_first,
    reads_stop_rules_strictly)
