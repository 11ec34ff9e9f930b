/*
 * Reading mail for tests: header fields, encoded words, transfer encodings, parts, parameters.
 * Slow and plain on purpose. Every ck_assert here is a claim about the writer under test.
 */
#include "support/mime_reader.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

/** One line without its CRLF; the rest stays in `rest`. */
static bool
next_line(struct slice *rest, struct slice *line_r)
{
    ptrdiff_t at;

    if (rest->n == 0)
        return false;
    at = slice_find(*rest, SLICE_LIT("\r\n"));
    ck_assert_msg(at >= 0, "a line does not end with CRLF");
    *line_r = slice_make(rest->p, (size_t)at);
    *rest = slice_from(*rest, (size_t)at + 2);
    return true;
}

/** The next field, unfolded. False at the blank line. */
static bool
next_field(struct slice *rest, struct buf *field)
{
    struct slice line;

    ck_assert_msg(next_line(rest, &line), "no blank line behind the header");
    if (line.n == 0)
        return false;
    buf_clear(field);
    buf_append_slice(field, line);
    while (rest->n > 0 && (rest->p[0] == ' ' || rest->p[0] == '\t')) {
        next_line(rest, &line);
        ck_assert_msg(slice_trim(line).n > 0, "a folded line has blanks only");
        buf_append_slice(field, line);
    }
    return true;
}

static bool
field_named(struct slice field, const char *name, struct slice *value_r)
{
    ptrdiff_t colon = slice_find_char(field, ':');

    ck_assert_msg(colon > 0, "a header line without a colon");
    *value_r = slice_from(field, (size_t)colon + 1);
    if (slice_starts(*value_r, SLICE_LIT(" ")))
        *value_r = slice_from(*value_r, 1);
    return slice_ieq(slice_make(field.p, (size_t)colon), slice_str(name));
}

bool
reader_field(struct slice entity, const char *name, struct buf *out)
{
    struct buf field = BUF_INIT;
    struct slice value;
    bool is_found = false;

    while (!is_found && next_field(&entity, &field))
        is_found = field_named(buf_slice(&field), name, &value);
    buf_clear(out);
    if (is_found)
        buf_append_slice(out, value);
    buf_deinit(&field);
    return is_found;
}

size_t
reader_count(struct slice entity, const char *name)
{
    struct buf field = BUF_INIT;
    struct slice value;
    size_t n = 0;

    while (next_field(&entity, &field))
        n += field_named(buf_slice(&field), name, &value);
    buf_deinit(&field);
    return n;
}

struct slice
reader_body(struct slice entity)
{
    struct slice line;

    while (next_line(&entity, &line))
        if (line.n == 0)
            break;
    return entity;
}

static int
hex_value(char c)
{
    const char *digits = "0123456789ABCDEF";
    const char *at = memchr(digits, c, 16);

    if (at == NULL)
        ck_abort_msg("a hexadecimal digit that is none, or in lower case");
    return (int)(at - digits);
}

/** One encoded word without "=?UTF-8?" and "?=". */
static void
decode_word(struct slice word, struct buf *out)
{
    size_t start = out->n;

    ck_assert(word.p[1] == '?');
    if (word.p[0] == 'B') {
        ck_assert(base64_decode(slice_from(word, 2), out));
    } else {
        ck_assert(word.p[0] == 'Q');
        for (size_t i = 2; i < word.n; i++) {
            if (word.p[i] <= 32 || word.p[i] >= 127 || word.p[i] == '?')
                ck_abort_msg("a byte that no encoded word may have");
            if (word.p[i] == '=') {
                if (i + 2 >= word.n)
                    ck_abort_msg("an encoded word ends within a byte");
                buf_append_char(
                    out, (char)(hex_value(word.p[i + 1]) << 4 | hex_value(word.p[i + 2])));
                i += 2;
            } else {
                buf_append_char(out, word.p[i] == '_' ? ' ' : word.p[i]);
            }
        }
    }
    ck_assert_msg(out->n > start, "an encoded word is empty");
    ck_assert_msg(utf8_valid(slice_make(out->p + start, out->n - start)),
        "an encoded word splits a character");
}

