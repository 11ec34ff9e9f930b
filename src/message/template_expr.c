/*
 * The inside of a tag: arguments, sub-expressions, and what they make together.
 *
 * One pass over the words without a token list; each parse_* function starts at a word and stops behind
 * it. A phrase is what a tag says before anybody knows whether it is a block, a call or a path. Paths
 * that start at the root context are told to the caller, who collects what a template reads.
 */
#include "message/template_expr.h"

#include <string.h>

#include "message/template_helper.h"
#include "message/template_token.h"
#include "message/template_words.h"

/* Tell the owner of the parser about a path that is read from the root context. */
static void
note_root_path(struct template_expr_parser *p, const struct template_path *path)
{
    unsigned depth = 0;

    for (const struct template_scope *s = p->scope; s != NULL; s = s->outer)
        depth++;
    if (p->root_path == NULL || path->n_segments == 0)
        return;
    if (path->base == BASE_ROOT || (path->base == BASE_THIS && path->up == depth))
        p->root_path(path, p->arg);
}

static bool
is_keyword(const struct template_path *path, struct slice word, struct value *v_r)
{
    memset(v_r, 0, sizeof(*v_r));
    if (path->base != BASE_THIS || path->n_segments != 1 || path->is_scoped || word.p[0] == '[')
        return false;
    if (slice_eq(word, SLICE_LIT("true")) || slice_eq(word, SLICE_LIT("false"))) {
        v_r->type = VALUE_BOOL;
        v_r->b = word.n == 4;
        return true;
    }
    if (slice_eq(word, SLICE_LIT("null"))) {
        v_r->type = VALUE_NULL;
        return true;
    }
    return slice_eq(word, SLICE_LIT("undefined"));
}

static int parse_phrase(struct words *w, bool is_inner, struct template_phrase *phrase_r);

static int
parse_call(struct words *w, struct template_expr *expr)
{
    struct template_phrase phrase;

    if (++w->depth > TEMPLATE_CALLS_MAX)
        return words_fail(w, "sub-expressions nested too deeply");
    w->pos++;
    if (parse_phrase(w, true, &phrase) != 0)
        return -1;
    if (words_peek(w) != ')')
        return words_fail(w, "( without )");
    w->pos++;
    w->depth--;
    if (!template_phrase_is_name(&phrase) || template_helper_find(phrase.name) == NULL)
        return words_fail(w, "a sub-expression that calls no helper");
    return template_phrase_value(w->p, &phrase, expr, w->err);
}

/* One argument: literal, path or sub-expression. */
static int
parse_operand(struct words *w, struct template_expr *expr)
{
    size_t from = w->pos;
    struct value keyword;

    memset(expr, 0, sizeof(*expr));
    if (words_peek(w) == '(')
        return parse_call(w, expr);
    expr->kind = EXPR_LITERAL;
    if (words_peek(w) == '"' || words_peek(w) == '\'') {
        expr->literal.type = VALUE_STRING;
        return words_string(w, &expr->literal.s);
    }
    if (words_number(w, &expr->literal))
        return 0;
    if (words_path(w, &expr->path) != 0)
        return -1;
    if (is_keyword(&expr->path, slice_make(w->text.p + from, w->pos - from), &keyword)) {
        expr->literal = keyword;
        return 0;
    }
    expr->kind = EXPR_PATH;
    note_root_path(w->p, &expr->path);
    return 0;
}

/* The first word of a tag. A literal there names a member: {{"odd name"}}. */
static int
parse_head(struct words *w, struct template_phrase *phrase)
{
    size_t from = w->pos;
    struct slice literal;
    struct slice *segment;

    if (words_peek(w) == '(')
        return parse_call(w, &phrase->head);
    phrase->head.kind = EXPR_PATH;
    if (words_peek(w) != '"' && words_peek(w) != '\'') {
        if (words_path(w, &phrase->head.path) != 0)
            return -1;
        phrase->name = slice_make(w->text.p + from, w->pos - from);
        return 0;
    }
    if (words_string(w, &literal) != 0)
        return -1;
    segment = arena_alloc(w->p->arena, sizeof(*segment));
    *segment = literal;
    phrase->head.path = (struct template_path){
        .base = BASE_THIS, .segments = segment, .n_segments = 1, .is_scoped = true};
    phrase->name = literal;
    return 0;
}

/* key=value, when the word that starts here is one. */
static int
parse_hash(struct words *w, struct template_hash *hash, size_t *n, bool *is_hash_r)
{
    size_t from = w->pos;
    struct slice name = words_name(w);

    *is_hash_r = name.n > 0 && words_peek(w) == '=';
    if (!*is_hash_r) {
        w->pos = from;
        return 0;
    }
    if (*n == TEMPLATE_HASH_MAX)
        return words_fail(w, "too many named arguments");
    w->pos++;
    words_skip_blanks(w);
    hash[*n].name = name;
    return parse_operand(w, &hash[(*n)++].value);
}

