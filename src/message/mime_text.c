/*
 * Text in header fields: folding (RFC 5322 §2.2.3) and encoded words (RFC 2047).
 *
 * A text that is printable ASCII goes out as it is, with lines broken before blanks. Otherwise one
 * stretch, from the first word that needs encoding to the last, becomes encoded words; the blanks
 * inside the stretch are encoded with it, since a reader drops the blanks between two encoded words.
 * So reading gives back the same code points, blanks neither lost nor doubled.
 *
 * A word needs encoding when it has a byte outside ASCII, when it looks like an encoded word itself
 * ("=?"), or when it is too long for a line. Encoded words hold whole characters and are at most 75
 * long. One text uses one form: "Q", which people can read, unless "B" is a quarter shorter.
 */
#include "message/mime.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "message/mime_internal.h"

#define TEXT_MAX      4096
#define WORD_MAX      75
#define WORD_OVERHEAD 12 /* "=?UTF-8?Q?" and "?=" */
#define WORD_ROOM_MIN 36 /* start a new line rather than a word shorter than this */

/** Bytes that "Q" leaves alone in any place, phrases included (RFC 2047 §5 (3)). */
static bool
q_is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '!' || c == '*' || c == '+' || c == '/';
}

static size_t
q_size(struct slice s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += q_is_plain((unsigned char)s.p[i]) || s.p[i] == ' ' ? 1 : 3;
    return n;
}

static void
q_append(struct slice s, struct buf *out)
{
    static const char hex[] = "0123456789ABCDEF";
    char *dst = buf_reserve(out, 3 * s.n), *p = dst;

    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c == ' ') {
            *p++ = '_';
        } else if (q_is_plain(c)) {
            *p++ = (char)c;
        } else {
            *p++ = '=';
            *p++ = hex[c >> 4];
            *p++ = hex[c & 15];
        }
    }
    out->n += (size_t)(p - dst);
}

/** The longest head of `s` made of whole characters whose payload fits `room`. */
static size_t
word_take(struct slice s, bool is_b, size_t room)
{
    size_t taken = 0, used = 0;

    while (taken < s.n) {
        size_t next = taken, cost;

        utf8_next(s, &next);
        if (is_b) {
            if ((next + 2) / 3 * 4 > room)
                break;
        } else {
            cost = q_size(slice_make(s.p + taken, next - taken));
            if (used + cost > room)
                break;
            used += cost;
        }
        taken = next;
    }
    return taken;
}

void
mime_text_words(struct slice utf8, size_t *column, struct buf *out)
{
    bool is_b = (utf8.n + 2) / 3 * 4 * 4 < q_size(utf8) * 3;
    struct slice rest = utf8;

    while (rest.n > 0) {
        size_t room, start, n;

        if (*column + WORD_ROOM_MIN > MIME_FOLD) {
            buf_append_str(out, "\r\n ");
            *column = 1;
        }
        room = MIME_FOLD - *column;
        if (room > WORD_MAX)
            room = WORD_MAX;
        n = word_take(rest, is_b, room - WORD_OVERHEAD);
        start = out->n;
        buf_append_str(out, is_b ? "=?UTF-8?B?" : "=?UTF-8?Q?");
        if (is_b)
            base64_encode(slice_make(rest.p, n), out);
        else
            q_append(slice_make(rest.p, n), out);
        buf_append_str(out, "?=");
        *column += out->n - start;
        rest = slice_from(rest, n);
        if (rest.n > 0) {
            buf_append_str(out, "\r\n ");
            *column = 1;
        }
    }
}

void
mime_text_fold(struct slice ascii, size_t *column, struct buf *out)
{
    size_t i = 0;

    while (i < ascii.n) {
        size_t blanks = i, end;

        while (blanks < ascii.n && ascii.p[blanks] == ' ')
            blanks++;
        end = blanks;
        while (end < ascii.n && ascii.p[end] != ' ')
            end++;
        /* Only where a blank is followed by text: no line may consist of blanks alone. */
        if (blanks > i && end > blanks && *column > 1 && *column + (end - i) > MIME_FOLD) {
            buf_append_str(out, "\r\n");
            *column = 0;
        }
        buf_append(out, ascii.p + i, end - i);
        *column += end - i;
        i = end;
    }
}

static bool
word_needs_encoding(struct slice w)
{
    return w.n > MIME_RUN_MAX || !utf8_is_ascii(w) || slice_find(w, SLICE_LIT("=?")) >= 0;
}

/** Where the stretch to encode starts and ends; equal when there is none. `text` is not empty. */
static void
find_stretch(struct slice text, size_t *from_r, size_t *to_r)
{
    size_t from = text.n, to = 0, i = 0;

    if (slice_find(text, SLICE_LIT("        ")) >= 0) { /* more than a folded line can carry well */
        *from_r = 0;
        *to_r = text.n;
        return;
    }
    while (i <= text.n) {
        size_t end = i;

        while (end < text.n && text.p[end] != ' ')
            end++;
        if (word_needs_encoding(slice_make(text.p + i, end - i))) {
            if (from > i)
                from = i;
            to = end;
        }
        i = end + 1;
    }
    /* Blanks at the ends would be trimmed by readers. */
    if (text.p[text.n - 1] == ' ') {
        to = text.n;
        if (from == text.n)
            from = text.n - 1;
    }
    if (text.p[0] == ' ') {
        from = 0;
        if (to == 0)
            to = 1;
    }
    if (from >= to) {
        *from_r = *to_r = text.n;
        return;
    }
    /* One blank stays outside as the separator, further ones go inside. */
    while (from > 0 && (text.p[from - 1] != ' ' || (from > 1 && text.p[from - 2] == ' ')))
        from--;
    while (to < text.n && (text.p[to] != ' ' || (to + 1 < text.n && text.p[to + 1] == ' ')))
        to++;
    *from_r = from;
    *to_r = to;
}

int
mime_text_encode(struct slice text, size_t *column, struct buf *out, struct err *err)
{
    size_t from, to;

    if (text.n == 0)
        return 0;
    if (text.n > TEXT_MAX)
        return err_set(err, ERR_INVALID, "header text is longer than %d bytes", TEXT_MAX);
    if (!utf8_valid(text))
        return err_set(err, ERR_INVALID, "header text is not UTF-8");
    if (utf8_has_control(text))
        return err_set(err, ERR_INVALID, "header text has a line break or control character");
    find_stretch(text, &from, &to);
    if (from == to) {
        mime_text_fold(text, column, out);
        return 0;
    }
    if (from > 0) {
        mime_text_fold(slice_make(text.p, from - 1), column, out);
        if (*column + 1 + WORD_ROOM_MIN > MIME_FOLD) {
            buf_append_str(out, "\r\n ");
            *column = 1;
        } else {
            buf_append_char(out, ' ');
            *column += 1;
        }
    }
    mime_text_words(slice_make(text.p + from, to - from), column, out);
    mime_text_fold(slice_from(text, to), column, out);
    return 0;
}

int
mime_encode_text(struct slice text, size_t column, struct buf *out, struct err *err)
{
    return mime_text_encode(text, &column, out, err);
}
