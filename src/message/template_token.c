/*
 * Template source to tokens.
 *
 * A tag runs from "{{" to the matching "}}"; string literals and [segments] inside it may contain
 * braces, and a long comment ends only at "--}}". template_tag_shape() is the one place that knows
 * this, so everybody who must step over expressions (scanner, link finder, text derivation) agrees on
 * where they end. What a tag means is decided by its sigil here and by the parser later.
 *
 * A backslash before "{{" takes the tag's meaning away: the braces become text. Two backslashes are
 * one literal backslash before a tag that counts.
 */
#include "message/template_token.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define CLIP_BYTES 60

struct scanner {
    struct slice source;
    struct template_tokens *tokens;
    size_t counted; /* line and column are those of this offset */
    uint32_t line, column;
    size_t n_tags;
};

/* The outer form of a tag: what lies between sigils and closing braces. */
struct tag_shape {
    char sigil; /* one of ! { & # ^ / > *, or 0 */
    size_t inner_from, inner_to, to;
    bool trims_before, trims_after;
};

struct slice
template_clip(struct slice name)
{
    if (name.n > CLIP_BYTES) {
        name.n = CLIP_BYTES;
        while (name.n > 0 && ((unsigned char)name.p[name.n] & 0xC0) == 0x80)
            name.n--;
    }
    return name;
}

int
template_error(
    struct err *err, const char *sub, uint32_t line, uint32_t column, const char *fmt, ...)
{
    char text[240];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_sub(err, ERR_INVALID, sub, "line %u, column %u: %s", line, column, text);
}

static bool
is_at(struct slice source, size_t pos, const char *text)
{
    size_t n = strlen(text);

    return pos <= source.n && source.n - pos >= n && memcmp(source.p + pos, text, n) == 0;
}

/* Offset of `text` at or behind `pos`, or SIZE_MAX. */
static size_t
find_from(struct slice source, size_t pos, const char *text)
{
    const char *p = memmem(source.p + pos, source.n - pos, text, strlen(text));

    return p != NULL ? (size_t)(p - source.p) : SIZE_MAX;
}

static bool
comment_shape(struct slice source, size_t pos, struct tag_shape *shape_r)
{
    size_t end;

    shape_r->inner_from = pos;
    if (is_at(source, pos, "!--")) {
        for (end = pos + 3; (end = find_from(source, end, "--")) != SIZE_MAX; end++) {
            shape_r->trims_after = is_at(source, end, "--~}}");
            if (shape_r->trims_after || is_at(source, end, "--}}"))
                break;
        }
        if (end == SIZE_MAX)
            return false;
        shape_r->inner_to = end;
        shape_r->to = end + (shape_r->trims_after ? 5 : 4);
        return true;
    }
    end = find_from(source, pos, "}}");
    if (end == SIZE_MAX)
        return false;
    shape_r->trims_after = source.p[end - 1] == '~';
    shape_r->inner_to = end;
    shape_r->to = end + 2;
    return true;
}

/* Position behind a string or [segment] that starts at `pos`; the same position when it never ends. */
static size_t
skip_quoted(struct slice source, size_t pos)
{
    char c = source.p[pos], close = c == '[' ? ']' : c;

    for (size_t i = pos + 1; i < source.n; i++) {
        if (source.p[i] == '\\' && c != '[' && i + 1 < source.n && source.p[i + 1] == close)
            i++;
        else if (source.p[i] == close)
            return i + 1;
    }
    return pos;
}

/* The closing braces of an expression that starts at `pos`; false when there are none. */
static bool
expression_end(struct slice source, size_t pos, bool is_triple, struct tag_shape *shape_r)
{
    const char *close = is_triple ? "}" : "";

    while (pos < source.n) {
        char c = source.p[pos];

        if (c == '"' || c == '\'' || c == '[') {
            size_t behind = skip_quoted(source, pos);

            if (behind == pos)
                return false;
            pos = behind;
            continue;
        }
        if (c == '}' || c == '~') {
            size_t at = pos + (is_triple && is_at(source, pos, close) ? 1 : 0);
            bool has_tilde = is_at(source, at, "~");

            if ((!is_triple || at > pos) && is_at(source, at + (has_tilde ? 1 : 0), "}}")) {
                shape_r->inner_to = pos;
                shape_r->trims_after = has_tilde;
                shape_r->to = at + (has_tilde ? 1 : 0) + 2;
                return true;
            }
        }
        pos++;
    }
    return false;
}

static bool
tag_shape(struct slice source, size_t open, struct tag_shape *shape_r)
{
    size_t pos = open + 2;

    memset(shape_r, 0, sizeof(*shape_r));
    if (is_at(source, pos, "~")) {
        shape_r->trims_before = true;
        pos++;
    }
    if (pos < source.n && strchr("!{&#^/>*", source.p[pos]) != NULL && source.p[pos] != '\0')
        shape_r->sigil = source.p[pos];
    if (shape_r->sigil == '!')
        return comment_shape(source, pos, shape_r);
    if (shape_r->sigil != 0)
        pos++;
    shape_r->inner_from = pos;
    return expression_end(source, pos, shape_r->sigil == '{', shape_r);
}

