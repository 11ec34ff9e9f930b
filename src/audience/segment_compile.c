/*
 * From the tree to what the page walk does. Top-level filters are joined by "and", so each one that
 * consists of fields and tags alone goes to the store as a clause of its own ($and, never two conditions
 * written under one key); the subscribed leaf becomes a verdict; the rest is evaluated on each page.
 */
#include "base/bsonx.h"
#include "audience/segment_internal.h"

/* ---- what a subtree looks at ----------------------------------------------------------------- */

static bool
uses_status(const struct segment_node *n)
{
    if (n->kind == SEGMENT_STATUS)
        return true;
    for (size_t i = 0; i < n->n_kids; i++) {
        if (uses_status(&n->kids[i]))
            return true;
    }
    return false;
}

static bool
uses_contact(const struct segment_node *n)
{
    if (n->path != NULL)
        return true;
    for (size_t i = 0; i < n->n_kids; i++) {
        if (uses_contact(&n->kids[i]))
            return true;
    }
    return false;
}

/* ---- the store filter ------------------------------------------------------------------------ */

/* A string that is a time stands for itself and for the date. */
static unsigned
add_operand(bson_t *list, uint32_t at, const struct segment_value *v)
{
    char num[16];
    const char *key;

    bson_uint32_to_string(at, &key, num, sizeof(num));
    switch (v->type) {
    case SEGMENT_NULL: bson_append_null(list, key, -1); break;
    case SEGMENT_BOOL: bsonx_add_bool(list, key, v->b); break;
    case SEGMENT_INT: bsonx_add_i64(list, key, v->i); break;
    case SEGMENT_DOUBLE: bson_append_double(list, key, -1, v->d); break;
    case SEGMENT_STRING:
        bsonx_add_str(list, key, v->s);
        if (!v->is_time)
            break;
        bson_uint32_to_string(at + 1, &key, num, sizeof(num));
        bson_append_date_time(list, key, -1, v->time_ms);
        return 2;
    }
    return 1;
}

static void
add_in(bson_t *clause, const struct segment_node *n)
{
    bson_t cond, list;
    uint32_t at = 0;

    bson_append_document_begin(clause, n->path, -1, &cond);
    bson_append_array_begin(&cond, "$in", -1, &list);
    for (size_t i = 0; i < n->n_values; i++)
        at += add_operand(&list, at, &n->values[i]);
    bson_append_array_end(&cond, &list);
    bson_append_document_end(clause, &cond);
}

/* One plain value: a comparison with an index has a chance. */
static void
add_compare(bson_t *clause, const struct segment_node *n, const char *op)
{
    const struct segment_value *v = &n->values[0];
    bson_t cond;

    bson_append_document_begin(clause, n->path, -1, &cond);
    switch (v->type) {
    case SEGMENT_NULL: bson_append_null(&cond, op, -1); break;
    case SEGMENT_BOOL: bsonx_add_bool(&cond, op, v->b); break;
    case SEGMENT_INT: bsonx_add_i64(&cond, op, v->i); break;
    case SEGMENT_DOUBLE: bson_append_double(&cond, op, -1, v->d); break;
    case SEGMENT_STRING: bsonx_add_str(&cond, op, v->s); break;
    }
    bson_append_document_end(clause, &cond);
}

static void
add_exists(bson_t *clause, const struct segment_node *n)
{
    bson_t cond;

    bson_append_document_begin(clause, n->path, -1, &cond);
    bsonx_add_bool(&cond, "$exists", true);
    bson_append_document_end(clause, &cond);
}

static void add_clause(bson_t *clause, const struct segment_node *n);

static void
add_clauses(bson_t *clause, const char *op, const struct segment_node *nodes, size_t n)
{
    bson_t list, sub;
    char num[16];
    const char *key;

    bson_append_array_begin(clause, op, -1, &list);
    for (size_t i = 0; i < n; i++) {
        bson_uint32_to_string((uint32_t)i, &key, num, sizeof(num));
        bson_append_document_begin(&list, key, -1, &sub);
        add_clause(&sub, &nodes[i]);
        bson_append_document_end(&list, &sub);
    }
    bson_append_array_end(clause, &list);
}

static void
add_clause(bson_t *clause, const struct segment_node *n)
{
    switch (n->kind) {
    case SEGMENT_FIELD_EQUALS:
        if (n->values[0].is_time)
            add_in(clause, n);
        else
            add_compare(clause, n, "$eq");
        return;
    case SEGMENT_FIELD_IN: add_in(clause, n); return;
    case SEGMENT_FIELD_EXISTS: add_exists(clause, n); return;
    case SEGMENT_HAS_TAG: add_compare(clause, n, "$eq"); return;
    case SEGMENT_NOT_HAS_TAG: add_compare(clause, n, "$ne"); return;
    case SEGMENT_ANY: add_clauses(clause, "$or", n->kids, n->n_kids); return;
    case SEGMENT_NOT: add_clauses(clause, "$nor", n->kids, 1); return;
    case SEGMENT_STATUS: /* never in a pushed tree */
    case SEGMENT_KINDS: return;
    }
}

/* ---- the plan -------------------------------------------------------------------------------- */

static bool
is_consent_leaf(const struct segment_node *n)
{
    return n->kind == SEGMENT_STATUS && n->status == SUBSCRIPTION_SUBSCRIBED;
}

static void
add_rest(struct segment *s, const struct segment_node *n)
{
    s->rest[s->n_rest++] = n;
    s->plan.needs_post = true;
    s->plan.needs_status = s->plan.needs_status || uses_status(n);
    s->plan.needs_documents = s->plan.needs_documents || uses_contact(n);
}

void
segment_compile(struct segment *s)
{
    bson_t list, sub;
    uint32_t n_pushed = 0;
    char num[16];
    const char *key;

    s->rest = arena_array(s->arena, s->n_filters + 1, sizeof(const struct segment_node *));
    bson_append_null(s->filter, "deletedAt", -1);
    for (size_t i = 0; i < s->n_filters; i++) {
        const struct segment_node *n = &s->filters[i];

        if (is_consent_leaf(n)) {
            s->plan.is_consent = true;
            continue;
        }
        if (uses_status(n)) {
            add_rest(s, n);
            continue;
        }
        if (n_pushed == 0)
            bson_append_array_begin(s->filter, "$and", -1, &list);
        bson_uint32_to_string(n_pushed++, &key, num, sizeof(num));
        bson_append_document_begin(&list, key, -1, &sub);
        add_clause(&sub, n);
        bson_append_document_end(&list, &sub);
    }
    if (n_pushed > 0)
        bson_append_array_end(s->filter, &list);
    s->plan.filter = s->filter;
}
