/*
 * Tokens to a program.
 *
 * One pass over the tokens; template_block keeps the open blocks. A dynamic link is a block too, opened
 * and closed by the marks of the link finder.
 *
 * Two things are decided here so that the run need not think: which block a block parameter belongs
 * to (the scope chain), and how each value is escaped. Inside a dynamic link the value of the href is
 * being built in plain form, so text loses its character references there and values are written as
 * they are, or percent-encoded in the query; the whole URL is escaped once at the end.
 */
#include "message/template_compiler.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "message/html_entity.h"
#include "message/template_helper.h"

int
compile_fail(
    struct compiler *c, uint32_t line, uint32_t column, const char *what, struct slice name)
{
    return template_error(c->err, "template_syntax", line, column, "%s \"%.*s\"", what,
        SLICE_FMT(template_clip(name)));
}

/* Remember a path that starts at the root context, once, in dotted form. */
static void
on_root_path(const struct template_path *path, void *arg)
{
    struct compiler *c = arg;
    struct slice dotted;

    buf_clear(&c->scratch);
    for (size_t i = 0; i < path->n_segments; i++) {
        if (i > 0)
            buf_append_char(&c->scratch, '.');
        buf_append_slice(&c->scratch, path->segments[i]);
    }
    if (map_str_get(c->path_set, buf_slice(&c->scratch)) != NULL)
        return;
    map_str_put(c->path_set, buf_slice(&c->scratch), c);
    dotted = arena_dup(c->t->arena, buf_slice(&c->scratch));
    if (c->n_paths == c->cap_paths) {
        c->cap_paths = c->cap_paths > 0 ? c->cap_paths * 2 : 16;
        c->paths = mem_realloc(c->paths, c->cap_paths * sizeof(*c->paths));
    }
    c->paths[c->n_paths++] = dotted;
}

struct template_op *
compile_op(struct compiler *c, enum template_op_kind kind, const struct template_token *token)
{
    struct template_op *op;

    if (c->n_ops == c->cap_ops) {
        c->cap_ops = c->cap_ops > 0 ? c->cap_ops * 2 : 64;
        c->ops = mem_realloc(c->ops, c->cap_ops * sizeof(*c->ops));
    }
    op = &c->ops[c->n_ops++];
    memset(op, 0, sizeof(*op));
    op->kind = (uint8_t)kind;
    if (token != NULL) {
        op->line = token->line;
        op->column = token->column;
    }
    return op;
}

struct template_expr *
compile_expr(struct compiler *c, const struct template_expr *expr)
{
    struct template_expr *copy = arena_alloc(c->t->arena, sizeof(*copy));

    *copy = *expr;
    return copy;
}

static void
text_emit(struct compiler *c, struct slice text)
{
    if (text.n == 0)
        return;
    if (c->in_link && memchr(text.p, '&', text.n) != NULL) {
        buf_clear(&c->scratch);
        html_entity_decode(text, &c->scratch);
        text = arena_dup(c->t->arena, buf_slice(&c->scratch));
    }
    compile_op(c, OP_TEXT, NULL)->text = text;
}

static enum template_escape
output_escape(
    const struct compiler *c, const struct template_token *token, const struct template_expr *expr)
{
    enum template_escape escape = token->escape;

    if (c->mode == TEMPLATE_TEXT || token->kind == TOKEN_RAW)
        return ESCAPE_NONE;
    if (escape == ESCAPE_PERCENT)
        return expr->kind == EXPR_CALL && template_helper_is_encoder(expr->call.helper)
                   ? ESCAPE_NONE /* already encoded: never twice */
                   : ESCAPE_PERCENT;
    return c->in_link ? ESCAPE_NONE : escape;
}

static int
output_emit(struct compiler *c, const struct template_token *token)
{
    struct template_phrase phrase;
    struct template_expr expr;
    struct template_op *op;

    if (template_phrase_parse(&c->parser, token->text, &phrase, c->err) != 0)
        return -1;
    if (phrase.n_params > 0)
        return compile_fail(
            c, token->line, token->column, "block parameters outside a block in", token->text);
    if (template_phrase_is_name(&phrase) && block_kind(phrase.name) >= 0 &&
        (phrase.rest.n_args > 0 || phrase.rest.n_hash > 0))
        return compile_fail(c, token->line, token->column, "a block needs {{#…}}:", phrase.name);
    if (template_phrase_value(&c->parser, &phrase, &expr, c->err) != 0)
        return -1;
    if (expr.kind == EXPR_CALL && template_helper_is_silent(expr.call.helper))
        return 0;
    op = compile_op(c, OP_OUTPUT, token);
    op->escape = (uint8_t)output_escape(c, token, &expr);
    op->expr = compile_expr(c, &expr);
    return 0;
}

/* Open or close links and put the pixel where marks say so, up to offset `pos`. */
static int
marks_follow(struct compiler *c, size_t pos, const struct template_token *token)
{
    while (c->next_mark < c->n_marks) {
        const struct template_mark *m = &c->marks[c->next_mark];
        struct template_op *op;

        if (c->in_link && m->to <= pos) {
            if (c->depth == 0 || !c->stack[c->depth - 1].is_link)
                return template_error(c->err, "bad_link", token->line, token->column,
                    "a block crosses the end of an href");
            block_pop(c);
            c->in_link = false;
            c->next_mark++;
            continue;
        }
        if (c->in_link || m->from > pos || m->kind == MARK_LINK_STATIC)
            return 0;
        if (m->kind == MARK_LINK_DYNAMIC) {
            op = compile_op(c, OP_LINK_DYNAMIC, token);
            op->ordinal = m->ordinal;
            op->is_tracked = m->is_tracked;
            op->escape = m->is_bare ? ESCAPE_BARE : ESCAPE_HTML;
            c->in_link = true;
            if (block_push(c, token, SLICE_NONE) == NULL)
                return -1;
            c->stack[c->depth - 1].is_link = true;
            if (m->to > pos)
                return 0;
            continue;
        }
        compile_op(c, OP_PIXEL, token);
        c->next_mark++;
    }
    return 0;
}

