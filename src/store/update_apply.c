/*
 * Applying a compiled update to one document: the document is taken apart along the paths of the
 * changes (update_tree.c), each change is made in turn, and what results is put together and checked
 * like any other document. Nothing of the original is written to, so a change that fails leaves it
 * as it was.
 */
#include "store/update.h"

#include <math.h>

#include "store/update_change.h"
#include "store/update_tree.h"
#include "store/value.h"

struct applying {
    struct arena *a;
    struct err *err;
};

static int
blocked(struct applying *ap, const struct change *ch)
{
    return err_sub(ap->err, ERR_INVALID, "path_blocked",
        "\"%.100s\" leads through something that is no document", ch->path.text);
}

/* Append to `t` under a name that is not there; an array is filled up with nulls. */
static struct tree *
add_child(struct applying *ap, struct tree *t, struct slice name, struct tree *child)
{
    unsigned number;

    if (t->kind == TREE_ARRAY && tree_is_number(name, &number)) {
        while (t->n < number)
            tree_append(t, SLICE_NONE, tree_null(ap->a));
    }
    return tree_append(t, name, child);
}

/* What becomes of a path that leads through a scalar, or by name into an array: nothing for $unset,
 * which finds nothing to remove there, an error for the others. */
static int
no_way(struct applying *ap, const struct change *ch)
{
    return ch->op == CHANGE_UNSET ? 0 : blocked(ap, ch);
}

static bool
takes_name(const struct tree *t, struct slice name)
{
    unsigned number;

    return t->kind != TREE_ARRAY || tree_is_number(name, &number);
}

/* The container that holds the last part of the path. 1 = found, 0 = not there, -1 = error. With
 * `create`, missing documents on the way are made. */
static int
find_parent(struct applying *ap, const struct change *ch, struct tree *root, bool create,
    struct tree **parent_r)
{
    struct tree *t = root;

    for (unsigned i = 0; i + 1 < ch->path.n_parts; i++) {
        struct slice name = ch->path.parts[i];
        struct tree *child;

        if (!takes_name(t, name))
            return no_way(ap, ch);
        if ((child = tree_child(t, name)) == NULL) {
            if (!create)
                return 0;
            child = add_child(ap, t, name, tree_new(TREE_DOC, ap->a));
        }
        if (!tree_open(child, ap->a))
            return no_way(ap, ch);
        t = child;
    }
    *parent_r = t;
    return takes_name(t, ch->path.parts[ch->path.n_parts - 1]) ? 1 : no_way(ap, ch);
}

static void
put(struct applying *ap, const struct change *ch, struct tree *parent, struct tree *old,
    struct tree *new)
{
    if (old != NULL)
        tree_replace(parent, old, new);
    else
        add_child(ap, parent, ch->path.parts[ch->path.n_parts - 1], new);
}

static int
inc_double(struct applying *ap, const struct change *ch, struct tree *parent, struct tree *old,
    const bson_iter_t *v)
{
    double d = bson_iter_as_double(v) + bson_iter_as_double(&ch->value);

    if (isnan(d))
        return err_sub(
            ap->err, ERR_INVALID, "not_a_number", "$inc: \"%.100s\" would be NaN", ch->path.text);
    if (!BSON_ITER_HOLDS_DOUBLE(v) || d != bson_iter_double(v)) /* -0.0 + 0 changes nothing */
        put(ap, ch, parent, old, tree_double(d, ap->a));
    return 0;
}

