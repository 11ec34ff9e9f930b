/* The helpers over libbson. */
#include <string.h>

#include "base/bsonx.h"

#include "../support/suite.h"

static void
fill(bson_t *doc)
{
    bson_t sub, arr;

    bson_init(doc);
    bsonx_add_str(doc, "s", SLICE_LIT("text"));
    bsonx_add_str(doc, "none", SLICE_NONE);
    bsonx_add_str_or_null(doc, "null", SLICE_NONE);
    bsonx_add_i64(doc, "i", INT64_C(1) << 60);
    bson_append_int32(doc, "i32", -1, -5);
    bson_append_double(doc, "whole", -1, 12.0);
    bson_append_double(doc, "part", -1, 12.5);
    bsonx_add_bool(doc, "b", true);
    bsonx_add_time(doc, "t", 1780394400000);
    bsonx_add_time(doc, "t0", 0);
    bsonx_add_bin(doc, "bin", SLICE_LIT("\0\xff"));
    bson_append_document_begin(doc, "d", -1, &sub);
    bsonx_add_str(&sub, "city", SLICE_LIT("K\xc3\xb6ln"));
    bson_append_document_end(doc, &sub);
    bson_append_array_begin(doc, "a", -1, &arr);
    bsonx_add_i64(&arr, "0", 7);
    bsonx_add_str(&arr, "1", SLICE_LIT("x"));
    bson_append_array_end(doc, &arr);
}

START_TEST(reading_gives_value_or_fallback)
{
    bson_t doc, sub;

    fill(&doc);
    ck_assert(slice_eq_str(bsonx_str(&doc, "s"), "text"));
    ck_assert_ptr_nonnull(bsonx_str(&doc, "none").p);
    ck_assert_uint_eq(bsonx_str(&doc, "none").n, 0);
    ck_assert_ptr_null(bsonx_str(&doc, "null").p);
    ck_assert_ptr_null(bsonx_str(&doc, "i").p);
    ck_assert_ptr_null(bsonx_str(&doc, "absent").p);
    ck_assert(slice_eq_str(bsonx_str(&doc, "d.city"), "K\xc3\xb6ln"));
    ck_assert(slice_eq_str(bsonx_str(&doc, "a.1"), "x"));
    ck_assert_ptr_null(bsonx_str(&doc, "s.city").p);
    ck_assert_int_eq(bsonx_i64(&doc, "i", 0), INT64_C(1) << 60);
    ck_assert_int_eq(bsonx_i64(&doc, "i32", 0), -5);
    ck_assert_int_eq(bsonx_i64(&doc, "whole", 0), 12);
    ck_assert_int_eq(bsonx_i64(&doc, "part", -9), -9);
    ck_assert_int_eq(bsonx_i64(&doc, "t", 0), 1780394400000);
    ck_assert_int_eq(bsonx_i64(&doc, "t0", -9), -9);
    ck_assert_int_eq(bsonx_i64(&doc, "a.0", 0), 7);
    ck_assert_double_eq(bsonx_num(&doc, "part", 0), 12.5);
    ck_assert_double_eq(bsonx_num(&doc, "s", 3), 3);
    ck_assert(bsonx_bool(&doc, "b", false));
    ck_assert(bsonx_bool(&doc, "i32", true));
    ck_assert(slice_eq(bsonx_bin(&doc, "bin"), SLICE_LIT("\0\xff")));
    ck_assert_ptr_null(bsonx_bin(&doc, "s").p);
    ck_assert(bsonx_doc(&doc, "d", &sub));
    ck_assert(slice_eq_str(bsonx_str(&sub, "city"), "K\xc3\xb6ln"));
    ck_assert(bsonx_doc(&doc, "a", &sub));
    ck_assert(!bsonx_doc(&doc, "s", &sub));
    bson_destroy(&doc);
}
END_TEST

START_TEST(stored_bytes_are_checked)
{
    bson_t doc, view;
    struct slice bytes;
    char copy[512];

    fill(&doc);
    bytes = bsonx_bytes(&doc);
    ck_assert(bsonx_view(bytes, &view));
    ck_assert(bson_equal(&doc, &view));
    ck_assert_uint_le(bytes.n, sizeof copy);
    ck_assert(!bsonx_view(SLICE_NONE, &view));
    for (size_t n = 0; n < bytes.n; n++)
        ck_assert(!bsonx_view(slice_make(bytes.p, n), &view));
    memcpy(copy, bytes.p, bytes.n);
    copy[4] = 0x7e; /* no such type */
    ck_assert(!bsonx_view(slice_make(copy, bytes.n), &view));
    memcpy(copy, bytes.p, bytes.n);
    copy[8] = 0x7f; /* a string longer than the document */
    ck_assert(!bsonx_view(slice_make(copy, bytes.n), &view));
    bson_destroy(&doc);
}
END_TEST

