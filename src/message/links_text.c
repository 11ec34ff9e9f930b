/*
 * Plain text from HTML.
 *
 * A single pass over the scanner's events; no tree, hence no recursion, and memory for one word, one
 * link and the open lists. Tags become blanks and breaks of a text_flow, links keep their target as
 * "text <url>", expressions of the template go through as words of their own so that the result can be
 * compiled in turn. What is not shown (head, style, script, display:none) is skipped up to its end tag.
 */
#include "message/links.h"

#include <stdio.h>
#include <string.h>

#include "message/html_entity.h"
#include "message/html_scan.h"
#include "message/template_program.h"
#include "message/template_token.h"
#include "message/text_flow.h"

#define LISTS_MAX   16
#define LIST_INDENT 2
#define RULE        "----------------------------------------"

struct list_level {
    bool is_ordered;
    unsigned items;
};

struct converter {
    struct slice html;
    struct text_flow flow;
    struct slice skip_name; /* the element that is skipped; depth counts its nesting */
    unsigned skip_depth;
    struct list_level lists[LISTS_MAX];
    unsigned n_lists, n_lists_beyond;
    bool in_anchor;
    struct buf anchor_url, anchor_text;
    struct buf decoded;
    struct slice tag_href, tag_alt; /* of the tag in progress, as written */
    bool tag_hidden;
};

/* What a tag means for the text. */
enum tag_kind {
    TAG_INLINE,
    TAG_LINE,      /* on lines of its own */
    TAG_PARAGRAPH, /* between empty lines */
    TAG_ANCHOR,
    TAG_BREAK,
    TAG_RULE,
    TAG_IMAGE,
    TAG_LIST,
    TAG_ITEM,
    TAG_CELL,
    TAG_UNSEEN /* nothing inside is shown */
};

static enum tag_kind
tag_kind(struct slice name)
{
    /* Sorted by name. */
    static const struct {
        char name[12];
        enum tag_kind kind;
    } tags[] = {{"a", TAG_ANCHOR}, {"address", TAG_LINE}, {"article", TAG_LINE},
        {"aside", TAG_LINE}, {"blockquote", TAG_PARAGRAPH}, {"body", TAG_LINE}, {"br", TAG_BREAK},
        {"caption", TAG_LINE}, {"center", TAG_LINE}, {"dd", TAG_LINE}, {"div", TAG_LINE},
        {"dl", TAG_PARAGRAPH}, {"dt", TAG_LINE}, {"fieldset", TAG_PARAGRAPH},
        {"figcaption", TAG_LINE}, {"figure", TAG_LINE}, {"footer", TAG_LINE},
        {"form", TAG_PARAGRAPH}, {"h1", TAG_PARAGRAPH}, {"h2", TAG_PARAGRAPH},
        {"h3", TAG_PARAGRAPH}, {"h4", TAG_PARAGRAPH}, {"h5", TAG_PARAGRAPH}, {"h6", TAG_PARAGRAPH},
        {"head", TAG_UNSEEN}, {"header", TAG_LINE}, {"hr", TAG_RULE}, {"html", TAG_LINE},
        {"img", TAG_IMAGE}, {"li", TAG_ITEM}, {"main", TAG_LINE}, {"nav", TAG_LINE},
        {"ol", TAG_LIST}, {"option", TAG_LINE}, {"p", TAG_PARAGRAPH}, {"pre", TAG_PARAGRAPH},
        {"section", TAG_LINE}, {"table", TAG_PARAGRAPH}, {"td", TAG_CELL}, {"template", TAG_UNSEEN},
        {"th", TAG_CELL}, {"tr", TAG_LINE}, {"ul", TAG_LIST}};
    size_t low = 0, high = sizeof(tags) / sizeof(tags[0]);
    char lower[12] = "";

    if (name.n >= sizeof(lower))
        return TAG_INLINE;
    for (size_t i = 0; i < name.n; i++)
        lower[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] + 32 : name.p[i]);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(lower, tags[middle].name);

        if (order == 0)
            return tags[middle].kind;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return TAG_INLINE;
}

static bool
is(struct slice name, const char *text)
{
    return slice_ieq(name, slice_str(text));
}

static void
on_text(size_t from, size_t to, bool is_raw, void *arg)
{
    struct converter *c = arg;

    if (is_raw || c->skip_depth > 0)
        return;
    buf_clear(&c->decoded);
    html_entity_decode(slice_make(c->html.p + from, to - from), &c->decoded);
    text_flow_add_words(&c->flow, buf_slice(&c->decoded));
    if (c->in_anchor)
        buf_append_slice(&c->anchor_text, buf_slice(&c->decoded));
}