void
reader_words(struct slice value, struct buf *out)
{
    bool was_word = false;
    size_t i = 0;

    while (i < value.n) {
        size_t blank = i, end;
        struct slice token;

        while (blank < value.n && value.p[blank] == ' ')
            blank++;
        end = blank;
        while (end < value.n && value.p[end] != ' ')
            end++;
        token = slice_make(value.p + blank, end - blank);
        if (slice_starts(token, SLICE_LIT("=?UTF-8?")) && slice_ends(token, SLICE_LIT("?="))) {
            ck_assert_uint_le(token.n, 75);
            if (!was_word)
                buf_append(out, value.p + i, blank - i);
            decode_word(slice_make(token.p + 8, token.n - 10), out);
            was_word = true;
        } else {
            buf_append(out, value.p + i, end - i);
            was_word = false;
        }
        i = end;
    }
}

static void
decode_qp(struct slice body, struct buf *out)
{
    for (size_t i = 0; i < body.n; i++) {
        if (body.p[i] != '=') {
            buf_append_char(out, body.p[i]);
        } else if (body.n - i >= 3 && body.p[i + 1] == '\r' && body.p[i + 2] == '\n') {
            i += 2;
        } else {
            if (body.n - i < 3)
                ck_abort_msg("quoted-printable ends within a byte");
            buf_append_char(out, (char)(hex_value(body.p[i + 1]) << 4 | hex_value(body.p[i + 2])));
            i += 2;
        }
    }
}

static void
decode_base64(struct slice body, struct buf *out)
{
    struct buf joined = BUF_INIT;

    for (size_t i = 0; i < body.n; i++)
        if (body.p[i] != '\r' && body.p[i] != '\n')
            buf_append_char(&joined, body.p[i]);
    ck_assert(base64_decode(buf_slice(&joined), out));
    buf_deinit(&joined);
}

void
reader_decode(struct slice entity, struct buf *out)
{
    struct buf how = BUF_INIT;
    struct slice body = reader_body(entity);

    ck_assert(reader_field(entity, "Content-Transfer-Encoding", &how));
    if (slice_eq_str(buf_slice(&how), "quoted-printable"))
        decode_qp(body, out);
    else if (slice_eq_str(buf_slice(&how), "base64"))
        decode_base64(body, out);
    else {
        ck_assert_str_eq(buf_cstr(&how), "7bit");
        ck_assert(utf8_is_ascii(body));
        buf_append_slice(out, body);
    }
    buf_deinit(&how);
}

/** Parts of a multipart, up to `max`; 0 when it is none. */
static size_t
split_parts(struct slice entity, struct slice *parts, size_t max)
{
    struct buf type = BUF_INIT, boundary = BUF_INIT, mark = BUF_INIT;
    struct slice body = reader_body(entity);
    size_t n = 0;
    ptrdiff_t at;

    reader_field(entity, "Content-Type", &type);
    if (!slice_istarts(buf_slice(&type), SLICE_LIT("multipart/")))
        goto out;
    ck_assert(reader_param(buf_slice(&type), "boundary", &boundary));
    buf_printf(&mark, "--%s", buf_cstr(&boundary));
    ck_assert(slice_starts(body, buf_slice(&mark)));
    body = slice_from(body, mark.n);
    buf_clear(&mark);
    buf_printf(&mark, "\r\n--%s", buf_cstr(&boundary));
    while (!slice_starts(body, SLICE_LIT("--\r\n"))) {
        ck_assert(slice_starts(body, SLICE_LIT("\r\n")));
        body = slice_from(body, 2);
        at = slice_find(body, buf_slice(&mark));
        ck_assert_msg(at >= 0, "a multipart has no end");
        ck_assert_uint_lt(n, max);
        parts[n++] = slice_make(body.p, (size_t)at);
        body = slice_from(body, (size_t)at + mark.n);
    }
    ck_assert_msg(body.n == 4, "bytes behind the end of a multipart");
out:
    buf_deinit(&type);
    buf_deinit(&boundary);
    buf_deinit(&mark);
    return n;
}

#define PARTS_MAX 16

size_t
reader_n_parts(struct slice entity)
{
    struct slice parts[PARTS_MAX];

    return split_parts(entity, parts, PARTS_MAX);
}

