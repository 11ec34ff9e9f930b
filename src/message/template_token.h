#ifndef MESSAGE_TEMPLATE_TOKEN_H
#define MESSAGE_TEMPLATE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "message/template_escape.h"

enum template_token_kind {
    TOKEN_TEXT,    /* literal bytes */
    TOKEN_OUTPUT,  /* {{x}} */
    TOKEN_RAW,     /* {{{x}}} or {{&x}} */
    TOKEN_OPEN,    /* {{#x}} */
    TOKEN_INVERSE, /* {{^x}} */
    TOKEN_ELSE,    /* {{else}}, {{else if x}}, {{^}} */
    TOKEN_CLOSE,   /* {{/x}} */
    TOKEN_COMMENT  /* {{! x }} */
};

/** One piece of template source. Tokens cover the source in order; only the backslash of an escaped
 * "\{{" lies between two of them. */
struct template_token {
    enum template_token_kind kind;
    size_t from, to; /* offsets in the source, braces included */
    struct slice
        text; /* TEXT: the bytes that stay; tags: what is inside, without sigil and blanks */
    uint32_t line, column;          /* of `from`, both from 1, columns in characters */
    bool trims_before, trims_after; /* "~" */
    enum template_escape escape;    /* how output at this place is written */
};

struct template_tokens {
    struct template_token *items;
    size_t n, cap;
};

/** Most tags a template may have: as many as one run may visit. */
#define TEMPLATE_TAGS_MAX 100000

/**
 * Cut `source` into tokens that point into it. Fails with ERR_INVALID, sub "template_syntax", for
 * tags that are not closed and for constructs that do not exist here (partials, decorators, raw
 * blocks). template_tokens_deinit() frees the list, also after a failure.
 */
int template_tokens_scan(struct slice source, struct template_tokens *tokens_r, struct err *err);
void template_tokens_deinit(struct template_tokens *tokens);

/** Apply whitespace control to the text tokens: "~", and the rule that a block tag or comment alone
 * on its line takes the line away. */
void template_tokens_trim(struct slice source, struct template_tokens *tokens);

/** Fill in `escape` of every tag of an HTML source, by the place it stands at. The branches of a block
 * start at the same place; behind the block a URL query that one branch began goes on. */
void template_tokens_place(struct slice source, struct template_tokens *tokens);

/** The end (behind the braces) of the tag that starts at `open`, where "{{" stands; 0 when it is not
 * closed. `is_comment_r` may be NULL. */
size_t template_tag_end(struct slice source, size_t open, bool *is_comment_r);

/** The start of a name for a message: at most 60 bytes, whole characters. */
struct slice template_clip(struct slice name);

/** ERR_INVALID with "line L, column C: " before the text. Returns -1. */
int template_error(struct err *err, const char *sub, uint32_t line, uint32_t column,
    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
