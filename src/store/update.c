/*
 * Updates: compiled once into a list of changes sorted by path, applied to one document at a time on
 * its tree (update_tree.c). Sorting makes conflicts (a path and its parent) neighbours, and gives new
 * fields the order of their paths, whatever order the caller wrote them in.
 */
#include "store/update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/filter.h"
#include "store/update_tree.h"
#include "store/value.h"

#define CHANGES_MAX 256u

enum change_op {
    CHANGE_SET,
    CHANGE_SET_ON_INSERT,
    CHANGE_UNSET,
    CHANGE_INC,
    CHANGE_MIN,
    CHANGE_MAX,
    CHANGE_ADD_TO_SET,
    CHANGE_PULL,
    CHANGE_PUSH
};

struct change {
    enum change_op op;
    struct filter_path path;
    bson_iter_t value; /* operand; of $push and $addToSet the only value to add */
    bool has_each;     /* `value` is the array of $each */
    bool has_slice;
    int64_t slice;
    const struct filter *elements; /* $pull by operators (on the element) or by a filter */
    bool is_doc_filter;
};

struct update {
    struct change *changes; /* by path */
    unsigned n;
};

struct compiler {
    struct update *u;
    struct arena *a;
    struct err *err;
};

/* ---- compiling ------------------------------------------------------------------------------- */

static int
invalid(struct compiler *c, const char *what, const char *name)
{
    return err_sub(c->err, ERR_INVALID, "invalid_update", "%s: \"%.60s\"", what, name);
}

/* {$each: [...], $slice: n}; other modifiers are refused. */
static int
compile_each(struct compiler *c, struct change *ch, const bson_iter_t *v)
{
    bson_iter_t it;

    for (bson_iter_recurse(v, &it); bson_iter_next(&it);) {
        const char *name = bson_iter_key(&it);

        if (strcmp(name, "$each") == 0 && BSON_ITER_HOLDS_ARRAY(&it)) {
            ch->has_each = true;
            ch->value = it;
        } else if (strcmp(name, "$slice") == 0 && ch->op == CHANGE_PUSH &&
                   value_int(&it, &ch->slice)) {
            ch->has_slice = true;
        } else {
            return invalid(c, "unknown or malformed modifier", name);
        }
    }
    return ch->has_each ? 0 : invalid(c, "$slice needs $each", ch->path.text);
}

static int
compile_pull(struct compiler *c, struct change *ch, const bson_iter_t *v)
{
    const uint8_t *data;
    uint32_t n;
    bson_t doc;
    bson_iter_t it;

    if (!BSON_ITER_HOLDS_DOCUMENT(v))
        return 0;
    bson_iter_document(v, &n, &data);
    if (!bson_init_static(&doc, data, n) || !bson_iter_init(&it, &doc))
        return invalid(c, "malformed", ch->path.text);
    if (bson_iter_next(&it) && bson_iter_key(&it)[0] == '$') {
        ch->elements = filter_compile_ops(&doc, c->a, c->err);
    } else {
        ch->is_doc_filter = true;
        ch->elements = filter_compile(&doc, c->a, c->err);
    }
    return ch->elements != NULL ? 0 : -1;
}

static bool
has_modifiers(const bson_iter_t *v)
{
    bson_iter_t it;

    return BSON_ITER_HOLDS_DOCUMENT(v) && bson_iter_recurse(v, &it) && bson_iter_next(&it) &&
           bson_iter_key(&it)[0] == '$';
}

static int
compile_change(struct compiler *c, enum change_op op, const bson_iter_t *v)
{
    struct change *ch;

    if (c->u->n == CHANGES_MAX)
        return err_sub(c->err, ERR_LIMIT, "invalid_update", "more than %u changes", CHANGES_MAX);
    ch = &c->u->changes[c->u->n];
    memset(ch, 0, sizeof(*ch));
    ch->op = op;
    ch->value = *v;
    if (filter_path_parse(bson_iter_key(v), &ch->path, c->err) != 0 || value_check(v, c->err) != 0)
        return -1;
    if (slice_eq_str(ch->path.parts[0], "_id") &&
        (op != CHANGE_SET_ON_INSERT || ch->path.n_parts > 1))
        return invalid(c, "_id never changes", ch->path.text);
    if (op == CHANGE_INC && value_rank(v) != VALUE_RANK_NUMBER)
        return invalid(c, "$inc takes a number", ch->path.text);
    if ((op == CHANGE_PUSH || op == CHANGE_ADD_TO_SET) && has_modifiers(v) &&
        compile_each(c, ch, v) != 0)
        return -1;
    if (op == CHANGE_PULL && compile_pull(c, ch, v) != 0)
        return -1;
    c->u->n++;
    return 0;
}

