/*
 * The inside of a tag: words, paths, literals, sub-expressions.
 *
 * One pass over the characters without a token list; each parse_* function starts at a word and stops
 * behind it. Names of block parameters are resolved here, against the chain of scopes, so the program
 * knows at compile time which loop a name belongs to. Paths that start at the root context are told to
 * the caller, who collects what a template reads.
 */
#include "message/template_expr.h"

#include <stdlib.h>
#include <string.h>

#include "message/template_helper.h"
#include "message/template_token.h"

#define SEGMENTS_MAX 32

struct words {
    struct template_expr_parser *p;
    struct slice text;
    size_t pos;
    unsigned depth; /* of sub-expressions */
    struct err *err;
};

static int
words_fail(struct words *w, const char *what)
{
    return template_error(w->err, "template_syntax", w->p->line, w->p->column, "%s in \"%.*s\"",
        what, w->text.n < 60 ? (int)w->text.n : 60, w->text.p);
}

static char
peek(const struct words *w)
{
    return w->pos < w->text.n ? w->text.p[w->pos] : '\0';
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static void
skip_blanks(struct words *w)
{
    while (w->pos < w->text.n && is_blank(w->text.p[w->pos]))
        w->pos++;
}

static bool
is_name_char(char c)
{
    return c != '\0' && !is_blank(c) && strchr("!\"#%&'()*+,./;<=>@[\\]^`{|}~", c) == NULL;
}

/* May a word end here? */
static bool
at_word_end(const struct words *w)
{
    char c = peek(w);

    return w->pos >= w->text.n || is_blank(c) || c == ')' || c == '|' || c == '=';
}

static struct slice
take_name(struct words *w)
{
    size_t from = w->pos;

    while (is_name_char(peek(w)))
        w->pos++;
    return slice_make(w->text.p + from, w->pos - from);
}

/* A string literal; the text is copied only when it holds an escaped quote. */
static int
parse_string(struct words *w, struct slice *text_r)
{
    char quote = peek(w);
    size_t from = ++w->pos, n = 0;
    bool has_escape = false;
    char *copy;

    for (; w->pos < w->text.n && w->text.p[w->pos] != quote; w->pos++) {
        if (w->text.p[w->pos] == '\\' && w->pos + 1 < w->text.n && w->text.p[w->pos + 1] == quote) {
            has_escape = true;
            w->pos++;
        }
    }
    if (w->pos >= w->text.n)
        return words_fail(w, "text without closing quote");
    *text_r = slice_make(w->text.p + from, w->pos++ - from);
    if (!has_escape)
        return 0;
    copy = arena_alloc(w->p->arena, text_r->n);
    for (size_t i = 0; i < text_r->n; i++) {
        if (text_r->p[i] == '\\' && i + 1 < text_r->n && text_r->p[i + 1] == quote)
            i++;
        copy[n++] = text_r->p[i];
    }
    *text_r = slice_make(copy, n);
    return 0;
}

/* A number literal: -?digits(.digits)?. False, without moving, when the word is something else. */
static bool
parse_number(struct words *w, struct value *v_r)
{
    size_t from = w->pos, n;
    bool is_whole = true;
    char text[40];

    if (peek(w) == '-')
        w->pos++;
    if (peek(w) < '0' || peek(w) > '9')
        goto no_number;
    while (peek(w) >= '0' && peek(w) <= '9')
        w->pos++;
    if (peek(w) == '.' && w->pos + 1 < w->text.n && w->text.p[w->pos + 1] >= '0' &&
        w->text.p[w->pos + 1] <= '9') {
        is_whole = false;
        w->pos++;
        while (peek(w) >= '0' && peek(w) <= '9')
            w->pos++;
    }
    n = w->pos - from;
    if (!at_word_end(w) || n >= sizeof(text))
        goto no_number;
    if (is_whole && slice_i64(slice_make(w->text.p + from, n), &v_r->i)) {
        v_r->type = VALUE_INT;
        return true;
    }
    memcpy(text, w->text.p + from, n);
    text[n] = '\0';
    v_r->type = VALUE_NUMBER;
    v_r->d = strtod(text, NULL);
    return true;

no_number:
    w->pos = from;
    return false;
}

static enum template_base
data_base(struct slice name)
{
    if (slice_eq(name, SLICE_LIT("root")))
        return BASE_ROOT;
    if (slice_eq(name, SLICE_LIT("index")))
        return BASE_INDEX;
    if (slice_eq(name, SLICE_LIT("key")))
        return BASE_KEY;
    if (slice_eq(name, SLICE_LIT("first")))
        return BASE_FIRST;
    if (slice_eq(name, SLICE_LIT("last")))
        return BASE_LAST;
    return BASE_UNDEFINED;
}

/* One segment, which is a name, [anything], "this", "." or "..". */
static int
parse_segment(struct words *w, struct template_path *path, struct slice *segments, bool is_data)
{
    bool is_start = path->n_segments == 0;
    struct slice name;

    if (peek(w) == '.') {
        if (!is_start)
            return words_fail(w, "\"..\" inside a path");
        path->is_scoped = true;
        w->pos++;
        if (peek(w) == '.') {
            path->up++;
            w->pos++;
        }
        if (peek(w) != '/' && !at_word_end(w))
            return words_fail(w, "a dot that leads nowhere");
        return 0;
    }
    if (peek(w) == '[') {
        const char *close = memchr(w->text.p + w->pos, ']', w->text.n - w->pos);

        if (close == NULL)
            return words_fail(w, "[ without ]");
        name = slice_make(w->text.p + w->pos + 1, (size_t)(close - w->text.p) - w->pos - 1);
        w->pos = (size_t)(close - w->text.p) + 1;
    } else {
        name = take_name(w);
        if (name.n == 0)
            return words_fail(w, "a name is missing or has a character that is not allowed");
        if (is_start && !is_data && slice_eq(name, SLICE_LIT("this"))) {
            path->is_scoped = true;
            return 0;
        }
    }
    if (path->n_segments == SEGMENTS_MAX)
        return words_fail(w, "a path of too many parts");
    segments[path->n_segments++] = name;
    return 0;
}

/* Names of @data and of block parameters take the place of the first segment. */
static void
resolve_base(struct words *w, struct template_path *path, bool is_data)
{
    const struct template_scope *scope = path->is_scoped || is_data ? NULL : w->p->scope;

    if (is_data) {
        path->base = path->n_segments > 0 ? data_base(path->segments[0]) : BASE_UNDEFINED;
        if (path->n_segments > 0) {
            path->segments++;
            path->n_segments--;
        }
        return;
    }
    path->base = BASE_THIS;
    for (; scope != NULL; scope = scope->outer) {
        for (size_t i = 0; i < scope->n_params; i++) {
            if (!slice_eq(scope->params[i], path->segments[0]))
                continue;
            path->base = BASE_PARAM;
            path->block = scope->block;
            path->param = (unsigned)i;
            path->segments++;
            path->n_segments--;
            return;
        }
    }
}

static int
parse_path(struct words *w, struct template_path *path)
{
    struct slice segments[SEGMENTS_MAX], *copy;
    bool is_data = peek(w) == '@';

    memset(path, 0, sizeof(*path));
    if (is_data)
        w->pos++;
    for (;;) {
        if (parse_segment(w, path, segments, is_data) != 0)
            return -1;
        if (peek(w) != '.' && peek(w) != '/')
            break;
        w->pos++;
        if (at_word_end(w) && !(path->is_scoped && path->n_segments == 0))
            return words_fail(w, "a path that ends with a dot or slash");
    }
    if (!at_word_end(w))
        return words_fail(w, "a character that is not allowed");
    copy = arena_array(w->p->arena, path->n_segments, sizeof(*copy));
    if (path->n_segments > 0)
        memcpy(copy, segments, path->n_segments * sizeof(*copy));
    path->segments = copy;
    resolve_base(w, path, is_data);
    return 0;
}

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
    if (peek(w) != ')')
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
    if (peek(w) == '(')
        return parse_call(w, expr);
    expr->kind = EXPR_LITERAL;
    if (peek(w) == '"' || peek(w) == '\'') {
        expr->literal.type = VALUE_STRING;
        return parse_string(w, &expr->literal.s);
    }
    if (parse_number(w, &expr->literal))
        return 0;
    if (parse_path(w, &expr->path) != 0)
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

    if (peek(w) == '(')
        return parse_call(w, &phrase->head);
    phrase->head.kind = EXPR_PATH;
    if (peek(w) != '"' && peek(w) != '\'') {
        if (parse_path(w, &phrase->head.path) != 0)
            return -1;
        phrase->name = slice_make(w->text.p + from, w->pos - from);
        return 0;
    }
    if (parse_string(w, &literal) != 0)
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
    struct slice name = take_name(w);

    *is_hash_r = name.n > 0 && peek(w) == '=';
    if (!*is_hash_r) {
        w->pos = from;
        return 0;
    }
    if (*n == TEMPLATE_HASH_MAX)
        return words_fail(w, "too many named arguments");
    w->pos++;
    skip_blanks(w);
    hash[*n].name = name;
    return parse_operand(w, &hash[(*n)++].value);
}

static int
parse_params(struct words *w, struct template_phrase *phrase)
{
    w->pos += 2; /* "as" */
    skip_blanks(w);
    w->pos++; /* "|" */
    for (;;) {
        struct slice name;

        skip_blanks(w);
        if (peek(w) == '|')
            break;
        name = take_name(w);
        if (name.n == 0 || phrase->n_params == 2)
            return words_fail(w, "block parameters that are not |item| or |item index|");
        phrase->params[phrase->n_params++] = name;
    }
    w->pos++;
    skip_blanks(w);
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
    if (!is_blank(peek(&ahead)))
        return false;
    skip_blanks(&ahead);
    return peek(&ahead) == '|';
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
    skip_blanks(w);
    if (parse_head(w, phrase_r) != 0)
        return -1;
    for (skip_blanks(w); w->pos < w->text.n && peek(w) != ')'; skip_blanks(w)) {
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

    skip_blanks(&w);
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
                "missing helper \"%.*s\"", phrase->name.n < 60 ? (int)phrase->name.n : 60,
                phrase->name.p);
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