/* A static link lies whole in one piece of text, and the text goes on behind it. */
static void
link_static_emit(
    struct compiler *c, const struct template_mark *m, const struct template_token *token)
{
    struct template_op *op = compile_op(c, OP_LINK_STATIC, token);

    op->ordinal = m->ordinal;
    op->text = slice_make(c->source.p + m->from, m->to - m->from);
}

/* The next offset where a mark begins or the open link ends; SIZE_MAX when there is none. */
static size_t
next_border(const struct compiler *c)
{
    if (c->next_mark == c->n_marks)
        return SIZE_MAX;
    return c->in_link ? c->marks[c->next_mark].to : c->marks[c->next_mark].from;
}

/* Literal text, cut where marks are. What whitespace control took away stays away. */
static int
text_token(struct compiler *c, const struct template_token *token)
{
    size_t pos = (size_t)(token->text.p - c->source.p), end = pos + token->text.n;

    while (pos < end) {
        size_t border;

        if (marks_follow(c, pos, token) != 0)
            return -1;
        border = next_border(c);
        assert(border >= pos);
        if (border > end)
            border = end;
        text_emit(c, slice_make(c->source.p + pos, border - pos));
        pos = border;
        if (c->next_mark < c->n_marks && c->marks[c->next_mark].kind == MARK_LINK_STATIC &&
            pos < end) {
            link_static_emit(c, &c->marks[c->next_mark], token);
            pos = c->marks[c->next_mark++].to;
        }
    }
    return 0;
}

static int
token_compile(struct compiler *c, const struct template_token *token)
{
    c->parser.line = token->line;
    c->parser.column = token->column;
    if (token->kind == TOKEN_TEXT)
        return text_token(c, token);
    if (marks_follow(c, token->from, token) != 0)
        return -1;
    switch (token->kind) {
    case TOKEN_OUTPUT:
    case TOKEN_RAW: return output_emit(c, token);
    case TOKEN_OPEN: return block_open(c, token, token->text, false, false);
    case TOKEN_INVERSE: return block_open(c, token, token->text, true, false);
    case TOKEN_ELSE: return block_else(c, token);
    case TOKEN_CLOSE: return block_close(c, token);
    case TOKEN_TEXT:
    case TOKEN_COMMENT: break;
    }
    return 0;
}

static int
compile(struct compiler *c)
{
    static const struct template_token end = {.kind = TOKEN_TEXT, .line = 1, .column = 1};

    if (c->source.n > TEMPLATE_SOURCE_MAX)
        return err_sub(
            c->err, ERR_INVALID, "template_syntax", "larger than %zu bytes", TEMPLATE_SOURCE_MAX);
    if (!utf8_valid(c->source) || slice_find_char(c->source, '\0') >= 0)
        return err_sub(c->err, ERR_INVALID, "template_syntax", "not well-formed UTF-8 text");
    if (template_tokens_scan(c->source, &c->tokens, c->err) != 0)
        return -1;
    if (c->mode == TEMPLATE_HTML)
        template_tokens_place(c->source, &c->tokens);
    template_tokens_trim(c->source, &c->tokens);
    for (size_t i = 0; i < c->tokens.n; i++) {
        if (token_compile(c, &c->tokens.items[i]) != 0)
            return -1;
    }
    if (marks_follow(c, c->source.n, c->tokens.n > 0 ? &c->tokens.items[c->tokens.n - 1] : &end) !=
        0)
        return -1;
    if (c->depth > 0) {
        const struct open_block *b = &c->stack[c->depth - 1];

        return compile_fail(c, b->line, b->column, "this block is never closed:", b->name);
    }
    return 0;
}

/* Move what grew during compilation into the arena of the template. */
static void
program_keep(struct compiler *c)
{
    struct template *t = c->t;
    struct template_op *ops = arena_array(t->arena, c->n_ops, sizeof(*ops));
    struct slice *paths = arena_array(t->arena, c->n_paths, sizeof(*paths));

    if (c->n_ops > 0)
        memcpy(ops, c->ops, c->n_ops * sizeof(*ops));
    if (c->n_paths > 0)
        memcpy(paths, c->paths, c->n_paths * sizeof(*paths));
    t->ops = ops;
    t->n_ops = c->n_ops;
    t->paths = paths;
    t->n_paths = c->n_paths;
}

struct template *
template_compile_marked(struct slice source, enum template_mode mode,
    const struct template_mark *marks, size_t n_marks, struct err *err)
{
    struct arena *arena = arena_create(0);
    struct template *t = arena_zalloc(arena, sizeof(*t));
    struct compiler *c = mem_zalloc(sizeof(*c));
    int rc;

    t->arena = arena;
    t->source = source.n > TEMPLATE_SOURCE_MAX ? source : arena_dup(arena, source);
    c->t = t;
    c->source = t->source;
    c->mode = mode;
    c->marks = marks;
    c->n_marks = n_marks;
    c->path_set = map_str_create();
    c->parser = (struct template_expr_parser){.arena = arena, .root_path = on_root_path, .arg = c};
    c->err = err;
    rc = compile(c);
    if (rc == 0)
        program_keep(c);
    template_tokens_deinit(&c->tokens);
    map_str_free(&c->path_set);
    buf_deinit(&c->scratch);
    mem_free(c->ops);
    mem_free(c->paths);
    mem_free(c);
    if (rc != 0)
        template_free(&t);
    return t;
}
