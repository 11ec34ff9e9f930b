#ifndef SUPPORT_TEMPLATE_WORLD_H
#define SUPPORT_TEMPLATE_WORLD_H

#include <stddef.h>

#include "base/err.h"
#include "message/links.h"
#include "message/template.h"

/** What a test renders with: a context from JSON text, and everything a run needs. */
struct template_world {
    struct json *json;
    struct arena *arena, *scratch;
    struct value root;
    struct buf out;
    struct err err;
};

/** `context` is a JSON object; the test fails when it is not. */
void template_world_init(struct template_world *w, const char *context);
void template_world_deinit(struct template_world *w);

/** Compile and run; the output, valid until the next call, or NULL with `w->err` filled. */
const char *template_world_render(struct template_world *w, const char *source,
    enum template_mode mode, const struct template_links *links);
/** The same for a program that exists already. */
const char *template_world_run(
    struct template_world *w, const struct template *t, const struct template_links *links);

/** One row: what `source` renders to. */
struct template_row {
    const char *source, *expected;
};
void template_world_check(
    struct template_world *w, enum template_mode mode, const struct template_row *rows, size_t n);

/** One row: the start of the error, and its sub-code. */
struct template_fault {
    const char *source, *sub, *text;
};
void template_world_check_faults(
    struct template_world *w, enum template_mode mode, const struct template_fault *rows, size_t n);

#endif
