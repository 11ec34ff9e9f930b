#include <check.h>
#include <string.h>

#include "store/schema.h"
#include "support/suite.h"

/*
 * Migration files: what they add up to, and the slips that are refused.
 */

static struct schema *
build(const char *const *texts, size_t n, struct arena *a, struct err *err)
{
    static const char *const names[] = {"0001_a.json", "0002_b.json", "0002_c.json"};
    struct schema_source sources[3];

    for (size_t i = 0; i < n; i++)
        sources[i] = (struct schema_source){names[i], slice_str(texts[i])};
    err_clear(err);
    return schema_build(sources, n, a, err);
}

START_TEST(steps_add_up)
{
    static const char *const texts[] = {
        "{\"steps\":[{\"typed\":\"runs\"},{\"collection\":\"people\"},"
        "{\"index\":{\"collection\":\"people\",\"name\":\"byName\",\"keys\":{\"n.last\":1,\"n."
        "first\":-1},"
        "\"unique\":true,\"partial\":{\"n.last\":{\"$gt\":\"\"}}}}]}",
        "{\"steps\":[{\"collection\":\"pets\"},"
        "{\"index\":{\"collection\":\"people\",\"name\":\"byAge\",\"keys\":{\"age\":1}}}]}",
    };
    struct arena *a = arena_create(0);
    struct err err;
    const struct schema *s = build(texts, 2, a, &err);
    const struct schema_coll *people;

    ck_assert_msg(s != NULL, "%s", err.text);
    ck_assert_uint_eq(schema_version(s), 2);
    ck_assert_ptr_nonnull(schema_coll_get(s, "pets"));
    ck_assert_ptr_null(schema_coll_get(s, "runs"));
    people = schema_coll_get(s, "people");
    ck_assert_uint_eq(people->n_indexes, 2);
    ck_assert_str_eq(people->indexes[0]->keys[0].path, "n.last");
    ck_assert_str_eq(people->indexes[0]->keys[1].path, "n.first");
    ck_assert_int_eq(people->indexes[0]->keys[1].direction, -1);
    ck_assert(people->indexes[0]->is_unique);
    ck_assert_ptr_nonnull(people->indexes[0]->in_index);
    ck_assert(!people->indexes[1]->is_unique);
    ck_assert_ptr_null(people->indexes[1]->in_index);
    ck_assert_uint_eq(s->migrations[0].n_steps, 3);
    ck_assert_int_eq(s->migrations[0].steps[0].kind, STEP_TYPED);
    arena_free(&a);
}
END_TEST

START_TEST(slips_are_refused)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"steps\":{}}",
        "{\"steps\":[5]}",
        "{\"steps\":[{}]}",
        "{\"steps\":[{\"collection\":\"a\",\"typed\":\"b\"}]}",
        "{\"steps\":[{\"colection\":\"a\"}]}",
        "{\"steps\":[{\"collection\":\"A\"}]}",
        "{\"steps\":[{\"collection\":\"a b\"}]}",
        "{\"steps\":[{\"collection\":\"a'\"}]}",
        "{\"steps\":[{\"collection\":\"a\"},{\"collection\":\"a\"}]}",
        "{\"steps\":[{\"index\":{\"collection\":\"a\",\"name\":\"n\",\"keys\":{\"x\":1}}}]}",
        "{\"steps\":[{\"collection\":\"a\"},{\"index\":{\"collection\":\"a\",\"name\":\"n\"}}]}",
        "{\"steps\":[{\"collection\":\"a\"},"
        "{\"index\":{\"collection\":\"a\",\"name\":\"n\",\"keys\":{\"x\":2}}}]}",
        "{\"steps\":[{\"collection\":\"a\"},"
        "{\"index\":{\"collection\":\"a\",\"name\":\"n\",\"keys\":{\"x..y\":1}}}]}",
        "{\"steps\":[{\"collection\":\"a\"},"
        "{\"index\":{\"collection\":\"a\",\"name\":\"n;\",\"keys\":{\"x\":1}}}]}",
        "{\"steps\":[{\"collection\":\"a\"},{\"index\":{\"collection\":\"a\",\"name\":\"n\","
        "\"keys\":{\"x\":1},\"partial\":{\"x\":{\"$foo\":1}}}}]}",
        "{\"steps\":[{\"collection\":\"a\"},{\"index\":{\"collection\":\"a\",\"name\":\"n\","
        "\"keys\":{\"x\":1},\"partial\":{\"x\":{\"$exists\":true}}}}]}",
        "{\"steps\":[{\"collection\":\"a\"},{\"index\":{\"collection\":\"a\",\"name\":\"n\","
        "\"keys\":{\"x\":1},\"partial\":{\"$or\":[{\"x\":1}]}}}]}",
        "{\"steps\":[{\"collection\":\"a\"},{\"index\":{\"collection\":\"a\",\"name\":\"n\","
        "\"keys\":{\"x\":1},\"partial\":{}}}]}",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct arena *a = arena_create(0);
        struct err err;

        ck_assert_msg(build(&bad[i], 1, a, &err) == NULL, "accepted: %s", bad[i]);
        ck_assert_int_eq(err.code, ERR_INVALID);
        ck_assert_msg(strstr(err.text, "0001_a.json") != NULL, "%s", err.text);
        arena_free(&a);
    }
}
END_TEST

START_TEST(numbers_rise)
{
    static const char *const texts[] = {"{\"steps\":[]}", "{\"steps\":[]}", "{\"steps\":[]}"};
    struct arena *a = arena_create(0);
    struct err err;

    ck_assert_ptr_nonnull(build(texts, 2, a, &err));
    ck_assert_ptr_null(build(texts, 3, a, &err));
    arena_free(&a);
}
END_TEST

START_TEST(embedded_files_are_sound)
{
    struct arena *a = arena_create(0);
    struct err err;
    const struct schema *s;

    err_clear(&err);
    s = schema_embedded(a, &err);
    ck_assert_msg(s != NULL, "%s", err.text);
    ck_assert_uint_ge(schema_version(s), 1);
    ck_assert_ptr_nonnull(schema_coll_get(s, "contacts"));
    arena_free(&a);
}
END_TEST

SUITE_MAIN(
    "migration files", steps_add_up, slips_are_refused, numbers_rise, embedded_files_are_sound)
