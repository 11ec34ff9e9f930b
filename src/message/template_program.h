#ifndef MESSAGE_TEMPLATE_PROGRAM_H
#define MESSAGE_TEMPLATE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "message/links.h"
#include "message/template.h"
#include "message/template_escape.h"
#include "message/template_expr.h"

/** Deepest nesting of blocks; bounds the recursion of parser and runner. */
#define TEMPLATE_NESTING_MAX 64
/** Largest source, in bytes. */
#define TEMPLATE_SOURCE_MAX ((size_t)2 << 20)

/**
 * A program is a flat array of operations. Block operations are followed by their body, which ends at
 * `else_at`; the inverse branch runs from there to `end`, where the program goes on.
 */
enum template_op_kind {
    OP_TEXT,         /* append `text` */
    OP_OUTPUT,       /* append the value of `expr` */
    OP_IF,           /* body when `expr` is true */
    OP_UNLESS,       /* body when it is not */
    OP_EACH,         /* body per element */
    OP_WITH,         /* body with `expr` as context */
    OP_SECTION,      /* {{#x}}: each, with, or if, by the value */
    OP_LINK_STATIC,  /* click URL of `ordinal`; without a rewriter, `text` */
    OP_LINK_DYNAMIC, /* the body is a URL: check, then rewrite when `is_tracked` */
    OP_PIXEL         /* the open pixel, when there is a rewriter */
};

struct template_op {
    uint8_t kind;     /* enum template_op_kind */
    uint8_t escape;   /* enum template_escape: OP_OUTPUT, OP_LINK_DYNAMIC */
    bool is_inverted; /* blocks: {{^x}}, branches change places */
    bool is_tracked;  /* OP_LINK_DYNAMIC */
    uint32_t line, column;
    uint32_t else_at, end; /* blocks and OP_LINK_DYNAMIC */
    uint32_t ordinal;      /* links */
    struct slice text;
    const struct template_expr *expr;
    const struct template_expr *include_zero; /* OP_IF, OP_UNLESS; may be NULL */
};

struct template
{
    struct arena *arena; /* owns everything below and this struct */
    struct slice source;
    const struct template_op *ops;
    size_t n_ops;
    const struct slice *paths;
    size_t n_paths;
    struct link_table table;
};

/** What the link finder wants done at a place of the source. */
enum template_mark_kind { MARK_LINK_STATIC, MARK_LINK_DYNAMIC, MARK_PIXEL };

struct template_mark {
    enum template_mark_kind kind;
    size_t from, to; /* the value of an href; equal for a pixel */
    uint32_t ordinal;
    bool is_tracked;
    bool is_bare; /* the value has no quotes */
};

/**
 * Compile with marks, sorted by position and not overlapping. A dynamic link becomes a block of its
 * own, so template blocks may not cross its borders (ERR_INVALID, sub "bad_link").
 */
struct template *template_compile_marked(struct slice source, enum template_mode mode,
    const struct template_mark *marks, size_t n_marks, struct err *err);

#endif
