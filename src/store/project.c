/*
 * Reading parts of a document: projections, the values of a path, sort keys. None of them changes or
 * judges; all walk the stored bytes once.
 */
#include "store/project.h"

#include <string.h>

#include "base/buf.h"
#include "store/value.h"

#define PROJECTION_MAX 64

struct projection {
    struct filter_path paths[PROJECTION_MAX];
    const struct filter_path *all[PROJECTION_MAX];
    unsigned n;
};

const struct projection *
projection_compile(const bson_t *fields, struct arena *a)
{
    struct projection *p;
    bson_iter_t it;
    struct err ignored;

    if (fields == NULL || bson_empty(fields) || !bson_iter_init(&it, fields))
        return NULL;
    p = arena_zalloc(a, sizeof(*p));
    while (bson_iter_next(&it) && p->n < PROJECTION_MAX) {
        if (filter_path_parse(bson_iter_key(&it), &p->paths[p->n], &ignored) == 0) {
            p->all[p->n] = &p->paths[p->n];
            p->n++;
        }
    }
    return p;
}

static void project_array(const struct filter_path *const *paths, unsigned n, unsigned depth,
    bson_iter_t it, bson_t *out);

/* Copy what `paths` name at `depth`; `it` stands before the first field. */
static void
project_doc(
    const struct filter_path *const *paths, unsigned n, unsigned depth, bson_iter_t it, bson_t *out)
{
    const struct filter_path *deeper[PROJECTION_MAX];
    bson_iter_t sub;
    bson_t child;

    while (bson_iter_next(&it)) {
        struct slice name = slice_str(bson_iter_key(&it));
        bool is_whole = depth == 0 && slice_eq_str(name, "_id");
        unsigned n_deeper = 0;

        for (unsigned i = 0; i < n && !is_whole; i++) {
            if (!slice_eq(paths[i]->parts[depth], name))
                continue;
            if (paths[i]->n_parts == depth + 1)
                is_whole = true;
            else
                deeper[n_deeper++] = paths[i];
        }
        if (is_whole) {
            bson_append_iter(out, NULL, 0, &it);
        } else if (n_deeper > 0 && bson_iter_recurse(&it, &sub)) {
            if (BSON_ITER_HOLDS_ARRAY(&it)) {
                bson_append_array_begin(out, name.p, (int)name.n, &child);
                project_array(deeper, n_deeper, depth + 1, sub, &child);
                bson_append_array_end(out, &child);
            } else {
                bson_append_document_begin(out, name.p, (int)name.n, &child);
                project_doc(deeper, n_deeper, depth + 1, sub, &child);
                bson_append_document_end(out, &child);
            }
        }
    }
}

/* Elements that are documents or arrays, projected; others are left out. */
static void
project_array(
    const struct filter_path *const *paths, unsigned n, unsigned depth, bson_iter_t it, bson_t *out)
{
    unsigned i = 0;
    bson_iter_t sub;
    bson_t child;

    while (bson_iter_next(&it)) {
        const char *key;
        char number[16];

        if (!bson_iter_recurse(&it, &sub))
            continue;
        bson_uint32_to_string(i++, &key, number, sizeof(number));
        if (BSON_ITER_HOLDS_ARRAY(&it)) {
            bson_append_array_begin(out, key, -1, &child);
            project_array(paths, n, depth, sub, &child);
            bson_append_array_end(out, &child);
        } else {
            bson_append_document_begin(out, key, -1, &child);
            project_doc(paths, n, depth, sub, &child);
            bson_append_document_end(out, &child);
        }
    }
}

struct slice
projection_apply(const struct projection *p, const bson_t *doc, struct arena *a)
{
    struct slice bytes = slice_make(bson_get_data(doc), doc->len);
    bson_t out = BSON_INITIALIZER;
    bson_iter_t it;

    if (p == NULL)
        return arena_dup(a, bytes);
    if (bson_iter_init(&it, doc))
        project_doc(p->all, p->n, 0, it, &out);
    bytes = arena_dup(a, slice_make(bson_get_data(&out), out.len));
    bson_destroy(&out);
    return bytes;
}

/* ---- values of a path ------------------------------------------------------------------------ */

struct path_walk {
    const struct filter_path *path;
    bool is_expanded;
    bool is_sort; /* elements that lead nowhere count as missing */
    path_value_fn *fn;
    void *arg;
};

