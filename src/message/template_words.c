/*
 * The words of a tag: names, literals, paths.
 *
 * Paths are resolved as far as the source allows: @names to what they mean, and a first segment that is
 * a block parameter to its block, against the chain of scopes. So the program knows at compile time
 * which loop a name belongs to.
 */
#include "message/template_words.h"

#include <stdlib.h>
#include <string.h>

#include "message/template_token.h"

#define SEGMENTS_MAX 32

int
words_fail(struct words *w, const char *what)
{
    return template_error(w->err, "template_syntax", w->p->line, w->p->column, "%s in \"%.*s\"",
        what, SLICE_FMT(template_clip(w->text)));
}

void
words_skip_blanks(struct words *w)
{
    while (w->pos < w->text.n && words_is_blank(w->text.p[w->pos]))
        w->pos++;
}

static bool
is_name_char(char c)
{
    return c != '\0' && !words_is_blank(c) && strchr("!\"#%&'()*+,./;<=>@[\\]^`{|}~", c) == NULL;
}

/* May a word end here? */
static bool
at_word_end(const struct words *w)
{
    char c = words_peek(w);

    return w->pos >= w->text.n || words_is_blank(c) || c == ')' || c == '|' || c == '=';
}

struct slice
words_name(struct words *w)
{
    size_t from = w->pos;

    while (is_name_char(words_peek(w)))
        w->pos++;
    return slice_make(w->text.p + from, w->pos - from);
}

/* A string literal; the text is copied only when it holds an escaped quote. */
int
words_string(struct words *w, struct slice *text_r)
{
    char quote = words_peek(w);
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
bool
words_number(struct words *w, struct value *v_r)
{
    size_t from = w->pos, n;
    bool is_whole = true;
    char text[40];

    if (words_peek(w) == '-')
        w->pos++;
    if (words_peek(w) < '0' || words_peek(w) > '9')
        goto no_number;
    while (words_peek(w) >= '0' && words_peek(w) <= '9')
        w->pos++;
    if (words_peek(w) == '.' && w->pos + 1 < w->text.n && w->text.p[w->pos + 1] >= '0' &&
        w->text.p[w->pos + 1] <= '9') {
        is_whole = false;
        w->pos++;
        while (words_peek(w) >= '0' && words_peek(w) <= '9')
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

    if (words_peek(w) == '.') {
        if (!is_start)
            return words_fail(w, "\"..\" inside a path");
        path->is_scoped = true;
        w->pos++;
        if (words_peek(w) == '.') {
            path->up++;
            w->pos++;
        }
        if (words_peek(w) != '/' && !at_word_end(w))
            return words_fail(w, "a dot that leads nowhere");
        return 0;
    }
    if (words_peek(w) == '[') {
        const char *close = memchr(w->text.p + w->pos, ']', w->text.n - w->pos);

        if (close == NULL)
            return words_fail(w, "[ without ]");
        name = slice_make(w->text.p + w->pos + 1, (size_t)(close - w->text.p) - w->pos - 1);
        w->pos = (size_t)(close - w->text.p) + 1;
    } else {
        name = words_name(w);
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

int
words_path(struct words *w, struct template_path *path)
{
    struct slice segments[SEGMENTS_MAX], *copy;
    bool is_data = words_peek(w) == '@';

    memset(path, 0, sizeof(*path));
    if (is_data)
        w->pos++;
    for (;;) {
        if (parse_segment(w, path, segments, is_data) != 0)
            return -1;
        if (words_peek(w) != '.' && words_peek(w) != '/')
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
