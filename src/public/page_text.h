#ifndef PUBLIC_PAGE_TEXT_H
#define PUBLIC_PAGE_TEXT_H

#include "base/slice.h"

/** All sentences of one language; texts are HTML without markup, so "&" and "<" stand escaped. */
struct page_text {
    const char *language; /* primary tag, RFC 5646 */
    const char *leave_title, *leave_lead_address, *leave_lead, *leave_button;
    const char *scope_marketing, *scope_transactional, *scope_all;
    const char *left_title, *left_lead;
    const char *invalid_title, *invalid_lead;
    const char *not_kept_title, *not_kept_lead;
};

/** The language a client likes best among ours, by an Accept-Language value; the first of the table
 * when it likes none. Never NULL. */
const struct page_text *page_text_for(struct slice accept_language);

#endif