static void walk_array(const struct path_walk *w, const bson_iter_t *array, unsigned part);

static void
walk_leaf(const struct path_walk *w, const bson_iter_t *v)
{
    bson_iter_t it;

    if (!w->is_expanded || !BSON_ITER_HOLDS_ARRAY(v) || !bson_iter_recurse(v, &it)) {
        w->fn(v, w->arg);
        return;
    }
    while (bson_iter_next(&it))
        w->fn(&it, w->arg);
}

static void
walk_doc(const struct path_walk *w, bson_iter_t it, unsigned part)
{
    struct slice name = w->path->parts[part];
    bson_iter_t sub;

    if (!bson_iter_find_w_len(&it, name.p, (int)name.n))
        w->fn(NULL, w->arg);
    else if (part + 1 == w->path->n_parts)
        walk_leaf(w, &it);
    else if (BSON_ITER_HOLDS_ARRAY(&it))
        walk_array(w, &it, part + 1);
    else if (BSON_ITER_HOLDS_DOCUMENT(&it) && bson_iter_recurse(&it, &sub))
        walk_doc(w, sub, part + 1);
    else
        w->fn(NULL, w->arg);
}

static void
walk_array(const struct path_walk *w, const bson_iter_t *array, unsigned part)
{
    bson_iter_t it, sub;

    if (!bson_iter_recurse(array, &it))
        return;
    while (bson_iter_next(&it)) {
        if (BSON_ITER_HOLDS_DOCUMENT(&it) && bson_iter_recurse(&it, &sub))
            walk_doc(w, sub, part);
        else if (w->is_sort)
            w->fn(NULL, w->arg);
    }
}

void
path_values(const struct filter_path *path, const bson_t *doc, bool is_expanded, path_value_fn *fn,
    void *arg)
{
    struct path_walk w = {path, is_expanded, false, fn, arg};
    bson_iter_t it;

    if (bson_iter_init(&it, doc))
        walk_doc(&w, it, 0);
}

/* ---- sort keys ------------------------------------------------------------------------------- */

struct extreme {
    struct buf *best, *tmp;
    int direction;
    bool has_any;
};

static void
on_sort_value(const bson_iter_t *v, void *arg)
{
    struct extreme *x = arg;
    struct buf swap;

    buf_clear(x->tmp);
    if (v == NULL)
        buf_append_char(x->tmp, VALUE_RANK_NULL);
    else
        value_key(x->tmp, v);
    if (x->has_any) {
        int c = slice_cmp(buf_slice(x->tmp), buf_slice(x->best));

        if (c * x->direction >= 0)
            return;
    }
    x->has_any = true;
    swap = *x->best;
    *x->best = *x->tmp;
    *x->tmp = swap;
}

static bool
is_empty_array(const bson_iter_t *v)
{
    bson_iter_t it;

    return BSON_ITER_HOLDS_ARRAY(v) && bson_iter_recurse(v, &it) && !bson_iter_next(&it);
}

/* The trailing value, as it stands: an empty array has a rank of its own. */
static void
on_sort_leaf(const bson_iter_t *v, void *arg)
{
    struct extreme *x = arg;
    bson_iter_t it;

    if (v == NULL || !BSON_ITER_HOLDS_ARRAY(v)) {
        on_sort_value(v, x);
    } else if (is_empty_array(v)) {
        if (!x->has_any || x->direction > 0) {
            x->has_any = true;
            buf_clear(x->best);
            buf_append_char(x->best, VALUE_RANK_EMPTY);
        }
    } else if (bson_iter_recurse(v, &it)) {
        while (bson_iter_next(&it))
            on_sort_value(&it, x);
    }
}

void
sort_key(const struct filter_path *path, const bson_t *doc, int direction, struct buf *out,
    struct buf *tmp)
{
    struct extreme x = {out, tmp, direction, false};
    struct path_walk w = {path, false, true, on_sort_leaf, &x};
    bson_iter_t it;

    buf_clear(out);
    if (bson_iter_init(&it, doc))
        walk_doc(&w, it, 0);
    if (!x.has_any)
        buf_append_char(out, VALUE_RANK_NULL);
}

void
sort_key_value(const bson_iter_t *v, int direction, struct buf *out, struct buf *tmp)
{
    struct extreme x = {out, tmp, direction, false};

    buf_clear(out);
    on_sort_leaf(v, &x);
}
