/*
 * Where links stand in an HTML source.
 *
 * Two readers share the work. Our scanner knows template expressions and gives the exact place of every
 * attribute value, also of two hrefs in alternative branches of one tag. The HTML parser knows which
 * tags become elements. It gets a copy in which expressions are masked by filler of the same length,
 * so its source positions are ours: an <a> is a link when both say so.
 *
 * Filler: blanks between tags and attributes and inside quoted values; letters where a blank would end
 * a name or a value.
 */
#include "message/links_find.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "message/html_scan.h"
#include "message/html_tree.h"
#include "message/template_token.h"

struct finder {
    struct slice html;
    struct links_found *found;
    size_t n_tags;
    size_t tag_attrs; /* attributes of the tag in progress */
    size_t tag_hrefs; /* hrefs of the tag in progress: the last ones of the list */
    bool tag_notrack;
    bool is_too_complex;
};

/* The parser's time may grow with their squares. */
#define TAGS_MAX  50000
#define ATTRS_MAX 256

static void
on_attr(const struct html_attr *attr, void *arg)
{
    struct finder *f = arg;
    struct links_found *found = f->found;

    if (++f->tag_attrs > ATTRS_MAX)
        f->is_too_complex = true;
    if (slice_ieq(attr->name, SLICE_LIT("data-mailshot-notrack")) ||
        slice_ieq(attr->name, SLICE_LIT("data-mailer-notrack"))) {
        if (slice_ieq(slice_make(f->html.p + attr->from, attr->to - attr->from), SLICE_LIT("true")))
            f->tag_notrack = true;
        return;
    }
    if (!attr->has_value || !slice_ieq(attr->name, SLICE_LIT("href")))
        return;
    if (found->n == found->cap) {
        found->cap = found->cap > 0 ? found->cap * 2 : 32;
        found->hrefs = mem_realloc(found->hrefs, found->cap * sizeof(*found->hrefs));
    }
    found->hrefs[found->n++] = (struct links_href){.from = attr->from,
        .to = attr->to,
        .is_quoted = attr->quote != 0,
        .has_hole = attr->has_hole};
    f->tag_hrefs++;
}

static void
on_body_tag(struct links_found *found, const struct html_tag *tag)
{
    bool is_body = slice_ieq(tag->name, SLICE_LIT("body"));

    if (is_body && tag->is_end)
        found->before_body_end = tag->from;
    else if (is_body && found->behind_body == SIZE_MAX)
        found->behind_body = tag->to;
    else if (tag->is_end && found->behind_head == SIZE_MAX &&
             slice_ieq(tag->name, SLICE_LIT("head")))
        found->behind_head = tag->to;
}

static void
on_tag(const struct html_tag *tag, void *arg)
{
    struct finder *f = arg;
    struct links_found *found = f->found;
    bool is_link = !tag->is_end && (slice_ieq(tag->name, SLICE_LIT("a")) ||
                                       slice_ieq(tag->name, SLICE_LIT("area")));

    if (++f->n_tags > TAGS_MAX)
        f->is_too_complex = true;
    on_body_tag(found, tag);
    if (!is_link)
        found->n -= f->tag_hrefs;
    for (size_t i = found->n - (is_link ? f->tag_hrefs : 0); i < found->n; i++) {
        found->hrefs[i].tag_from = tag->from;
        found->hrefs[i].is_notrack = f->tag_notrack;
    }
    f->tag_attrs = f->tag_hrefs = 0;
    f->tag_notrack = false;
}

static char
filler(const struct html_scan *scan, char next)
{
    switch (scan->state) {
    case HTML_ATTR_NAME:
    case HTML_BEFORE_VALUE:
    case HTML_VALUE_BARE: return 'x';
    case HTML_BEFORE_ATTR:
    case HTML_AFTER_HOLE: return next == '=' ? 'x' : ' ';
    default: return ' ';
    }
}

/* Run the scanner over everything; `mask` becomes the source without expressions. */
static int
scan_source(struct finder *f, char *mask, struct err *err)
{
    struct html_events events = {.attr = on_attr, .tag = on_tag, .arg = f};
    struct template_tokens tokens;
    struct html_scan scan;
    int rc;

    if (f->html.n > 0)
        memcpy(mask, f->html.p, f->html.n);
    rc = template_tokens_scan(f->html, &tokens, err);
    html_scan_init(&scan, f->html.p, &events);
    for (size_t i = 0; rc == 0 && i < tokens.n && !f->is_too_complex; i++) {
        const struct template_token *token = &tokens.items[i];

        if (token->kind == TOKEN_TEXT) {
            html_scan_feed(&scan, token->from, token->to);
            continue;
        }
        memset(mask + token->from,
            filler(&scan, token->to < f->html.n ? f->html.p[token->to] : ' '),
            token->to - token->from);
        html_scan_hole(&scan, token->from, token->to);
    }
    template_tokens_deinit(&tokens);
    f->found->n -= f->tag_hrefs; /* of a tag that never ended */
    if (rc == 0 && f->is_too_complex)
        rc = err_sub(err, ERR_INVALID, "html_too_complex",
            "more than %d tags, or %d attributes in one of them", TAGS_MAX, ATTRS_MAX);
    return rc;
}

static int
compare_offsets(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* Ask the parser which of the <a> tags found are elements. */
static int
confirm_anchors(struct links_found *found, struct slice mask, struct err *err)
{
    size_t *offsets, n;
    int rc;

    if (found->n == 0)
        return 0;
    rc = html_tree_anchors(mask, &offsets, &n, err);
    for (size_t i = 0; i < found->n && n > 0; i++)
        found->hrefs[i].is_anchor = bsearch(&found->hrefs[i].tag_from, offsets, n, sizeof(*offsets),
                                        compare_offsets) != NULL;
    mem_free(offsets);
    return rc;
}

int
links_find(struct slice html, struct links_found *found_r, struct err *err)
{
    struct finder *f = mem_zalloc(sizeof(*f));
    char *mask = mem_alloc(html.n + 1);
    int rc;

    memset(found_r, 0, sizeof(*found_r));
    found_r->behind_body = found_r->behind_head = found_r->before_body_end = SIZE_MAX;
    f->html = html;
    f->found = found_r;
    mask[html.n] = '\0';
    rc = scan_source(f, mask, err);
    if (rc == 0)
        rc = confirm_anchors(found_r, slice_make(mask, html.n), err);
    mem_free(mask);
    mem_free(f);
    return rc;
}

void
links_found_deinit(struct links_found *found)
{
    mem_free(found->hrefs);
    memset(found, 0, sizeof(*found));
}
