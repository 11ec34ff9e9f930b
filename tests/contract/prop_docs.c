#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "contract/docs.h"
#include "contract/docs_model.h"
#include "contract/drivers.h"
#include "support/suite.h"

/*
 * Generated documents, filters, sorts and updates against the plain evaluator (docs_model.c): the
 * same documents are found, in the same order, in pages of any size, and changed in the same way, or
 * the change is refused by both. One collection has no index and arrays everywhere; the other has
 * indexes on the generated paths, and no arrays there. Every round has a seed of its own, printed when
 * it fails.
 */

#define ROUNDS  60
#define DOCS    24
#define FILTERS 25
#define UPDATES 12

struct prop {
    struct store *st;
    struct arena *a;
    const char *coll;
    bool has_arrays; /* on the named paths */
    struct model_value *docs[DOCS];
    uint64_t seed;
};

static const char *const fields[] = {"resource", "resourceId", "occurredAt", "x"};
static const char *const paths[] = {"resource", "resourceId", "occurredAt", "x", "x.a", "x.b",
    "x.a.b", "resource.a", "resourceId.b", "_id", "x.0", "x.1.a", "x.a.0"};
#define SORT_PATHS 10 /* those without a number */

static uint64_t
below(uint64_t n)
{
    return rand_below(n);
}

/* ---- generating ------------------------------------------------------------------------------ */

static struct model_value *
gen_scalar(struct arena *a)
{
    static const char *const texts[] = {"", "a", "b", "ab", "A", "\xc3\xa9", "1"};
    static const double doubles[] = {0.0, -0.0, 1.0, 1.5, -2.0, 9007199254740992.0, 1e18};
    static const int64_t longs[] = {0, 1, 2, -2, 9007199254740993, INT64_MAX, 2147483647};
    struct model_value *v = model_new(a, MODEL_NULL);

    switch (below(8)) {
    case 0: break;
    case 1:
        v->type = MODEL_INT64;
        v->i = longs[below(7)];
        break;
    case 2:
        v->type = MODEL_DOUBLE;
        v->d = doubles[below(7)];
        break;
    case 3:
    case 4:
        v->type = MODEL_TEXT;
        v->text = texts[below(7)];
        break;
    case 5:
        v->type = MODEL_BOOL;
        v->i = (int64_t)below(2);
        break;
    case 6:
        v->type = MODEL_DATE;
        v->i = (int64_t)below(3) - 1;
        break;
    default:
        v->type = MODEL_INT32;
        v->i = (int64_t)below(4) - 1;
        break;
    }
    return v;
}

static struct model_value *
gen_value(struct arena *a, unsigned depth, bool with_arrays)
{
    static const char *const names[] = {"a", "b"};
    struct model_value *v;
    uint64_t kind = below(10);

    if (depth == 0 || kind < 6 || (kind >= 8 && !with_arrays))
        return gen_scalar(a);
    v = model_new(a, kind < 8 ? MODEL_DOC : MODEL_ARRAY);
    for (uint64_t i = 0, n = below(4); i < n && (v->type == MODEL_ARRAY || i < 2); i++) {
        const char *name = v->type == MODEL_DOC ? names[(i + n) % 2] : "";

        model_add(a, v, name, gen_value(a, depth - 1, with_arrays));
    }
    return v;
}

static struct model_value *
gen_doc(struct prop *p, uint64_t id)
{
    struct model_value *doc = model_new(p->a, MODEL_DOC), *v = model_new(p->a, MODEL_INT64);

    v->i = (int64_t)id;
    model_add(p->a, doc, "_id", v);
    for (size_t f = 0; f < 4; f++) {
        bool with_arrays = p->has_arrays || f == 3;

        if (below(5) > 0)
            model_add(p->a, doc, fields[f], gen_value(p->a, 3, with_arrays));
    }
    return doc;
}

