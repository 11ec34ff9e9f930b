#ifndef MESSAGE_HTML_DEPTH_H
#define MESSAGE_HTML_DEPTH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"
#include "message/html_scan.h"

/** Elements open at once, besides those whose end tag is optional. */
#define HTML_DEPTH_MAX 256
/** Attributes of one tag. */
#define HTML_ATTRS_MAX 256

/**
 * An upper bound of what a tree builder has to do for a source, fed with the events of html_scan.
 * Zeroed to start. Once `is_exceeded`, the source must not be given to the parser.
 */
struct html_depth {
    struct slice open[HTML_DEPTH_MAX];
    size_t n_open;
    size_t n_formatting; /* of them, elements the parser re-opens in every block */
    size_t reopened;     /* elements it may have made by that */
    size_t n_attrs;      /* of the tag in progress */
    bool is_exceeded;
};

void html_depth_attr(struct html_depth *d);
void html_depth_tag(struct html_depth *d, const struct html_tag *tag);

#endif
