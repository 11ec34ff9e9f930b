#ifndef MESSAGE_LINKS_FIND_H
#define MESSAGE_LINKS_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"

/** One href attribute of an <a> or <area> tag in the source. */
struct links_href {
    size_t tag_from; /* offset of "<" */
    size_t from, to; /* the value, without quotes */
    bool is_quoted;
    bool has_hole;  /* an expression lies inside */
    bool is_anchor; /* <a>, and the parser made an element of it */
    bool is_notrack;
};

/** What is to be known about an HTML source before links are compiled. Offsets are SIZE_MAX when there
 * is no such tag. */
struct links_found {
    struct links_href *hrefs; /* in source order */
    size_t n, cap;
    size_t behind_body;     /* behind the first <body …> */
    size_t behind_head;     /* behind the first </head> */
    size_t before_body_end; /* before the last </body> */
};

/**
 * Find hrefs and body tags. Fails with ERR_INVALID: "template_syntax" for tags of the template that
 * are not closed, "html_too_complex" for markup that would cost the HTML parser too much.
 * links_found_deinit() frees, also after a failure.
 */
int links_find(struct slice html, struct links_found *found_r, struct err *err);
void links_found_deinit(struct links_found *found);

#endif
