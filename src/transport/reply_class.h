#ifndef TRANSPORT_REPLY_CLASS_H
#define TRANSPORT_REPLY_CLASS_H

#include "base/slice.h"
#include "transport/transport.h"

/** The point of the SMTP dialogue at which a reply came. */
enum reply_stage {
    REPLY_CONNECT,
    REPLY_GREETING,
    REPLY_EHLO,
    REPLY_STARTTLS,
    REPLY_AUTH,
    REPLY_MAIL,
    REPLY_RCPT,
    REPLY_DATA,
    REPLY_DATA_END
};

/**
 * What a reply means, by the table in docs/replies.md: enhanced code first (RFC 3463), then basic code
 * and stage. Fills everything in `r` but the times. `text` is the reply text without code.
 */
void reply_classify(enum reply_stage stage, int code, int enhanced_code, struct slice text,
    struct transport_result *r);

/** A delay named in a reply text ("try again in 300 seconds", "retry after 5 minutes"), in
 * milliseconds; 0 when none. At most one day. */
int64_t reply_retry_after_ms(struct slice text);

#endif
