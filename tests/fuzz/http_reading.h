#ifndef FUZZ_HTTP_READING_H
#define FUZZ_HTTP_READING_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/slice.h"

/**
 * A second opinion on where the requests of one connection begin and end, strict and independent of
 * the server. It ends at the first head that two readers might take differently: a folded line, a
 * bare CR or LF, a name that is no token, two lengths, a length beside an encoding, a Host too few or
 * too many (RFC 9112 §2.2, §3.2, §5, §6.3). Nothing after such a head is a request.
 *
 * It knows no methods, targets or bounds: a server may hand over fewer requests, never others.
 */
struct http_reading {
    struct slice rest; /* bytes not read yet */
    bool is_over;      /* what is left holds no further request */
    /* the request read last */
    struct slice method;
    bool has_chunks;
    bool is_whole;   /* the body, maybe empty, is there to its last byte */
    struct buf body; /* decoded; valid while is_whole */
};

/** `bytes` are borrowed, and must outlive the reading. */
void http_reading_init(struct http_reading *r, struct slice bytes);
void http_reading_deinit(struct http_reading *r);
/** Read one request. False, now and ever after, when no further head is beyond doubt. */
bool http_reading_next(struct http_reading *r);

#endif
