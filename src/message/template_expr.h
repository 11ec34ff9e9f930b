#ifndef MESSAGE_TEMPLATE_EXPR_H
#define MESSAGE_TEMPLATE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "message/value.h"

struct template_helper;

/** Bounds of one call, so that its values fit on the stack. */
#define TEMPLATE_ARGS_MAX 16
#define TEMPLATE_HASH_MAX 8
/** Deepest nesting of sub-expressions. */
#define TEMPLATE_CALLS_MAX 16

enum template_expr_kind { EXPR_LITERAL, EXPR_PATH, EXPR_CALL };

/** Where a path starts. */
enum template_base {
    BASE_THIS,  /* the context `up` levels above */
    BASE_ROOT,  /* @root */
    BASE_INDEX, /* @index, @key, @first, @last of the loop `up` levels above */
    BASE_KEY,
    BASE_FIRST,
    BASE_LAST,
    BASE_UNDEFINED, /* any other @name */
    BASE_PARAM      /* a block parameter: number `param` of the block operation `block` */
};

struct template_path {
    enum template_base base;
    unsigned up;
    uint32_t block;
    unsigned param;
    const struct slice *segments;
    size_t n_segments;
    bool is_scoped; /* starts with this, . or .. : never a helper, never a block parameter */
};

struct template_hash;

struct template_call {
    const struct template_helper *helper;
    const struct template_expr *args;
    size_t n_args;
    const struct template_hash *hash;
    size_t n_hash;
};

struct template_expr {
    enum template_expr_kind kind;
    union {
        struct value literal;
        struct template_path path;
        struct template_call call;
    };
};

struct template_hash {
    struct slice name;
    struct template_expr value;
};

/** Names that are in force at a place: one per open block that changes the context. */
struct template_scope {
    const struct template_scope *outer;
    uint32_t block; /* index of the block operation */
    struct slice params[2];
    size_t n_params;
};

/** What a tag says, before anybody knows whether it is a block, a call or a path. */
struct template_phrase {
    struct slice name;         /* source text of the first word, for {{/name}} and messages */
    struct template_expr head; /* EXPR_PATH, or EXPR_CALL for a parenthesised one */
    struct template_call rest; /* arguments behind it; `helper` is not set */
    struct slice params[2];    /* as |a b| */
    size_t n_params;
};

struct template_expr_parser {
    struct arena *arena;
    const struct template_scope *scope;
    /** Called for each path that starts at the root context; may be NULL. */
    void (*root_path)(const struct template_path *path, void *arg);
    void *arg;
    uint32_t line, column; /* of the tag, for messages */
};

/** Parse the inside of a tag. Fails with ERR_INVALID, sub "template_syntax". Sub-expressions are
 * resolved to calls; the head is left to the caller. */
int template_phrase_parse(struct template_expr_parser *p, struct slice text,
    struct template_phrase *phrase_r, struct err *err);

/** Turn a phrase into a value: a call when it has arguments or its name is a helper's, else a path. */
int template_phrase_value(struct template_expr_parser *p, const struct template_phrase *phrase,
    struct template_expr *expr_r, struct err *err);

/** Is the phrase one bare name (no dots, no this, no @)? Its text is `phrase->name` then. */
bool template_phrase_is_name(const struct template_phrase *phrase);

#endif
