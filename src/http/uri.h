#ifndef HTTP_URI_H
#define HTTP_URI_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

#define HTTP_URI_BYTES    8192
#define HTTP_URI_SEGMENTS 16
#define HTTP_URI_PARAMS   64

struct http_param {
    struct slice name, value;
};

/** A request target taken apart. All slices live in the arena it was parsed with. */
struct http_uri {
    struct slice path; /* decoded, for people and prefixes; an encoded "/" has become a plain one */
    /** The parts between slashes, decoded one by one, so that an encoded "/" stays inside its part.
     * "/a/b" has two, "/" and "/a/" end with an empty one. */
    struct slice segments[HTTP_URI_SEGMENTS];
    size_t n_segments;
    const struct http_param *params;
    size_t n_params;
};

/**
 * Take a request target apart (RFC 9112 §3.2): origin form, or absolute form whose scheme and
 * authority are dropped. ERR_INVALID when it is longer than HTTP_URI_BYTES, has no path, holds an
 * invalid escape, a NUL, ill-formed UTF-8, a control character in the path, a "." or ".." part, or
 * more parts or parameters than the bounds above. A "+" in the query is a blank.
 */
int http_uri_parse(struct slice target, struct arena *a, struct http_uri *uri_r, struct err *err);

/**
 * Decode "%XX" (and "+" when `plus_is_blank`) into arena memory, NUL-terminated. A slice without
 * anything to decode is copied all the same. ERR_INVALID on a bad escape, NUL or ill-formed UTF-8.
 */
int http_uri_decode(
    struct slice in, bool plus_is_blank, struct arena *a, struct slice *out_r, struct err *err);

#endif