/* Does a style attribute hide the element? */
static bool
hides(struct slice style)
{
    static const char wanted[] = "display:none";
    size_t matched = 0;

    for (size_t i = 0; i < style.n; i++) {
        char c = style.p[i];

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            continue;
        if (c >= 'A' && c <= 'Z')
            c = (char)(c + 32);
        if (c != wanted[matched])
            matched = c == wanted[0] ? 1 : 0;
        else if (++matched == sizeof(wanted) - 1)
            return true;
    }
    return false;
}

static void
on_attr(const struct html_attr *attr, void *arg)
{
    struct converter *c = arg;
    struct slice value = slice_make(c->html.p + attr->from, attr->to - attr->from);

    if (is(attr->name, "href"))
        c->tag_href = value;
    else if (is(attr->name, "alt"))
        c->tag_alt = value;
    else if (is(attr->name, "hidden") || (is(attr->name, "style") && hides(value)))
        c->tag_hidden = true;
}

/* Is a target worth showing: absolute, or made by an expression? */
static bool
is_target(struct slice url)
{
    return slice_starts(url, SLICE_LIT("{{")) || slice_istarts(url, SLICE_LIT("http")) ||
           slice_istarts(url, SLICE_LIT("mailto:")) || slice_istarts(url, SLICE_LIT("tel:"));
}

static void
anchor_end(struct converter *c)
{
    struct slice url = slice_trim(buf_slice(&c->anchor_url));
    struct slice text = slice_trim(buf_slice(&c->anchor_text));
    bool is_same = slice_eq(url, text) ||
                   (slice_istarts(url, SLICE_LIT("mailto:")) && slice_eq(slice_from(url, 7), text));

    if (!c->in_anchor)
        return;
    c->in_anchor = false;
    if (!is_target(url) || is_same)
        return;
    text_flow_blank(&c->flow);
    if (text.n > 0)
        text_flow_add(&c->flow, SLICE_LIT("<"));
    text_flow_add(&c->flow, url);
    if (text.n > 0)
        text_flow_add(&c->flow, SLICE_LIT(">"));
}

/* Line ends inside an href mean nothing; inside an expression they are blanks. */
static void
join_lines(struct buf *url)
{
    unsigned braces = 0;
    size_t n = 0;

    for (size_t i = 0; i < url->n; i++) {
        char c = url->p[i];

        if (c == '{')
            braces++;
        else if (c == '}' && braces > 0)
            braces--;
        if (c != '\n' && c != '\r' && c != '\t')
            url->p[n++] = c;
        else if (braces > 0)
            url->p[n++] = ' ';
    }
    url->n = n;
}

static void
anchor_start(struct converter *c)
{
    anchor_end(c);
    buf_clear(&c->anchor_url);
    buf_clear(&c->anchor_text);
    html_entity_decode(c->tag_href, &c->anchor_url);
    join_lines(&c->anchor_url);
    c->in_anchor = true;
}

static void
list_tag(struct converter *c, const struct html_tag *tag)
{
    if (!tag->is_end) {
        text_flow_break(&c->flow, c->n_lists > 0 ? 1 : 2);
        if (c->n_lists == LISTS_MAX) {
            c->n_lists_beyond++;
            return;
        }
        c->lists[c->n_lists++] = (struct list_level){.is_ordered = is(tag->name, "ol")};
        return;
    }
    if (c->n_lists_beyond > 0)
        c->n_lists_beyond--;
    else if (c->n_lists > 0)
        c->n_lists--;
    text_flow_break(&c->flow, c->n_lists > 0 ? 1 : 2);
    text_flow_indent(&c->flow, c->n_lists * LIST_INDENT);
}

static void
item_tag(struct converter *c, const struct html_tag *tag)
{
    struct list_level *list = c->n_lists > 0 ? &c->lists[c->n_lists - 1] : NULL;
    char bullet[16] = "- ";

    text_flow_break(&c->flow, 1);
    text_flow_bullet(&c->flow, "");
    if (tag->is_end)
        return;
    if (list != NULL && list->is_ordered)
        snprintf(bullet, sizeof(bullet), "%u. ", ++list->items);
    text_flow_indent(&c->flow, (c->n_lists > 0 ? c->n_lists : 1) * LIST_INDENT);
    text_flow_bullet(&c->flow, bullet);
}

