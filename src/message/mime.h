#ifndef MESSAGE_MIME_H
#define MESSAGE_MIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/** A file beside the text: attachment, or inline image when `content_id` is given. */
struct mime_file {
    struct slice name;         /* file name, UTF-8; RFC 2231 when it needs it */
    struct slice content_type; /* "image/png": no parameters, neither multipart/ nor message/ */
    struct slice content_id;   /* without <>, empty for attachments */
    struct slice data;
};

struct mime_header {
    struct slice name;  /* RFC 5322 field name */
    struct slice value; /* unfolded; non-ASCII text is RFC 2047-encoded, but List-* fields hold URLs
                           and are taken as they are or refused */
};

/** Everything a message is made of. Slices are borrowed for the call. */
struct mime_message {
    int64_t date_ms;
    struct slice from_name, from_address;
    struct slice to_name, to_address;
    struct slice reply_to;           /* empty = none */
    struct slice subject;            /* UTF-8, unencoded */
    struct slice message_id;         /* without <> */
    struct slice text;               /* UTF-8, any line ends; empty = no text part */
    struct slice html;               /* UTF-8; empty = no html part */
    const struct mime_header *extra; /* List-Unsubscribe, ... in the order given */
    size_t n_extra;
    const struct mime_file *files;
    size_t n_files;
    uint64_t boundary_seed; /* boundaries derive from it, so a retry gives the same bytes */
};

/**
 * The message as RFC 5322 bytes with CRLF line ends, not dot-stuffed, appended to `out`:
 * mixed(alternative(text, related(html, inline)), attachments), each level only where needed. Bodies
 * are 7bit when they are, else quoted-printable or base64, whichever is shorter; lines ≤ 76 in
 * encoded bodies, ≤ 998 anywhere. Refused with ERR_INVALID: control characters in a header value, an
 * unusable address, neither text nor html, an extra field that the builder writes itself (or Cc,
 * Bcc, Sender, Return-Path), a List-* field given twice. `needs_smtputf8_r` says whether an address
 * needs it. On failure `out` is as before. text and html are taken to be well-formed UTF-8.
 */
int mime_build(
    const struct mime_message *m, struct buf *out, bool *needs_smtputf8_r, struct err *err);

/** Text for an unstructured field (RFC 2047 where needed), folded from `column` on. Control
 * characters, ill-formed UTF-8 and more than 4096 bytes are ERR_INVALID. Encoded words are ≤ 75
 * characters and hold whole characters; reading them gives back the same code points. */
int mime_encode_text(struct slice text, size_t column, struct buf *out, struct err *err);

/** Quoted-printable body (RFC 2045 §6.7): LF, CR and CRLF become CRLF line ends. Lines are ≤ 76 and
 * never start with a dot or "From ". */
void mime_encode_qp(struct slice in, struct buf *out);

/** Copy with a dot put before each leading dot and the final "." line (RFC 5321 §4.5.2). `in` has
 * CRLF line ends; a missing last CRLF is added. */
void mime_dot_stuff(struct slice in, struct buf *out);

#endif
