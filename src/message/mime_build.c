/*
 * From the parts of a mail to its bytes.
 *
 * Shape: mixed(alternative(text, related(html, inline images)), attachments); a level exists only
 * when it would have two children (RFC 2046 §5.1.3-5.1.4, RFC 2387). Each put_* function writes one
 * entity: its Content-* fields, a blank line, its body. The entity of the message itself follows the
 * message's own fields directly.
 *
 * Invariant: what is written here is what is signed and what is sent. Boundaries derive from the
 * seed, so building the same mail again gives the same bytes and a retry keeps its signature.
 */
#include "message/mime.h"

#include "base/timefmt.h"
#include "message/address.h"
#include "message/mime_internal.h"

#define BUILD_EXTRA_MAX 64
#define BUILD_FILES_MAX 256
#define BUILD_NAME_MAX  72

enum level { LEVEL_MIXED, LEVEL_ALTERNATIVE, LEVEL_RELATED };

struct boundary {
    char text[32];
};

/** "=_" and 17 characters that depend on seed and level (the mixer of splitmix64). */
static struct boundary
boundary_make(uint64_t seed, enum level level)
{
    static const char hex[] = "0123456789abcdef";
    struct boundary b = {MIME_BOUNDARY_PREFIX};
    char *p = b.text + sizeof MIME_BOUNDARY_PREFIX - 1;
    uint64_t v = seed + (uint64_t)(level + 1) * UINT64_C(0x9e3779b97f4a7c15);

    v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
    v ^= v >> 31;
    *p++ = "mar"[level];
    for (int shift = 60; shift >= 0; shift -= 4)
        *p++ = hex[v >> shift & 15];
    *p = '\0';
    return b;
}

static bool
is_inline(const struct mime_message *m, size_t i)
{
    return m->html.n > 0 && m->files[i].content_id.n > 0;
}

static size_t
count_inline(const struct mime_message *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n_files; i++)
        n += is_inline(m, i);
    return n;
}

static void
put_multipart(const char *type, const struct boundary *b, struct buf *out)
{
    buf_append_str(out, "Content-Type: multipart/");
    buf_append_str(out, type);
    buf_append_str(out, ";\r\n boundary=\"");
    buf_append_str(out, b->text);
    buf_append_str(out, "\"\r\n");
}

/** The line before a part. Its first CRLF belongs to the boundary (RFC 2046 §5.1.1), before the
 * first part it is the blank line that ends the fields. */
static void
put_delimiter(const struct boundary *b, bool is_last, struct buf *out)
{
    buf_append_str(out, "\r\n--");
    buf_append_str(out, b->text);
    buf_append_str(out, is_last ? "--\r\n" : "\r\n");
}

static void
put_files(const struct mime_message *m, bool want_inline, const struct boundary *b, struct buf *out)
{
    for (size_t i = 0; i < m->n_files; i++) {
        if (is_inline(m, i) != want_inline)
            continue;
        put_delimiter(b, false, out);
        mime_file_append(&m->files[i], out);
    }
}

static void
put_html(const struct mime_message *m, struct buf *out)
{
    struct boundary b;

    if (count_inline(m) == 0) {
        mime_body_append(m->html, "html", out);
        return;
    }
    b = boundary_make(m->boundary_seed, LEVEL_RELATED);
    put_multipart("related; type=\"text/html\"", &b, out);
    put_delimiter(&b, false, out);
    mime_body_append(m->html, "html", out);
    put_files(m, true, &b, out);
    put_delimiter(&b, true, out);
}

static void
put_content(const struct mime_message *m, struct buf *out)
{
    struct boundary b;

    if (m->html.n == 0) {
        mime_body_append(m->text, "plain", out);
    } else if (m->text.n == 0) {
        put_html(m, out);
    } else {
        b = boundary_make(m->boundary_seed, LEVEL_ALTERNATIVE);
        put_multipart("alternative", &b, out);
        put_delimiter(&b, false, out);
        mime_body_append(m->text, "plain", out);
        put_delimiter(&b, false, out);
        put_html(m, out);
        put_delimiter(&b, true, out);
    }
}

static void
put_root(const struct mime_message *m, struct buf *out)
{
    struct boundary b;

    if (m->n_files == count_inline(m)) {
        put_content(m, out);
    } else {
        b = boundary_make(m->boundary_seed, LEVEL_MIXED);
        put_multipart("mixed", &b, out);
        put_delimiter(&b, false, out);
        put_content(m, out);
        put_files(m, false, &b, out);
        put_delimiter(&b, true, out);
    }
    if (!slice_ends(buf_slice(out), SLICE_LIT("\r\n")))
        buf_append_str(out, "\r\n");
}

static int
put_address(const char *field, struct slice name, struct slice address, bool *needs_smtputf8_r,
    struct buf *out, struct err *err)
{
    struct address a;

    if (address_parse(address, &a, err) != 0) {
        err_prefix(err, "%s", field);
        return -1;
    }
    if (a.is_local_utf8)
        *needs_smtputf8_r = true;
    buf_append_str(out, field);
    buf_append_str(out, ": ");
    if (address_mailbox(name, &a, strlen(field) + 2, out, err) != 0) {
        err_prefix(err, "%s", field);
        return -1;
    }
    buf_append_str(out, "\r\n");
    return 0;
}

