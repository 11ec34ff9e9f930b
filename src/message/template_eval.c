/*
 * Expressions to values.
 *
 * Paths never fail: what is missing is undefined. Calls evaluate their arguments onto the stack
 * (TEMPLATE_ARGS_MAX bounds them, TEMPLATE_CALLS_MAX the depth) and then ask the helper. Each value
 * computed costs a visit, so a template cannot do unbounded work with a bounded output.
 */
#include "message/template_run.h"

#include <stdarg.h>
#include <stdio.h>

#include "message/template_helper.h"
#include "message/template_token.h"
#include "message/value_text.h"

int
template_run_fail(const struct template_run *run, struct err *err, const char *fmt, ...)
{
    char text[200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return template_error(err, "render_failed", run->line, run->column, "%s", text);
}

int
template_run_charge(struct template_run *run, size_t n, struct err *err)
{
    if (n > run->visits_left)
        return template_run_fail(run, err, "the template does more work than one mail may cost");
    run->visits_left -= n;
    return 0;
}

char *
template_run_alloc(struct template_run *run, size_t n, struct err *err)
{
    size_t used = arena_used(run->scratch);

    if (used > run->scratch_max || n > run->scratch_max - used) {
        template_run_fail(run, err, "the template needs more memory than one mail may cost");
        return NULL;
    }
    return arena_alloc(run->scratch, n);
}

int
template_run_text(struct template_run *run, const struct value *v, struct slice separator,
    char *tmp, struct slice *text_r, struct err *err)
{
    size_t used = arena_used(run->scratch);
    size_t room = used < run->scratch_max ? run->scratch_max - used : 0;

    if (v->type == VALUE_STRING) {
        *text_r = v->s;
        return 0;
    }
    if (v->type == VALUE_ARRAY && template_run_charge(run, v->array.n, err) != 0)
        return -1;
    if (!value_text(
            v, separator, room < run->size_max ? room : run->size_max, tmp, run->scratch, text_r))
        return template_run_fail(run, err, "a list is larger than one mail may be");
    return 0;
}

/* The frame `up` levels above, or NULL beyond the outermost. */
static const struct template_frame *
frame_up(const struct template_frame *frame, unsigned up)
{
    while (up-- > 0 && frame != NULL)
        frame = frame->outer;
    return frame;
}

static struct value
eval_data(const struct template_frame *frame, const struct template_path *path)
{
    frame = frame_up(frame, path->up);
    while (frame != NULL && !frame->is_loop)
        frame = frame->outer;
    if (frame == NULL)
        return value_undefined;
    switch (path->base) {
    case BASE_INDEX: return value_int((int64_t)frame->index);
    case BASE_KEY: return frame->key;
    case BASE_FIRST: return (struct value){.type = VALUE_BOOL, .b = frame->index == 0};
    case BASE_LAST: return (struct value){.type = VALUE_BOOL, .b = frame->is_last};
    default: return value_undefined;
    }
}

static struct value
eval_param(const struct template_frame *frame, const struct template_path *path)
{
    while (frame != NULL && frame->block != path->block)
        frame = frame->outer;
    if (frame == NULL)
        return value_undefined;
    return path->param == 0 ? *frame->self : frame->key;
}

static struct value
eval_path(const struct template_run *run, const struct template_frame *frame,
    const struct template_path *path)
{
    struct value v = value_undefined;

    switch (path->base) {
    case BASE_THIS:
        frame = frame_up(frame, path->up);
        if (frame != NULL)
            v = *frame->self;
        break;
    case BASE_ROOT: v = *run->root; break;
    case BASE_PARAM: v = eval_param(frame, path); break;
    case BASE_UNDEFINED: break;
    case BASE_INDEX:
    case BASE_KEY:
    case BASE_FIRST:
    case BASE_LAST: v = eval_data(frame, path); break;
    }
    for (size_t i = 0; i < path->n_segments && v.type != VALUE_UNDEFINED; i++)
        v = value_member(&v, path->segments[i]);
    return v;
}

static int
eval_call(struct template_run *run, const struct template_frame *frame,
    const struct template_call *call, struct value *out_r, struct err *err)
{
    struct value args[TEMPLATE_ARGS_MAX], hash[TEMPLATE_HASH_MAX];
    struct template_args a = {
        .run = run, .call = call, .args = args, .n = call->n_args, .hash = hash};

    for (size_t i = 0; i < call->n_args; i++) {
        if (template_eval(run, frame, &call->args[i], &args[i], err) != 0)
            return -1;
    }
    for (size_t i = 0; i < call->n_hash; i++) {
        if (template_eval(run, frame, &call->hash[i].value, &hash[i], err) != 0)
            return -1;
    }
    return call->helper->fn(&a, out_r, err);
}

int
template_eval(struct template_run *run, const struct template_frame *frame,
    const struct template_expr *expr, struct value *out_r, struct err *err)
{
    if (template_run_charge(run, 1, err) != 0)
        return -1;
    switch (expr->kind) {
    case EXPR_LITERAL: *out_r = expr->literal; break;
    case EXPR_PATH: *out_r = eval_path(run, frame, &expr->path); break;
    case EXPR_CALL: return eval_call(run, frame, &expr->call, out_r, err);
    }
    return 0;
}
