#ifndef FEEDBACK_CLICK_LINKS_H
#define FEEDBACK_CLICK_LINKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "message/tokens.h"

struct store;

/** Where the static links of a mail lead, by ordinal; one block of memory. A dynamic link, whose target
 * stands in its own token, is empty here. */
struct click_links {
    size_t n, size_bytes;
    struct slice urls[];
};

/** The links of the template version that a mail was made from: the one pinned by its broadcast, or the
 * one in the recipe of a one-off mail. Blocking, compiles the version: for workers. ERR_NOTFOUND when
 * broadcast, mail or version is gone. The caller frees the result with mem_free(). */
int click_links_load(
    struct store *st, const struct token_send *ref, struct click_links **links_r, struct err *err);

#endif
