/*
 * The place of every placeholder in an HTML source, hence how its value is escaped.
 *
 * The scanner runs over the source with the tags as holes. Blocks make the source a tree of
 * alternatives: {{else}} continues where the block began, and behind {{/x}} the paths meet again. They
 * normally meet in the same state; the one difference that matters is a query begun in one branch, so
 * that is joined with "or". The scanner is plain data, so a snapshot per open block is enough.
 */
#include "message/template_token.h"

#include "base/mem.h"
#include "message/html_scan.h"
#include "message/template_program.h"

struct branch {
    struct html_scan at_open;
    bool has_else;
    bool is_query; /* at the end of any branch so far */
};

static enum template_escape
escape_of(const struct html_scan *scan)
{
    switch (scan->state) {
    case HTML_VALUE_DOUBLE:
    case HTML_VALUE_SINGLE: return scan->is_query ? ESCAPE_PERCENT : ESCAPE_HTML;
    case HTML_BEFORE_VALUE:
    case HTML_VALUE_BARE: return scan->is_query ? ESCAPE_PERCENT : ESCAPE_BARE;
    default: return ESCAPE_HTML;
    }
}

static void
follow_block(
    struct html_scan *scan, const struct template_token *token, struct branch *stack, size_t *depth)
{
    struct branch *top = *depth > 0 && *depth <= TEMPLATE_NESTING_MAX ? &stack[*depth - 1] : NULL;

    switch (token->kind) {
    case TOKEN_OPEN:
    case TOKEN_INVERSE:
        if (*depth < TEMPLATE_NESTING_MAX)
            stack[*depth] = (struct branch){.at_open = *scan};
        (*depth)++;
        break;
    case TOKEN_ELSE:
        if (top == NULL)
            break;
        top->has_else = true;
        top->is_query |= scan->is_query;
        *scan = top->at_open;
        break;
    case TOKEN_CLOSE:
        if (top != NULL)
            scan->is_query |= top->is_query || (!top->has_else && top->at_open.is_query);
        if (*depth > 0)
            (*depth)--;
        break;
    default: break;
    }
}

void
template_tokens_place(struct slice source, struct template_tokens *tokens)
{
    struct branch *stack = mem_array(TEMPLATE_NESTING_MAX, sizeof(*stack));
    struct html_scan scan;
    size_t depth = 0;

    html_scan_init(&scan, source.p, NULL);
    for (size_t i = 0; i < tokens->n; i++) {
        struct template_token *token = &tokens->items[i];

        if (token->kind == TOKEN_TEXT) {
            html_scan_feed(&scan, token->from, token->to);
            continue;
        }
        token->escape = escape_of(&scan);
        html_scan_hole(&scan, token->from, token->to);
        follow_block(&scan, token, stack, &depth);
    }
    mem_free(stack);
}
