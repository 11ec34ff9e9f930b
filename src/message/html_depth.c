/*
 * How deep and how large the tree of an HTML source can get, without building it.
 *
 * A tree builder that repairs bad markup makes more of the input than stands there: elements like <b>
 * that are closed out of order are opened again in every following block, and its walks recurse. The
 * bound counts every start tag until its own end tag comes, whatever stands between, so it can only be
 * too high. Left out are void elements and those with optional end tags (p, li, td ...): each of them
 * closes its like or needs a counted element around it, so together they at most multiply the depth by
 * a small constant. A formatting element is taken off only when it is closed in order; out of order
 * the builder may keep it.
 */
#include "message/html_depth.h"

#include <string.h>

/* Copies of formatting elements that one source may cause. */
#define REOPENED_MAX 1000000

static bool
is_one_of(struct slice name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (slice_ieq(name, slice_str(names[i])))
            return true;
    }
    return false;
}

static bool
has_optional_end(struct slice name)
{
    static const char *const names[] = {"p", "li", "dd", "dt", "td", "th", "tr", "thead", "tbody",
        "tfoot", "caption", "colgroup", "option", "html", "head", "body"};

    return is_one_of(name, names, sizeof(names) / sizeof(names[0]));
}

static bool
is_formatting(struct slice name)
{
    static const char *const names[] = {"a", "b", "big", "code", "em", "font", "i", "nobr", "s",
        "small", "strike", "strong", "tt", "u"};

    return is_one_of(name, names, sizeof(names) / sizeof(names[0]));
}

void
html_depth_attr(struct html_depth *d)
{
    if (++d->n_attrs > HTML_ATTRS_MAX)
        d->is_exceeded = true;
}

static void
tag_open(struct html_depth *d, struct slice name)
{
    if (has_optional_end(name) || html_is_void(name))
        return;
    if (d->n_open == HTML_DEPTH_MAX) {
        d->is_exceeded = true;
        return;
    }
    d->open[d->n_open++] = name;
    d->n_formatting += is_formatting(name);
}

static void
tag_close(struct html_depth *d, struct slice name)
{
    size_t i = d->n_open;
    bool in_order;

    while (i > 0 && !slice_ieq(d->open[i - 1], name))
        i--;
    if (i == 0)
        return;
    in_order = i == d->n_open;
    if (is_formatting(name)) {
        if (!in_order)
            return;
        d->n_formatting--;
    }
    memmove(&d->open[i - 1], &d->open[i], (d->n_open - i) * sizeof(d->open[0]));
    d->n_open--;
}

void
html_depth_tag(struct html_depth *d, const struct html_tag *tag)
{
    d->n_attrs = 0;
    if (tag->is_end)
        tag_close(d, tag->name);
    else
        tag_open(d, tag->name);
    d->reopened += d->n_formatting;
    if (d->reopened > REOPENED_MAX)
        d->is_exceeded = true;
}
