#include "contract/docs.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "contract/drivers.h"

/*
 * Short forms for suites on documents: JSON in, ids and JSON out.
 */

bson_t *
docs_json(const char *json)
{
    char text[4096];
    bson_error_t error;
    bson_t *doc;

    ck_assert_uint_lt(strlen(json), sizeof text);
    snprintf(text, sizeof text, "%s", json);
    for (char *p = text; *p != '\0'; p++) {
        if (*p == '\'')
            *p = '"';
    }
    doc = bson_new_from_json((const uint8_t *)text, -1, &error);
    ck_assert_msg(doc != NULL, "%s: %s", json, doc == NULL ? error.message : "");
    return doc;
}

bson_t *
docs_with_id(uint64_t id, const char *json)
{
    bson_t *rest = docs_json(json), *doc = bson_new();

    bson_append_int64(doc, "_id", 3, (int64_t)id);
    bson_concat(doc, rest);
    bson_destroy(rest);
    return doc;
}

enum err_code
docs_insert_one(struct store *st, const char *coll, uint64_t id, const char *json)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t *doc = docs_with_id(id, json);
    const bson_t *docs[] = {doc};
    enum err_code code = ERR_NONE;
    struct err err;
    unsigned op = store_insert(b, coll, docs, 1);

    if (store_run(b, &err) != 0)
        code = err.code;
    else if (store_batch_result(b, op)->n_dups > 0)
        code = ERR_CONFLICT;
    bson_destroy(doc);
    store_batch_free(&b);
    return code;
}

void
docs_insert_all(struct store *st, const char *coll, const char *const *jsons)
{
    for (uint64_t i = 0; jsons[i] != NULL; i++)
        ck_assert_msg(docs_insert_one(st, coll, i + 1, jsons[i]) == ERR_NONE, "%s", jsons[i]);
}

const char *
docs_text(const bson_t *doc)
{
    static char ring[4][4096];
    static unsigned turn;
    char *out = ring[turn++ % 4], *json = bson_as_relaxed_extended_json(doc, NULL);

    snprintf(out, sizeof ring[0], "%s", json);
    bson_free(json);
    for (char *p = out; *p != '\0'; p++) {
        if (*p == '"')
            *p = '\'';
    }
    return out;
}

const char *
docs_find_ids(struct store *st, const char *coll, enum store_access access, const char *filter,
    const char *sort, const char *after, uint32_t limit)
{
    static char out[4096];
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t *f = filter != NULL ? docs_json(filter) : NULL;
    bson_t *s = sort != NULL ? docs_json(sort) : NULL, *a = after != NULL ? docs_json(after) : NULL;
    struct store_find find = {.sort = s, .after = a, .limit = limit};
    unsigned op = store_find(b, coll, access, f, &find);
    const struct store_result *r;
    struct err err;
    size_t n = 0;

    err_clear(&err);
    ck_assert_msg(store_run(b, &err) == 0, "%s: %s", filter != NULL ? filter : "{}", err.text);
    r = store_batch_result(b, op);
    out[0] = '\0';
    for (size_t i = 0; i < r->n_docs; i++) {
        bson_iter_t it;

        ck_assert(bson_iter_init_find(&it, &r->docs[i], "_id"));
        n += (size_t)snprintf(
            out + n, sizeof out - n, "%s%lld", i > 0 ? "," : "", (long long)bson_iter_int64(&it));
    }
    bson_destroy(f);
    bson_destroy(s);
    bson_destroy(a);
    store_batch_free(&b);
    return out;
}

const char *
docs_get(struct store *st, const char *coll, uint64_t id)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    unsigned op = store_find_id(b, coll, id);
    const struct store_result *r;
    const char *text;

    contract_run(b);
    r = store_batch_result(b, op);
    text = r->n_docs == 1 ? docs_text(&r->docs[0]) : NULL;
    store_batch_free(&b);
    return text;
}