static int
apply_inc(struct applying *ap, const struct change *ch, struct tree *parent, struct tree *old)
{
    bson_iter_t v;
    int64_t sum;

    if (old == NULL) {
        put(ap, ch, parent, NULL, tree_from_value(&ch->value, ap->a));
        return 0;
    }
    v = tree_value(old, ap->a);
    if (value_rank(&v) != VALUE_RANK_NUMBER)
        return err_sub(
            ap->err, ERR_INVALID, "not_a_number", "$inc: \"%.100s\" is no number", ch->path.text);
    if (BSON_ITER_HOLDS_DOUBLE(&v) || BSON_ITER_HOLDS_DOUBLE(&ch->value))
        return inc_double(ap, ch, parent, old, &v);
    if (__builtin_add_overflow(bson_iter_as_int64(&v), bson_iter_as_int64(&ch->value), &sum))
        return err_sub(
            ap->err, ERR_INVALID, "number_overflow", "$inc: \"%.100s\" overflows", ch->path.text);
    if (BSON_ITER_HOLDS_INT32(&v) && BSON_ITER_HOLDS_INT32(&ch->value) && sum == (int32_t)sum)
        put(ap, ch, parent, old, tree_int32((int32_t)sum, ap->a));
    else
        put(ap, ch, parent, old, tree_int64(sum, ap->a));
    return 0;
}

static int
apply_extreme(struct applying *ap, const struct change *ch, struct tree *parent, struct tree *old)
{
    if (old != NULL) {
        bson_iter_t v = tree_value(old, ap->a);
        int c = value_cmp(&ch->value, &v);

        if (ch->op == CHANGE_MIN ? c >= 0 : c <= 0)
            return 0;
    }
    put(ap, ch, parent, old, tree_from_value(&ch->value, ap->a));
    return 0;
}

static bool
has_element(const struct tree *array, const bson_iter_t *v, struct arena *a)
{
    for (const struct tree *c = array->first; c != NULL; c = c->next) {
        bson_iter_t have = tree_value(c, a);

        if (value_cmp(&have, v) == 0)
            return true;
    }
    return false;
}

static void
add_element(struct applying *ap, const struct change *ch, struct tree *array, const bson_iter_t *v)
{
    if (ch->op == CHANGE_PUSH || !has_element(array, v, ap->a))
        tree_append(array, SLICE_NONE, tree_from_value(v, ap->a));
}

/* Keep the first `n` elements, or the last when negative. */
static void
slice_array(struct tree *array, int64_t n)
{
    uint64_t keep = n < 0 ? (uint64_t)-n : (uint64_t)n;

    if (n < 0) {
        while (array->n > keep)
            tree_remove(array, array->first);
        return;
    }
    if (array->n > keep) {
        struct tree *c = array->first, *before = NULL;

        for (uint64_t i = 0; i < keep; i++) {
            before = c;
            c = c->next;
        }
        array->last = before;
        array->n = (unsigned)keep;
        if (before != NULL)
            before->next = NULL;
        else
            array->first = NULL;
    }
}

static int
apply_add(struct applying *ap, const struct change *ch, struct tree *parent, struct tree *old)
{
    struct tree *array = old;
    bson_iter_t it;

    if (array == NULL) {
        array = tree_new(TREE_ARRAY, ap->a);
        put(ap, ch, parent, NULL, array);
    } else if (!tree_open(array, ap->a) || array->kind != TREE_ARRAY) {
        return err_sub(
            ap->err, ERR_INVALID, "not_an_array", "\"%.100s\" is no array", ch->path.text);
    }
    if (!ch->has_each) {
        add_element(ap, ch, array, &ch->value);
    } else if (bson_iter_recurse(&ch->value, &it)) {
        while (bson_iter_next(&it))
            add_element(ap, ch, array, &it);
    }
    if (ch->has_slice)
        slice_array(array, ch->slice);
    return 0;
}

static bool
is_pulled(const struct change *ch, const bson_iter_t *v)
{
    const uint8_t *data;
    uint32_t n;
    bson_t doc;

    if (ch->elements == NULL)
        return value_cmp(v, &ch->value) == 0;
    if (!ch->is_doc_filter)
        return filter_match_value(ch->elements, v);
    if (!BSON_ITER_HOLDS_DOCUMENT(v))
        return false;
    bson_iter_document(v, &n, &data);
    return bson_init_static(&doc, data, n) && filter_match(ch->elements, &doc);
}

