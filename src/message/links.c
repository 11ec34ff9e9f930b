/*
 * HTML with its link table, compiled once per template version.
 *
 *   source ─► links_find (where) ─► links_href (what) ─► marks ─► template_compile_marked
 *
 * The source is never rewritten: a link is a mark over the bytes of its href, and the program appends
 * the URL in place of those bytes. So everything the author wrote outside hrefs leaves as it came in.
 */
#include "message/links.h"

#include <string.h>

#include "base/mem.h"
#include "message/links_find.h"
#include "message/links_href.h"
#include "message/template_program.h"
#include "message/template_token.h"

struct link_entry {
    enum link_kind kind;
    size_t url_from, url_n; /* in `urls` */
};

struct builder {
    struct slice html;
    bool track_clicks, track_opens;
    struct links_found found;
    struct template_mark *marks; /* room for every href and the pixel */
    size_t n_marks;
    struct link_entry *links;
    size_t n_links, n_inert;
    struct buf urls;
};

static int
bad_link(const struct builder *b, size_t at, const char *what, struct err *err)
{
    uint32_t line = 1, column = 1;

    for (size_t i = 0; i < at; i++) {
        if (b->html.p[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)b->html.p[i] & 0xC0) != 0x80) {
            column++;
        }
    }
    return err_sub(err, ERR_INVALID, "bad_link", "line %u, column %u: %s", line, column, what);
}

static struct template_mark *
mark_add(struct builder *b, enum template_mark_kind kind, size_t from, size_t to)
{
    struct template_mark *mark = &b->marks[b->n_marks++];

    *mark = (struct template_mark){.kind = kind, .from = from, .to = to, .ordinal = LINK_NONE};
    return mark;
}

/* Give a mark its place in the link table. */
static void
link_add(struct builder *b, struct template_mark *mark, enum link_kind kind, size_t url_from)
{
    mark->ordinal = (uint32_t)b->n_links;
    mark->is_tracked = true;
    b->links[b->n_links++] = (struct link_entry){kind, url_from, b->urls.n - url_from};
}

/* Does literal text of an href without quotes hold quotes, as in href={{#if x}}"a"{{/if}}? */
static bool
has_inner_quotes(struct slice value)
{
    for (size_t i = 0; i < value.n;) {
        size_t end = 0;

        if (slice_starts(slice_from(value, i), SLICE_LIT("{{")))
            end = template_tag_end(value, i, NULL);
        else if (value.p[i] == '"' || value.p[i] == '\'')
            return true;
        i = end > 0 ? end : i + 1;
    }
    return false;
}

static int
href_add(struct builder *b, const struct links_href *href, struct err *err)
{
    struct slice value = slice_make(b->html.p + href->from, href->to - href->from);
    bool is_tracked = b->track_clicks && href->is_anchor && href->is_quoted && !href->is_notrack;
    size_t url_from = b->urls.n;
    struct template_mark *mark;

    switch (links_href_classify(value, href->has_hole, &b->urls)) {
    case HREF_BAD: return bad_link(b, href->from, "a link may not run a script or hold data", err);
    case HREF_INERT: b->n_inert += href->is_anchor; break;
    case HREF_RESERVED: break;
    case HREF_STATIC:
        if (is_tracked)
            link_add(b, mark_add(b, MARK_LINK_STATIC, href->from, href->to), LINK_STATIC, url_from);
        else
            b->urls.n = url_from;
        break;
    case HREF_DYNAMIC:
        if (!href->is_quoted && has_inner_quotes(value))
            return bad_link(b, href->from, "quotes belong around the whole href", err);
        mark = mark_add(b, MARK_LINK_DYNAMIC, href->from, href->to);
        mark->is_bare = !href->is_quoted;
        if (is_tracked)
            link_add(b, mark, LINK_DYNAMIC, url_from);
        break;
    }
    return 0;
}

static int
marks_build(struct builder *b, struct err *err)
{
    size_t pixel_at = b->found.before_body_end != SIZE_MAX ? b->found.before_body_end : b->html.n;
    bool has_pixel = !b->track_opens;

    for (size_t i = 0; i < b->found.n; i++) {
        if (!has_pixel && b->found.hrefs[i].from > pixel_at) {
            mark_add(b, MARK_PIXEL, pixel_at, pixel_at);
            has_pixel = true;
        }
        if (href_add(b, &b->found.hrefs[i], err) != 0)
            return -1;
    }
    if (!has_pixel)
        mark_add(b, MARK_PIXEL, pixel_at, pixel_at);
    return 0;
}

/* Move the table into the template, which owns it from here on. */
static void
table_keep(const struct builder *b, struct template *t)
{
    struct slice urls = arena_dup(t->arena, buf_slice(&b->urls));
    struct link *links = arena_array(t->arena, b->n_links, sizeof(*links));

    for (size_t i = 0; i < b->n_links; i++) {
        const struct link_entry *entry = &b->links[i];

        links[i].kind = entry->kind;
        links[i].url = slice_make(urls.p + entry->url_from, entry->url_n);
    }
    t->table = (struct link_table){.links = links, .n_links = b->n_links, .n_inert = b->n_inert};
}

struct template *
links_compile_html(struct slice html, bool track_clicks, bool track_opens,
    const struct link_table **table_r, struct err *err)
{
    struct builder b = {.html = html, .track_clicks = track_clicks, .track_opens = track_opens};
    struct template *t = NULL;

    if (html.n > TEMPLATE_SOURCE_MAX) {
        err_sub(err, ERR_INVALID, "template_syntax", "larger than %zu bytes", TEMPLATE_SOURCE_MAX);
        return NULL;
    }
    if (links_find(html, &b.found, err) == 0) {
        b.marks = mem_array(b.found.n + 1, sizeof(*b.marks));
        b.links = mem_array(b.found.n + 1, sizeof(*b.links));
        if (marks_build(&b, err) == 0)
            t = template_compile_marked(html, TEMPLATE_HTML, b.marks, b.n_marks, err);
    }
    if (t != NULL) {
        table_keep(&b, t);
        *table_r = &t->table;
    }
    mem_free(b.marks);
    mem_free(b.links);
    buf_deinit(&b.urls);
    links_found_deinit(&b.found);
    return t;
}
