/*
 * Migration files to schema. A file is {"steps": [...]}, each step one of
 *   {"collection": name}
 *   {"index": {"collection", "name", "keys": {path: 1 | -1}, "unique"?: bool, "partial"?: filter}}
 *   {"typed": "sends" | "runs" | "instances"}
 * Anything else is refused, so that a slip in a file stops the build's tests and not a migration.
 */
#include "store/schema.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "store/filter.h"
#include "store/value.h"

struct builder {
    struct schema *s;
    struct arena *a;
    struct err *err;
};

static bool
is_name(struct slice s, size_t max)
{
    if (s.n == 0 || s.n > max || !(s.p[0] >= 'a' && s.p[0] <= 'z'))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                c == '_'))
            return false;
    }
    return true;
}

/* ---- the filter of a partial index, from JSON ------------------------------------------------- */

static int json_to_bson(const struct json *j, bool is_array, bson_t *out, struct err *err);

static int
append_json(bson_t *out, const char *key, const struct json *j, struct err *err)
{
    struct slice s;
    int64_t i;
    bson_t sub;
    int rc;

    switch (json_type(j)) {
    case JSON_NULL: bson_append_null(out, key, -1); return 0;
    case JSON_BOOL: bson_append_bool(out, key, -1, json_bool(j, false)); return 0;
    case JSON_STRING:
        s = json_str(j);
        bson_append_utf8(out, key, -1, s.n > 0 ? s.p : "", (int)s.n);
        return 0;
    case JSON_NUMBER:
        if (!json_int(j, &i))
            return err_set(err, ERR_INVALID, "a number with a fraction");
        bson_append_int64(out, key, -1, i);
        return 0;
    case JSON_OBJECT:
        bson_append_document_begin(out, key, -1, &sub);
        rc = json_to_bson(j, false, &sub, err);
        bson_append_document_end(out, &sub);
        return rc;
    case JSON_ARRAY:
        bson_append_array_begin(out, key, -1, &sub);
        rc = json_to_bson(j, true, &sub, err);
        bson_append_array_end(out, &sub);
        return rc;
    }
    return -1;
}

static int
json_to_bson(const struct json *j, bool is_array, bson_t *out, struct err *err)
{
    unsigned i = 0;
    char key[128];

    for (const struct json *m = json_first(j); m != NULL; m = json_next(m), i++) {
        if (is_array)
            snprintf(key, sizeof(key), "%u", i);
        else
            snprintf(key, sizeof(key), "%.*s", SLICE_FMT(json_name(m)));
        if (append_json(out, key, m, err) != 0)
            return -1;
    }
    return 0;
}

/* Comparisons joined by "and": what every driver can put into an index. $exists is left out, since an
 * index cannot tell null from missing. */
static bool
is_plain_condition(const struct filter *f)
{
    switch (f->op) {
    case FILTER_AND:
        for (size_t i = 0; i < f->n_kids; i++) {
            if (!is_plain_condition(f->kids[i]))
                return false;
        }
        return f->n_kids > 0;
    case FILTER_EQ:
    case FILTER_LT:
    case FILTER_LTE:
    case FILTER_GT:
    case FILTER_GTE: return true;
    default: return false;
    }
}

