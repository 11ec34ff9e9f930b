/*
 * Taking documents apart and putting them together. A node is either raw (an iterator on bytes that
 * outlive the tree) or an open container with a list of children. Writing a raw node copies its
 * bytes, so a field no update touches comes out as it went in.
 */
#include "store/update_tree.h"

#include <string.h>

#include "store/value.h"

#define NUMBER_MAX 10000u

struct tree *
tree_new(enum tree_kind kind, struct arena *a)
{
    struct tree *t = value_alloc(a, 1, sizeof(*t));

    t->kind = kind;
    return t;
}

struct tree *
tree_from_value(const bson_iter_t *v, struct arena *a)
{
    struct tree *t = tree_new(TREE_RAW, a);

    t->raw = *v;
    return t;
}

static void
open_children(struct tree *t, bson_iter_t it, struct arena *a)
{
    while (bson_iter_next(&it))
        tree_append(t, slice_str(bson_iter_key(&it)), tree_from_value(&it, a));
}

struct tree *
tree_from_doc(const bson_t *doc, struct arena *a)
{
    struct tree *t = tree_new(TREE_DOC, a);
    bson_iter_t it;

    if (bson_iter_init(&it, doc))
        open_children(t, it, a);
    return t;
}

bool
tree_open(struct tree *t, struct arena *a)
{
    bson_iter_t sub;

    if (t->kind != TREE_RAW)
        return true;
    if (BSON_ITER_HOLDS_DOCUMENT(&t->raw))
        t->kind = TREE_DOC;
    else if (BSON_ITER_HOLDS_ARRAY(&t->raw))
        t->kind = TREE_ARRAY;
    else
        return false;
    if (bson_iter_recurse(&t->raw, &sub))
        open_children(t, sub, a);
    return true;
}

bool
tree_is_number(struct slice name, unsigned *number_r)
{
    uint64_t n;

    if (!slice_u64(name, &n) || n >= NUMBER_MAX || (name.n > 1 && name.p[0] == '0'))
        return false;
    *number_r = (unsigned)n;
    return true;
}

struct tree *
tree_child(const struct tree *t, struct slice name)
{
    unsigned number = 0, i = 0;

    if (t->kind == TREE_ARRAY && !tree_is_number(name, &number))
        return NULL;
    for (struct tree *c = t->first; c != NULL; c = c->next, i++) {
        if (t->kind == TREE_ARRAY ? i == number : slice_eq(c->name, name))
            return c;
    }
    return NULL;
}

struct tree *
tree_append(struct tree *t, struct slice name, struct tree *child)
{
    child->name = name;
    child->next = NULL;
    if (t->last != NULL)
        t->last->next = child;
    else
        t->first = child;
    t->last = child;
    t->n++;
    return child;
}

static struct tree **
link_to(struct tree *t, const struct tree *child, struct tree **before_r)
{
    struct tree **link = &t->first;

    *before_r = NULL;
    while (*link != child) {
        *before_r = *link;
        link = &(*link)->next;
    }
    return link;
}

void
tree_replace(struct tree *t, struct tree *from, struct tree *to)
{
    struct tree *before, **link = link_to(t, from, &before);

    to->name = from->name;
    to->next = from->next;
    *link = to;
    if (t->last == from)
        t->last = to;
}

void
tree_remove(struct tree *t, struct tree *child)
{
    struct tree *before, **link = link_to(t, child, &before);

    *link = child->next;
    if (t->last == child)
        t->last = before;
    t->n--;
}

/* ---- single values ----------------------------------------------------------------------------- */

/* Keep the first field of `one` (destroyed here) as a value. */
static bson_iter_t
keep_value(bson_t *one, struct arena *a)
{
    struct slice kept = arena_dup(a, slice_make(bson_get_data(one), one->len));
    bson_iter_t it;

    bson_destroy(one);
    bson_iter_init_from_data(&it, (const uint8_t *)kept.p, kept.n);
    bson_iter_next(&it);
    return it;
}

static struct tree *
from_built(bson_t *one, struct arena *a)
{
    bson_iter_t it = keep_value(one, a);

    return tree_from_value(&it, a);
}

struct tree *
tree_null(struct arena *a)
{
    bson_t one = BSON_INITIALIZER;

    bson_append_null(&one, "v", 1);
    return from_built(&one, a);
}

struct tree *
tree_int32(int32_t v, struct arena *a)
{
    bson_t one = BSON_INITIALIZER;

    bson_append_int32(&one, "v", 1, v);
    return from_built(&one, a);
}

struct tree *
tree_int64(int64_t v, struct arena *a)
{
    bson_t one = BSON_INITIALIZER;

    bson_append_int64(&one, "v", 1, v);
    return from_built(&one, a);
}

struct tree *
tree_double(double v, struct arena *a)
{
    bson_t one = BSON_INITIALIZER;

    bson_append_double(&one, "v", 1, v);
    return from_built(&one, a);
}

/* ---- putting together ------------------------------------------------------------------------ */

static void
write_node(const struct tree *t, const char *key, int key_len, bson_t *out)
{
    unsigned i = 0;
    bson_t child;

    switch (t->kind) {
    case TREE_RAW: bson_append_iter(out, key, key_len, &t->raw); break;
    case TREE_DOC:
        bson_append_document_begin(out, key, key_len, &child);
        for (const struct tree *c = t->first; c != NULL; c = c->next)
            write_node(c, c->name.p, (int)c->name.n, &child);
        bson_append_document_end(out, &child);
        break;
    case TREE_ARRAY:
        bson_append_array_begin(out, key, key_len, &child);
        for (const struct tree *c = t->first; c != NULL; c = c->next, i++) {
            const char *number;
            char text[16];
            size_t n = bson_uint32_to_string(i, &number, text, sizeof(text));

            write_node(c, number, (int)n, &child);
        }
        bson_append_array_end(out, &child);
        break;
    }
}

bson_iter_t
tree_value(const struct tree *t, struct arena *a)
{
    bson_t one = BSON_INITIALIZER;

    if (t->kind == TREE_RAW)
        return t->raw;
    write_node(t, "v", 1, &one);
    return keep_value(&one, a);
}

const bson_t *
tree_to_doc(const struct tree *t, bool id_first, struct arena *a)
{
    bson_t built = BSON_INITIALIZER, *out = value_alloc(a, 1, sizeof(*out));
    struct slice kept;

    for (const struct tree *c = t->first; c != NULL && id_first; c = c->next) {
        if (slice_eq_str(c->name, "_id"))
            write_node(c, c->name.p, (int)c->name.n, &built);
    }
    for (const struct tree *c = t->first; c != NULL; c = c->next) {
        if (!id_first || !slice_eq_str(c->name, "_id"))
            write_node(c, c->name.p, (int)c->name.n, &built);
    }
    kept = arena_dup(a, slice_make(bson_get_data(&built), built.len));
    bson_destroy(&built);
    bson_init_static(out, (const uint8_t *)kept.p, kept.n);
    return out;
}