/** Printable ASCII that one line can hold. */
static bool
is_plain_line(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 32 || s.p[i] >= 127)
            return false;
    return s.n <= MIME_RUN_MAX;
}

static int
check_message_id(struct slice id, struct err *err)
{
    ptrdiff_t at = slice_find_char(id, '@');

    if (!is_plain_line(id) || at <= 0 || (size_t)at + 1 == id.n)
        return err_set(err, ERR_INVALID, "Message-ID is not usable");
    for (size_t i = 0; i < id.n; i++)
        if (strchr(" <>()\\\"", id.p[i]) != NULL)
            return err_set(err, ERR_INVALID, "Message-ID is not usable");
    return 0;
}

static bool
name_is_own(struct slice name)
{
    static const char *const own[] = {"From", "To", "Cc", "Bcc", "Sender", "Reply-To", "Subject",
        "Date", "Message-ID", "MIME-Version", "Return-Path", "DKIM-Signature"};

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (slice_ieq(name, slice_str(own[i])))
            return true;
    return slice_istarts(name, SLICE_LIT("Content-"));
}

static bool
name_is_list(struct slice name)
{
    return slice_istarts(name, SLICE_LIT("List-"));
}

static int
check_extra(const struct mime_message *m, size_t at, struct err *err)
{
    struct slice name = m->extra[at].name, value = m->extra[at].value;

    if (name.n == 0 || name.n > BUILD_NAME_MAX)
        return err_set(err, ERR_INVALID, "header field without a usable name");
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] <= 32 || name.p[i] >= 127 || name.p[i] == ':')
            return err_set(err, ERR_INVALID, "header field without a usable name");
    if (name_is_own(name))
        return err_set(err, ERR_INVALID, "header field %.*s cannot be set", SLICE_FMT(name));
    if (!name_is_list(name))
        return 0;
    if (!is_plain_line(value))
        return err_set(
            err, ERR_INVALID, "header field %.*s is not plain ASCII or too long", SLICE_FMT(name));
    for (size_t i = 0; i < at; i++)
        if (slice_ieq(m->extra[i].name, name))
            return err_set(err, ERR_INVALID, "header field %.*s is given twice", SLICE_FMT(name));
    return 0;
}

static int
put_extra(const struct mime_message *m, struct buf *out, struct err *err)
{
    for (size_t i = 0; i < m->n_extra; i++) {
        const struct mime_header *h = &m->extra[i];
        size_t column = h->name.n + 2;

        if (check_extra(m, i, err) != 0)
            return -1;
        buf_append_slice(out, h->name);
        buf_append_str(out, ": ");
        if (name_is_list(h->name)) {
            mime_text_fold(h->value, &column, out);
        } else if (mime_text_encode(h->value, &column, out, err) != 0) {
            err_prefix(err, "header field %.*s", SLICE_FMT(h->name));
            return -1;
        }
        buf_append_str(out, "\r\n");
    }
    return 0;
}

static int
put_fields(const struct mime_message *m, bool *needs_smtputf8_r, struct buf *out, struct err *err)
{
    char date[TIMEFMT_MAIL_SIZE];

    if (put_address("From", m->from_name, m->from_address, needs_smtputf8_r, out, err) != 0 ||
        put_address("To", m->to_name, m->to_address, needs_smtputf8_r, out, err) != 0)
        return -1;
    if (m->reply_to.n > 0 &&
        put_address("Reply-To", SLICE_NONE, m->reply_to, needs_smtputf8_r, out, err) != 0)
        return -1;
    buf_append_str(out, "Subject: ");
    if (mime_encode_text(m->subject, sizeof "Subject: " - 1, out, err) != 0) {
        err_prefix(err, "Subject");
        return -1;
    }
    buf_append_str(out, "\r\nDate: ");
    buf_append_str(out, timefmt_mail(m->date_ms, date));
    if (check_message_id(m->message_id, err) != 0)
        return -1;
    buf_append_str(out, "\r\nMessage-ID: <");
    buf_append_slice(out, m->message_id);
    buf_append_str(out, ">\r\n");
    if (put_extra(m, out, err) != 0)
        return -1;
    buf_append_str(out, "MIME-Version: 1.0\r\n");
    return 0;
}

int
mime_build(const struct mime_message *m, struct buf *out, bool *needs_smtputf8_r, struct err *err)
{
    size_t start = out->n;

    *needs_smtputf8_r = false;
    if (m->text.n == 0 && m->html.n == 0)
        return err_set(err, ERR_INVALID, "message has neither text nor html");
    if (m->n_extra > BUILD_EXTRA_MAX || m->n_files > BUILD_FILES_MAX)
        return err_set(err, ERR_INVALID, "message has too many header fields or files");
    for (size_t i = 0; i < m->n_files; i++)
        if (mime_file_check(&m->files[i], err) != 0)
            return -1;
    /* In steps of 4 KiB: mails of one broadcast differ by a few bytes, and a buffer that is used again
     * must not double for them. */
    buf_reserve(out, (6144 + (m->text.n + m->html.n) / 8 * 9) & ~(size_t)4095);
    if (put_fields(m, needs_smtputf8_r, out, err) != 0) {
        out->n = start;
        return -1;
    }
    put_root(m, out);
    return 0;
}
