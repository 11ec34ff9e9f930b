/*
 * The border to the HTML parser.
 *
 * Its input is hostile, and it knows no limits of its own: misnested markup is repaired by copying
 * elements, and freeing a tree recurses as deep as the tree. So it allocates through us. Every block is
 * on a list and counted; past the limit the parse is left by longjmp(), and in either case all memory
 * goes by the list, without asking the library to walk its tree. Our own walk keeps an explicit stack.
 * Hence neither memory nor C stack depends on how the input is nested.
 */
#include "message/html_tree.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#include <gumbo.h>

#include "base/list.h"
#include "base/mem.h"

struct block {
    struct list node;
    size_t size_bytes;
    alignas(max_align_t) char data[];
};

struct tree_memory {
    struct list blocks;
    size_t live_bytes;
    jmp_buf exhausted;
};

struct offsets {
    size_t *items;
    size_t n, cap;
};

static void *
tree_alloc(void *arg, size_t size_bytes)
{
    struct tree_memory *m = arg;
    struct block *b;

    if (size_bytes > HTML_TREE_MAX_BYTES - m->live_bytes)
        longjmp(m->exhausted, 1);
    b = mem_alloc(sizeof(*b) + size_bytes);
    b->size_bytes = size_bytes;
    m->live_bytes += size_bytes;
    list_push_back(&m->blocks, &b->node);
    return b->data;
}

static void
tree_dealloc(void *arg, void *p)
{
    struct tree_memory *m = arg;
    struct block *b;

    if (p == NULL)
        return;
    b = (struct block *)(void *)((char *)p - offsetof(struct block, data));
    m->live_bytes -= b->size_bytes;
    list_del(&b->node);
    mem_free(b);
}

static int
compare_offsets(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* Elements that repair made twice appear twice; that is harmless to a search. */
static void
note_anchor(struct offsets *o, const GumboElement *element, struct slice html)
{
    uintptr_t at = (uintptr_t)element->original_tag.data, start = (uintptr_t)html.p;

    if (element->original_tag.length == 0 || at < start || at - start >= html.n)
        return;
    if (o->n == o->cap) {
        o->cap = o->cap > 0 ? o->cap * 2 : 32;
        o->items = mem_realloc(o->items, o->cap * sizeof(*o->items));
    }
    o->items[o->n++] = at - start;
}

static void
walk(const GumboNode *root, struct slice html, struct offsets *o)
{
    size_t cap = 64, n = 0;
    const GumboNode **stack = mem_array(cap, sizeof(*stack));

    stack[n++] = root;
    while (n > 0) {
        const GumboNode *node = stack[--n];
        const GumboVector *children = &node->v.element.children;

        if (node->type != GUMBO_NODE_ELEMENT && node->type != GUMBO_NODE_TEMPLATE)
            continue;
        if (node->v.element.tag == GUMBO_TAG_A)
            note_anchor(o, &node->v.element, html);
        if (n + children->length > cap) {
            cap = (n + children->length) * 2;
            stack = mem_realloc(stack, cap * sizeof(*stack));
        }
        for (unsigned i = 0; i < children->length; i++)
            stack[n++] = children->data[i];
    }
    mem_free(stack);
}

int
html_tree_anchors(struct slice html, size_t **offsets_r, size_t *n_r, struct err *err)
{
    struct tree_memory *m = mem_zalloc(sizeof(*m));
    struct offsets o = {0};
    GumboOptions options = kGumboDefaultOptions;
    volatile int rc = 0;

    list_init(&m->blocks);
    options.allocator = tree_alloc;
    options.deallocator = tree_dealloc;
    options.userdata = m;
    options.max_errors = 0;
    if (setjmp(m->exhausted) == 0) {
        GumboOutput *tree = gumbo_parse_with_options(&options, html.p, html.n);

        walk(tree->root, html, &o);
    } else {
        rc = err_sub(err, ERR_INVALID, "html_too_complex",
            "the markup nests elements so badly that repairing it takes too much memory");
    }
    while (!list_empty(&m->blocks))
        mem_free(LIST_ENTRY(list_pop_front(&m->blocks), struct block, node));
    mem_free(m);
    if (o.n > 1)
        qsort(o.items, o.n, sizeof(*o.items), compare_offsets);
    *offsets_r = o.items;
    *n_r = o.n;
    return rc;
}
