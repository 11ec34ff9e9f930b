#ifndef MESSAGE_TEMPLATE_H
#define MESSAGE_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "message/value.h"

/** How output placeholders are written. */
enum template_mode {
    TEMPLATE_HTML, /* by place: text and attributes HTML-escaped (without quotes around the value, blanks
                      too); behind '?' inside an href or src value percent-encoded; triple-stash raw */
    TEMPLATE_TEXT /* never escaped: subject, preheader source, plain text */
};

/** A compiled program: immutable, shared by threads. Appends slices, allocates nothing per run but
 * from the caller's arena. */
struct template;

/**
 * Compile one part. ERR_INVALID, sub "template_syntax", text with line and column. Limits: source
 * 2 MiB, nesting 64. In HTML mode the places of placeholders are found by a tokenizer over the source
 * (text, attribute, href query, comment, style, script).
 */
struct template *template_compile(struct slice source, enum template_mode mode, struct err *err);
void template_free(struct template **t);

/** Bounds of one run. Zero members take the defaults: 2 MiB output, 100000 node visits. */
struct template_limits {
    size_t max_output_bytes;
    unsigned max_visits;
};

/** What a link rewriter writes in place of an href: see links.h. May be NULL. */
struct template_links;

/**
 * Run with `root` as the context (`contact`, `vars`, `unsubscribeUrl`, ...). Appends to `out`.
 * On failure `out` is as it was before.
 * Errors are deterministic: ERR_INVALID, sub "render_failed", text with line and column.
 */
int template_render(const struct template *t, const struct value *root,
    const struct template_links *links, const struct template_limits *limits, struct arena *scratch,
    struct buf *out, struct err *err);

/** Every path that the program reads, dotted, without block-relative ones; strings live as long as
 * the template. */
size_t template_paths(const struct template *t, const struct slice **paths_r);

#endif
