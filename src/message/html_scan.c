/*
 * An HTML tokenizer over source bytes with holes in them.
 *
 * It follows the tokenization stage of the WHATWG standard as far as it decides *where* a byte
 * stands: text, tag, attribute value, comment, raw text. It builds no tree and allocates nothing.
 * Two things differ from a browser: holes (template expressions) are opaque, and character references
 * are left alone, since no caller needs them decoded here.
 *
 * Each state has a function that consumes from `pos` and returns the position it stopped at; one that
 * must not consume changes only the state ("reconsume" in the standard).
 */
#include "message/html_scan.h"

#include <string.h>

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool
is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void
html_scan_init(struct html_scan *s, const char *src, const struct html_events *events)
{
    memset(s, 0, sizeof(*s));
    s->state = HTML_TEXT;
    s->src = src;
    s->events = events;
}

bool
html_is_void(struct slice name)
{
    static const char *const names[] = {"area", "base", "br", "col", "embed", "hr", "img", "input",
        "keygen", "link", "meta", "param", "source", "track", "wbr", "basefont", "bgsound",
        "frame"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (slice_ieq(name, slice_str(names[i])))
            return true;
    }
    return false;
}

/* Elements whose content is text up to their end tag. */
static const char *
raw_element(struct slice name)
{
    static const char *const names[] = {
        "script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (slice_ieq(name, slice_str(names[i])))
            return names[i];
    }
    return NULL;
}

static void
emit_text(struct html_scan *s, size_t from, size_t to, bool is_raw)
{
    if (from < to && s->events != NULL && s->events->text != NULL)
        s->events->text(from, to, is_raw, s->events->arg);
}

static void
attr_begin(struct html_scan *s, size_t pos)
{
    memset(&s->attr, 0, sizeof(s->attr));
    s->attr.name = slice_make(s->src + pos, 0);
    s->attr.from = s->attr.to = pos;
    s->is_query = false;
}

static void
attr_end(struct html_scan *s, size_t pos)
{
    if (s->attr.has_value)
        s->attr.to = pos;
    if (s->events != NULL && s->events->attr != NULL)
        s->events->attr(&s->attr, s->events->arg);
    s->is_query = false;
}

static void
tag_begin(struct html_scan *s, size_t pos, bool is_end)
{
    s->tag.name = slice_make(s->src + pos, 0);
    s->tag.is_end = is_end;
    s->tag.is_self_closed = false;
    s->state = HTML_TAG_NAME;
}

/* The '>' of a tag stands at `pos`. */
static void
tag_end(struct html_scan *s, size_t pos)
{
    const char *raw = s->tag.is_end ? NULL : raw_element(s->tag.name);

    s->tag.to = pos + 1;
    s->state = HTML_TEXT;
    if (raw != NULL) {
        memcpy(s->raw_name, raw, strlen(raw) + 1);
        s->state = HTML_RAW;
    }
    if (s->events != NULL && s->events->tag != NULL)
        s->events->tag(&s->tag, s->events->arg);
}

static size_t
feed_text(struct html_scan *s, size_t pos, size_t to)
{
    const char *lt = memchr(s->src + pos, '<', to - pos);

    if (lt == NULL) {
        emit_text(s, pos, to, false);
        return to;
    }
    emit_text(s, pos, (size_t)(lt - s->src), false);
    s->tag.from = (size_t)(lt - s->src);
    s->state = HTML_TAG_OPEN;
    return s->tag.from + 1;
}

static size_t
feed_markup(struct html_scan *s, size_t pos, size_t to)
{
    if (to - pos >= 2 && s->src[pos] == '-' && s->src[pos + 1] == '-') {
        s->state = HTML_COMMENT;
        s->dashes = 2; /* "<!-->" is a whole comment */
        return pos + 2;
    }
    s->state = HTML_BOGUS;
    return pos;
}

static size_t
feed_tag_open(struct html_scan *s, size_t pos, size_t to)
{
    char c = s->src[pos];

    if (s->state == HTML_END_OPEN) {
        if (is_alpha(c)) {
            tag_begin(s, pos, true);
            return pos;
        }
        s->state = c == '>' ? HTML_TEXT : HTML_BOGUS;
        return c == '>' ? pos + 1 : pos;
    }
    if (is_alpha(c)) {
        tag_begin(s, pos, false);
        return pos;
    }
    switch (c) {
    case '/': s->state = HTML_END_OPEN; return pos + 1;
    case '!': return feed_markup(s, pos + 1, to);
    case '?': s->state = HTML_BOGUS; return pos;
    default:
        emit_text(s, s->tag.from, s->tag.from + 1, false);
        s->state = HTML_TEXT;
        return pos;
    }
}