static int
set_partial(struct builder *b, struct schema_index *index, const struct json *j)
{
    bson_t built = BSON_INITIALIZER, *kept;
    uint8_t *data;
    int rc;

    if (j == NULL)
        return 0;
    rc = json_to_bson(j, false, &built, b->err);
    data = arena_alloc(b->a, built.len);
    memcpy(data, bson_get_data(&built), built.len);
    kept = value_alloc(b->a, 1, sizeof(*kept));
    bson_init_static(kept, data, built.len);
    bson_destroy(&built);
    index->partial = kept;
    if (rc == 0 && (index->in_index = filter_compile(kept, b->a, b->err)) == NULL)
        rc = -1;
    if (rc == 0 && !is_plain_condition(index->in_index))
        rc = err_set(b->err, ERR_INVALID, "partial takes comparisons joined by and");
    return rc;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static struct schema_coll *
find_coll(const struct schema *s, struct slice name)
{
    for (unsigned i = 0; i < s->n_colls; i++) {
        if (slice_eq_str(name, s->colls[i].name))
            return &s->colls[i];
    }
    return NULL;
}

static int
add_collection(struct builder *b, const struct json *j, struct schema_step *step)
{
    struct schema *s = b->s;
    struct slice name = json_str(j);
    struct schema_coll *grown;

    if (!is_name(name, 40) || find_coll(s, name) != NULL)
        return err_set(b->err, ERR_INVALID, "bad or repeated collection name");
    grown = arena_array(b->a, s->n_colls + 1, sizeof(*grown));
    if (s->n_colls > 0)
        memcpy(grown, s->colls, s->n_colls * sizeof(*grown));
    s->colls = grown;
    s->colls[s->n_colls++] = (struct schema_coll){.name = arena_cstr(b->a, name)};
    step->kind = STEP_COLLECTION;
    step->name = s->colls[s->n_colls - 1].name;
    return 0;
}

static int
set_keys(struct builder *b, struct schema_index *index, const struct json *keys)
{
    for (const struct json *k = json_first(keys); k != NULL; k = json_next(k)) {
        int64_t direction;
        char *path = arena_cstr(b->a, json_name(k));

        if (index->n_keys == SCHEMA_INDEX_KEYS_MAX)
            return err_set(b->err, ERR_INVALID, "more than %d keys", SCHEMA_INDEX_KEYS_MAX);
        if (filter_check_path(path, b->err) != 0)
            return -1;
        if (!json_int(k, &direction) || (direction != 1 && direction != -1))
            return err_set(b->err, ERR_INVALID, "a key's direction is 1 or -1");
        index->keys[index->n_keys++] = (struct schema_key){path, (int)direction};
    }
    return index->n_keys > 0 ? 0 : err_set(b->err, ERR_INVALID, "an index needs keys");
}

static int
add_index(struct builder *b, const struct json *j, struct schema_step *step)
{
    struct schema_index *index = arena_zalloc(b->a, sizeof(*index));
    struct schema_coll *coll = find_coll(b->s, json_str(json_get(j, "collection")));
    struct slice name = json_str(json_get(j, "name"));
    const struct schema_index **grown;

    if (coll == NULL || !is_name(name, 60))
        return err_set(b->err, ERR_INVALID, "index without a known collection or a name");
    for (unsigned i = 0; i < coll->n_indexes; i++) {
        if (slice_eq_str(name, coll->indexes[i]->name))
            return err_set(b->err, ERR_INVALID, "repeated index name");
    }
    index->coll = coll->name;
    index->name = arena_cstr(b->a, name);
    index->is_unique = json_bool(json_get(j, "unique"), false);
    if (set_keys(b, index, json_get(j, "keys")) != 0 ||
        set_partial(b, index, json_get(j, "partial")) != 0)
        return -1;
    grown = arena_array(b->a, coll->n_indexes + 1, sizeof(*grown));
    if (coll->n_indexes > 0)
        memcpy(grown, coll->indexes, coll->n_indexes * sizeof(*grown));
    grown[coll->n_indexes++] = index;
    coll->indexes = grown;
    step->kind = STEP_INDEX;
    step->name = index->name;
    step->index = index;
    return 0;
}

static int
add_step(struct builder *b, const struct json *j, struct schema_step *step)
{
    const struct json *v;

    if (json_count(j) != 1)
        return err_set(b->err, ERR_INVALID, "a step is an object with one member");
    if ((v = json_get(j, "collection")) != NULL)
        return add_collection(b, v, step);
    if ((v = json_get(j, "index")) != NULL)
        return add_index(b, v, step);
    if ((v = json_get(j, "typed")) != NULL && is_name(json_str(v), 40)) {
        step->kind = STEP_TYPED;
        step->name = arena_cstr(b->a, json_str(v));
        return 0;
    }
    return err_set(b->err, ERR_INVALID, "unknown step");
}

static int
add_migration(struct builder *b, const struct schema_source *src, struct schema_migration *m)
{
    struct json *j = json_parse(src->text, 0, 0, b->err);
    const struct json *steps = json_get(j, "steps");
    uint64_t number = 0;
    int rc = 0;

    if (j == NULL)
        return -1;
    if (!slice_u64(slice_make(src->file, 4), &number) || !json_is(steps, JSON_ARRAY)) {
        rc = err_set(b->err, ERR_INVALID, "needs a number in its name and an array \"steps\"");
    } else {
        m->number = (unsigned)number;
        m->name = src->file;
        m->steps = arena_array(b->a, json_count(steps) + 1, sizeof(*m->steps));
        memset(m->steps, 0, (json_count(steps) + 1) * sizeof(*m->steps));
    }
    for (const struct json *s = json_first(steps); rc == 0 && s != NULL; s = json_next(s)) {
        if ((rc = add_step(b, s, &m->steps[m->n_steps])) != 0)
            err_prefix(b->err, "step %u", m->n_steps + 1);
        else
            m->n_steps++;
    }
    json_free(&j);
    return rc;
}

struct schema *
schema_build(const struct schema_source *sources, size_t n, struct arena *a, struct err *err)
{
    struct builder b = {arena_zalloc(a, sizeof(struct schema)), a, err};

    b.s->migrations = arena_array(a, n + 1, sizeof(*b.s->migrations));
    memset(b.s->migrations, 0, (n + 1) * sizeof(*b.s->migrations));
    for (size_t i = 0; i < n; i++) {
        struct schema_migration *m = &b.s->migrations[i];

        if (add_migration(&b, &sources[i], m) != 0 ||
            (i > 0 && m->number <= m[-1].number &&
                err_set(err, ERR_INVALID, "numbers must rise") != 0)) {
            err_prefix(err, "migration %s", sources[i].file);
            return NULL;
        }
        b.s->n_migrations++;
    }
    return b.s;
}

const struct schema *
schema_embedded(struct arena *a, struct err *err)
{
    return schema_build(schema_sources, schema_n_sources, a, err);
}

const struct schema_coll *
schema_coll_get(const struct schema *s, const char *name)
{
    return find_coll(s, slice_str(name));
}

unsigned
schema_version(const struct schema *s)
{
    return s->n_migrations > 0 ? s->migrations[s->n_migrations - 1].number : 0;
}
