/* A context and a scratch arena for template tests, and the loops over their tables. */
#include "support/template_world.h"

#include <check.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"

void
template_world_init(struct template_world *w, const char *context)
{
    memset(w, 0, sizeof *w);
    w->json = json_parse(slice_str(context), 0, 0, &w->err);
    if (w->json == NULL)
        ck_abort_msg("context: %s", w->err.text);
    w->arena = arena_create(0);
    w->scratch = arena_create(0);
    value_from_json(w->arena, w->json, &w->root);
}

void
template_world_deinit(struct template_world *w)
{
    json_free(&w->json);
    arena_free(&w->arena);
    arena_free(&w->scratch);
    buf_deinit(&w->out);
}

const char *
template_world_run(
    struct template_world *w, const struct template *t, const struct template_links *links)
{
    buf_clear(&w->out);
    arena_reset(w->scratch);
    if (template_render(t, &w->root, links, NULL, w->scratch, &w->out, &w->err) != 0)
        return NULL;
    return buf_cstr(&w->out);
}

const char *
template_world_render(struct template_world *w, const char *source, enum template_mode mode,
    const struct template_links *links)
{
    struct template *t;
    const char *text;

    err_clear(&w->err);
    t = template_compile(slice_str(source), mode, &w->err);
    if (t == NULL)
        return NULL;
    text = template_world_run(w, t, links);
    template_free(&t);
    ck_assert_ptr_null(t);
    return text;
}

void
template_world_check(
    struct template_world *w, enum template_mode mode, const struct template_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *got = template_world_render(w, rows[i].source, mode, NULL);

        if (got == NULL)
            ck_abort_msg("%s: %s", rows[i].source, w->err.text);
        if (strcmp(got, rows[i].expected) != 0)
            ck_abort_msg(
                "%s\n  gives    [%s]\n  expected [%s]", rows[i].source, got, rows[i].expected);
    }
}

void
template_world_check_faults(
    struct template_world *w, enum template_mode mode, const struct template_fault *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *got = template_world_render(w, rows[i].source, mode, NULL);

        if (got != NULL)
            ck_abort_msg("%s: no error but [%s]", rows[i].source, got);
        ck_assert_int_eq(w->err.code, ERR_INVALID);
        if (strcmp(w->err.sub, rows[i].sub) != 0 ||
            strncmp(w->err.text, rows[i].text, strlen(rows[i].text)) != 0)
            ck_abort_msg("%s\n  fails with [%s] %s\n  expected   [%s] %s", rows[i].source,
                w->err.sub, w->err.text, rows[i].sub, rows[i].text);
    }
}