static size_t
feed_tag_name(struct html_scan *s, size_t pos, size_t to)
{
    while (pos < to && !is_blank(s->src[pos]) && s->src[pos] != '/' && s->src[pos] != '>') {
        s->tag.name.n++;
        pos++;
    }
    if (pos < to)
        s->state = HTML_BEFORE_ATTR;
    return pos;
}

/* Between attributes, also behind a hole or a quoted value. */
static size_t
feed_before_attr(struct html_scan *s, size_t pos)
{
    char c = s->src[pos];

    if (s->state == HTML_AFTER_HOLE && c == '=') { /* {{name}}="value" */
        attr_begin(s, pos);
        s->state = HTML_BEFORE_VALUE;
        return pos + 1;
    }
    if (c == '>') {
        tag_end(s, pos);
        return pos + 1;
    }
    if (c == '/' || is_blank(c)) {
        s->tag.is_self_closed = c == '/';
        s->state = HTML_BEFORE_ATTR;
        return pos + 1;
    }
    s->tag.is_self_closed = false;
    attr_begin(s, pos);
    s->attr.name.n = 1; /* also "=", which the standard takes as the start of a name */
    s->state = HTML_ATTR_NAME;
    return pos + 1;
}

static size_t
feed_attr_name(struct html_scan *s, size_t pos, size_t to)
{
    while (pos < to && !is_blank(s->src[pos]) && s->src[pos] != '/' && s->src[pos] != '>' &&
           s->src[pos] != '=') {
        if (s->attr.name.p + s->attr.name.n == s->src + pos)
            s->attr.name.n++;
        pos++;
    }
    if (pos == to)
        return pos;
    if (s->src[pos] == '=') {
        s->state = HTML_BEFORE_VALUE;
        return pos + 1;
    }
    s->state = HTML_AFTER_NAME;
    return pos;
}

static size_t
feed_after_name(struct html_scan *s, size_t pos)
{
    char c = s->src[pos];

    if (is_blank(c))
        return pos + 1;
    if (c == '=') {
        s->state = HTML_BEFORE_VALUE;
        return pos + 1;
    }
    attr_end(s, pos);
    s->state = HTML_BEFORE_ATTR;
    return pos;
}

static void
value_begin(struct html_scan *s, size_t pos, char quote)
{
    s->attr.from = pos;
    s->attr.quote = quote;
    s->attr.has_value = true;
    s->state = quote == '"'    ? HTML_VALUE_DOUBLE
               : quote == '\'' ? HTML_VALUE_SINGLE
                               : HTML_VALUE_BARE;
}

static size_t
feed_before_value(struct html_scan *s, size_t pos)
{
    char c = s->src[pos];

    if (is_blank(c))
        return pos + 1;
    if (c == '>') {
        attr_end(s, pos);
        tag_end(s, pos);
        return pos + 1;
    }
    if (c == '"' || c == '\'') {
        value_begin(s, pos + 1, c);
        return pos + 1;
    }
    value_begin(s, pos, 0);
    return pos;
}

static void
note_query(struct html_scan *s, size_t pos, size_t to)
{
    if (!s->is_query &&
        (slice_ieq(s->attr.name, SLICE_LIT("href")) || slice_ieq(s->attr.name, SLICE_LIT("src"))))
        s->is_query = memchr(s->src + pos, '?', to - pos) != NULL;
}

static size_t
feed_quoted(struct html_scan *s, size_t pos, size_t to)
{
    const char *end = memchr(s->src + pos, s->attr.quote, to - pos);
    size_t stop = end != NULL ? (size_t)(end - s->src) : to;

    note_query(s, pos, stop);
    if (end == NULL)
        return to;
    attr_end(s, stop);
    s->state = HTML_BEFORE_ATTR;
    return stop + 1;
}