static int
parse_params(struct words *w, struct template_phrase *phrase)
{
    w->pos += 2; /* "as" */
    words_skip_blanks(w);
    w->pos++; /* "|" */
    for (;;) {
        struct slice name;

        words_skip_blanks(w);
        if (words_peek(w) == '|')
            break;
        name = words_name(w);
        if (name.n == 0 || phrase->n_params == 2)
            return words_fail(w, "block parameters that are not |item| or |item index|");
        phrase->params[phrase->n_params++] = name;
    }
    w->pos++;
    words_skip_blanks(w);
    if (phrase->n_params == 0 || w->pos < w->text.n)
        return words_fail(w, "block parameters that do not end the tag");
    return 0;
}

static bool
at_params(const struct words *w)
{
    struct words ahead = *w;

    if (!slice_starts(slice_from(w->text, w->pos), SLICE_LIT("as")))
        return false;
    ahead.pos += 2;
    if (!words_is_blank(words_peek(&ahead)))
        return false;
    words_skip_blanks(&ahead);
    return words_peek(&ahead) == '|';
}

static int
parse_phrase(struct words *w, bool is_inner, struct template_phrase *phrase_r)
{
    struct template_expr args[TEMPLATE_ARGS_MAX];
    struct template_hash hash[TEMPLATE_HASH_MAX];
    size_t n_args = 0, n_hash = 0;
    struct template_expr *args_copy;
    struct template_hash *hash_copy;
    bool is_hash;

    memset(phrase_r, 0, sizeof(*phrase_r));
    words_skip_blanks(w);
    if (parse_head(w, phrase_r) != 0)
        return -1;
    for (words_skip_blanks(w); w->pos < w->text.n && words_peek(w) != ')'; words_skip_blanks(w)) {
        if (!is_inner && at_params(w)) {
            if (parse_params(w, phrase_r) != 0)
                return -1;
            break;
        }
        if (parse_hash(w, hash, &n_hash, &is_hash) != 0)
            return -1;
        if (is_hash)
            continue;
        if (n_hash > 0)
            return words_fail(w, "an argument behind a named one");
        if (n_args == TEMPLATE_ARGS_MAX)
            return words_fail(w, "too many arguments");
        if (parse_operand(w, &args[n_args++]) != 0)
            return -1;
    }
    args_copy = arena_array(w->p->arena, n_args, sizeof(*args_copy));
    hash_copy = arena_array(w->p->arena, n_hash, sizeof(*hash_copy));
    if (n_args > 0)
        memcpy(args_copy, args, n_args * sizeof(*args));
    if (n_hash > 0)
        memcpy(hash_copy, hash, n_hash * sizeof(*hash));
    phrase_r->rest = (struct template_call){
        .args = args_copy, .n_args = n_args, .hash = hash_copy, .n_hash = n_hash};
    return 0;
}

int
template_phrase_parse(struct template_expr_parser *p, struct slice text,
    struct template_phrase *phrase_r, struct err *err)
{
    struct words w = {.p = p, .text = text, .err = err};

    words_skip_blanks(&w);
    if (w.pos == text.n)
        return words_fail(&w, "nothing");
    if (parse_phrase(&w, false, phrase_r) != 0)
        return -1;
    if (w.pos < text.n)
        return words_fail(&w, ") without (");
    return 0;
}

bool
template_phrase_is_name(const struct template_phrase *phrase)
{
    return phrase->head.kind == EXPR_PATH && phrase->head.path.base == BASE_THIS &&
           phrase->head.path.n_segments == 1 && !phrase->head.path.is_scoped &&
           phrase->name.p[0] != '[';
}

int
template_phrase_value(struct template_expr_parser *p, const struct template_phrase *phrase,
    struct template_expr *expr_r, struct err *err)
{
    const struct template_helper *helper =
        template_phrase_is_name(phrase) ? template_helper_find(phrase->name) : NULL;
    size_t n = phrase->rest.n_args;

    *expr_r = phrase->head;
    if (helper == NULL) {
        if (n > 0 || phrase->rest.n_hash > 0)
            return template_error(err, "template_syntax", p->line, p->column,
                "missing helper \"%.*s\"", SLICE_FMT(template_clip(phrase->name)));
        if (phrase->head.kind == EXPR_PATH)
            note_root_path(p, &phrase->head.path);
        return 0;
    }
    if (n > helper->max_args || (n > 0 && n < helper->min_args))
        return template_error(err, "template_syntax", p->line, p->column,
            "%s takes %u to %u arguments, not %zu", helper->name, helper->min_args,
            helper->max_args, n);
    expr_r->kind = EXPR_CALL;
    expr_r->call = phrase->rest;
    expr_r->call.helper = helper;
    return 0;
}
