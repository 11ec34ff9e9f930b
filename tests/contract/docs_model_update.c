#include "contract/docs_model.h"

#include <stdlib.h>
#include <string.h>

/*
 * Updates of the plain evaluator: a copy of the document is walked by recursion along each path and
 * changed on the way.
 */

static struct model_value *
copy(struct arena *a, const struct model_value *v)
{
    struct model_value *c = model_new(a, v->type);

    c->i = v->i;
    c->d = v->d;
    c->text = v->text;
    for (size_t i = 0; i < v->n_kids; i++)
        model_add(a, c, v->names[i], copy(a, v->kids[i]));
    return c;
}

static void
drop(struct model_value *from, size_t at)
{
    for (size_t i = at; i + 1 < from->n_kids; i++) {
        from->kids[i] = from->kids[i + 1];
        from->names[i] = from->names[i + 1];
    }
    from->n_kids--;
}

/* The new value of a field that has `old` (NULL = absent); NULL = not allowed. */
static struct model_value *
changed(struct arena *a, const struct model_change *ch, struct model_value *old)
{
    struct model_value *v = ch->value, *out;

    switch (ch->op) {
    case MODEL_SET: return v;
    case MODEL_MIN: return old != NULL && model_cmp(v, old) >= 0 ? old : v;
    case MODEL_MAX: return old != NULL && model_cmp(v, old) <= 0 ? old : v;
    case MODEL_INC:
        if (old == NULL)
            return v;
        if (model_bracket(old) != 2)
            return NULL;
        out = model_new(a, MODEL_INT64);
        if (old->type == MODEL_DOUBLE || v->type == MODEL_DOUBLE) {
            out->type = MODEL_DOUBLE;
            out->d = (old->type == MODEL_DOUBLE ? old->d : (double)old->i) +
                     (v->type == MODEL_DOUBLE ? v->d : (double)v->i);
            return old->type == MODEL_DOUBLE && out->d == old->d ? old : out;
        }
        if (__builtin_add_overflow(old->i, v->i, &out->i))
            return NULL;
        if (old->type == MODEL_INT32 && v->type == MODEL_INT32 && out->i >= INT32_MIN &&
            out->i <= INT32_MAX)
            out->type = MODEL_INT32;
        return out;
    case MODEL_PUSH:
    case MODEL_ADD_TO_SET:
        if (old != NULL && old->type != MODEL_ARRAY)
            return NULL;
        out = old != NULL ? copy(a, old) : model_new(a, MODEL_ARRAY);
        for (size_t i = 0; ch->op == MODEL_ADD_TO_SET && i < out->n_kids; i++) {
            if (model_cmp(out->kids[i], v) == 0)
                return out;
        }
        model_add(a, out, "", v);
        return out;
    case MODEL_PULL:
        if (old->type != MODEL_ARRAY)
            return NULL;
        out = copy(a, old);
        for (size_t i = out->n_kids; i > 0; i--) {
            if (model_cmp(out->kids[i - 1], v) == 0)
                drop(out, i - 1);
        }
        return out;
    case MODEL_UNSET: break;
    }
    abort();
}

/* Change `in` (a document or an array, ours to write) along the path. False = not allowed. */
static bool
change_in(struct arena *a, const struct model_change *ch, struct model_value *in, const char *path)
{
    bool is_removal = ch->op == MODEL_UNSET || ch->op == MODEL_PULL;
    char word[64];
    const char *rest = model_first_word(path, word, sizeof word);
    size_t at = 0;
    struct model_value *old, *new;

    if (in->type == MODEL_ARRAY) {
        if (!model_is_index(word, &at))
            return ch->op == MODEL_UNSET;
    } else {
        while (at < in->n_kids && strcmp(in->names[at], word) != 0)
            at++;
    }
    old = at < in->n_kids ? in->kids[at] : NULL;
    if (old == NULL && is_removal)
        return true;
    if (rest != NULL) {
        if (old != NULL && old->type != MODEL_DOC && old->type != MODEL_ARRAY)
            return ch->op == MODEL_UNSET;
        new = old != NULL ? old : model_new(a, MODEL_DOC);
        if (!change_in(a, ch, new, rest))
            return false;
    } else if (ch->op == MODEL_UNSET) {
        if (in->type == MODEL_ARRAY)
            in->kids[at] = model_new(a, MODEL_NULL);
        else
            drop(in, at);
        return true;
    } else if ((new = changed(a, ch, old)) == NULL) {
        return false;
    }
    while (in->type == MODEL_ARRAY && in->n_kids < at)
        model_add(a, in, "", model_new(a, MODEL_NULL));
    if (at < in->n_kids)
        in->kids[at] = new;
    else
        model_add(a, in, arena_strdup(a, word), new);
    return true;
}

static int
cmp_changes(const void *a, const void *b)
{
    return strcmp(((const struct model_change *)a)->path, ((const struct model_change *)b)->path);
}

struct model_value *
model_update(
    struct arena *a, const struct model_value *doc, const struct model_change *changes, size_t n)
{
    struct model_value *out = copy(a, doc);
    struct model_change sorted[8];

    memcpy(sorted, changes, n * sizeof *changes);
    qsort(sorted, n, sizeof *sorted, cmp_changes);
    for (size_t i = 0; i < n; i++) {
        if (!change_in(a, &sorted[i], out, sorted[i].path))
            return NULL;
    }
    return out;
}
