#ifndef FEEDBACK_ENGAGEMENT_VERDICT_H
#define FEEDBACK_ENGAGEMENT_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/**
 * Who fetched a pixel or followed a link: rules over the raw events of one mail. Pure. The verdict is
 * an opinion that can be recomputed from what is stored; each change of the rules raises the version.
 */
#define ENGAGEMENT_RULES 1

enum engagement_kind { ENGAGEMENT_OPEN = 0, ENGAGEMENT_CLICK = 1 };

enum engagement_verdict {
    ENGAGEMENT_HUMAN,   /* nothing speaks against a person */
    ENGAGEMENT_PROXY,   /* an image proxy, which may fetch for a person or ahead of one */
    ENGAGEMENT_SCANNER, /* a security scanner, a crawler, a library */
    ENGAGEMENT_UNKNOWN  /* cannot be told */
};
/** "human", "proxy", "scanner", "unknown"; parsing gives -1 for another word. */
const char *engagement_verdict_name(enum engagement_verdict v);
int engagement_verdict_parse(struct slice name);

struct engagement_event {
    enum engagement_kind kind;
    uint32_t ordinal; /* of the link */
    int64_t at_ms;
    struct slice user_agent; /* empty = none was given */
};

/** Judge all events of one mail, which need not be in order: out[i] belongs to e[i]. `sent_at_ms` 0 =
 * not known. At most quadratic in the number of clicks within two seconds. */
void engagement_judge(
    int64_t sent_at_ms, const struct engagement_event *e, size_t n, enum engagement_verdict *out);

#endif