struct slice
reader_part(struct slice entity, size_t i)
{
    struct slice parts[PARTS_MAX];

    ck_assert_uint_lt(i, split_parts(entity, parts, PARTS_MAX));
    return parts[i];
}

/** Find ";<blank>name=" and append the value, quotes and escapes taken off. */
static bool
raw_param(struct slice value, const char *name, struct buf *out)
{
    char key[64];
    ptrdiff_t at;
    bool is_quoted;

    snprintf(key, sizeof key, "; %s=", name);
    if ((at = slice_find(value, slice_str(key))) < 0)
        return false;
    value = slice_from(value, (size_t)at + strlen(key));
    is_quoted = slice_starts(value, SLICE_LIT("\""));
    for (size_t i = is_quoted; i < value.n && value.p[i] != (is_quoted ? '"' : ';'); i++) {
        if (is_quoted && value.p[i] == '\\')
            i++;
        buf_append_char(out, value.p[i]);
    }
    return true;
}

bool
reader_param(struct slice field_value, const char *name, struct buf *out)
{
    struct buf raw = BUF_INIT;
    char key[64];
    struct slice text;

    snprintf(key, sizeof key, "%s*", name);
    if (!raw_param(field_value, key, &raw)) {
        for (unsigned i = 0;; i++) {
            snprintf(key, sizeof key, "%s*%u*", name, i);
            if (!raw_param(field_value, key, &raw))
                break;
        }
    }
    if (raw.n == 0) {
        buf_deinit(&raw);
        return raw_param(field_value, name, out);
    }
    ck_assert(slice_starts(buf_slice(&raw), SLICE_LIT("UTF-8''")));
    text = slice_from(buf_slice(&raw), 7);
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '%') {
            ck_assert_uint_lt(i + 2, text.n);
            buf_append_char(out, (char)(hex_value(text.p[i + 1]) << 4 | hex_value(text.p[i + 2])));
            i += 2;
        } else {
            buf_append_char(out, text.p[i]);
        }
    }
    buf_deinit(&raw);
    return true;
}

static void
check_leaf_lines(struct slice entity)
{
    struct slice body = reader_body(entity), rest = entity, line;
    struct buf how = BUF_INIT;
    bool is_encoded;

    reader_field(entity, "Content-Transfer-Encoding", &how);
    is_encoded = !slice_eq_str(buf_slice(&how), "7bit");
    while (rest.n > body.n) {
        next_line(&rest, &line);
        ck_assert_uint_le(line.n, slice_find(line, SLICE_LIT("=?UTF-8?")) >= 0 ? 76 : 998);
    }
    while (rest.n > 0) {
        ptrdiff_t at = slice_find(rest, SLICE_LIT("\r\n"));
        size_t n = at < 0 ? rest.n : (size_t)at; /* the last line of a part may be open */

        ck_assert_uint_le(n, is_encoded ? 76 : 998);
        rest = slice_from(rest, n + 2);
    }
    buf_deinit(&how);
}

void
reader_check_lines(struct slice entity)
{
    size_t n = reader_n_parts(entity);

    for (size_t i = 0; i < entity.n; i++) {
        unsigned char c = (unsigned char)entity.p[i];

        if (c == '\0' || c >= 0x80)
            ck_abort_msg("byte %u in a message", c);
        if (c == '\r' && (i + 1 == entity.n || entity.p[i + 1] != '\n'))
            ck_abort_msg("CR without LF");
        if (c == '\n' && (i == 0 || entity.p[i - 1] != '\r'))
            ck_abort_msg("LF without CR");
    }
    if (n == 0)
        check_leaf_lines(entity);
    for (size_t i = 0; i < n; i++)
        reader_check_lines(reader_part(entity, i));
}

void
reader_unstuff(struct slice wire, struct buf *out)
{
    struct slice line;

    while (next_line(&wire, &line)) {
        if (slice_eq_str(line, ".")) {
            ck_assert_msg(wire.n == 0, "a lone dot before the end");
            return;
        }
        buf_append_slice(out, line.n > 0 && line.p[0] == '.' ? slice_from(line, 1) : line);
        buf_append_str(out, "\r\n");
    }
    ck_abort_msg("no terminating dot");
}
