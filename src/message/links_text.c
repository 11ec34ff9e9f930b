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

/* How far an element stands apart: 0 inline, 1 on lines of its own, 2 between empty lines. */
static unsigned
block_breaks(struct slice name)
{
    static const struct {
        const char *name;
        unsigned breaks;
    } blocks[] = {{"p", 2}, {"h1", 2}, {"h2", 2}, {"h3", 2}, {"h4", 2}, {"h5", 2}, {"h6", 2},
        {"table", 2}, {"blockquote", 2}, {"pre", 2}, {"dl", 2}, {"form", 2}, {"fieldset", 2},
        {"div", 1}, {"tr", 1}, {"dt", 1}, {"dd", 1}, {"section", 1}, {"article", 1}, {"header", 1},
        {"footer", 1}, {"main", 1}, {"nav", 1}, {"aside", 1}, {"center", 1}, {"address", 1},
        {"caption", 1}, {"figure", 1}, {"figcaption", 1}, {"body", 1}, {"html", 1}, {"option", 1}};

    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        if (slice_ieq(name, slice_str(blocks[i].name)))
            return blocks[i].breaks;
    }
    return 0;
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

static void
anchor_start(struct converter *c)
{
    anchor_end(c);
    buf_clear(&c->anchor_url);
    buf_clear(&c->anchor_text);
    html_entity_decode(c->tag_href, &c->anchor_url);
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
shown_tag(struct converter *c, const struct html_tag *tag)
{
    if (is(tag->name, "a")) {
        if (tag->is_end)
            anchor_end(c);
        else
            anchor_start(c);
    } else if (is(tag->name, "br")) {
        text_flow_newline(&c->flow);
    } else if (is(tag->name, "hr")) {
        text_flow_break(&c->flow, 2);
        text_flow_add(&c->flow, SLICE_LIT(RULE));
        text_flow_break(&c->flow, 2);
    } else if (is(tag->name, "img")) {
        image_tag(c);
    } else if (is(tag->name, "ul") || is(tag->name, "ol")) {
        list_tag(c, tag);
    } else if (is(tag->name, "li")) {
        item_tag(c, tag);
    } else if (is(tag->name, "td") || is(tag->name, "th")) {
        text_flow_blank(&c->flow);
    } else if (block_breaks(tag->name) > 0) {
        text_flow_break(&c->flow, block_breaks(tag->name));
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

    if (c->skip_depth > 0) {
        hidden_tag(c, tag);
    } else if (!tag->is_end && !html_is_void(tag->name) &&
               (c->tag_hidden || is(tag->name, "head") || is(tag->name, "template"))) {
        c->skip_name = tag->name;
        c->skip_depth = 1;
    } else if (tag->is_end || !c->tag_hidden) {
        shown_tag(c, tag);
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
