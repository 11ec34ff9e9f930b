#ifndef TRANSPORT_SMTP_REPLY_H
#define TRANSPORT_SMTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/slice.h"

/** Longest line, most lines and most text of one reply that we take; RFC 5321 §4.5.3.1.5 asks for 512
 * octets a line, real servers write more. */
#define SMTP_REPLY_LINE_MAX  2048
#define SMTP_REPLY_LINES_MAX 200
#define SMTP_REPLY_TEXT_MAX  16384

/**
 * Reads replies (RFC 5321 §4.2) from a stream. After smtp_reply_feed() said SMTP_REPLY_DONE the reply
 * is here until the next call: `code` 200–599, `enhanced` (RFC 3463; class * 10000 + subject * 100 +
 * detail, 0 = none, or one that contradicts the code), and `text`, the lines without their codes
 * joined by '\n'. A zeroed struct is ready for use.
 */
struct smtp_reply {
    int code;
    int enhanced;
    struct buf text;
    unsigned n_lines;
    bool is_done;
};

enum smtp_reply_status {
    SMTP_REPLY_MORE, /* the reply is not complete */
    SMTP_REPLY_DONE,
    SMTP_REPLY_BAD /* no SMTP reply, or too large: the connection is of no more use */
};

void smtp_reply_deinit(struct smtp_reply *r);
/** Take complete lines from `in` up to the end of one reply; `*used_r` bytes were consumed. */
enum smtp_reply_status smtp_reply_feed(struct smtp_reply *r, struct slice in, size_t *used_r);
/** "5.1.1 rest" at the start of `text` as a number, 0 when there is none. */
int smtp_reply_enhanced(struct slice text);

#endif
