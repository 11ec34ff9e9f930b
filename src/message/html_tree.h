#ifndef MESSAGE_HTML_TREE_H
#define MESSAGE_HTML_TREE_H

#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"

/** Live memory the tree of one source may take. */
#define HTML_TREE_MAX_BYTES ((size_t)64 << 20)

/**
 * Parse `html` as a browser would and give the offsets of the tags of all <a> elements, ascending. The
 * caller frees `*offsets_r` with mem_free(). ERR_INVALID, sub "html_too_complex", when the tree would
 * take more than HTML_TREE_MAX_BYTES: repairing bad markup can make many elements of few bytes.
 * Callers bound the number of tags, and of attributes per tag, for the sake of time.
 */
int html_tree_anchors(struct slice html, size_t **offsets_r, size_t *n_r, struct err *err);

#endif