static void
image_tag(struct converter *c)
{
    if (c->in_anchor || slice_trim(c->tag_alt).n == 0)
        return;
    buf_clear(&c->decoded);
    html_entity_decode(c->tag_alt, &c->decoded);
    text_flow_blank(&c->flow);
    text_flow_add_words(&c->flow, buf_slice(&c->decoded));
    text_flow_blank(&c->flow);
}

static void
shown_tag(struct converter *c, const struct html_tag *tag, enum tag_kind kind)
{
    switch (kind) {
    case TAG_INLINE:
    case TAG_UNSEEN: break;
    case TAG_LINE: text_flow_break(&c->flow, 1); break;
    case TAG_PARAGRAPH: text_flow_break(&c->flow, 2); break;
    case TAG_ANCHOR:
        if (tag->is_end)
            anchor_end(c);
        else
            anchor_start(c);
        break;
    case TAG_BREAK: text_flow_newline(&c->flow); break;
    case TAG_RULE:
        text_flow_break(&c->flow, 2);
        text_flow_add(&c->flow, SLICE_LIT(RULE));
        text_flow_break(&c->flow, 2);
        break;
    case TAG_IMAGE: image_tag(c); break;
    case TAG_LIST: list_tag(c, tag); break;
    case TAG_ITEM: item_tag(c, tag); break;
    case TAG_CELL: text_flow_blank(&c->flow); break;
    }
}

/* Inside something hidden: only its own end counts, and <body> ends a head without end tag. */
static void
hidden_tag(struct converter *c, const struct html_tag *tag)
{
    if (slice_ieq(tag->name, c->skip_name)) {
        if (tag->is_end)
            c->skip_depth--;
        else
            c->skip_depth++;
    } else if (is(c->skip_name, "head") && is(tag->name, "body")) {
        c->skip_depth = 0;
    }
}

static void
on_tag(const struct html_tag *tag, void *arg)
{
    struct converter *c = arg;
    enum tag_kind kind = tag_kind(tag->name);

    if (c->skip_depth > 0) {
        hidden_tag(c, tag);
    } else if (!tag->is_end &&
               (kind == TAG_UNSEEN || (c->tag_hidden && !html_is_void(tag->name)))) {
        c->skip_name = tag->name;
        c->skip_depth = 1;
    } else if (tag->is_end || !c->tag_hidden) {
        shown_tag(c, tag, kind);
    }
    c->tag_href = c->tag_alt = SLICE_NONE;
    c->tag_hidden = false;
}

/* An expression: part of the word it stands in. */
static void
on_hole(struct converter *c, const struct html_scan *scan, struct slice expression, bool is_comment)
{
    if (is_comment || scan->state != HTML_TEXT || c->skip_depth > 0)
        return;
    text_flow_add(&c->flow, expression);
    if (c->in_anchor)
        buf_append_slice(&c->anchor_text, expression);
}

int
links_html_to_text(struct slice html, struct buf *out, struct err *err)
{
    struct converter c = {.html = html};
    struct html_events events = {.text = on_text, .attr = on_attr, .tag = on_tag, .arg = &c};
    struct html_scan scan;
    size_t pos = 0, search = 0;

    if (html.n > TEMPLATE_SOURCE_MAX)
        return err_sub(
            err, ERR_LIMIT, "html_too_large", "larger than %zu bytes", TEMPLATE_SOURCE_MAX);
    text_flow_init(&c.flow, out);
    html_scan_init(&scan, html.p, &events);
    while (search < html.n) {
        ptrdiff_t open = slice_find(slice_from(html, search), SLICE_LIT("{{"));
        size_t from = search + (size_t)open, to;
        bool is_comment = false;

        if (open < 0)
            break;
        to = template_tag_end(html, from, &is_comment);
        if (to == 0)
            break; /* braces that are never closed are text, and so is what follows */
        search = to;
        html_scan_feed(&scan, pos, from);
        on_hole(&c, &scan, slice_make(html.p + from, to - from), is_comment);
        html_scan_hole(&scan, from, to);
        pos = to;
    }
    html_scan_feed(&scan, pos, html.n);
    anchor_end(&c);
    text_flow_deinit(&c.flow);
    buf_deinit(&c.anchor_url);
    buf_deinit(&c.anchor_text);
    buf_deinit(&c.decoded);
    return 0;
}
