#include "http/uri.h"

#include <stdbool.h>

#include "base/utf8.h"

/*
 * Request targets. The path is cut at "/" before it is decoded, so "%2F" cannot move the border of
 * a part and a route never sees more parts than the client wrote. What is refused here is refused
 * for every handler: nobody behind this file meets a NUL, a "..", or bytes that are not UTF-8.
 *
 * Flow: bound the length → drop scheme and authority → cut off the query → decode parts
 * → join them for display → decode parameters.
 */

static int
hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int
http_uri_decode(
    struct slice in, bool plus_is_blank, struct arena *a, struct slice *out_r, struct err *err)
{
    char *out = arena_alloc(a, in.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];

        if (c == '%') {
            int high = i + 2 < in.n ? hex_value(in.p[i + 1]) : -1;
            int low = i + 2 < in.n ? hex_value(in.p[i + 2]) : -1;

            if (high < 0 || low < 0)
                return err_set(err, ERR_INVALID, "invalid percent escape");
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_blank) {
            c = ' ';
        }
        if (c == '\0')
            return err_set(err, ERR_INVALID, "NUL in the request target");
        out[n++] = c;
    }
    out[n] = '\0';
    *out_r = slice_make(out, n);
    if (!utf8_valid(*out_r))
        return err_set(err, ERR_INVALID, "request target is not UTF-8");
    return 0;
}

/** Origin form of the target: "http://host/path" becomes "/path". */
static int
cut_authority(struct slice *target, struct err *err)
{
    struct slice rest;
    ptrdiff_t slash;

    if (target->n > 0 && target->p[0] == '/')
        return 0;
    if (slice_istarts(*target, SLICE_LIT("http://")))
        rest = slice_from(*target, 7);
    else if (slice_istarts(*target, SLICE_LIT("https://")))
        rest = slice_from(*target, 8);
    else
        return err_set(err, ERR_INVALID, "request target has no path");
    if ((slash = slice_find_char(rest, '/')) < 0)
        return err_set(err, ERR_INVALID, "request target has no path");
    *target = slice_from(rest, (size_t)slash);
    return 0;
}

static int
parse_segment(struct slice raw, struct arena *a, struct http_uri *uri, struct err *err)
{
    struct slice *seg;

    if (uri->n_segments == HTTP_URI_SEGMENTS)
        return err_set(err, ERR_INVALID, "path has more than %d parts", HTTP_URI_SEGMENTS);
    seg = &uri->segments[uri->n_segments++];
    if (http_uri_decode(raw, false, a, seg, err) != 0)
        return -1;
    if (utf8_has_control(*seg))
        return err_set(err, ERR_INVALID, "control character in the path");
    if (slice_eq_str(*seg, ".") || slice_eq_str(*seg, ".."))
        return err_set(err, ERR_INVALID, "relative part in the path");
    return 0;
}

static int
parse_path(struct slice raw, struct arena *a, struct http_uri *uri, struct err *err)
{
    struct slice rest = slice_from(raw, 1), seg;
    char *joined = arena_alloc(a, raw.n + 1);
    size_t n = 0;

    while (slice_cut(&rest, '/', &seg))
        if (parse_segment(seg, a, uri, err) != 0)
            return -1;
    for (size_t i = 0; i < uri->n_segments; i++) {
        joined[n++] = '/';
        memcpy(joined + n, uri->segments[i].p, uri->segments[i].n);
        n += uri->segments[i].n;
    }
    joined[n] = '\0';
    uri->path = slice_make(joined, n);
    return 0;
}

static int
parse_query(struct slice raw, struct arena *a, struct http_uri *uri, struct err *err)
{
    struct http_param *params = arena_array(a, HTTP_URI_PARAMS, sizeof *params);
    struct slice pair;

    uri->params = params;
    while (slice_cut(&raw, '&', &pair)) {
        struct slice name, value = pair;

        if (pair.n == 0)
            continue;
        if (uri->n_params == HTTP_URI_PARAMS)
            return err_set(err, ERR_INVALID, "more than %d query parameters", HTTP_URI_PARAMS);
        slice_cut(&value, '=', &name); /* without "=" the value is empty */
        if (http_uri_decode(name, true, a, &params[uri->n_params].name, err) != 0 ||
            http_uri_decode(value, true, a, &params[uri->n_params].value, err) != 0)
            return -1;
        uri->n_params++;
    }
    return 0;
}

int
http_uri_parse(struct slice target, struct arena *a, struct http_uri *uri_r, struct err *err)
{
    struct slice path, query = SLICE_NONE;
    ptrdiff_t at;

    *uri_r = (struct http_uri){0};
    if (target.n > HTTP_URI_BYTES)
        return err_set(err, ERR_INVALID, "request target is too long");
    if (cut_authority(&target, err) != 0)
        return -1;
    if (slice_find_char(target, '#') >= 0)
        return err_set(err, ERR_INVALID, "fragment in the request target");
    path = target;
    if ((at = slice_find_char(target, '?')) >= 0) {
        path.n = (size_t)at;
        query = slice_from(target, (size_t)at + 1);
    }
    if (parse_path(path, a, uri_r, err) != 0)
        return -1;
    return query.n > 0 ? parse_query(query, a, uri_r, err) : 0;
}
