/*
 * Property: for generated contacts and segments, the store filter with the rest evaluated on the page
 * selects exactly the contacts for which the segment holds in memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bsonx.h"
#include "base/id.h"
#include "base/rand.h"
#include "audience/segment.h"
#include "support/model_world.h"
#include "support/suite.h"

#define N_CONTACTS 300
#define N_SEGMENTS 1500

static struct model_world w;
static bson_t contacts[N_CONTACTS];

static unsigned
pick(unsigned n)
{
    return (unsigned)rand_below(n);
}

/* ---- contacts -------------------------------------------------------------------------------- */

static void
append_scalar(bson_t *doc, const char *key)
{
    switch (pick(9)) {
    case 0: bson_append_null(doc, key, -1); break;
    case 1: bsonx_add_bool(doc, key, pick(2) != 0); break;
    case 2: bsonx_add_i64(doc, key, (int64_t)pick(4)); break;
    case 3: bson_append_int32(doc, key, -1, (int32_t)pick(4)); break;
    case 4: bson_append_double(doc, key, -1, (double)pick(4)); break;
    case 5: bson_append_double(doc, key, -1, 0.5 + pick(3)); break;
    case 6: bsonx_add_str(doc, key, slice_str(pick(2) != 0 ? "x" : "1")); break;
    case 7: bson_append_date_time(doc, key, -1, MODEL_NOW + (int64_t)pick(2)); break;
    default: bsonx_add_str(doc, key, SLICE_LIT("2025-10-09T08:53:20Z")); break;
    }
}

static void
append_any(bson_t *doc, const char *key, unsigned depth)
{
    static const char *const names[] = {"a", "b", "0"};
    static const char *const numbers[] = {"0", "1", "2"};
    bson_t sub;
    unsigned shape = depth == 0 ? 0 : pick(5), n = pick(4);

    if (shape < 3) {
        append_scalar(doc, key);
    } else if (shape == 3) {
        bson_append_document_begin(doc, key, -1, &sub);
        for (unsigned i = 0; i < 3; i++) {
            if (pick(2) != 0)
                append_any(&sub, names[i], depth - 1);
        }
        bson_append_document_end(doc, &sub);
    } else {
        bson_append_array_begin(doc, key, -1, &sub);
        for (unsigned i = 0; i < n && i < 3; i++)
            append_any(&sub, numbers[i], depth - 1);
        bson_append_array_end(doc, &sub);
    }
}

static void
make_contact(bson_t *doc, size_t i)
{
    static const char *const names[] = {"a", "b"};
    static const char *const tags[] = {"t", "u", "v"};
    bson_t sub;
    char num[16];
    const char *key;
    uint32_t n = 0;

    bson_init(doc);
    bsonx_add_i64(doc, "_id", (int64_t)id_next());
    bsonx_add_str(doc, "externalId", slice_str(arena_printf(w.a, "e%zu", i)));
    bsonx_add_str(doc, "email", SLICE_LIT("x"));
    bsonx_add_i64(doc, "emailHash", 1 + (int64_t)i);
    bson_append_array_begin(doc, "tags", -1, &sub);
    for (unsigned k = 0; k < 3; k++) {
        if (pick(2) != 0) {
            bson_uint32_to_string(n++, &key, num, sizeof(num));
            bsonx_add_str(&sub, key, slice_str(tags[k]));
        }
    }
    bson_append_array_end(doc, &sub);
    bson_append_document_begin(doc, "fields", -1, &sub);
    for (unsigned k = 0; k < 2; k++) {
        if (pick(5) != 0)
            append_any(&sub, names[k], 3);
    }
    bson_append_document_end(doc, &sub);
    bson_append_date_time(doc, "createdAt", -1, MODEL_NOW + (int64_t)pick(2));
    if (pick(20) == 0)
        bson_append_date_time(doc, "deletedAt", -1, MODEL_NOW);
    else
        bson_append_null(doc, "deletedAt", -1);
}

/* A contact's status follows from its id, so that both sides agree without a second collection. */
static enum subscription_status
status_of(const bson_t *doc)
{
    return (enum subscription_status)(bsonx_i64(doc, "emailHash", 0) % SUBSCRIPTION_STATUSES);
}

/* ---- segments -------------------------------------------------------------------------------- */

static void
write_value(struct buf *out)
{
    static const char *const values[] = {"null", "true", "false", "0", "1", "2.0", "3", "0.5",
        "1.5", "\"x\"", "\"1\"", "\"\"", "\"2025-10-09T08:53:20Z\"",
        "\"2025-10-09T08:53:20.001Z\""};

    buf_append_str(out, values[pick(sizeof(values) / sizeof(values[0]))]);
}

static void
write_field(struct buf *out)
{
    static const char *const fields[] = {"a", "b", "a.a", "a.b", "b.a.b", "a.0", "a.0.b", "b.1.0",
        "fields.b", "createdAt", "tags", "tags.1", "externalId", "timezone", "missing.path"};

    buf_printf(out, "\"field\":\"%s\"", fields[pick(sizeof(fields) / sizeof(fields[0]))]);
}