size_t
template_tag_end(struct slice source, size_t open, bool *is_comment_r)
{
    struct tag_shape shape;

    if (!tag_shape(source, open, &shape))
        return 0;
    if (is_comment_r != NULL)
        *is_comment_r = shape.sigil == '!';
    return shape.to;
}

static void
count_to(struct scanner *sc, size_t pos)
{
    for (; sc->counted < pos; sc->counted++) {
        char c = sc->source.p[sc->counted];

        if (c == '\n') {
            sc->line++;
            sc->column = 1;
        } else if (((unsigned char)c & 0xC0) != 0x80) {
            sc->column++;
        }
    }
}

static struct template_token *
token_add(struct scanner *sc, enum template_token_kind kind, size_t from, size_t to)
{
    struct template_tokens *list = sc->tokens;
    struct template_token *token;

    if (list->n == list->cap) {
        list->cap = list->cap > 0 ? list->cap * 2 : 64;
        list->items = mem_realloc(list->items, list->cap * sizeof(*list->items));
    }
    count_to(sc, from);
    token = &list->items[list->n++];
    memset(token, 0, sizeof(*token));
    token->kind = kind;
    token->from = from;
    token->to = to;
    token->line = sc->line;
    token->column = sc->column;
    token->text = slice_make(sc->source.p + from, to - from);
    return token;
}

static void
text_add(struct scanner *sc, size_t from, size_t to)
{
    if (from < to)
        token_add(sc, TOKEN_TEXT, from, to);
}

/* Is `inner` "else" or "else" and more? Leaves what follows in `rest_r`. */
static bool
is_else(struct slice inner, struct slice *rest_r)
{
    if (!slice_starts(inner, SLICE_LIT("else")))
        return false;
    *rest_r = slice_trim(slice_from(inner, 4));
    return inner.n == 4 || rest_r->n < inner.n - 4;
}

static int
tag_add(struct scanner *sc, size_t open, const struct tag_shape *shape, struct err *err)
{
    struct template_token *token = token_add(sc, TOKEN_OUTPUT, open, shape->to);
    const char *unsupported = NULL;
    struct slice rest;

    token->text = slice_trim(
        slice_make(sc->source.p + shape->inner_from, shape->inner_to - shape->inner_from));
    token->trims_before = shape->trims_before;
    token->trims_after = shape->trims_after;
    switch (shape->sigil) {
    case '!': token->kind = TOKEN_COMMENT; break;
    case '{':
    case '&': token->kind = TOKEN_RAW; break;
    case '#':
        token->kind = TOKEN_OPEN;
        if (slice_starts(token->text, SLICE_LIT(">")))
            unsupported = "partial blocks ({{#> name}})";
        else if (slice_starts(token->text, SLICE_LIT("*")))
            unsupported = "inline partials ({{#*inline}})";
        break;
    case '^': token->kind = token->text.n == 0 ? TOKEN_ELSE : TOKEN_INVERSE; break;
    case '/': token->kind = TOKEN_CLOSE; break;
    case '>': unsupported = "partials ({{> name}})"; break;
    case '*': unsupported = "decorators ({{* name}})"; break;
    default:
        if (is_else(token->text, &rest)) {
            token->kind = TOKEN_ELSE;
            token->text = rest;
        }
        break;
    }
    if (unsupported != NULL)
        return template_error(err, "template_syntax", token->line, token->column,
            "%s do not exist here", unsupported);
    if (++sc->n_tags > TEMPLATE_TAGS_MAX)
        return template_error(err, "template_syntax", token->line, token->column,
            "more than %d tags", TEMPLATE_TAGS_MAX);
    return 0;
}

static int
scan(struct scanner *sc, struct err *err)
{
    struct slice source = sc->source;
    size_t text_from = 0, search = 0, open;
    struct tag_shape shape;

    while (search < source.n && (open = find_from(source, search, "{{")) != SIZE_MAX) {
        bool has_backslash = open > text_from && source.p[open - 1] == '\\';

        if (has_backslash && (open < text_from + 2 || source.p[open - 2] != '\\')) {
            text_add(sc, text_from, open - 1);
            text_from = open;
            search = open + 2;
            continue;
        }
        text_add(sc, text_from, has_backslash ? open - 1 : open);
        count_to(sc, open);
        if (is_at(source, open, "{{{{"))
            return template_error(err, "template_syntax", sc->line, sc->column,
                "raw blocks ({{{{name}}}}) do not exist here");
        if (!tag_shape(source, open, &shape))
            return template_error(err, "template_syntax", sc->line, sc->column,
                "the tag that starts here is not closed");
        if (tag_add(sc, open, &shape, err) != 0)
            return -1;
        text_from = search = shape.to;
    }
    text_add(sc, text_from, source.n);
    return 0;
}

int
template_tokens_scan(struct slice source, struct template_tokens *tokens_r, struct err *err)
{
    struct scanner sc = {.source = source, .tokens = tokens_r, .line = 1, .column = 1};

    memset(tokens_r, 0, sizeof(*tokens_r));
    return scan(&sc, err);
}

void
template_tokens_deinit(struct template_tokens *tokens)
{
    mem_free(tokens->items);
    memset(tokens, 0, sizeof(*tokens));
}
