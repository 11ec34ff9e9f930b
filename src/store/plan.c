/*
 * Choosing an index. Only the top-level conjunction counts: equality ($eq, $in) on leading keys of an
 * index, then ranges on the next key. The index with most such keys wins, the first declared on a
 * tie; a partial index takes part when the filter implies its condition. An `_id` condition is always
 * usable. What is left over is checked document by document.
 *
 * Indexed paths hold no arrays (the driver refuses to store them), so a condition pushed into an index
 * means exactly what the matcher would say.
 */
#include "store/plan.h"

#include <string.h>

struct conjuncts {
    const struct filter *f[PLAN_CONDS_MAX];
    unsigned n;
    bool is_all; /* false: there were more, or the filter is no conjunction */
};

static void
collect(const struct filter *f, struct conjuncts *c)
{
    if (f->op == FILTER_AND) {
        for (size_t i = 0; i < f->n_kids; i++)
            collect(f->kids[i], c);
    } else if (c->n < PLAN_CONDS_MAX) {
        c->f[c->n++] = f;
    } else {
        c->is_all = false;
    }
}

static bool
is_on(const struct filter *f, const char *path)
{
    return f->path != NULL && strcmp(f->path->text, path) == 0;
}

static bool
is_equality(const struct filter *f)
{
    return f->op == FILTER_EQ || f->op == FILTER_IN;
}

static bool
is_range(const struct filter *f)
{
    return f->op == FILTER_LT || f->op == FILTER_LTE || f->op == FILTER_GT || f->op == FILTER_GTE;
}

static bool
is_lower(const struct filter *f)
{
    return f->op == FILTER_GT || f->op == FILTER_GTE;
}

/* ---- partial indexes ------------------------------------------------------------------------- */

/* Both are ranges on one path: is everything in `q` in `p`? */
static bool
range_implies(const struct filter *q, const struct filter *p)
{
    int c;

    if (is_lower(q) != is_lower(p) || value_rank(&q->value) != value_rank(&p->value))
        return false;
    c = value_cmp(&q->value, &p->value);
    if (!is_lower(q))
        c = -c;
    if (c != 0)
        return c > 0;
    return q->op == p->op || q->op == FILTER_GT || q->op == FILTER_LT;
}

/* Does condition `q` of the filter imply condition `p` of the index? */
static bool
implies(const struct filter *q, const struct filter *p)
{
    if (p->path == NULL || !is_on(q, p->path->text))
        return false;
    if (q->op == FILTER_IN) {
        for (size_t i = 0; i < q->n_values; i++) {
            if (value_rank(&q->values[i].it) == VALUE_RANK_NULL ||
                !filter_match_value(p, &q->values[i].it))
                return false;
        }
        return true;
    }
    if (q->op == FILTER_EQ)
        return value_rank(&q->value) != VALUE_RANK_NULL && filter_match_value(p, &q->value);
    return is_range(q) && is_range(p) && range_implies(q, p);
}

