/*
 * Setting words into lines.
 *
 * A word is collected until a blank or break ends it, then put on the line if it fits, else on the
 * next. Breaks are remembered and written only before a word, so nothing is ever taken back and the
 * text neither starts nor ends with empty lines.
 */
#include "message/text_flow.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

void
text_flow_init(struct text_flow *f, struct buf *out)
{
    memset(f, 0, sizeof(*f));
    f->out = out;
    f->start = out->n;
}

void
text_flow_deinit(struct text_flow *f)
{
    text_flow_blank(f);
    buf_deinit(&f->word);
}

static void
new_line(struct text_flow *f)
{
    buf_append_char(f->out, '\n');
    f->column = 0;
}

static void
blanks(struct text_flow *f, unsigned n)
{
    static const char spaces[TEXT_FLOW_INDENT_MAX + 1] = "                                ";

    buf_append(f->out, spaces, n);
    f->column += n;
}

/* Write the line ends, indentation and bullet that are due before a word. */
static void
start_line(struct text_flow *f)
{
    bool is_first = f->out->n == f->start;

    if (f->breaks > 0 && !is_first) {
        new_line(f);
        if (f->breaks > 1)
            new_line(f);
    }
    f->breaks = 0;
    if (f->column > 0)
        return;
    if (f->bullet.n > 0) {
        /* The bullet hangs in the indentation of its item. */
        unsigned hang = (unsigned)f->bullet.n < f->indent ? (unsigned)f->bullet.n : f->indent;

        blanks(f, f->indent - hang);
        buf_append_slice(f->out, f->bullet);
        f->column += f->bullet.n;
        f->bullet = SLICE_NONE;
    } else {
        blanks(f, f->indent);
    }
}

void
text_flow_blank(struct text_flow *f)
{
    size_t width = utf8_count(buf_slice(&f->word));

    if (f->word.n == 0)
        return;
    if (f->breaks > 0 || f->column == 0) {
        start_line(f);
    } else if (f->column + 1 + width > TEXT_FLOW_COLUMNS && f->column > f->indent) {
        new_line(f);
        start_line(f);
    } else {
        buf_append_char(f->out, ' ');
        f->column++;
    }
    buf_append(f->out, f->word.p, f->word.n);
    f->column += width;
    buf_clear(&f->word);
}

void
text_flow_add(struct text_flow *f, struct slice text)
{
    buf_append_slice(&f->word, text);
}

/* Length of the white space at `pos`: ASCII, or U+00A0 as UTF-8; 0 when there is none. */
static size_t
blank_at(struct slice s, size_t pos)
{
    char c = s.p[pos];

    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v')
        return 1;
    if ((unsigned char)c == 0xC2 && pos + 1 < s.n && (unsigned char)s.p[pos + 1] == 0xA0)
        return 2;
    return 0;
}

void
text_flow_add_words(struct text_flow *f, struct slice text)
{
    size_t from = 0, pos = 0;

    while (pos < text.n) {
        size_t n = blank_at(text, pos);

        if (n == 0) {
            pos++;
            continue;
        }
        text_flow_add(f, slice_make(text.p + from, pos - from));
        text_flow_blank(f);
        pos += n;
        from = pos;
    }
    text_flow_add(f, slice_from(text, from));
}

void
text_flow_break(struct text_flow *f, unsigned n)
{
    text_flow_blank(f);
    if (f->breaks < n)
        f->breaks = n;
}

void
text_flow_newline(struct text_flow *f)
{
    text_flow_blank(f);
    if (f->breaks < 2)
        f->breaks++;
}

void
text_flow_indent(struct text_flow *f, unsigned n)
{
    f->indent = n < TEXT_FLOW_INDENT_MAX ? n : TEXT_FLOW_INDENT_MAX;
}

void
text_flow_bullet(struct text_flow *f, const char *bullet)
{
    snprintf(f->bullet_text, sizeof(f->bullet_text), "%s", bullet);
    f->bullet = slice_str(f->bullet_text);
}