static struct model_filter *
gen_comparison(struct prop *p)
{
    struct model_filter *f = arena_zalloc(p->a, sizeof *f);

    f->path = paths[below(sizeof paths / sizeof paths[0])];
    f->op = (enum model_op)(MODEL_EQ + below(MODEL_EXISTS_NOT - MODEL_EQ + 1));
    if (f->op == MODEL_IN || f->op == MODEL_NIN) {
        f->value = model_new(p->a, MODEL_ARRAY);
        for (uint64_t i = below(5); i > 0; i--)
            model_add(p->a, f->value, "", gen_value(p->a, 1, true));
    } else {
        f->value = gen_value(p->a, 2, true);
    }
    return f;
}

static struct model_filter *
gen_filter(struct prop *p, unsigned depth)
{
    struct model_filter *f;
    uint64_t kind = below(10);

    if (depth == 0 || kind < 5)
        return gen_comparison(p);
    f = arena_zalloc(p->a, sizeof *f);
    f->op = kind < 7 ? MODEL_AND : kind == 7 ? MODEL_OR : kind == 8 ? MODEL_NOR : MODEL_NOT;
    f->n_kids = f->op == MODEL_NOT ? 1 : 1 + below(3);
    f->kids = arena_array(p->a, f->n_kids, sizeof(struct model_filter *));
    for (size_t i = 0; i < f->n_kids; i++) {
        f->kids[i] = f->op == MODEL_NOT ? gen_comparison(p) : gen_filter(p, depth - 1);
        if (f->op == MODEL_NOT && f->kids[i]->op >= MODEL_EXISTS)
            f->kids[i]->op = MODEL_GTE;
    }
    return f;
}

/* Changes on different fields, so that none is above another. */
static size_t
gen_changes(struct prop *p, struct model_change *changes)
{
    size_t n = 0;

    for (size_t f = 0; f < 4; f++) {
        static const char *const tails[] = {"", "", ".a", ".b", ".a.b", ".0", ".2"};
        struct model_change *ch = &changes[n];

        if (below(3) > 0)
            continue;
        ch->path = arena_printf(p->a, "%s%s", fields[f], tails[below(7)]);
        ch->op = (enum model_change_op)below(MODEL_PUSH + 1);
        ch->value = gen_value(p->a, 2, p->has_arrays || f == 3);
        if (ch->op == MODEL_INC) {
            ch->value = model_new(p->a, below(2) == 0 ? MODEL_INT32 : MODEL_INT64);
            ch->value->i = (int64_t)below(5) - 2;
        }
        if (ch->op == MODEL_PULL && ch->value->type == MODEL_DOC)
            ch->value = gen_scalar(p->a); /* documents are conditions there */
        if ((ch->op == MODEL_PUSH || ch->op == MODEL_ADD_TO_SET) && !p->has_arrays && f < 3)
            continue; /* would put an array where an index looks */
        n++;
    }
    return n;
}

/* ---- asking the store ------------------------------------------------------------------------ */

static void
fill(struct prop *p)
{
    struct store_batch *b = store_batch_create(p->st, STORE_BULK);
    bson_t *docs[DOCS];
    unsigned op;

    store_delete(b, p->coll, STORE_SCAN, NULL, STORE_MANY);
    for (size_t i = 0; i < DOCS; i++) {
        p->docs[i] = gen_doc(p, i + 1);
        docs[i] = model_doc_to_bson(p->docs[i]);
    }
    op = store_insert(b, p->coll, (const bson_t *const *)docs, DOCS);
    contract_run(b);
    ck_assert_uint_eq(store_batch_result(b, op)->changed, DOCS);
    for (size_t i = 0; i < DOCS; i++)
        bson_destroy(docs[i]);
    store_batch_free(&b);
}

static void
join_id(char *out, size_t size, const bson_t *doc)
{
    size_t n = strlen(out);
    bson_iter_t it;

    ck_assert(bson_iter_init_find(&it, doc, "_id"));
    snprintf(out + n, size - n, "%lld ", (long long)bson_iter_int64(&it));
}

