#ifndef MESSAGE_LINKS_HREF_H
#define MESSAGE_LINKS_HREF_H

#include "base/buf.h"
#include "base/slice.h"

/** What an href is, by its source text. */
enum links_href_kind {
    HREF_STATIC,   /* an absolute http(s) URL without expressions */
    HREF_DYNAMIC,  /* its scheme, or http(s) URL, is only known at run time */
    HREF_RESERVED, /* exactly one of our own URLs: {{unsubscribeUrl}} and the like */
    HREF_INERT,    /* mailto:, tel:, an anchor, relative, or nothing that could be followed */
    HREF_BAD       /* javascript:, data:, vbscript: */
};

/** Classify the source text of an href value. For HREF_STATIC the decoded URL is appended to `url`. */
enum links_href_kind links_href_classify(struct slice value, bool has_hole, struct buf *url);

#endif
