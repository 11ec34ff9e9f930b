#include "transport/smtp_reply.h"

#include <string.h>

/*
 * The reply parser works on whole lines only, so a peer that sends one byte at a time costs nothing
 * but a look for the line end. All lines of a reply carry the same code; a line that does not is no
 * reply. Lines may end in LF alone, and a line may consist of the code alone (RFC 5321 §4.2).
 */

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* One to three digits at *pos; -1 when there are none, or too many. */
static int
short_number(struct slice s, size_t *pos)
{
    size_t start = *pos;
    int n = 0;

    while (*pos < s.n && is_digit(s.p[*pos]) && *pos - start < 4)
        n = n * 10 + (s.p[(*pos)++] - '0');
    return *pos == start || *pos - start > 3 ? -1 : n;
}

int
smtp_reply_enhanced(struct slice text)
{
    size_t pos = 2;
    int subject, detail;

    if (text.n < 5 || text.p[1] != '.' || strchr("245", text.p[0]) == NULL || text.p[0] == '\0')
        return 0;
    subject = short_number(text, &pos);
    if (subject < 0 || pos >= text.n || text.p[pos++] != '.')
        return 0;
    detail = short_number(text, &pos);
    if (detail < 0 || subject > 99 || detail > 99)
        return 0;
    if (pos < text.n && strchr(" \t\n:;,", text.p[pos]) == NULL)
        return 0;
    return (text.p[0] - '0') * 10000 + subject * 100 + detail;
}

void
smtp_reply_deinit(struct smtp_reply *r)
{
    buf_deinit(&r->text);
    memset(r, 0, sizeof(*r));
}

/* A line without its end. */
static enum smtp_reply_status
take_line(struct smtp_reply *r, struct slice line)
{
    struct slice text;
    int code, enhanced;

    if (line.n < 3 || line.p[0] < '2' || line.p[0] > '5' || !is_digit(line.p[1]) ||
        !is_digit(line.p[2]) || (line.n > 3 && line.p[3] != ' ' && line.p[3] != '-'))
        return SMTP_REPLY_BAD;
    code = (line.p[0] - '0') * 100 + (line.p[1] - '0') * 10 + (line.p[2] - '0');
    if (r->n_lines > 0 && code != r->code)
        return SMTP_REPLY_BAD;
    text = slice_from(line, 4);
    if (++r->n_lines > SMTP_REPLY_LINES_MAX || r->text.n + text.n > SMTP_REPLY_TEXT_MAX)
        return SMTP_REPLY_BAD;
    r->code = code;
    enhanced = smtp_reply_enhanced(text);
    if (r->enhanced == 0 && enhanced / 10000 == code / 100)
        r->enhanced = enhanced;
    if (r->n_lines > 1)
        buf_append_char(&r->text, '\n');
    buf_append_slice(&r->text, text);
    return line.n > 3 && line.p[3] == '-' ? SMTP_REPLY_MORE : SMTP_REPLY_DONE;
}

enum smtp_reply_status
smtp_reply_feed(struct smtp_reply *r, struct slice in, size_t *used_r)
{
    *used_r = 0;
    if (r->is_done) {
        buf_clear(&r->text);
        r->code = r->enhanced = 0;
        r->n_lines = 0;
        r->is_done = false;
    }
    while (*used_r < in.n) {
        struct slice rest = slice_from(in, *used_r);
        ptrdiff_t end = slice_find_char(rest, '\n');
        enum smtp_reply_status status;
        struct slice line;

        if (end < 0)
            return rest.n > SMTP_REPLY_LINE_MAX ? SMTP_REPLY_BAD : SMTP_REPLY_MORE;
        if (end > SMTP_REPLY_LINE_MAX)
            return SMTP_REPLY_BAD;
        *used_r += (size_t)end + 1;
        line = slice_make(rest.p, (size_t)end);
        if (line.n > 0 && line.p[line.n - 1] == '\r')
            line.n--;
        status = take_line(r, line);
        r->is_done = status == SMTP_REPLY_DONE;
        if (status != SMTP_REPLY_MORE)
            return status;
    }
    return SMTP_REPLY_MORE;
}