static void
check_filter(struct prop *p)
{
    struct model_filter *f = gen_filter(p, 2);
    bson_t *filter = model_filter_to_bson(f);
    struct store_batch *b = store_batch_create(p->st, STORE_URGENT);
    unsigned find = store_find(b, p->coll, STORE_SCAN, filter, NULL);
    unsigned count = store_count(b, p->coll, STORE_SCAN, filter);
    char expected[512] = "", found[512] = "";
    size_t n = 0;

    for (size_t i = 0; i < DOCS; i++) {
        if (model_match(f, p->docs[i])) {
            snprintf(
                expected + strlen(expected), sizeof expected - strlen(expected), "%zu ", i + 1);
            n++;
        }
    }
    contract_run(b);
    for (size_t i = 0; i < store_batch_result(b, find)->n_docs; i++)
        join_id(found, sizeof found, &store_batch_result(b, find)->docs[i]);
    ck_assert_msg(strcmp(expected, found) == 0, "seed %llu, %s, %s: found %s, expected %s",
        (unsigned long long)p->seed, p->coll, docs_text(filter), found, expected);
    ck_assert_uint_eq(store_batch_result(b, count)->count, n);
    bson_destroy(filter);
    store_batch_free(&b);
}

struct order {
    const char *path;
    int direction;
};

static struct order order; /* of the running qsort() */

static int
cmp_docs(const void *a, const void *b)
{
    const struct model_value *x = *(struct model_value *const *)a;
    const struct model_value *y = *(struct model_value *const *)b;
    int c = model_sort_cmp(order.path, order.direction, x, y);

    return c != 0 ? c : model_cmp(model_field(x, "_id"), model_field(y, "_id"));
}

/* One page; `joined` grows by its ids, `after` becomes its end. Returns the number of documents. */
static size_t
read_page(
    struct prop *p, const bson_t *sort, bson_t *after, uint32_t limit, char *joined, size_t size)
{
    struct store_batch *b = store_batch_create(p->st, STORE_URGENT);
    struct store_find find = {
        .sort = sort, .limit = limit, .after = bson_empty(after) ? NULL : after};
    unsigned op = store_find(b, p->coll, STORE_SCAN, NULL, &find);
    const struct store_result *r;
    bson_iter_t it;
    size_t n;

    contract_run(b);
    r = store_batch_result(b, op);
    n = r->n_docs;
    for (size_t i = 0; i < n; i++)
        join_id(joined, size, &r->docs[i]);
    bson_reinit(after);
    if (n > 0) {
        ck_assert(bson_iter_init_find(&it, &r->docs[n - 1], "_id"));
        bson_append_iter(after, "_id", 3, &it);
        if (strcmp(order.path, "_id") != 0) {
            if (bson_iter_init_find(&it, &r->docs[n - 1], order.path))
                bson_append_iter(after, order.path, -1, &it);
            else
                bson_append_null(after, order.path, -1);
        }
    }
    store_batch_free(&b);
    return n;
}

static void
check_sort(struct prop *p)
{
    /* Pages go on from a value, so only paths without arrays on the way can be paged by value. */
    bool is_paged = below(3) > 0;
    uint32_t limit = is_paged ? 1 + (uint32_t)below(DOCS) : 1000;
    struct model_value *sorted[DOCS];
    char expected[512] = "", found[512] = "";
    bson_t sort = BSON_INITIALIZER, after = BSON_INITIALIZER;

    order.path = is_paged ? fields[below(4)] : paths[below(SORT_PATHS)];
    order.direction = below(2) == 0 ? 1 : -1;
    memcpy(sorted, p->docs, sizeof sorted);
    qsort(sorted, DOCS, sizeof sorted[0], cmp_docs);
    for (size_t i = 0; i < DOCS; i++)
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%lld ",
            (long long)model_field(sorted[i], "_id")->i);
    bson_append_int32(&sort, order.path, -1, order.direction);
    while (read_page(p, &sort, &after, limit, found, sizeof found) == limit)
        ;
    ck_assert_msg(strcmp(expected, found) == 0, "seed %llu, %s, by %s %d, pages of %u: %s, not %s",
        (unsigned long long)p->seed, p->coll, order.path, order.direction, limit, found, expected);
    bson_destroy(&sort);
    bson_destroy(&after);
}

