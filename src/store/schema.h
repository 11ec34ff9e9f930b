#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct filter;

/**
 * The collections and indexes that the embedded migrations add up to, and the steps themselves. Both
 * drivers apply the steps; the batch builder and the planner read the sum. Immutable once built.
 */
#define SCHEMA_INDEX_KEYS_MAX 4

struct schema_key {
    const char *path;
    int direction; /* 1 or -1 */
};

struct schema_index {
    const char *coll;
    const char *name; /* unique within its collection; what a duplicate is reported under */
    struct schema_key keys[SCHEMA_INDEX_KEYS_MAX];
    unsigned n_keys;
    bool is_unique;
    const bson_t *partial;         /* NULL = every document */
    const struct filter *in_index; /* compiled `partial` */
};

struct schema_coll {
    const char *name;
    const struct schema_index **indexes;
    unsigned n_indexes;
};

enum schema_step_kind { STEP_COLLECTION, STEP_INDEX, STEP_TYPED };

struct schema_step {
    enum schema_step_kind kind;
    const char *name; /* collection, or typed set of tables */
    const struct schema_index *index;
};

struct schema_migration {
    unsigned number;
    const char *name;
    struct schema_step *steps;
    unsigned n_steps;
};

struct schema {
    struct schema_migration *migrations; /* ascending by number */
    unsigned n_migrations;
    struct schema_coll *colls;
    unsigned n_colls;
};

/** One migration file as it was embedded at build. */
struct schema_source {
    const char *file; /* NNNN_name.json */
    struct slice text;
};

/** Parse migration texts, in ascending order, into `a`. ERR_INVALID names the file and the step. */
struct schema *schema_build(
    const struct schema_source *sources, size_t n, struct arena *a, struct err *err);
/** The schema of this binary. */
const struct schema *schema_embedded(struct arena *a, struct err *err);
/** Collection by name, or NULL. */
const struct schema_coll *schema_coll_get(const struct schema *s, const char *name);
/** Number of the newest migration. */
unsigned schema_version(const struct schema *s);

/* Made by the build from the files in migrations/. */
extern const struct schema_source schema_sources[];
extern const size_t schema_n_sources;

#endif