static bool
is_usable(const struct schema_index *index, const struct conjuncts *have)
{
    struct conjuncts need = {.is_all = true};

    if (index->partial == NULL)
        return true;
    collect(index->in_index, &need);
    for (unsigned i = 0; i < need.n; i++) {
        bool is_implied = false;

        for (unsigned j = 0; j < have->n && !is_implied; j++)
            is_implied = implies(have->f[j], need.f[i]);
        if (!is_implied)
            return false;
    }
    return need.is_all;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Fill `out` with the conditions the index answers; the score is how narrow they make it. */
static unsigned
match_index(const struct schema_index *index, const struct conjuncts *have, struct plan *out)
{
    unsigned score = 0;

    out->index = index;
    out->n_conds = 0;
    if (!is_usable(index, have))
        return 0;
    for (unsigned k = 0; k < index->n_keys; k++) {
        const struct filter *eq = NULL;

        for (unsigned i = 0; i < have->n && eq == NULL; i++) {
            if (is_on(have->f[i], index->keys[k].path) && is_equality(have->f[i]))
                eq = have->f[i];
        }
        if (eq != NULL) {
            out->conds[out->n_conds++] = eq;
            score += 4;
            continue;
        }
        for (unsigned i = 0; i < have->n; i++) {
            if (is_on(have->f[i], index->keys[k].path) && is_range(have->f[i])) {
                out->conds[out->n_conds++] = have->f[i];
                score += score % 4 == 0 ? 2 : 0; /* one range or two: the same score */
            }
        }
        break;
    }
    return score;
}

/* `_id` is an integer: which conditions on it can be told exactly by the primary key? */
static bool
is_id_cond(const struct filter *f)
{
    int64_t i;

    if (!is_on(f, "_id"))
        return false;
    if (is_equality(f))
        return true;
    return is_range(f) && value_int(&f->value, &i);
}

static bool
serves_sort(const struct schema_index *index, const bson_t *sort)
{
    bson_iter_t it;
    unsigned k = 0;
    int turn = 0;

    if (index->partial != NULL || !bson_iter_init(&it, sort))
        return false;
    for (; bson_iter_next(&it); k++) {
        int64_t direction = 1;
        int t;

        if (k == index->n_keys || strcmp(index->keys[k].path, bson_iter_key(&it)) != 0)
            return false;
        value_int(&it, &direction);
        t = (int)direction * index->keys[k].direction;
        if (turn != 0 && t != turn)
            return false;
        turn = t;
    }
    return k > 0;
}

static bool
is_sort_by_id(const struct store_find *find)
{
    bson_iter_t it;

    return find->sort == NULL || bson_empty(find->sort) ||
           (bson_iter_init(&it, find->sort) && bson_iter_next(&it) &&
               strcmp(bson_iter_key(&it), "_id") == 0);
}

static void
choose_order(struct plan *p, const struct schema_coll *coll, const struct store_find *find)
{
    if (find == NULL)
        return;
    if (is_sort_by_id(find)) {
        p->is_served = p->is_exact;
        return;
    }
    for (unsigned i = 0; i < coll->n_indexes; i++) {
        if (serves_sort(coll->indexes[i], find->sort)) {
            p->index = coll->indexes[i];
            p->is_order_only = true;
            p->is_served = p->is_exact;
            return;
        }
    }
}

/* A condition nothing meets, {$in: []}: no index is needed to find nothing. */
static const struct filter *
find_impossible(const struct conjuncts *have)
{
    for (unsigned i = 0; i < have->n; i++) {
        if (have->f[i]->op == FILTER_IN && have->f[i]->n_values == 0)
            return have->f[i];
    }
    return NULL;
}

void
plan_make(struct plan *p, const struct schema_coll *coll, const struct filter *f,
    const struct store_find *find)
{
    struct conjuncts have = {.is_all = true};
    struct plan tried;
    unsigned best = 0, n_id = 0, n_index;

    memset(p, 0, sizeof(*p));
    collect(f, &have);
    if ((p->conds[0] = find_impossible(&have)) != NULL) {
        p->n_conds = 1;
        p->is_exact = p->is_served = true;
        return;
    }
    for (unsigned i = 0; i < have.n; i++) {
        if (is_id_cond(have.f[i]) && is_equality(have.f[i]))
            best = 100; /* nothing is narrower */
    }
    for (unsigned i = 0; i < coll->n_indexes && best < 100; i++) {
        unsigned score = match_index(coll->indexes[i], &have, &tried);

        if (score > best) {
            best = score;
            p->index = tried.index;
            p->n_conds = tried.n_conds;
            memcpy(p->conds, tried.conds, sizeof(tried.conds));
        }
    }
    n_index = p->n_conds;
    for (unsigned i = 0; i < have.n && p->n_conds < PLAN_CONDS_MAX; i++) {
        if (is_id_cond(have.f[i])) {
            p->conds[p->n_conds++] = have.f[i];
            n_id++;
        }
    }
    p->is_exact = have.is_all && p->n_conds == have.n;
    p->is_served = n_index + n_id > 0;
    if (!p->is_served)
        choose_order(p, coll, find);
}
