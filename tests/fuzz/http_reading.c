#include "http_reading.h"

#include <stdint.h>
#include <string.h>

/*
 * Request heads by the letter of the grammar, line by line; bodies by their length or by chunks.
 *
 * In one place the reading is kinder than the grammar, as the server is: a bare LF may end the lines
 * between chunks. That does no harm there, since a chunked request is the last of its connection, and
 * the decoded body must come out the same.
 */

/** What a head says about its body. */
struct head {
    bool is_http10;
    unsigned n_host, n_length, n_encoding;
    uint64_t length;
};

static bool
is_token(struct slice s)
{
    static const char marks[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    for (size_t i = 0; i < s.n; i++)
        if (memchr(marks, s.p[i], sizeof marks - 1) == NULL)
            return false;
    return s.n > 0;
}

/** No control character but tab. */
static bool
is_text(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/** Cut a line off that ends with CR LF. False when the next LF has no CR before it. */
static bool
cut_line(struct slice *rest, struct slice *line_r)
{
    ptrdiff_t end = slice_find_char(*rest, '\n');

    if (end < 1 || rest->p[end - 1] != '\r')
        return false;
    *line_r = slice_make(rest->p, (size_t)end - 1);
    *rest = slice_from(*rest, (size_t)end + 1);
    return true;
}

static bool
read_request_line(struct http_reading *r, struct slice line, struct head *h)
{
    struct slice target;

    if (!slice_cut(&line, ' ', &r->method) || !slice_cut(&line, ' ', &target))
        return false;
    h->is_http10 = slice_eq_str(line, "HTTP/1.0");
    return is_token(r->method) && target.n > 0 && memchr(target.p, '\0', target.n) == NULL &&
           memchr(target.p, '\r', target.n) == NULL && line.n == 8 &&
           slice_starts(line, SLICE_LIT("HTTP/1.")) && line.p[7] >= '0' && line.p[7] <= '9';
}

static bool
read_length(struct slice value, uint64_t *length_r)
{
    *length_r = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9' || *length_r > UINT32_MAX)
            return false;
        *length_r = *length_r * 10 + (uint64_t)(value.p[i] - '0');
    }
    return value.n > 0;
}

static bool
read_header(struct slice line, struct head *h)
{
    struct slice name, value;

    if (slice_find_char(line, ':') < 0 || !slice_cut(&line, ':', &name) || !is_token(name) ||
        !is_text(line))
        return false;
    value = slice_trim(line);
    if (slice_ieq(name, SLICE_LIT("Host"))) {
        h->n_host++;
    } else if (slice_ieq(name, SLICE_LIT("Content-Length"))) {
        h->n_length++;
        return read_length(value, &h->length);
    } else if (slice_ieq(name, SLICE_LIT("Transfer-Encoding"))) {
        h->n_encoding++;
        return slice_ieq(value, SLICE_LIT("chunked")) && !h->is_http10;
    }
    return true;
}

/** They belong to no request (RFC 9112 §2.2), however they end. */
static void
skip_empty_lines(struct slice *rest)
{
    while (slice_starts(*rest, SLICE_LIT("\n")) || slice_starts(*rest, SLICE_LIT("\r\n")))
        *rest = slice_from(*rest, rest->p[0] == '\n' ? 1 : 2);
}

static bool
read_head(struct http_reading *r, struct head *h)
{
    struct slice line;

    skip_empty_lines(&r->rest);
    if (!cut_line(&r->rest, &line) || !read_request_line(r, line, h))
        return false;
    for (;;) {
        if (!cut_line(&r->rest, &line))
            return false;
        if (line.n == 0)
            break;
        if (!read_header(line, h))
            return false;
    }
    return (h->n_host == 1 || (h->n_host == 0 && h->is_http10)) && h->n_length + h->n_encoding <= 1;
}

/** A line between chunks, which a bare LF may end. */
static bool
cut_chunk_line(struct slice *rest, struct slice *line_r)
{
    if (memchr(rest->p, '\n', rest->n) == NULL || !slice_cut(rest, '\n', line_r))
        return false;
    if (line_r->n > 0 && line_r->p[line_r->n - 1] == '\r')
        line_r->n--;
    return true;
}

/** "1a" or "1a;name=value". */
static bool
read_chunk_size(struct slice line, size_t *size_r)
{
    static const char digits[] = "0123456789abcdef";
    size_t i;

    *size_r = 0;
    for (i = 0; i < line.n && line.p[i] != ';' && line.p[i] != ' ' && line.p[i] != '\t'; i++) {
        char c = line.p[i] >= 'A' && line.p[i] <= 'F' ? (char)(line.p[i] + 32) : line.p[i];
        const char *digit = memchr(digits, c, sizeof digits - 1);

        if (digit == NULL || *size_r > UINT32_MAX)
            return false;
        *size_r = *size_r * 16 + (size_t)(digit - digits);
    }
    return i > 0;
}

/** Up to the chunk of size 0; a trailer is not ours to judge, since nothing in it is used. */
static bool
read_chunks(struct http_reading *r)
{
    struct slice line;
    size_t size;

    for (;;) {
        if (!cut_chunk_line(&r->rest, &line) || !read_chunk_size(line, &size))
            return false;
        if (size == 0)
            return true;
        if (size > r->rest.n)
            return false;
        buf_append(&r->body, r->rest.p, size);
        r->rest = slice_from(r->rest, size);
        if (!cut_chunk_line(&r->rest, &line) || line.n != 0)
            return false;
    }
}

void
http_reading_init(struct http_reading *r, struct slice bytes)
{
    *r = (struct http_reading){.rest = bytes, .body = BUF_INIT};
}

void
http_reading_deinit(struct http_reading *r)
{
    buf_deinit(&r->body);
}

bool
http_reading_next(struct http_reading *r)
{
    struct head h = {0};

    buf_clear(&r->body);
    r->is_whole = false;
    if (r->is_over || !read_head(r, &h)) {
        r->is_over = true;
        return false;
    }
    r->has_chunks = h.n_encoding == 1;
    if (r->has_chunks) {
        r->is_whole = read_chunks(r);
        r->is_over = true;
    } else if (h.length <= r->rest.n) {
        buf_append(&r->body, r->rest.p, h.length);
        r->rest = slice_from(r->rest, h.length);
        r->is_whole = true;
    } else {
        r->is_over = true;
    }
    return true;
}
