/*
 * Link tables: any HTML compiles or is refused; without expressions and with nothing tracked the
 * output is the source; every static target is a URL that may be redirected to; and no href comes out
 * that runs a script.
 */
#include <stdint.h>
#include <stdlib.h>

#include "message/links.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
on_click(uint32_t ordinal, struct buf *out, void *arg)
{
    const struct link_table *table = arg;

    if (ordinal >= table->n_links || table->links[ordinal].kind != LINK_STATIC)
        abort();
    buf_append_str(out, "https://m.example.com/c");
}

static void
on_click_dynamic(uint32_t ordinal, struct slice target, struct buf *out, void *arg)
{
    const struct link_table *table = arg;

    if (ordinal >= table->n_links || table->links[ordinal].kind != LINK_DYNAMIC ||
        !links_is_http_url(target))
        abort();
    buf_append_str(out, "https://m.example.com/d");
}

static void
on_open(struct buf *out, void *arg)
{
    (void)arg;
    buf_append_str(out, "https://m.example.com/o");
}

static void
check(struct slice html, bool track, const struct value *root, struct arena *scratch)
{
    const struct link_table *table = NULL;
    struct buf out = BUF_INIT;
    struct err err;
    struct template *t = links_compile_html(html, track, track, &table, &err);
    struct template_links links = {
        .click = on_click, .click_dynamic = on_click_dynamic, .open = on_open};

    if (t == NULL)
        return;
    links.arg = (void *)(uintptr_t)table;
    for (size_t i = 0; i < table->n_links; i++) {
        if (table->links[i].kind == LINK_STATIC && !links_is_http_url(table->links[i].url))
            abort();
    }
    if (template_render(t, root, track ? &links : NULL, NULL, scratch, &out, &err) == 0 && !track &&
        slice_find(html, SLICE_LIT("{{")) < 0 && !slice_eq(buf_slice(&out), html))
        abort();
    buf_deinit(&out);
    template_free(&t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct value text = {.type = VALUE_STRING, .s = {.p = "javascript:\"<>", .n = 14}};
    static const struct value_member members[] = {{{.p = "a", .n = 1}, &text}};
    static const struct value root = {.type = VALUE_OBJECT, .object = {members, 1}};
    struct slice html = slice_make(data, size);
    struct arena *scratch = arena_create(0);
    struct buf with_preheader = BUF_INIT;

    check(html, true, &root, scratch);
    check(html, false, &root, scratch);
    links_insert_preheader(html, &with_preheader);
    check(buf_slice(&with_preheader), true, &root, scratch);
    buf_deinit(&with_preheader);
    arena_free(&scratch);
    return 0;
}
