/*
 * A parsed segment as a thing: its canonical form and hash, and what it demands. The canonical form is
 * what is stored and what a confirmation is bound to, so equal segments must give equal bytes.
 */
#include "audience/segment.h"

#include "base/bsonx.h"
#include "base/mem.h"
#include "model/digest.h"
#include "audience/segment_internal.h"

void
segment_free(struct segment **s)
{
    if (*s == NULL)
        return;
    bson_destroy((*s)->filter);
    arena_free(&(*s)->arena);
    mem_free(*s);
    *s = NULL;
}

struct segment *
segment_default(void)
{
    return segment_parse_text(
        SLICE_LIT("{\"filters\":[{\"kind\":\"subscriptionStatus\",\"equals\":\"subscribed\"}]}"),
        NULL, NULL);
}

bool
segment_requires_subscribed(const struct segment *s)
{
    return s->plan.is_consent;
}

const struct segment_plan *
segment_plan(const struct segment *s)
{
    return &s->plan;
}

/* ---- canonical form -------------------------------------------------------------------------- */

static void
add_value(bson_t *doc, const char *key, const struct segment_value *v)
{
    switch (v->type) {
    case SEGMENT_NULL: bson_append_null(doc, key, -1); return;
    case SEGMENT_BOOL: bsonx_add_bool(doc, key, v->b); return;
    case SEGMENT_INT: bsonx_add_i64(doc, key, v->i); return;
    case SEGMENT_DOUBLE: bson_append_double(doc, key, -1, v->d); return;
    case SEGMENT_STRING: bsonx_add_str(doc, key, v->s); return;
    }
}

static void add_nodes(bson_t *doc, const struct segment_node *nodes, size_t n);

static void
add_node(bson_t *doc, const struct segment_node *n)
{
    bson_t sub;
    char num[16];
    const char *key;

    bsonx_add_str(doc, "kind", slice_str(segment_kind_name(n->kind)));
    switch (n->kind) {
    case SEGMENT_FIELD_EQUALS:
        bsonx_add_str(doc, "field", slice_str(n->path));
        add_value(doc, "value", &n->values[0]);
        return;
    case SEGMENT_FIELD_IN:
        bsonx_add_str(doc, "field", slice_str(n->path));
        bson_append_array_begin(doc, "values", -1, &sub);
        for (size_t i = 0; i < n->n_values; i++) {
            bson_uint32_to_string((uint32_t)i, &key, num, sizeof(num));
            add_value(&sub, key, &n->values[i]);
        }
        bson_append_array_end(doc, &sub);
        return;
    case SEGMENT_FIELD_EXISTS: bsonx_add_str(doc, "field", slice_str(n->path)); return;
    case SEGMENT_HAS_TAG:
    case SEGMENT_NOT_HAS_TAG: bsonx_add_str(doc, "tag", n->values[0].s); return;
    case SEGMENT_STATUS:
        bsonx_add_str(doc, "equals", slice_str(subscription_status_name(n->status)));
        return;
    case SEGMENT_ANY: add_nodes(doc, n->kids, n->n_kids); return;
    case SEGMENT_NOT:
        bson_append_document_begin(doc, "filter", -1, &sub);
        add_node(&sub, n->kids);
        bson_append_document_end(doc, &sub);
        return;
    case SEGMENT_KINDS: return;
    }
}

static void
add_nodes(bson_t *doc, const struct segment_node *nodes, size_t n)
{
    bson_t list, sub;
    char num[16];
    const char *key;

    bson_append_array_begin(doc, "filters", -1, &list);
    for (size_t i = 0; i < n; i++) {
        bson_uint32_to_string((uint32_t)i, &key, num, sizeof(num));
        bson_append_document_begin(&list, key, -1, &sub);
        add_node(&sub, &nodes[i]);
        bson_append_document_end(&list, &sub);
    }
    bson_append_array_end(doc, &list);
}

void
segment_to_bson(const struct segment *s, bson_t *out)
{
    add_nodes(out, s->filters, s->n_filters);
}

void
segment_write_json(struct json_writer *w, const char *name, const struct segment *s)
{
    bson_t doc;

    bson_init(&doc);
    segment_to_bson(s, &doc);
    bsonx_to_json(w, name, &doc);
    bson_destroy(&doc);
}

void
segment_hash(const struct segment *s, char out[65])
{
    bson_t doc;

    bson_init(&doc);
    segment_to_bson(s, &doc);
    digest_hex(bsonx_bytes(&doc), out);
    bson_destroy(&doc);
}