static int
convert(const char *text, unsigned max_depth, bson_t *out, struct err *err)
{
    struct json *j = json_parse(slice_str(text), 0, 0, NULL);
    int r;

    ck_assert_msg(j != NULL, "%s", text);
    r = bsonx_from_json(j, max_depth, out, err);
    json_free(&j);
    return r;
}

START_TEST(json_to_bson_and_back)
{
    static const char text[] =
        "{\"a\":1,\"b\":[1.5,\"x\",null,true,{\"c\":{}}],\"d\":{\"e\":\"\"}}";
    struct buf b = BUF_INIT;
    struct json_writer w;
    bson_iter_t it;
    bson_t doc, arr;

    ck_assert_int_eq(convert(text, 4, &doc, NULL), 0);
    ck_assert(bsonx_find(&doc, "a", &it) && BSON_ITER_HOLDS_INT64(&it));
    ck_assert(bsonx_find(&doc, "b.0", &it) && BSON_ITER_HOLDS_DOUBLE(&it));
    jw_init(&w, &b);
    bsonx_to_json(&w, NULL, &doc);
    ck_assert_str_eq(buf_cstr(&b), text);
    ck_assert(bsonx_doc(&doc, "b", &arr));
    buf_clear(&b);
    jw_init(&w, &b);
    bsonx_arr_to_json(&w, NULL, &arr);
    ck_assert_str_eq(buf_cstr(&b), "[1.5,\"x\",null,true,{\"c\":{}}]");
    bson_destroy(&doc);
    buf_deinit(&b);
}
END_TEST

START_TEST(unsafe_names_and_depth_are_refused)
{
    static const char *const bad[] = {"{\"$set\":1}", "{\"a.b\":1}", "{\"\":1}",
        "{\"a\":{\"$x\":1}}", "{\"a\":[{\"b.c\":1}]}", "[]", "1", "{\"a\":{\"b\":{\"c\":{}}}}"};
    struct err e;
    bson_t doc;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(convert(bad[i], 3, &doc, &e) == -1, "%s", bad[i]);
        ck_assert_int_eq(e.code, ERR_INVALID);
    }
    ck_assert_int_eq(convert("{\"a\":{\"b\":{}}}", 3, &doc, &e), 0);
    bson_destroy(&doc);
    ck_assert_int_eq(convert("{}", 0, &doc, &e), -1);
}
END_TEST

START_TEST(every_type_has_a_json_form)
{
    struct buf b = BUF_INIT;
    struct json_writer w;
    bson_oid_t oid;
    bson_t doc;

    bson_init(&doc);
    bsonx_add_time(&doc, "t", 1780394400000);
    bsonx_add_i64(&doc, "big", INT64_MAX);
    bsonx_add_i64(&doc, "max", 9007199254740991);
    bsonx_add_bin(&doc, "bin", SLICE_LIT("foob"));
    bsonx_add_bin(&doc, "empty", SLICE_NONE);
    bson_oid_init_from_string(&oid, "0123456789abcdef01234567");
    bson_append_oid(&doc, "oid", -1, &oid);
    bson_append_regex(&doc, "re", -1, "x", "i");
    bson_append_int32(&doc, "i", -1, 3);
    jw_init(&w, &b);
    bsonx_to_json(&w, NULL, &doc);
    ck_assert_str_eq(buf_cstr(&b),
        "{\"t\":\"2026-06-02T10:00:00.000Z\",\"big\":\"9223372036854775807\","
        "\"max\":9007199254740991,\"bin\":\"Zm9vYg==\",\"empty\":\"\","
        "\"oid\":\"0123456789abcdef01234567\",\"re\":null,\"i\":3}");
    bson_destroy(&doc);
    buf_deinit(&b);
}
END_TEST

START_TEST(levels_beyond_the_writer_become_null)
{
    struct buf b = BUF_INIT;
    struct json_writer w;
    bson_t *doc = bson_new();

    for (int i = 0; i < 100; i++) {
        bson_t *outer = bson_new();

        bson_append_document(outer, "d", 1, doc);
        bson_destroy(doc);
        doc = outer;
    }
    jw_init(&w, &b);
    bsonx_to_json(&w, NULL, doc);
    ck_assert(slice_find(buf_slice(&b), SLICE_LIT("{\"d\":null}")) > 0);
    bson_destroy(doc);
    buf_deinit(&b);
}
END_TEST

SUITE_MAIN("bsonx", reading_gives_value_or_fallback, stored_bytes_are_checked,
    json_to_bson_and_back, unsafe_names_and_depth_are_refused, every_type_has_a_json_form,
    levels_beyond_the_writer_become_null)
