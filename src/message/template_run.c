/*
 * The runner: walks the operations of a program and appends to the output.
 *
 * A range of operations is run with a frame, the current context. Blocks run their body as a range of
 * their own with a new frame on the C stack, so the recursion is as deep as the blocks of the source
 * (TEMPLATE_NESTING_MAX). Nothing is allocated here but from the scratch arena and by growth of the
 * output, and every operation is charged, so a run ends however its data look.
 *
 * URLs are built at the end of the output, checked there, and replaced by their final form.
 */
#include "message/template_run.h"

#include <string.h>

#include "message/value_text.h"

#define OUTPUT_MAX_BYTES ((size_t)2 << 20)
#define VISITS_MAX       100000u
/* Scratch memory a run may take, as a multiple of the output it may make. */
#define SCRATCH_FACTOR 4

static int run_range(struct template_run *run, const struct template_frame *frame, uint32_t from,
    uint32_t to, struct err *err);

static int
append(struct template_run *run, struct slice s, enum template_escape escape, struct err *err)
{
    /* Checked before and after: a text may not make the buffer grow by more than its escaped form. */
    if (s.n > run->out_max || run->out->n > run->out_max - s.n)
        goto too_large;
    template_escape_append(run->out, s, escape);
    if (run->out->n <= run->out_max)
        return 0;
too_large:
    return template_run_fail(run, err, "the output is larger than a mail may be");
}

static int
run_output(struct template_run *run, const struct template_frame *frame,
    const struct template_op *op, struct err *err)
{
    char tmp[VALUE_TEXT_SIZE];
    struct value v;
    struct slice text;

    if (template_eval(run, frame, op->expr, &v, err) != 0 ||
        template_run_text(run, &v, SLICE_LIT(","), tmp, &text, err) != 0)
        return -1;
    return append(run, text, op->escape, err);
}

/* The branch that does not run inside the value: the body of {{^x}}, what follows {{else}}. */
static int
run_inverse(
    struct template_run *run, const struct template_frame *frame, uint32_t at, struct err *err)
{
    const struct template_op *op = &run->program->ops[at];

    if (op->is_inverted)
        return run_range(run, frame, at + 1, op->else_at, err);
    return run_range(run, frame, op->else_at, op->end, err);
}

static int
run_body(struct template_run *run, const struct template_frame *frame, uint32_t at, struct err *err)
{
    const struct template_op *op = &run->program->ops[at];

    if (op->is_inverted)
        return run_range(run, frame, op->else_at, op->end, err);
    return run_range(run, frame, at + 1, op->else_at, err);
}

static int
run_if(struct template_run *run, const struct template_frame *frame, uint32_t at, struct err *err)
{
    const struct template_op *op = &run->program->ops[at];
    struct value v, zero = value_undefined;
    bool is_true;

    if (template_eval(run, frame, op->expr, &v, err) != 0)
        return -1;
    if (op->include_zero != NULL && template_eval(run, frame, op->include_zero, &zero, err) != 0)
        return -1;
    is_true = value_opens_block(&v, value_is_truthy(&zero));
    if (op->kind == OP_UNLESS)
        is_true = !is_true;
    return is_true ? run_body(run, frame, at, err) : run_inverse(run, frame, at, err);
}

static int
run_loop(struct template_run *run, const struct template_frame *outer, uint32_t at,
    const struct value *list, struct err *err)
{
    bool is_array = list->type == VALUE_ARRAY;
    size_t n = is_array ? list->array.n : list->type == VALUE_OBJECT ? list->object.n : 0;
    struct template_frame frame = {.outer = outer, .block = at, .is_loop = true};

    if (n == 0)
        return run_inverse(run, outer, at, err);
    for (size_t i = 0; i < n; i++) {
        if (template_run_charge(run, 1, err) != 0)
            return -1;
        frame.index = i;
        frame.is_last = i + 1 == n;
        if (is_array) {
            frame.self = &list->array.items[i];
            frame.key = value_int((int64_t)i);
        } else {
            frame.self = list->object.members[i].value;
            frame.key = value_str(list->object.members[i].name);
        }
        if (run_body(run, &frame, at, err) != 0)
            return -1;
    }
    return 0;
}

/* each, with, and sections, which choose by the value. */
static int
run_scope(
    struct template_run *run, const struct template_frame *outer, uint32_t at, struct err *err)
{
    const struct template_op *op = &run->program->ops[at];
    struct template_frame frame = {.outer = outer, .block = at};
    struct value v;

    if (template_eval(run, outer, op->expr, &v, err) != 0)
        return -1;
    if (op->kind == OP_EACH || (op->kind == OP_SECTION && v.type == VALUE_ARRAY))
        return run_loop(run, outer, at, &v, err);
    if (!value_opens_block(&v, false))
        return run_inverse(run, outer, at, err);
    /* A section over a plain true value keeps the context. The frame is there all the same, so that
     * "../" counts the blocks of the source and not the types of the data. */
    frame.self = op->kind == OP_SECTION && v.type != VALUE_OBJECT ? outer->self : &v;
    return run_body(run, &frame, at, err);
}

/* Append what `write` makes as an attribute value: escaped as a whole, at the end of the output. */
static int
escape_tail(struct template_run *run, size_t mark, enum template_escape escape, struct err *err)
{
    size_t n = run->out->n - mark;
    char *copy = template_run_alloc(run, n, err);

    if (copy == NULL)
        return -1;
    if (n > 0)
        memcpy(copy, run->out->p + mark, n);
    run->out->n = mark;
    return append(run, slice_make(copy, n), escape, err);
}

