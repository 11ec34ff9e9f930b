/*
 * The template language: any source compiles or is refused; what compiles renders or fails, within its
 * limits, in both modes and with the same result twice.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "message/links.h"
#include "message/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char context[] =
    "{\"a\":\"O'Hara "
    "<b>&\",\"n\":3,\"d\":0.5,\"list\":[1,[2,3],{\"x\":\"y\"},null],\"day\":\"2026-05-15\","
    "\"o\":{\"k\":\"v\",\"deep\":{\"er\":[{}]}},\"t\":true,\"contact\":{\"timezone\":\"Asia/"
    "Tokyo\"}}";

static const struct template_limits limits = {.max_output_bytes = 20000, .max_visits = 5000};

static void
run(const struct template *t, const struct value *root, struct arena *scratch, struct buf *out)
{
    struct err err;

    buf_clear(out);
    if (template_render(t, root, NULL, &limits, scratch, out, &err) != 0)
        buf_clear(out);
    if (out->n > limits.max_output_bytes)
        abort();
}

static void
compile_and_run(
    struct slice source, enum template_mode mode, const struct value *root, struct arena *scratch)
{
    struct buf once = BUF_INIT, twice = BUF_INIT;
    const struct slice *paths;
    struct err err;
    struct template *t = template_compile(source, mode, &err);

    if (t == NULL) {
        if (err.code != ERR_INVALID)
            abort();
        return;
    }
    for (size_t i = template_paths(t, &paths); i-- > 0;) {
        if (paths[i].n > source.n)
            abort();
    }
    run(t, root, scratch, &once);
    run(t, root, scratch, &twice);
    if (!slice_eq(buf_slice(&once), buf_slice(&twice)))
        abort();
    buf_deinit(&once);
    buf_deinit(&twice);
    template_free(&t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json *json = json_parse(slice_str(context), 0, 0, NULL);
    struct arena *arena = arena_create(0), *scratch = arena_create(0);
    struct value root;

    value_from_json(arena, json, &root);
    compile_and_run(slice_make(data, size), TEMPLATE_HTML, &root, scratch);
    arena_reset(scratch);
    compile_and_run(slice_make(data, size), TEMPLATE_TEXT, &root, scratch);
    arena_free(&scratch);
    arena_free(&arena);
    json_free(&json);
    return 0;
}
