/*
 * Blocks of a template while it is compiled.
 *
 * Opening one appends its operation and puts it on a stack; else and end write the borders of its
 * branches into the operation. {{else if y}} opens a block inside the inverse branch that is closed with
 * its outer block. Blocks that change the context put themselves into the chain of scopes, for the
 * branch that runs inside the value and no longer.
 */
#include "message/template_compiler.h"

#include <string.h>

#include "message/template_helper.h"

/* Put the block of the newest operation on the stack. */
struct open_block *
block_push(struct compiler *c, const struct template_token *token, struct slice name)
{
    struct open_block *b;

    if (c->depth == TEMPLATE_NESTING_MAX) {
        template_error(c->err, "template_syntax", token->line, token->column,
            "blocks nested deeper than %d", TEMPLATE_NESTING_MAX);
        return NULL;
    }
    b = &c->stack[c->depth++];
    memset(b, 0, sizeof(*b));
    b->op = (uint32_t)(c->n_ops - 1);
    b->line = token->line;
    b->column = token->column;
    b->name = name;
    return b;
}

static void
scope_leave(struct compiler *c, struct open_block *b)
{
    if (!b->has_scope)
        return;
    c->parser.scope = b->scope.outer;
    b->has_scope = false;
}

void
block_pop(struct compiler *c)
{
    struct open_block *b = &c->stack[--c->depth];
    struct template_op *op = &c->ops[b->op];

    scope_leave(c, b);
    op->end = (uint32_t)c->n_ops;
    if (!b->has_else)
        op->else_at = op->end;
}

/* Which block operation a tag opens, or -1 for a section over a path. */
int
block_kind(struct slice name)
{
    if (slice_eq_str(name, "if"))
        return OP_IF;
    if (slice_eq_str(name, "unless"))
        return OP_UNLESS;
    if (slice_eq_str(name, "each"))
        return OP_EACH;
    if (slice_eq_str(name, "with"))
        return OP_WITH;
    return -1;
}

/* The condition or list of a built-in block: its one argument. */
static int
block_argument(struct compiler *c, const struct template_token *token,
    const struct template_phrase *phrase, struct template_op *op)
{
    if (phrase->rest.n_args != 1)
        return template_error(c->err, "template_syntax", token->line, token->column,
            "#%.*s takes exactly one argument, not %zu", SLICE_FMT(phrase->name),
            phrase->rest.n_args);
    if (phrase->n_params > 0 && (op->kind == OP_IF || op->kind == OP_UNLESS))
        return compile_fail(
            c, token->line, token->column, "there is nothing to name in", phrase->name);
    op->expr = &phrase->rest.args[0];
    for (size_t i = 0; i < phrase->rest.n_hash; i++) {
        if (slice_eq_str(phrase->rest.hash[i].name, "includeZero"))
            op->include_zero = &phrase->rest.hash[i].value;
    }
    return 0;
}

/* The value of a section: a path, since helpers are not blocks. */
static int
section_argument(struct compiler *c, const struct template_token *token,
    const struct template_phrase *phrase, struct template_op *op)
{
    struct template_expr expr;

    if (phrase->head.kind != EXPR_PATH ||
        (template_phrase_is_name(phrase) && template_helper_find(phrase->name) != NULL))
        return compile_fail(c, token->line, token->column,
            "only if, unless, each, with and values open a block, not", phrase->name);
    if (template_phrase_value(&c->parser, phrase, &expr, c->err) != 0)
        return -1;
    op->expr = compile_expr(c, &expr);
    return 0;
}

int
block_open(struct compiler *c, const struct template_token *token, struct slice text,
    bool is_inverted, bool is_chained)
{
    struct template_phrase phrase;
    struct template_op op = {.line = token->line, .column = token->column};
    struct open_block *b;
    int kind;

    if (template_phrase_parse(&c->parser, text, &phrase, c->err) != 0)
        return -1;
    kind = template_phrase_is_name(&phrase) ? block_kind(phrase.name) : -1;
    op.kind = kind < 0 ? OP_SECTION : (uint8_t)kind;
    op.is_inverted = is_inverted;
    if (kind >= 0 ? block_argument(c, token, &phrase, &op) != 0
                  : section_argument(c, token, &phrase, &op) != 0)
        return -1;
    *compile_op(c, op.kind, token) = op;
    b = block_push(c, token, phrase.name);
    if (b == NULL)
        return -1;
    b->is_chained = is_chained;
    if (kind == OP_IF || kind == OP_UNLESS)
        return 0;
    b->scope = (struct template_scope){.outer = c->parser.scope,
        .block = b->op,
        .params = {phrase.params[0], phrase.params[1]},
        .n_params = phrase.n_params};
    b->has_scope = !is_inverted;
    if (b->has_scope)
        c->parser.scope = &b->scope;
    return 0;
}

int
block_else(struct compiler *c, const struct template_token *token)
{
    struct open_block *b = c->depth > 0 ? &c->stack[c->depth - 1] : NULL;
    struct template_op *op;

    if (b == NULL || b->is_link)
        return template_error(
            c->err, "template_syntax", token->line, token->column, "else outside of a block");
    if (b->has_else)
        return compile_fail(c, token->line, token->column, "a second else in", b->name);
    b->has_else = true;
    op = &c->ops[b->op];
    op->else_at = (uint32_t)c->n_ops;
    if (op->is_inverted && (op->kind == OP_EACH || op->kind == OP_WITH || op->kind == OP_SECTION)) {
        b->has_scope = true; /* {{^x}} ... {{else}}: the second branch is the one inside x */
        c->parser.scope = &b->scope;
    } else {
        scope_leave(c, b);
    }
    return token->text.n > 0 ? block_open(c, token, token->text, false, true) : 0;
}

int
block_close(struct compiler *c, const struct template_token *token)
{
    struct open_block *b;

    if (c->depth == 0 || c->stack[c->depth - 1].is_link)
        return compile_fail(c, token->line, token->column, "nothing is open here for", token->text);
    while (c->stack[c->depth - 1].is_chained)
        block_pop(c);
    b = &c->stack[c->depth - 1];
    if (!slice_eq(b->name, token->text))
        return template_error(c->err, "template_syntax", token->line, token->column,
            "\"%.*s\" closes \"%.*s\" of line %u", SLICE_FMT(template_clip(token->text)),
            SLICE_FMT(template_clip(b->name)), b->line);
    block_pop(c);
    return 0;
}