static int
run_static_link(struct template_run *run, const struct template_op *op, struct err *err)
{
    size_t mark = run->out->n;

    if (run->links == NULL || run->links->click == NULL)
        return append(run, op->text, ESCAPE_NONE, err);
    run->links->click(op->ordinal, run->out, run->links->arg);
    return escape_tail(run, mark, ESCAPE_HTML, err);
}

/* Blanks inside a URL mean %20, blanks around it nothing: what browsers make of them. */
static int
url_normalise(struct template_run *run, struct slice raw, struct slice *url_r, struct err *err)
{
    size_t n = 0;
    char *copy;

    raw = slice_trim(raw);
    copy = template_run_alloc(run, raw.n * 3, err);
    if (copy == NULL)
        return -1;
    for (size_t i = 0; i < raw.n; i++) {
        if (raw.p[i] != ' ') {
            copy[n++] = raw.p[i];
            continue;
        }
        memcpy(copy + n, "%20", 3);
        n += 3;
    }
    *url_r = slice_make(copy, n);
    return 0;
}

static int
run_dynamic_link(
    struct template_run *run, const struct template_frame *frame, uint32_t at, struct err *err)
{
    const struct template_op *op = &run->program->ops[at];
    const struct template_links *links = run->links;
    size_t mark = run->out->n;
    struct slice url;

    if (run_range(run, frame, at + 1, op->end, err) != 0 ||
        url_normalise(run, slice_make(run->out->p + mark, run->out->n - mark), &url, err) != 0)
        return -1;
    run->out->n = mark;
    if (!links_is_http_url(url)) {
        if (links != NULL && links->inert != NULL)
            links->inert(op->ordinal, links->arg);
        return append(run, SLICE_LIT("#"), ESCAPE_NONE, err);
    }
    if (!op->is_tracked || links == NULL || links->click_dynamic == NULL)
        return append(run, url, op->escape, err);
    links->click_dynamic(op->ordinal, url, run->out, links->arg);
    return escape_tail(run, mark, op->escape, err);
}

static int
run_pixel(struct template_run *run, struct err *err)
{
    size_t mark;

    if (run->links == NULL || run->links->open == NULL)
        return 0;
    if (append(run, SLICE_LIT("<img src=\""), ESCAPE_NONE, err) != 0)
        return -1;
    mark = run->out->n;
    run->links->open(run->out, run->links->arg);
    if (escape_tail(run, mark, ESCAPE_HTML, err) != 0)
        return -1;
    return append(run,
        SLICE_LIT("\" width=\"1\" height=\"1\" alt=\"\" style=\"display:block;border:0\">"),
        ESCAPE_NONE, err);
}

/* Run the operation at `at`; returns the next one in `next_r`. */
static int
run_op(struct template_run *run, const struct template_frame *frame, uint32_t at, uint32_t *next_r,
    struct err *err)
{
    const struct template_op *op = &run->program->ops[at];

    *next_r = at + 1;
    if (op->kind == OP_TEXT)
        return append(run, op->text, ESCAPE_NONE, err);
    if (template_run_charge(run, 1, err) != 0)
        return -1;
    run->line = op->line;
    run->column = op->column;
    switch ((enum template_op_kind)op->kind) {
    case OP_TEXT: break;
    case OP_OUTPUT: return run_output(run, frame, op, err);
    case OP_IF:
    case OP_UNLESS: *next_r = op->end; return run_if(run, frame, at, err);
    case OP_EACH:
    case OP_WITH:
    case OP_SECTION: *next_r = op->end; return run_scope(run, frame, at, err);
    case OP_LINK_STATIC: return run_static_link(run, op, err);
    case OP_LINK_DYNAMIC: *next_r = op->end; return run_dynamic_link(run, frame, at, err);
    case OP_PIXEL: return run_pixel(run, err);
    }
    return 0;
}

static int
run_range(struct template_run *run, const struct template_frame *frame, uint32_t from, uint32_t to,
    struct err *err)
{
    while (from < to) {
        if (run_op(run, frame, from, &from, err) != 0)
            return -1;
    }
    return 0;
}

int
template_render(const struct template *t, const struct value *root,
    const struct template_links *links, const struct template_limits *limits, struct arena *scratch,
    struct buf *out, struct err *err)
{
    size_t max = limits != NULL && limits->max_output_bytes > 0 ? limits->max_output_bytes
                                                                : OUTPUT_MAX_BYTES;
    size_t visits = limits != NULL && limits->max_visits > 0 ? limits->max_visits : VISITS_MAX;
    struct template_frame frame = {.self = root, .block = UINT32_MAX};
    struct template_run run = {.program = t,
        .links = links,
        .root = root,
        .scratch = scratch,
        .out = out,
        .out_max = out->n + max,
        .scratch_max = arena_used(scratch) + max * SCRATCH_FACTOR,
        .visits_left = visits,
        .size_max = max,
        .line = 1,
        .column = 1};

    if (run_range(&run, &frame, 0, (uint32_t)t->n_ops, err) == 0)
        return 0;
    out->n = run.out_max - max; /* what was there before */
    return -1;
}
