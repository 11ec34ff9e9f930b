#ifndef SUPPORT_DKIM_VERIFIER_H
#define SUPPORT_DKIM_VERIFIER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/slice.h"

/**
 * The receiver's side of RFC 6376 for tests, written from §6.1 and sharing no code with the signer:
 * canonical forms go byte by byte through copies of the message.
 */

/** Does DKIM-Signature number `i` (from the top) of `message` verify with the public key `p` (base64
 * as in the DNS record)? Both the body hash and the signature must fit. */
bool dkim_verify(struct slice message, size_t i, struct slice p);

/** Value of a tag of signature `i`, blanks taken out, into `out` (cleared first). */
bool dkim_tag(struct slice message, size_t i, const char *tag, struct buf *out);

#endif
