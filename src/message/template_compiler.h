#ifndef MESSAGE_TEMPLATE_COMPILER_H
#define MESSAGE_TEMPLATE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "message/template_expr.h"
#include "message/template_program.h"
#include "message/template_token.h"

struct map_str;

/** A block whose end has not come yet. */
struct open_block {
    uint32_t op;
    uint32_t line, column;
    struct slice name;
    bool is_link;
    bool has_else;
    bool is_chained;             /* opened by {{else if}}: closed with its outer block */
    bool has_scope;              /* the context differs inside */
    struct template_scope scope; /* its entry in the chain, if has_scope */
};

struct compiler {
    struct template *t;
    struct slice source;
    enum template_mode mode;
    struct template_tokens tokens;
    const struct template_mark *marks;
    size_t n_marks, next_mark;
    struct template_op *ops;
    size_t n_ops, cap_ops;
    struct open_block stack[TEMPLATE_NESTING_MAX];
    size_t depth;
    bool in_link;
    struct template_expr_parser parser;
    struct map_str *path_set;
    struct slice *paths;
    size_t n_paths, cap_paths;
    struct buf scratch;
    struct err *err;
};

/** ERR_INVALID, sub "template_syntax": `what`, then the name in quotes. Returns -1. */
int compile_fail(
    struct compiler *c, uint32_t line, uint32_t column, const char *what, struct slice name);
/** Append an operation; valid until the next one. `token` gives its place and may be NULL. */
struct template_op *compile_op(
    struct compiler *c, enum template_op_kind kind, const struct template_token *token);
/** A copy that lives as long as the template. */
struct template_expr *compile_expr(struct compiler *c, const struct template_expr *expr);

/** Which block operation a bare name opens, or -1. */
int block_kind(struct slice name);
/** Put the block of the newest operation on the stack; NULL, with the error set, when that is full. */
struct open_block *block_push(
    struct compiler *c, const struct template_token *token, struct slice name);
/** Take the newest block off and write its borders into its operation. */
void block_pop(struct compiler *c);
/** {{#x}}, {{^x}}, and the x of {{else x}}. */
int block_open(struct compiler *c, const struct template_token *token, struct slice text,
    bool is_inverted, bool is_chained);
int block_else(struct compiler *c, const struct template_token *token);
int block_close(struct compiler *c, const struct template_token *token);

#endif
