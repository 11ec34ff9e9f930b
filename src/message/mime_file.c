/*
 * Files beside the text: attachments and inline images.
 *
 * Data is always base64. A name outside printable ASCII, or long, is given twice: a plain fallback
 * with '_' for what it cannot show, and the exact name by RFC 2231, cut into numbered sections when
 * it does not fit one line. Everything that lands in a header is checked first, so a name cannot
 * open a header of its own.
 */
#include "message/mime.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "message/mime_internal.h"

#define FILE_NAME_MAX    255
#define FILE_TYPE_MAX    127
#define FILE_ID_MAX      250
#define FILE_SECTION_MAX 56 /* encoded characters per " filename*NN*=…;" line */

static bool
is_token_char(unsigned char c)
{
    return c > 32 && c < 127 && strchr("()<>@,;:\\\"/[]?=", c) == NULL;
}

/** type "/" subtype, both tokens (RFC 2045 §5.1). Parts made of parts must not be base64. */
static bool
type_is_valid(struct slice type)
{
    ptrdiff_t slash = slice_find_char(type, '/');

    if (slash <= 0 || (size_t)slash + 1 == type.n || type.n > FILE_TYPE_MAX)
        return false;
    for (size_t i = 0; i < type.n; i++)
        if (i != (size_t)slash && !is_token_char((unsigned char)type.p[i]))
            return false;
    return !slice_istarts(type, SLICE_LIT("multipart/")) &&
           !slice_istarts(type, SLICE_LIT("message/"));
}

static bool
id_is_valid(struct slice id)
{
    for (size_t i = 0; i < id.n; i++)
        if (id.p[i] <= 32 || id.p[i] >= 127 || strchr("<>()\\\"", id.p[i]) != NULL)
            return false;
    return id.n <= FILE_ID_MAX;
}

int
mime_file_check(const struct mime_file *f, struct err *err)
{
    if (f->name.n > FILE_NAME_MAX)
        return err_set(err, ERR_INVALID, "file name is longer than %d bytes", FILE_NAME_MAX);
    if (!utf8_valid(f->name) || utf8_has_control(f->name))
        return err_set(err, ERR_INVALID, "file name is not UTF-8 or has a control character");
    if (!type_is_valid(f->content_type))
        return err_set(err, ERR_INVALID, "file has no usable content type");
    if (!id_is_valid(f->content_id))
        return err_set(err, ERR_INVALID, "file has no usable content id");
    return 0;
}

/** Does the name fit a quoted string on one line, without signs that receivers treat as a path? */
static bool
name_is_plain(struct slice name)
{
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] < 32 || name.p[i] >= 127 || strchr("\"\\/%", name.p[i]) != NULL)
            return false;
    return name.n <= FILE_SECTION_MAX;
}

static void
append_fallback(struct slice name, struct buf *out)
{
    size_t pos = 0, n = 0;

    buf_append_str(out, "filename=\"");
    while (pos < name.n && n++ < FILE_SECTION_MAX) {
        uint32_t cp = utf8_next(name, &pos);
        bool is_shown = cp >= 32 && cp < 127 && strchr("\"\\/%", (int)cp) == NULL;

        buf_append_char(out, is_shown ? (char)cp : '_');
    }
    buf_append_char(out, '"');
}

/** One character of an extended value (RFC 2231 §7: attribute-char as is, the rest as %XX). */
static void
append_extended(struct slice bytes, struct buf *out)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char c = (unsigned char)bytes.p[i];

        if (c < 127 && is_token_char(c) && c != '*' && c != '\'' && c != '%') {
            buf_append_char(out, (char)c);
        } else {
            char enc[3] = {'%', hex[c >> 4], hex[c & 15]};

            buf_append(out, enc, sizeof enc);
        }
    }
}

static size_t
extended_size(struct slice name)
{
    size_t n = 0;

    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];

        n += c < 127 && is_token_char(c) && c != '*' && c != '\'' && c != '%' ? 1 : 3;
    }
    return n;
}

static void
append_rfc2231(struct slice name, struct buf *out)
{
    size_t pos = 0, start;

    if (extended_size(name) <= FILE_SECTION_MAX) {
        buf_append_str(out, ";\r\n filename*=UTF-8''");
        append_extended(name, out);
        return;
    }
    for (unsigned section = 0; pos < name.n; section++) {
        buf_printf(out, ";\r\n filename*%u*=%s", section, section == 0 ? "UTF-8''" : "");
        start = out->n;
        while (pos < name.n && out->n - start + 12 <= FILE_SECTION_MAX) {
            size_t from = pos;

            utf8_next(name, &pos);
            append_extended(slice_make(name.p + from, pos - from), out);
        }
    }
}

void
mime_file_append(const struct mime_file *f, struct buf *out)
{
    buf_append_str(out, "Content-Type: ");
    buf_append_slice(out, f->content_type);
    buf_append_str(out, "\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: ");
    buf_append_str(out, f->content_id.n > 0 ? "inline" : "attachment");
    if (f->name.n > 0) {
        buf_append_str(out, ";\r\n ");
        append_fallback(f->name, out);
        if (!name_is_plain(f->name))
            append_rfc2231(f->name, out);
    }
    if (f->content_id.n > 0) {
        buf_append_str(out, "\r\nContent-ID: <");
        buf_append_slice(out, f->content_id);
        buf_append_char(out, '>');
    }
    buf_append_str(out, "\r\n\r\n");
    base64_encode_mime(f->data, out);
}
