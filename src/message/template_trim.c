/*
 * Whitespace control over a list of tokens.
 *
 * Two rules cut the text between tags. "~" takes all whitespace on its side. A block tag, else or
 * comment that stands alone on its line takes the line: the blanks before it and the blanks and line
 * end behind it. Whether a tag stands alone is judged by the source as written, so what one tag takes
 * never changes the verdict on its neighbour.
 */
#include "message/template_token.h"

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

static bool
takes_line(const struct template_token *token)
{
    return token->kind != TOKEN_TEXT && token->kind != TOKEN_OUTPUT && token->kind != TOKEN_RAW;
}

/* Bytes at the end of `text` behind its last line end, if they are blanks only; SIZE_MAX if not.
 * At the start of the source the whole text may be blank. */
static size_t
blank_tail(struct slice source, const struct template_token *text, bool is_first)
{
    size_t at = text->to;

    if (text->kind != TOKEN_TEXT)
        return SIZE_MAX;
    while (at > text->from && (source.p[at - 1] == ' ' || source.p[at - 1] == '\t'))
        at--;
    if (at == text->from)
        return is_first ? text->to - at : SIZE_MAX;
    return source.p[at - 1] == '\n' ? text->to - at : SIZE_MAX;
}

/* Bytes at the start of `text` up to and with its first line end, if only blanks stand before it;
 * SIZE_MAX if not. At the end of the source the whole text may be blank. */
static size_t
blank_head(struct slice source, const struct template_token *text, bool is_last)
{
    size_t at = text->from;

    if (text->kind != TOKEN_TEXT)
        return SIZE_MAX;
    while (at < text->to && (source.p[at] == ' ' || source.p[at] == '\t'))
        at++;
    if (at == text->to)
        return is_last ? at - text->from : SIZE_MAX;
    if (source.p[at] == '\r' && at + 1 < text->to)
        at++;
    return source.p[at] == '\n' ? at + 1 - text->from : SIZE_MAX;
}

static bool
is_alone(struct slice source, const struct template_tokens *tokens, size_t i)
{
    if (i > 0 && blank_tail(source, &tokens->items[i - 1], i == 1) == SIZE_MAX)
        return false;
    return i + 1 == tokens->n ||
           blank_head(source, &tokens->items[i + 1], i + 2 == tokens->n) != SIZE_MAX;
}

/* How many bytes the tag before text `i` takes from its start. */
static size_t
cut_head(struct slice source, const struct template_tokens *tokens, size_t i)
{
    const struct template_token *text = &tokens->items[i], *tag = text - 1;
    size_t n = 0;

    if (i == 0 || tag->kind == TOKEN_TEXT)
        return 0;
    if (takes_line(tag) && is_alone(source, tokens, i - 1))
        n = blank_head(source, text, i + 1 == tokens->n);
    if (tag->trims_after) {
        while (n < text->text.n && is_space(text->text.p[n]))
            n++;
    }
    return n;
}

/* How many bytes the tag behind text `i` takes from its end. */
static size_t
cut_tail(struct slice source, const struct template_tokens *tokens, size_t i)
{
    const struct template_token *text = &tokens->items[i], *tag = text + 1;
    size_t n = 0;

    if (i + 1 == tokens->n || tag->kind == TOKEN_TEXT)
        return 0;
    if (takes_line(tag) && is_alone(source, tokens, i + 1))
        n = blank_tail(source, text, i == 0);
    if (tag->trims_before) {
        while (n < text->text.n && is_space(text->text.p[text->text.n - 1 - n]))
            n++;
    }
    return n;
}

void
template_tokens_trim(struct slice source, struct template_tokens *tokens)
{
    for (size_t i = 0; i < tokens->n; i++) {
        struct template_token *token = &tokens->items[i];
        size_t head, tail;

        if (token->kind != TOKEN_TEXT)
            continue;
        head = cut_head(source, tokens, i);
        tail = cut_tail(source, tokens, i);
        if (head + tail >= token->text.n)
            token->text.n = 0;
        else
            token->text = slice_make(token->text.p + head, token->text.n - head - tail);
    }
}