static void
check_docs_same(struct prop *p, const bson_t *update)
{
    struct store_batch *b = store_batch_create(p->st, STORE_URGENT);
    unsigned op = store_find(b, p->coll, STORE_SCAN, NULL, NULL);

    contract_run(b);
    ck_assert_uint_eq(store_batch_result(b, op)->n_docs, DOCS);
    for (size_t i = 0; i < DOCS; i++) {
        const bson_t *doc = &store_batch_result(b, op)->docs[i];
        bson_t *expected = model_doc_to_bson(p->docs[i]);

        ck_assert_msg(model_same(model_from_bson(p->a, doc), p->docs[i]),
            "seed %llu, %s, %s: %s, expected %s", (unsigned long long)p->seed, p->coll,
            docs_text(update), docs_text(doc), docs_text(expected));
        bson_destroy(expected);
    }
    store_batch_free(&b);
}

/* Returns whether the model allows it. */
static bool
update_model(struct prop *p, const struct model_filter *f, const struct model_change *changes,
    size_t n, size_t *matched_r)
{
    struct model_value *after[DOCS];

    *matched_r = 0;
    for (size_t i = 0; i < DOCS; i++) {
        after[i] = p->docs[i];
        if (!model_match(f, p->docs[i]))
            continue;
        ++*matched_r;
        if ((after[i] = model_update(p->a, p->docs[i], changes, n)) == NULL)
            return false;
    }
    memcpy(p->docs, after, sizeof after);
    return true;
}

static void
check_update(struct prop *p)
{
    struct model_filter *f = gen_filter(p, 1);
    struct model_change changes[4];
    size_t n = gen_changes(p, changes), matched;
    struct store_batch *b;
    bson_t *filter, *update;
    struct err err;
    unsigned op;
    bool is_allowed;

    if (n == 0)
        return;
    filter = model_filter_to_bson(f);
    update = model_changes_to_bson(changes, n);
    b = store_batch_create(p->st, STORE_BULK);
    op = store_update(b, p->coll, STORE_SCAN, filter, update, STORE_MANY);
    is_allowed = update_model(p, f, changes, n, &matched);
    err_clear(&err);
    ck_assert_msg((store_run(b, &err) == 0) == is_allowed, "seed %llu, %s: %s: %s",
        (unsigned long long)p->seed, p->coll, docs_text(update), err.text);
    if (is_allowed)
        ck_assert_uint_eq(store_batch_result(b, op)->matched, matched);
    else
        ck_assert_int_eq(err.code, ERR_INVALID);
    check_docs_same(p, update);
    bson_destroy(filter);
    bson_destroy(update);
    store_batch_free(&b);
}

static void
run_round(struct prop *p, uint64_t seed)
{
    p->seed = seed;
    rand_seed(seed);
    p->a = arena_create(0);
    fill(p);
    for (int i = 0; i < FILTERS; i++) {
        check_filter(p);
        check_sort(p);
        if (i % (FILTERS / UPDATES) == 0)
            check_update(p);
    }
    arena_free(&p->a);
}

START_TEST(store_and_model_agree)
{
    struct prop p = {.st = contract_open(&contract_drivers[_i])};
    const char *only = getenv("PROP_SEED");

    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        uint64_t s = only != NULL ? strtoull(only, NULL, 10) : seed;

        p.coll = "imports";
        p.has_arrays = true;
        run_round(&p, s);
        p.coll = "audit";
        p.has_arrays = false;
        run_round(&p, s + 1000000);
    }
    contract_close(&p.st);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("documents, against a model");
    TCase *tc = tcase_create("contract");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tc, 0);
    tcase_add_loop_test(tc, store_and_model_agree, 0, contract_n_drivers);
    suite_add_tcase(suite, tc);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