static int
compile_operator(struct compiler *c, const bson_iter_t *v)
{
    static const struct {
        const char *name;
        enum change_op op;
    } operators[] = {{"$set", CHANGE_SET}, {"$setOnInsert", CHANGE_SET_ON_INSERT},
        {"$unset", CHANGE_UNSET}, {"$inc", CHANGE_INC}, {"$min", CHANGE_MIN}, {"$max", CHANGE_MAX},
        {"$addToSet", CHANGE_ADD_TO_SET}, {"$pull", CHANGE_PULL}, {"$push", CHANGE_PUSH}};
    const char *name = bson_iter_key(v);
    bson_iter_t it;

    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (strcmp(name, operators[i].name) != 0)
            continue;
        if (!BSON_ITER_HOLDS_DOCUMENT(v))
            return invalid(c, "takes a document", name);
        for (bson_iter_recurse(v, &it); bson_iter_next(&it);) {
            if (compile_change(c, operators[i].op, &it) != 0)
                return -1;
        }
        return 0;
    }
    return err_sub(c->err, ERR_INVALID, "unsupported_update", "unknown operator \"%.60s\"", name);
}

/* By parts, so that a path stands right before those below it. */
static int
cmp_changes(const void *a, const void *b)
{
    const struct filter_path *p = &((const struct change *)a)->path;
    const struct filter_path *q = &((const struct change *)b)->path;

    for (unsigned i = 0; i < p->n_parts && i < q->n_parts; i++) {
        int c = slice_cmp(p->parts[i], q->parts[i]);

        if (c != 0)
            return c;
    }
    return (int)p->n_parts - (int)q->n_parts;
}

static bool
is_same_or_below(const struct filter_path *top, const struct filter_path *p)
{
    if (p->n_parts < top->n_parts)
        return false;
    for (unsigned i = 0; i < top->n_parts; i++) {
        if (!slice_eq(top->parts[i], p->parts[i]))
            return false;
    }
    return true;
}

const struct update *
update_compile(const bson_t *doc, struct arena *a, struct err *err)
{
    struct compiler c = {arena_zalloc(a, sizeof(struct update)), a, err};
    size_t n = 0;
    bson_iter_t it, sub;

    if (doc == NULL || doc->len > STORE_DOC_MAX_BYTES || !bson_iter_init(&it, doc) ||
        bson_empty(doc)) {
        err_sub(err, ERR_INVALID, "invalid_update", "empty, malformed or too large");
        return NULL;
    }
    for (sub = it; bson_iter_next(&sub);) {
        bson_iter_t field;

        if (BSON_ITER_HOLDS_DOCUMENT(&sub) && bson_iter_recurse(&sub, &field)) {
            while (bson_iter_next(&field))
                n++;
        }
    }
    c.u->changes = value_alloc(a, (n < CHANGES_MAX ? n : CHANGES_MAX) + 1, sizeof(struct change));
    while (bson_iter_next(&it)) {
        if (compile_operator(&c, &it) != 0)
            return NULL;
    }
    qsort(c.u->changes, c.u->n, sizeof(struct change), cmp_changes);
    for (unsigned i = 1; i < c.u->n; i++) {
        if (is_same_or_below(&c.u->changes[i - 1].path, &c.u->changes[i].path)) {
            invalid(&c, "two changes meet", c.u->changes[i].path.text);
            return NULL;
        }
    }
    return c.u;
}

/* ---- applying -------------------------------------------------------------------------------- */

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
