#ifndef PUBLIC_PAGE_H
#define PUBLIC_PAGE_H

#include "base/slice.h"
#include "http/server.h"
#include "public/page_text.h"

/**
 * The pages people see: one heading, one or two sentences, at most one button. No script, nothing
 * loaded from anywhere, never framed, never kept in a cache, no referrer to the outside.
 */
struct page {
    unsigned status;
    const struct page_text *text;
    const char *title, *lead, *detail; /* NULL lead or detail = none */
    struct slice address;              /* behind the lead, escaped; empty = none */
    const char *button;                /* a form that posts to the same URL; NULL = none */
    const char *retry_after;           /* NULL = none */
};
void page_respond(struct http_request *r, const struct page *p);

/** The form of a page sends this as its body, so that a person is told from a mail program. */
#define PAGE_FORM_BODY "via=page"

#endif