static void
write_filter(struct buf *out, unsigned depth)
{
    static const char *const tags[] = {"t", "u", "nope"};
    static const char *const statuses[] = {"subscribed", "bounced", "pending_doi"};
    unsigned kind = pick(depth == 0 ? 6 : 8), n;

    switch (kind) {
    case 0:
        buf_append_str(out, "{\"kind\":\"fieldEquals\",");
        write_field(out);
        buf_append_str(out, ",\"value\":");
        write_value(out);
        break;
    case 1:
        buf_append_str(out, "{\"kind\":\"fieldIn\",");
        write_field(out);
        buf_append_str(out, ",\"values\":[");
        n = pick(4);
        for (unsigned i = 0; i < n; i++) {
            buf_append_str(out, i > 0 ? "," : "");
            write_value(out);
        }
        buf_append_char(out, ']');
        break;
    case 2:
        buf_append_str(out, "{\"kind\":\"fieldExists\",");
        write_field(out);
        break;
    case 3: buf_printf(out, "{\"kind\":\"hasTag\",\"tag\":\"%s\"", tags[pick(3)]); break;
    case 4: buf_printf(out, "{\"kind\":\"notHasTag\",\"tag\":\"%s\"", tags[pick(3)]); break;
    case 5:
        buf_printf(out, "{\"kind\":\"subscriptionStatus\",\"equals\":\"%s\"", statuses[pick(3)]);
        break;
    case 6:
        buf_append_str(out, "{\"kind\":\"any\",\"filters\":[");
        n = 1 + pick(3);
        for (unsigned i = 0; i < n; i++) {
            buf_append_str(out, i > 0 ? "," : "");
            write_filter(out, depth - 1);
        }
        buf_append_char(out, ']');
        break;
    default:
        buf_append_str(out, "{\"kind\":\"not\",\"filter\":");
        write_filter(out, depth - 1);
        break;
    }
    buf_append_char(out, '}');
}

static void
write_segment(struct buf *out)
{
    unsigned n = pick(4);

    buf_append_str(out, "{\"filters\":[");
    for (unsigned i = 0; i < n; i++) {
        buf_append_str(out, i > 0 ? "," : "");
        write_filter(out, 3);
    }
    buf_append_str(out, "]}");
}

/* ---- the property ---------------------------------------------------------------------------- */

/* Ids of the contacts that the store and the page evaluation select, ascending. */
static size_t
select_by_store(const struct segment *s, int64_t *ids)
{
    struct store_batch *b = store_batch_create(w.st, STORE_BULK);
    unsigned op = store_find(b, CONTACTS_COLL, STORE_SCAN, segment_plan(s)->filter, NULL);
    const struct store_result *res;
    size_t n = 0;

    ck_assert_msg(store_run(b, &w.err) == 0, "%s", w.err.text);
    res = store_batch_result(b, op);
    for (size_t i = 0; i < res->n_docs; i++) {
        if (segment_match_rest(s, &res->docs[i], status_of(&res->docs[i])))
            ids[n++] = bsonx_i64(&res->docs[i], "_id", 0);
    }
    store_batch_free(&b);
    return n;
}

START_TEST(the_store_selects_what_the_segment_means)
{
    static int64_t found[N_CONTACTS], meant[N_CONTACTS];
    size_t n_selected = 0;
    struct store_batch *b;

    rand_seed(20260117);
    model_world_open(&w);
    b = store_batch_create(w.st, STORE_BULK);
    for (size_t i = 0; i < N_CONTACTS; i++) {
        const bson_t *doc = &contacts[i];

        make_contact(&contacts[i], i);
        store_insert(b, CONTACTS_COLL, &doc, 1);
    }
    model_world_run(&b);
    for (size_t k = 0; k < N_SEGMENTS; k++) {
        struct buf text = BUF_INIT;
        struct segment *s;
        size_t n_found, n_meant = 0;

        write_segment(&text);
        s = segment_parse_text(buf_slice(&text), NULL, &w.err);
        ck_assert_msg(s != NULL, "%s: %s", buf_cstr(&text), w.err.text);
        n_found = select_by_store(s, found);
        for (size_t i = 0; i < N_CONTACTS; i++) {
            if (segment_match(s, &contacts[i], status_of(&contacts[i])))
                meant[n_meant++] = bsonx_i64(&contacts[i], "_id", 0);
        }
        ck_assert_msg(n_found == n_meant && memcmp(found, meant, n_found * sizeof(*found)) == 0,
            "segment %zu: %zu found, %zu meant: %s", k, n_found, n_meant, buf_cstr(&text));
        n_selected += n_found;
        segment_free(&s);
        buf_deinit(&text);
    }
    /* The generator makes segments that select some contacts and not others. */
    ck_assert_uint_gt(n_selected, N_SEGMENTS * N_CONTACTS / 10);
    ck_assert_uint_lt(n_selected, N_SEGMENTS * N_CONTACTS * 9 / 10);
    for (size_t i = 0; i < N_CONTACTS; i++)
        bson_destroy(&contacts[i]);
    model_world_close(&w);
}
END_TEST

SUITE_MAIN("audience_segment_property", the_store_selects_what_the_segment_means)
