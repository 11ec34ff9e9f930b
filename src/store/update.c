/*
 * Compiling updates: one change per path, sorted by path. Sorting makes conflicts (a path and one above
 * it) neighbours, and gives new fields the order of their paths, whatever order the caller wrote them
 * in. Applying is in update_apply.c.
 */
#include "store/update.h"

#include <stdlib.h>
#include <string.h>

#include "store/filter.h"
#include "store/update_change.h"
#include "store/value.h"

#define CHANGES_MAX 256u

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
