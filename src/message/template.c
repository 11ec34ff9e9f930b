/*
 * The public face of the template engine: compile, ask, free. What happens between is in
 * template_token (source to tags), template_trim and template_place (whitespace, places),
 * template_expr (inside of a tag), template_compile (tags to operations) and template_run.
 */
#include "message/template.h"

#include "message/template_program.h"

struct template *
template_compile(struct slice source, enum template_mode mode, struct err *err)
{
    return template_compile_marked(source, mode, NULL, 0, err);
}

void
template_free(struct template **t)
{
    struct arena *arena;

    if (*t == NULL)
        return;
    arena = (*t)->arena; /* the template itself lies in it */
    *t = NULL;
    arena_free(&arena);
}

size_t
template_paths(const struct template *t, const struct slice **paths_r)
{
    *paths_r = t->paths;
    return t->n_paths;
}
