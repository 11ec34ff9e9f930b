#ifndef MESSAGE_DKIM_H
#define MESSAGE_DKIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct crypto_signer;

enum dkim_canon { DKIM_SIMPLE, DKIM_RELAXED };

/** One signature to add (RFC 6376). */
struct dkim_params {
    const struct crypto_signer *signer;
    struct slice domain;   /* d=, A-labels */
    struct slice selector; /* s= */
    enum dkim_canon header_canon, body_canon;
    int64_t time_ms; /* t= */
};

/**
 * Put a DKIM-Signature field before `message` (RFC 5322 bytes, CRLF): the whole result is appended to
 * `out`. Signed: From (listed once more than it occurs, so none can be added), To, Subject, Date,
 * Message-ID, MIME-Version, Content-Type, Content-Transfer-Encoding, Reply-To, List-Unsubscribe,
 * List-Unsubscribe-Post, List-ID — those present; both List-Unsubscribe fields are always covered
 * when present (RFC 8058 §4). Several params give several signatures over the same bytes; the body is
 * hashed once per canonical form.
 */
int dkim_sign(const struct dkim_params *params, size_t n_params, struct slice message,
    struct buf *out, struct err *err);

#endif
