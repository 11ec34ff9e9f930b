/* API tokens and small facts about the installation. */
#include <string.h>

#include "base/bsonx.h"
#include "model/meta.h"
#include "model/token_doc.h"
#include "support/model_world.h"
#include "support/suite.h"

static struct model_world w;

START_TEST(tokens_are_found_by_hash_only)
{
    struct buf token = BUF_INIT;
    const struct token_doc *list;
    struct token_doc t;
    uint64_t id;
    size_t n;
    char hash[65];

    model_world_open(&w);
    ck_assert_int_eq(token_doc_create(w.st, SLICE_LIT("agent:bot"), 5, SLICE_LIT("owner:local"),
                         MODEL_NOW, &token, &id, &w.err),
        0);
    ck_assert_uint_ge(token.n, 40);
    token_doc_hash(buf_slice(&token), hash);
    ck_assert_int_eq(token_doc_find(w.st, hash, w.a, &t, &w.err), 0);
    ck_assert(t.id == id && t.scopes == 5 && slice_eq_str(t.actor, "agent:bot"));
    token_doc_hash(SLICE_LIT("mst_guess"), hash);
    ck_assert_int_eq(token_doc_find(w.st, hash, w.a, &t, &w.err), -1);
    ck_assert_int_eq(w.err.code, ERR_NOTFOUND);

    ck_assert_int_eq(token_doc_revoke(w.st, id, SLICE_LIT("owner:local"), MODEL_NOW, &w.err), 0);
    token_doc_hash(buf_slice(&token), hash);
    ck_assert_int_eq(token_doc_find(w.st, hash, w.a, &t, &w.err), -1);
    ck_assert_int_eq(token_doc_revoke(w.st, id, SLICE_LIT("owner:local"), MODEL_NOW, &w.err), -1);
    ck_assert_str_eq(w.err.sub, "not_found");
    ck_assert_int_eq(token_doc_list(w.st, w.a, &list, &n, &w.err), 0);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(list[0].revoked_at_ms, MODEL_NOW);
    buf_deinit(&token);
    model_world_close(&w);
}
END_TEST

START_TEST(actors_are_printable)
{
    struct buf token = BUF_INIT;
    uint64_t id;

    model_world_open(&w);
    ck_assert_int_eq(token_doc_create(w.st, SLICE_LIT("a\nb"), 1, SLICE_LIT("x"), MODEL_NOW, &token,
                         &id, &w.err),
        -1);
    ck_assert_str_eq(w.err.field, "actor");
    ck_assert_uint_eq(token.n, 0);
    model_world_close(&w);
}
END_TEST

START_TEST(meta_is_replaced_whole)
{
    bson_t value, got;

    model_world_open(&w);
    ck_assert_int_eq(meta_get(w.st, "limits", w.a, &got, &w.err), -1);
    ck_assert_int_eq(w.err.code, ERR_NOTFOUND);
    for (int i = 1; i <= 2; i++) {
        bson_init(&value);
        bsonx_add_i64(&value, i == 1 ? "a" : "b", i);
        ck_assert_int_eq(meta_set(w.st, "limits", &value, &w.err), 0);
        bson_destroy(&value);
    }
    ck_assert_int_eq(meta_get(w.st, "limits", w.a, &got, &w.err), 0);
    ck_assert_int_eq(bsonx_i64(&got, "b", 0), 2);
    ck_assert_int_eq(bsonx_i64(&got, "a", 0), 0);
    model_world_close(&w);
}
END_TEST

SUITE_MAIN(
    "model_token_doc", tokens_are_found_by_hash_only, actors_are_printable, meta_is_replaced_whole)
