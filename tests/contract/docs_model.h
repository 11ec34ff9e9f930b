#ifndef CONTRACT_DOCS_MODEL_H
#define CONTRACT_DOCS_MODEL_H

#include <bson/bson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/**
 * The document language said once more, as plainly as possible: values are trees, a filter is evaluated
 * by listing every value a path leads to, nothing is compiled, shared or fast. It shares no code with
 * the store and serves to contradict it. Everything lives in an arena.
 */
enum model_type {
    MODEL_NULL,
    MODEL_INT32,
    MODEL_INT64,
    MODEL_DOUBLE,
    MODEL_TEXT,
    MODEL_DOC,
    MODEL_ARRAY,
    MODEL_BOOL,
    MODEL_DATE
};

struct model_value {
    enum model_type type;
    int64_t i; /* INT32, INT64, BOOL, DATE */
    double d;
    const char *text;
    struct model_value **kids; /* DOC, ARRAY */
    const char **names;        /* DOC */
    size_t n_kids;
};

enum model_op {
    MODEL_AND,
    MODEL_OR,
    MODEL_NOR,
    MODEL_NOT,
    MODEL_EQ,
    MODEL_NE,
    MODEL_LT,
    MODEL_LTE,
    MODEL_GT,
    MODEL_GTE,
    MODEL_IN,
    MODEL_NIN,
    MODEL_EXISTS,
    MODEL_EXISTS_NOT
};

struct model_filter {
    enum model_op op;
    const char *path;
    struct model_value *value; /* IN, NIN: an array */
    struct model_filter **kids;
    size_t n_kids;
};

enum model_change_op {
    MODEL_SET,
    MODEL_UNSET,
    MODEL_INC,
    MODEL_MIN,
    MODEL_MAX,
    MODEL_ADD_TO_SET,
    MODEL_PULL,
    MODEL_PUSH
};

struct model_change {
    enum model_change_op op;
    const char *path;
    struct model_value *value;
};

struct model_value *model_new(struct arena *a, enum model_type type);
void model_add(struct arena *a, struct model_value *to, const char *name, struct model_value *kid);
struct model_value *model_field(const struct model_value *doc, const char *name);
/** Rank of a kind of values among the others; all numbers have one. */
int model_bracket(const struct model_value *v);
/** Copy the first word of a path; returns the rest, or NULL. */
const char *model_first_word(const char *path, char *word, size_t size);
/** Is the word the number of an array element? */
bool model_is_index(const char *word, size_t *i_r);
/** Full order of values; NULL = missing. */
int model_cmp(const struct model_value *a, const struct model_value *b);
/** Same types, same order of fields, same bits. */
bool model_same(const struct model_value *a, const struct model_value *b);

void model_append(bson_t *out, const char *name, const struct model_value *v);
bson_t *model_doc_to_bson(const struct model_value *doc);
struct model_value *model_from_bson(struct arena *a, const bson_t *doc);
bson_t *model_filter_to_bson(const struct model_filter *f);
bson_t *model_changes_to_bson(const struct model_change *changes, size_t n);

bool model_match(const struct model_filter *f, const struct model_value *doc);
/** Order of two documents by one path, as a sort sees it. */
int model_sort_cmp(
    const char *path, int direction, const struct model_value *a, const struct model_value *b);
/** A changed copy, or NULL when a stored value forbids the change. */
struct model_value *model_update(
    struct arena *a, const struct model_value *doc, const struct model_change *changes, size_t n);

#endif
