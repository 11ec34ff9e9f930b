/*
 * SQL functions over stored documents.
 *
 *   bson_get(doc, path)        order-preserving key of the value (value.h), missing as null. It is what
 *                              indexes are made of, hence deterministic and innocuous. A path that meets
 *                              an array is an error: one index entry cannot stand for many values.
 *   bson_sort(doc, path, dir)  sort key where arrays are allowed
 *   bson_match(filter, doc)    does the compiled filter match? The filter is a bound pointer.
 *   bson_valid(doc)            is this one well-formed document? For the database check.
 *   bson_json(doc)             readable text, for people at a prompt
 */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "store/project.h"
#include "store/sqlite/core.h"
#include "store/value.h"

/* Scratch of one connection: functions run on its thread only. */
struct scratch {
    struct buf key, tmp;
};

static void
free_scratch(void *arg)
{
    struct scratch *s = arg;

    buf_deinit(&s->key);
    buf_deinit(&s->tmp);
    mem_free(s);
}

static bool
get_doc(sqlite3_context *ctx, sqlite3_value *v, bson_t *doc)
{
    const void *p = sqlite3_value_blob(v);
    int n = sqlite3_value_bytes(v);

    if (p == NULL || !bson_init_static(doc, p, (size_t)n)) {
        sqlite3_result_error(ctx, "damaged document", -1);
        sqlite3_result_error_code(ctx, SQLITE_CORRUPT);
        return false;
    }
    return true;
}

static void
fail_array(sqlite3_context *ctx, const char *path)
{
    char text[160];

    sqlite3_snprintf(sizeof(text), text, "indexed path \"%.100s\" holds an array", path);
    sqlite3_result_error(ctx, text, -1);
    sqlite3_result_error_code(ctx, SQLITE_MISMATCH);
}

static void
fn_get(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct scratch *s = sqlite3_user_data(ctx);
    const char *path = (const char *)sqlite3_value_text(argv[1]);
    const bson_iter_t *found = NULL;
    struct slice rest = slice_str(path), part;
    bson_iter_t it, sub;
    bson_t doc;

    (void)argc;
    if (!get_doc(ctx, argv[0], &doc) || !bson_iter_init(&it, &doc))
        return;
    while (slice_cut(&rest, '.', &part) && bson_iter_find_w_len(&it, part.p, (int)part.n)) {
        if (BSON_ITER_HOLDS_ARRAY(&it)) {
            fail_array(ctx, path);
            return;
        }
        if (rest.p == NULL) {
            found = &it;
            break;
        }
        if (!BSON_ITER_HOLDS_DOCUMENT(&it) || !bson_iter_recurse(&it, &sub))
            break;
        it = sub;
    }
    buf_clear(&s->key);
    if (found != NULL)
        value_key(&s->key, found);
    else
        buf_append_char(&s->key, VALUE_RANK_NULL);
    sqlite3_result_blob64(ctx, s->key.p, s->key.n, SQLITE_TRANSIENT);
}

static void
fn_sort(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    struct scratch *s = sqlite3_user_data(ctx);
    struct filter_path path;
    struct err err;
    bson_t doc;

    (void)argc;
    if (!get_doc(ctx, argv[0], &doc))
        return;
    if (filter_path_parse((const char *)sqlite3_value_text(argv[1]), &path, &err) != 0) {
        sqlite3_result_error(ctx, err.text, -1);
        return;
    }
    sort_key(&path, &doc, sqlite3_value_int(argv[2]), &s->key, &s->tmp);
    sqlite3_result_blob64(ctx, s->key.p, s->key.n, SQLITE_TRANSIENT);
}

static void
fn_match(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const struct filter *f = sqlite3_value_pointer(argv[0], "filter");
    bson_t doc;

    (void)argc;
    if (f == NULL)
        sqlite3_result_error(ctx, "bson_match needs a bound filter", -1);
    else if (get_doc(ctx, argv[1], &doc))
        sqlite3_result_int(ctx, filter_match(f, &doc));
}

static void
fn_valid(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const void *p = sqlite3_value_blob(argv[0]);
    int n = sqlite3_value_bytes(argv[0]);
    struct err err;
    bson_t doc;

    (void)argc;
    sqlite3_result_int(ctx, p != NULL && bson_init_static(&doc, p, (size_t)n) &&
                                bson_validate(&doc, BSON_VALIDATE_NONE, NULL) &&
                                filter_check_doc(&doc, &err) == 0);
}

static void
fn_json(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    bson_t doc;
    size_t n;
    char *text;

    (void)argc;
    if (!get_doc(ctx, argv[0], &doc))
        return;
    text = bson_as_relaxed_extended_json(&doc, &n);
    sqlite3_result_text64(ctx, text, n, SQLITE_TRANSIENT, SQLITE_UTF8);
    bson_free(text);
}

int
sq_functions_add(sqlite3 *db)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    struct scratch *s = mem_zalloc(sizeof(*s));
    int rc;

    /* The scratch goes with the first function; SQLite frees it even when this call fails. */
    rc = sqlite3_create_function_v2(db, "bson_get", 2, flags, s, fn_get, NULL, NULL, free_scratch);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(db, "bson_sort", 3, flags, s, fn_sort, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(db, "bson_match", 2, flags, s, fn_match, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(db, "bson_valid", 1, flags, s, fn_valid, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(db, "bson_json", 1, flags, s, fn_json, NULL, NULL, NULL);
    return rc;
}
