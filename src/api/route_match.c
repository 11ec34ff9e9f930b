#include "api/route_match.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "http/uri.h"

/*
 * Routing over one flat table. A path is a row of parts, each fixed or a parameter. Rows are kept
 * per number of parts; among those that fit, the one whose first difference is a fixed part wins,
 * which is the one with the smaller shape number (bit per part, leftmost highest, set = parameter).
 * A few dozen rows are compared per request: less than a microsecond, and no order to get wrong.
 */

struct entry {
    const struct api_route *route;
    struct slice parts[HTTP_URI_SEGMENTS]; /* without the ":" */
    size_t n_parts;
    uint32_t shape;
};

struct api_table {
    struct entry *entries;
    size_t n;
};

static void
entry_init(struct entry *e, const struct api_route *route)
{
    struct slice rest = slice_str(route->path), part;
    unsigned n_params = 0;

    assert(route->path[0] == '/' && route->handler != NULL);
    e->route = route;
    rest = slice_from(rest, 1);
    while (slice_cut(&rest, '/', &part)) {
        assert(e->n_parts < HTTP_URI_SEGMENTS);
        e->shape <<= 1;
        if (part.n > 0 && part.p[0] == ':') {
            part = slice_from(part, 1);
            e->shape |= 1;
            n_params++;
        }
        e->parts[e->n_parts++] = part;
    }
    assert(n_params <= API_PARAMS);
}

static bool
same_shape(const struct entry *a, const struct entry *b)
{
    if (strcmp(a->route->method, b->route->method) != 0 || a->n_parts != b->n_parts ||
        a->shape != b->shape)
        return false;
    for (size_t i = 0; i < a->n_parts; i++)
        if ((a->shape >> (a->n_parts - 1 - i) & 1) == 0 && !slice_eq(a->parts[i], b->parts[i]))
            return false;
    return true;
}

struct api_table *
api_table_create(const struct api_route *const *groups)
{
    struct api_table *t = mem_zalloc(sizeof *t);
    size_t n = 0;

    for (const struct api_route *const *g = groups; *g != NULL; g++)
        for (const struct api_route *r = *g; r->method != NULL; r++)
            n++;
    t->entries = mem_array(n + 1, sizeof *t->entries);
    memset(t->entries, 0, (n + 1) * sizeof *t->entries);
    for (const struct api_route *const *g = groups; *g != NULL; g++) {
        for (const struct api_route *r = *g; r->method != NULL; r++) {
            struct entry *e = &t->entries[t->n];

            entry_init(e, r);
            for (size_t i = 0; i < t->n; i++)
                assert(!same_shape(e, &t->entries[i]));
            t->n++;
        }
    }
    return t;
}

void
api_table_free(struct api_table **t)
{
    if (*t == NULL)
        return;
    mem_free((*t)->entries);
    mem_free(*t);
    *t = NULL;
}

size_t
api_table_count(const struct api_table *t)
{
    return t->n;
}

const struct api_route *
api_table_get(const struct api_table *t, size_t i)
{
    return t->entries[i].route;
}

/** Does the path fit? Parameters take one part that is not empty. */
static bool
entry_fits(const struct entry *e, const struct slice *parts, size_t n)
{
    if (e->n_parts != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool is_param = (e->shape >> (n - 1 - i) & 1) != 0;

        if (is_param ? parts[i].n == 0 : !slice_eq(parts[i], e->parts[i]))
            return false;
    }
    return true;
}

static bool
method_fits(const struct entry *e, struct slice method)
{
    return slice_eq_str(method, e->route->method) ||
           (slice_eq_str(method, "HEAD") && strcmp(e->route->method, "GET") == 0);
}

static void
add_allowed(char allow[64], const char *method)
{
    size_t n = strlen(allow);

    if (strstr(allow, method) == NULL)
        snprintf(allow + n, 64 - n, "%s%s", n > 0 ? ", " : "", method);
}

enum api_match
api_table_match(const struct api_table *t, struct slice method, const struct http_uri *uri,
    const struct api_route **route_r, struct slice params_r[API_PARAMS], char allow_r[64])
{
    const struct entry *best = NULL;
    size_t n = uri->n_segments, k = 0;

    if (n > 1 && uri->segments[n - 1].n == 0)
        n--;
    allow_r[0] = '\0';
    for (size_t i = 0; i < t->n; i++) {
        const struct entry *e = &t->entries[i];

        if (!entry_fits(e, uri->segments, n))
            continue;
        add_allowed(allow_r, e->route->method);
        if (method_fits(e, method) && (best == NULL || e->shape < best->shape))
            best = e;
    }
    if (best == NULL)
        return allow_r[0] != '\0' ? API_NO_METHOD : API_NO_PATH;
    *route_r = best->route;
    for (size_t i = 0; i < n; i++)
        if (best->shape >> (n - 1 - i) & 1)
            params_r[k++] = uri->segments[i];
    return API_MATCHED;
}
