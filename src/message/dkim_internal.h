#ifndef MESSAGE_DKIM_INTERNAL_H
#define MESSAGE_DKIM_INTERNAL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"
#include "crypto/crypto.h"
#include "message/dkim.h"

/** SHA-256 of a body in one canonical form (RFC 6376 §3.4.3, §3.4.4). */
void dkim_body_hash(struct slice body, enum dkim_canon canon, uint8_t out[CRYPTO_SHA256_SIZE]);

/** Append one header field, given with its CRLF, in one canonical form, with CRLF (RFC 6376 §3.4.1,
 * §3.4.2). */
void dkim_canon_field(struct slice field, enum dkim_canon canon, struct buf *out);

#endif
