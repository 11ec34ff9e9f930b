#ifndef SUPPORT_SINK_MAIL_H
#define SUPPORT_SINK_MAIL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"

/** One mail on its way in. Zeroed memory is an empty one. */
struct sink_mail {
    struct buf from;  /* with angle brackets; empty before MAIL FROM */
    struct buf rcpts; /* one a line */
    unsigned n_rcpts;
    uint64_t body_bytes; /* with the final dot line; dots not yet taken out */
    struct buf body;     /* kept only when mail is stored */
};

void sink_mail_clear(struct sink_mail *m);
void sink_mail_deinit(struct sink_mail *m);
/** Empty before the first RCPT TO. */
struct slice sink_mail_first_rcpt(const struct sink_mail *m);
/** Append a line "<now_ms> <recipient> <bytes>" per recipient; returns how many. */
unsigned sink_mail_log(const struct sink_mail *m, int64_t now_ms, struct buf *out);
/** Keep it as NNNNNN.eml, dots taken out, and its envelope with the name that the client gave at EHLO
 * as NNNNNN.env: lines "ehlo NAME", "from <ADDRESS>", and a recipient each. The body must have been
 * kept to its end. Trouble is told on stderr. */
void sink_mail_store(
    const struct sink_mail *m, const char *dir, uint64_t number, struct slice client_name);

#endif