static size_t
feed_bare(struct html_scan *s, size_t pos, size_t to)
{
    size_t stop = pos;

    while (stop < to && !is_blank(s->src[stop]) && s->src[stop] != '>')
        stop++;
    note_query(s, pos, stop);
    if (stop < to) {
        attr_end(s, stop);
        s->state = HTML_BEFORE_ATTR;
    }
    return stop;
}

static size_t
feed_comment(struct html_scan *s, size_t pos, size_t to)
{
    for (; pos < to; pos++) {
        char c = s->src[pos];

        if (c == '-') {
            s->dashes++;
        } else if (c == '>' && s->dashes >= 2) {
            s->state = HTML_TEXT;
            return pos + 1;
        } else if (c != '!' || s->dashes < 2) { /* "--!>" ends a comment too */
            s->dashes = 0;
        }
    }
    return pos;
}

static size_t
feed_bogus(struct html_scan *s, size_t pos, size_t to)
{
    const char *gt = memchr(s->src + pos, '>', to - pos);

    if (gt == NULL)
        return to;
    s->state = HTML_TEXT;
    return (size_t)(gt - s->src) + 1;
}

static size_t
feed_raw(struct html_scan *s, size_t pos, size_t to)
{
    size_t n = strlen(s->raw_name), from = pos;
    const char *lt;

    while ((lt = memchr(s->src + pos, '<', to - pos)) != NULL) {
        size_t at = (size_t)(lt - s->src);
        size_t behind = at + 2 + n;

        pos = at + 1;
        if (behind >= to || lt[1] != '/' ||
            !slice_ieq(slice_make(lt + 2, n), slice_make(s->raw_name, n)))
            continue;
        if (!is_blank(s->src[behind]) && s->src[behind] != '/' && s->src[behind] != '>')
            continue;
        emit_text(s, from, at, true);
        s->tag.from = at;
        tag_begin(s, at + 2, true);
        return at + 2;
    }
    emit_text(s, from, to, true);
    return to;
}

void
html_scan_feed(struct html_scan *s, size_t pos, size_t to)
{
    while (pos < to) {
        switch (s->state) {
        case HTML_TEXT: pos = feed_text(s, pos, to); break;
        case HTML_TAG_OPEN:
        case HTML_END_OPEN: pos = feed_tag_open(s, pos, to); break;
        case HTML_TAG_NAME: pos = feed_tag_name(s, pos, to); break;
        case HTML_AFTER_HOLE:
        case HTML_BEFORE_ATTR: pos = feed_before_attr(s, pos); break;
        case HTML_ATTR_NAME: pos = feed_attr_name(s, pos, to); break;
        case HTML_AFTER_NAME: pos = feed_after_name(s, pos); break;
        case HTML_BEFORE_VALUE: pos = feed_before_value(s, pos); break;
        case HTML_VALUE_DOUBLE:
        case HTML_VALUE_SINGLE: pos = feed_quoted(s, pos, to); break;
        case HTML_VALUE_BARE: pos = feed_bare(s, pos, to); break;
        case HTML_COMMENT: pos = feed_comment(s, pos, to); break;
        case HTML_BOGUS: pos = feed_bogus(s, pos, to); break;
        case HTML_RAW: pos = feed_raw(s, pos, to); break;
        }
    }
}

void
html_scan_hole(struct html_scan *s, size_t from, size_t to)
{
    switch (s->state) {
    case HTML_TEXT:
    case HTML_BOGUS:
    case HTML_RAW:
    case HTML_ATTR_NAME: break;
    case HTML_COMMENT: s->dashes = 0; break;
    case HTML_TAG_OPEN:
    case HTML_END_OPEN:
        tag_begin(s, from, s->state == HTML_END_OPEN);
        s->state = HTML_BEFORE_ATTR;
        break;
    case HTML_AFTER_NAME:
        attr_end(s, from);
        s->state = HTML_AFTER_HOLE;
        break;
    case HTML_TAG_NAME:
    case HTML_BEFORE_ATTR:
    case HTML_AFTER_HOLE: s->state = HTML_AFTER_HOLE; break;
    case HTML_BEFORE_VALUE:
        value_begin(s, from, 0);
        s->attr.has_hole = true;
        break;
    case HTML_VALUE_DOUBLE:
    case HTML_VALUE_SINGLE:
    case HTML_VALUE_BARE: s->attr.has_hole = true; break;
    }
}
