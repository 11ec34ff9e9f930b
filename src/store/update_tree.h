#ifndef STORE_UPDATE_TREE_H
#define STORE_UPDATE_TREE_H

#include <stdbool.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

/**
 * A document taken apart for changing. Only the containers an update walks through are taken apart;
 * everything else stays a view of the bytes it came from. All in one arena.
 */
enum tree_kind { TREE_RAW, TREE_DOC, TREE_ARRAY };

struct tree {
    enum tree_kind kind;
    struct slice name; /* of a field; unused in arrays */
    bson_iter_t raw;   /* TREE_RAW */
    struct tree *next;
    struct tree *first, *last; /* children */
    unsigned n;
};

struct tree *tree_from_doc(const bson_t *doc, struct arena *a);
struct tree *tree_from_value(const bson_iter_t *v, struct arena *a);
/** Take a container apart; false when the node is no container. */
bool tree_open(struct tree *t, struct arena *a);
/** Child by field name or array number, or NULL. */
struct tree *tree_child(const struct tree *t, struct slice name);
struct tree *tree_append(struct tree *t, struct slice name, struct tree *child);
/** Put `to` where `from` is among the children of `t`, under its name. */
void tree_replace(struct tree *t, struct tree *from, struct tree *to);
void tree_remove(struct tree *t, struct tree *child);
struct tree *tree_new(enum tree_kind kind, struct arena *a);
struct tree *tree_null(struct arena *a);
struct tree *tree_int32(int32_t v, struct arena *a);
struct tree *tree_int64(int64_t v, struct arena *a);
struct tree *tree_double(double v, struct arena *a);
/** An array number: digits only, no leading zero, below 10000. */
bool tree_is_number(struct slice name, unsigned *number_r);
/** The node as a value to compare; a changed container is put together first. */
bson_iter_t tree_value(const struct tree *t, struct arena *a);
/** Put together. `id_first` moves `_id` to the front. */
const bson_t *tree_to_doc(const struct tree *t, bool id_first, struct arena *a);

#endif