static int
apply_pull(struct applying *ap, const struct change *ch, struct tree *old)
{
    struct tree *next;

    if (!tree_open(old, ap->a) || old->kind != TREE_ARRAY)
        return err_sub(
            ap->err, ERR_INVALID, "not_an_array", "\"%.100s\" is no array", ch->path.text);
    for (struct tree *c = old->first; c != NULL; c = next) {
        bson_iter_t v = tree_value(c, ap->a);

        next = c->next;
        if (is_pulled(ch, &v))
            tree_remove(old, c);
    }
    return 0;
}

static void
apply_unset(struct applying *ap, struct tree *parent, struct tree *old)
{
    if (parent->kind == TREE_ARRAY) /* the others keep their numbers */
        tree_replace(parent, old, tree_null(ap->a));
    else
        tree_remove(parent, old);
}

static int
apply_change(struct applying *ap, const struct change *ch, struct tree *root)
{
    bool create = ch->op != CHANGE_UNSET && ch->op != CHANGE_PULL;
    struct tree *parent = NULL, *old;
    int rc = find_parent(ap, ch, root, create, &parent);

    if (rc <= 0)
        return rc;
    old = tree_child(parent, ch->path.parts[ch->path.n_parts - 1]);
    if (old == NULL && !create)
        return 0;
    switch (ch->op) {
    case CHANGE_SET:
    case CHANGE_SET_ON_INSERT:
        put(ap, ch, parent, old, tree_from_value(&ch->value, ap->a));
        return 0;
    case CHANGE_UNSET: apply_unset(ap, parent, old); return 0;
    case CHANGE_INC: return apply_inc(ap, ch, parent, old);
    case CHANGE_MIN:
    case CHANGE_MAX: return apply_extreme(ap, ch, parent, old);
    case CHANGE_ADD_TO_SET:
    case CHANGE_PUSH: return apply_add(ap, ch, parent, old);
    case CHANGE_PULL: return apply_pull(ap, ch, old);
    }
    return 0;
}

static int
apply_all(const struct update *u, struct applying *ap, struct tree *root, bool is_insert)
{
    for (unsigned i = 0; i < u->n; i++) {
        if (u->changes[i].op == CHANGE_SET_ON_INSERT && !is_insert)
            continue;
        if (apply_change(ap, &u->changes[i], root) != 0)
            return -1;
    }
    return 0;
}

int
update_apply(const struct update *u, const bson_t *doc, struct arena *a, const bson_t **out_r,
    struct err *err)
{
    struct applying ap = {a, err};
    struct tree *root = tree_from_doc(doc, a);

    if (apply_all(u, &ap, root, false) != 0)
        return -1;
    *out_r = tree_to_doc(root, false, a);
    return filter_check_doc(*out_r, err);
}

/* Equality conditions of the conjunction become fields. */
static int
seed_from_filter(struct applying *ap, const struct filter *f, struct tree *root)
{
    struct change ch = {.op = CHANGE_SET};

    if (f->op == FILTER_AND) {
        for (size_t i = 0; i < f->n_kids; i++) {
            if (seed_from_filter(ap, f->kids[i], root) != 0)
                return -1;
        }
    }
    if (f->op != FILTER_EQ)
        return 0;
    ch.path = *f->path;
    ch.value = f->value;
    return apply_change(ap, &ch, root);
}

int
update_upsert(const struct update *u, const struct filter *f, struct arena *a, const bson_t **out_r,
    struct err *err)
{
    struct applying ap = {a, err};
    struct tree *root = tree_new(TREE_DOC, a);

    if (seed_from_filter(&ap, f, root) != 0 || apply_all(u, &ap, root, true) != 0)
        return -1;
    *out_r = tree_to_doc(root, true, a);
    return filter_check_doc(*out_r, err);
}
