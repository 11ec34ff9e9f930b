#ifndef MESSAGE_TEXT_FLOW_H
#define MESSAGE_TEXT_FLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/slice.h"

/** Columns a line may have; longer words stand alone on theirs. */
#define TEXT_FLOW_COLUMNS 78
/** Deepest indentation, in blanks. */
#define TEXT_FLOW_INDENT_MAX 32

/**
 * Words set into lines: breaks at 78 columns, collapses blanks, keeps at most one empty line, starts
 * and ends without one. The caller says where blanks and breaks are; a word is whatever is added
 * between two of them, so text on both sides of an inline tag stays together.
 */
struct text_flow {
    struct buf *out;
    size_t start; /* of the text in `out` */
    struct buf word;
    size_t column;       /* characters on the line, indentation included */
    unsigned breaks;     /* line ends wanted before the next word: 0, 1 or 2 */
    unsigned indent;     /* blanks before each line */
    struct slice bullet; /* static text before the next word: "- ", "1. " in `bullet_text` */
    char bullet_text[16];
};

void text_flow_init(struct text_flow *f, struct buf *out);
/** Finish the last word and free what is held. */
void text_flow_deinit(struct text_flow *f);

/** Add to the word in progress, as it is. */
void text_flow_add(struct text_flow *f, struct slice text);
/** Add text in which white space separates words; U+00A0 counts as a blank. */
void text_flow_add_words(struct text_flow *f, struct slice text);
/** End the word in progress. */
void text_flow_blank(struct text_flow *f);
/** End the line (n = 1) or the paragraph (n = 2); repeated calls do not add up. */
void text_flow_break(struct text_flow *f, unsigned n);
/** One more line end in any case, up to an empty line: <br>. */
void text_flow_newline(struct text_flow *f);
/** Set the indentation of the lines to come. */
void text_flow_indent(struct text_flow *f, unsigned blanks);
/** Put `bullet` before the next word, if that starts a line; "" takes an unused one back. */
void text_flow_bullet(struct text_flow *f, const char *bullet);

#endif
