#ifndef AUDIENCE_SEGMENT_INTERNAL_H
#define AUDIENCE_SEGMENT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/slice.h"
#include "audience/segment.h"

/** The parsed tree; private to segment*.c. Everything lives in the arena of the segment. */
enum segment_kind {
    SEGMENT_FIELD_EQUALS,
    SEGMENT_FIELD_IN,
    SEGMENT_FIELD_EXISTS,
    SEGMENT_HAS_TAG,
    SEGMENT_NOT_HAS_TAG,
    SEGMENT_STATUS,
    SEGMENT_ANY,
    SEGMENT_NOT,
    SEGMENT_KINDS
};

enum segment_type { SEGMENT_NULL, SEGMENT_BOOL, SEGMENT_INT, SEGMENT_DOUBLE, SEGMENT_STRING };

struct segment_value {
    enum segment_type type;
    bool b;
    int64_t i;
    double d;
    struct slice s;
    bool is_time; /* a string that is an RFC 3339 time: equals that date too */
    int64_t time_ms;
};

/* "fields." and 15 parts more: what a path in the store may have. */
#define SEGMENT_PATH_PARTS 16

struct segment_node {
    enum segment_kind kind;
    const char *path; /* of the stored contact, dotted: "fields.plan", "tags" */
    struct slice parts[SEGMENT_PATH_PARTS];
    unsigned n_parts;
    const struct segment_value *values; /* EQUALS has one; a tag is a string value */
    size_t n_values;
    enum subscription_status status;
    struct segment_node *kids; /* ANY; NOT has one */
    size_t n_kids;
};

struct segment {
    struct arena *arena;
    struct segment_node *filters;
    size_t n_filters;
    const struct segment_node **rest; /* top-level filters left to segment_match_rest() */
    size_t n_rest;
    struct segment_plan plan;
    bson_t *filter; /* of its own: bson_t wants more alignment than the heap gives a member */
};

const char *segment_kind_name(enum segment_kind kind);

/** Build plan and store filter from the tree. segment_compile.c */
void segment_compile(struct segment *s);

/** Does one node hold? segment_match.c */
bool segment_node_matches(
    const struct segment_node *n, const bson_t *contact, enum subscription_status status);

#endif
