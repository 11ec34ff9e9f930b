#ifndef MESSAGE_TEMPLATE_WORDS_H
#define MESSAGE_TEMPLATE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"
#include "message/template_expr.h"
#include "message/value.h"

/** A place inside a tag. Every function starts at `pos` and leaves it behind what it took. */
struct words {
    struct template_expr_parser *p;
    struct slice text;
    size_t pos;
    unsigned depth; /* of sub-expressions */
    struct err *err;
};

/** ERR_INVALID, sub "template_syntax", naming the tag. Returns -1. */
int words_fail(struct words *w, const char *what);

static inline bool
words_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

/** The next character, NUL at the end. */
static inline char
words_peek(const struct words *w)
{
    return w->pos < w->text.n ? w->text.p[w->pos] : '\0';
}

void words_skip_blanks(struct words *w);
/** A name; empty when none stands here. */
struct slice words_name(struct words *w);
/** The text of a string literal, whose quote stands here. */
int words_string(struct words *w, struct slice *text_r);
/** A number literal; false, without moving, when the word is something else. */
bool words_number(struct words *w, struct value *v_r);
/** A path. @data names and block parameters in force are resolved into its base. */
int words_path(struct words *w, struct template_path *path);

#endif
