#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "store/filter.h"
#include "store/project.h"
#include "store/update.h"

/*
 * Three documents in a row: a filter, an update and what they are used on. Whatever compiles must run;
 * a filter and its negation never agree; an updated document is a document again.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
take_doc(const uint8_t **data, size_t *size, bson_t *doc)
{
    uint32_t n;

    if (*size < 5)
        return false;
    memcpy(&n, *data, sizeof n);
    if (n > *size || !bson_init_static(doc, *data, n))
        return false;
    *data += n;
    *size -= n;
    return true;
}

static void
use_filter(const struct filter *f, const bson_t *doc, struct arena *a)
{
    struct filter *negation = value_alloc(a, 1, sizeof *negation);
    const struct filter *kids[] = {f};

    negation->op = FILTER_NOR;
    negation->kids = kids;
    negation->n_kids = 1;
    assert(filter_match(f, doc) != filter_match(negation, doc));
}

static void
use_keys(const bson_t *doc)
{
    struct buf key = BUF_INIT, tmp = BUF_INIT;
    struct filter_path path;
    bson_iter_t it;
    struct err err;

    bson_iter_init(&it, doc);
    while (bson_iter_next(&it)) {
        buf_clear(&key);
        value_key(&key, &it);
        assert(value_cmp(&it, &it) == 0);
        if (filter_path_parse(bson_iter_key(&it), &path, &err) == 0)
            sort_key(&path, doc, -1, &key, &tmp);
    }
    buf_deinit(&key);
    buf_deinit(&tmp);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_create(0);
    const struct filter *f = NULL;
    const struct update *u = NULL;
    bson_t filter, update, doc;
    const bson_t *out;
    struct err err;

    err_clear(&err);
    if (take_doc(&data, &size, &filter))
        f = filter_compile(&filter, a, &err);
    if (take_doc(&data, &size, &update))
        u = update_compile(&update, a, &err);
    if (take_doc(&data, &size, &doc) && filter_check_doc(&doc, &err) == 0) {
        use_keys(&doc);
        if (f != NULL)
            use_filter(f, &doc, a);
        if (u != NULL && update_apply(u, &doc, a, &out, &err) == 0)
            assert(filter_check_doc(out, &err) == 0);
        if (f != NULL && u != NULL && update_upsert(u, f, a, &out, &err) == 0)
            assert(filter_check_doc(out, &err) == 0);
    }
    arena_free(&a);
    return 0;
}
