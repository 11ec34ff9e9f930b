#ifndef MESSAGE_TEMPLATE_RUN_H
#define MESSAGE_TEMPLATE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "message/template_expr.h"
#include "message/template_program.h"
#include "message/value.h"

/** One level of context: the outermost, or one per body of each, with or a section. On the stack of
 * the runner; inner frames point outwards. */
struct template_frame {
    const struct template_frame *outer;
    const struct value *self;
    uint32_t block; /* index of the block operation */
    bool is_loop;
    bool is_last;
    size_t index;
    struct value key; /* loops over objects: the name; over arrays: the index */
};

/** One run of a program. Everything that input could inflate has a budget here. */
struct template_run {
    const struct template *program;
    const struct template_links *links;
    const struct value *root;
    struct arena *scratch;
    struct buf *out;
    size_t out_max;     /* `out->n` may not pass this */
    size_t scratch_max; /* nor arena_used() this */
    size_t visits_left;
    size_t size_max;       /* of any one text */
    uint32_t line, column; /* of the operation in progress */
};

/** ERR_INVALID, sub "render_failed", with the place of the operation in progress. Returns -1. */
int template_run_fail(const struct template_run *run, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Take `n` visits from the budget; -1 when it is used up. */
int template_run_charge(struct template_run *run, size_t n, struct err *err);

/** Scratch memory within the budget, or NULL with `err` filled. */
char *template_run_alloc(struct template_run *run, size_t n, struct err *err);

/** Text of a value, arrays joined by `separator`; `tmp` as for value_text(). */
int template_run_text(struct template_run *run, const struct value *v, struct slice separator,
    char *tmp, struct slice *text_r, struct err *err);

/** Value of an expression at `frame`. */
int template_eval(struct template_run *run, const struct template_frame *frame,
    const struct template_expr *expr, struct value *out_r, struct err *err);

#endif
