#ifndef MESSAGE_LINKS_H
#define MESSAGE_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "message/template.h"

/**
 * The static link table of a template version, made once at publish with libgumbo from source
 * positions: author markup stays byte for byte outside the hrefs that are replaced. The ordinal of a
 * link is its place in the source, also inside {{#each}}.
 */
enum link_kind {
    LINK_STATIC, /* an absolute http(s) URL without expressions: rewritten to a click URL */
    LINK_DYNAMIC /* an href with an expression: its rendered target is signed inside the URL */
};

struct link {
    enum link_kind kind;
    struct slice url; /* LINK_STATIC: entity-decoded target, blanks inside as %20 */
};

/** Ordinal of an href that has no place in the table. */
#define LINK_NONE UINT32_MAX

/** Instrumented HTML: the source with hrefs of tracked links replaced by markers that the compiled
 * program turns into URLs, and a marker for the open pixel before the last </body>. */
struct link_table {
    const struct link *links;
    size_t n_links;
    size_t n_inert; /* hrefs that can never be tracked: mailto, tel, anchors, relative */
};

/**
 * Compile an HTML part with its link table.
 *
 * Tracked: quoted hrefs of <a> elements outside comments, script, style and other raw text. Left as
 * written: hrefs without quotes, <area>, links with data-mailshot-notrack="true" (also the spelling
 * data-mailer-notrack), anchors, mailto:, tel:, relative and protocol-relative hrefs, and an href that
 * is exactly one reserved URL expression (unsubscribeUrl, preferenceCenterUrl, viewInBrowserUrl). An
 * href whose scheme comes from an expression is checked at run time, tracked or not.
 *
 * ERR_INVALID, sub "template_syntax" as template_compile(); "bad_link": javascript:, data: or vbscript:
 * hrefs, a block that crosses the border of an href, quotes inside an href without quotes;
 * "html_too_complex": more than 50 000 tags, 256 attributes in one tag, or markup so badly nested that
 * repairing it takes more than 64 MiB. Input ≤ 2 MiB. The table lives as long as the template.
 */
struct template *links_compile_html(struct slice html, bool track_clicks, bool track_opens,
    const struct link_table **table_r, struct err *err);

/** Called by the running program to write URLs; strings are appended unescaped and escaped by the
 * program. */
struct template_links {
    /** Click URL of the static link `ordinal`. NULL leaves links as they are. */
    void (*click)(uint32_t ordinal, struct buf *out, void *arg);
    /** Click URL of a dynamic link with its rendered target (http or https, already checked). */
    void (*click_dynamic)(uint32_t ordinal, struct slice target, struct buf *out, void *arg);
    /** URL of the open pixel. NULL leaves the pixel out. */
    void (*open)(struct buf *out, void *arg);
    /** Counts a dynamic target that was no http(s) URL; its href becomes "#". `ordinal` is LINK_NONE
     * for a link outside the table. May be NULL. */
    void (*inert)(uint32_t ordinal, void *arg);
    void *arg;
};

/** Is `s` an absolute http or https URL that may stand in a Location header: scheme in any case, "//",
 * non-empty host, no control characters, blanks or backslashes, ≤ 8192 bytes (RFC 3986 §3). */
bool links_is_http_url(struct slice s);

/**
 * Append `html_source` to `out` with the hidden preheader put behind <body …> (without one: behind
 * </head>, else at the start): {{#if preheader}} a hidden block with {{preheader}} and filler that keeps
 * the body text out of the preview {{/if}}. For callers whose version has a preheader, before
 * links_compile_html(). A source that mentions preheader in an expression is copied as it is. No line
 * is added, so line numbers in errors stay right.
 */
void links_insert_preheader(struct slice html_source, struct buf *out);

/** Plain text from HTML: blocks, lists, links as "text <url>", entities decoded, 78 columns, template
 * expressions kept as opaque words. Appends to `out`. */
int links_html_to_text(struct slice html, struct buf *out, struct err *err);

#endif
