#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/json_scan.h"
#include "base/map.h"
#include "base/mem.h"

/*
 * Parsed JSON: the tree is cJSON's, and this is the only file that knows so. A struct json is a
 * cJSON node under another name.
 *
 * Parsing goes in three steps: json_scan() refuses whatever is not strict JSON; cJSON builds the
 * tree; check_tree() refuses what the grammar allows but nobody should rely on (duplicate names,
 * numbers that overflow). Recursion is bounded by the depth that the scanner checked.
 */

#define DEFAULT_DEPTH 32u
#define MAX_DEPTH     48u
#define DEFAULT_NODES 100000u
/* Up to this many members names are compared pairwise; beyond it through a map. */
#define FEW_MEMBERS 12

#define MAX_EXACT 9007199254740991.0 /* 2^53 - 1 */

static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;

static void
hooks_set(void)
{
    cJSON_Hooks hooks = {mem_alloc, mem_free};

    cJSON_InitHooks(&hooks);
}

static const cJSON *
node_of(const struct json *j)
{
    return (const cJSON *)(const void *)j;
}

static const struct json *
json_of(const cJSON *node)
{
    return (const struct json *)(const void *)node;
}

static const char *
duplicate_among_few(const cJSON *object)
{
    for (const cJSON *a = object->child; a != NULL; a = a->next)
        for (const cJSON *b = a->next; b != NULL; b = b->next)
            if (strcmp(a->string, b->string) == 0)
                return a->string;
    return NULL;
}

static const char *
duplicate_among_many(const cJSON *object)
{
    struct map_str *seen = map_str_create();
    const char *found = NULL;

    for (cJSON *m = object->child; m != NULL && found == NULL; m = m->next)
        if (map_str_put(seen, slice_str(m->string), m) != NULL)
            found = m->string;
    map_str_free(&seen);
    return found;
}

static int
check_tree(const cJSON *node, struct err *err)
{
    if (cJSON_IsNumber(node) && !isfinite(node->valuedouble))
        return err_sub(err, ERR_INVALID, "invalid_json", "a number is out of range");
    if (cJSON_IsObject(node)) {
        bool is_small = cJSON_GetArraySize(node) <= FEW_MEMBERS;
        const char *twice = is_small ? duplicate_among_few(node) : duplicate_among_many(node);

        if (twice != NULL)
            return err_sub(err, ERR_INVALID, "invalid_json", "duplicate name \"%.60s\"", twice);
    }
    for (const cJSON *child = node->child; child != NULL; child = child->next)
        if (check_tree(child, err) != 0)
            return -1;
    return 0;
}

struct json *
json_parse(struct slice text, unsigned max_depth, unsigned max_nodes, struct err *err)
{
    cJSON *tree;

    assert(max_depth <= MAX_DEPTH);
    pthread_once(&hooks_once, hooks_set);
    if (json_scan(text, max_depth != 0 ? max_depth : DEFAULT_DEPTH,
            max_nodes != 0 ? max_nodes : DEFAULT_NODES, err) != 0)
        return NULL;
    /* What follows the value is known to be blank, so no NUL is needed behind it. */
    tree = cJSON_ParseWithLengthOpts(text.p, text.n, NULL, 0);
    if (tree == NULL) {
        err_sub(err, ERR_INVALID, "invalid_json", "not understood");
        return NULL;
    }
    if (check_tree(tree, err) != 0) {
        cJSON_Delete(tree);
        return NULL;
    }
    return (struct json *)(void *)tree;
}

void
json_free(struct json **j)
{
    cJSON_Delete((cJSON *)(void *)*j);
    *j = NULL;
}

enum json_type
json_type(const struct json *j)
{
    switch (node_of(j)->type & 0xff) {
    case cJSON_True:
    case cJSON_False: return JSON_BOOL;
    case cJSON_Number: return JSON_NUMBER;
    case cJSON_String: return JSON_STRING;
    case cJSON_Array: return JSON_ARRAY;
    case cJSON_Object: return JSON_OBJECT;
    default: return JSON_NULL;
    }
}

bool
json_is(const struct json *j, enum json_type type)
{
    return j != NULL && json_type(j) == type;
}

const struct json *
json_get(const struct json *j, const char *name)
{
    if (!json_is(j, JSON_OBJECT))
        return NULL;
    for (const cJSON *m = node_of(j)->child; m != NULL; m = m->next)
        if (strcmp(m->string, name) == 0)
            return json_of(m);
    return NULL;
}

const struct json *
json_first(const struct json *j)
{
    if (!json_is(j, JSON_OBJECT) && !json_is(j, JSON_ARRAY))
        return NULL;
    return json_of(node_of(j)->child);
}

const struct json *
json_next(const struct json *j)
{
    return json_of(node_of(j)->next);
}

const struct json *
json_at(const struct json *j, size_t i)
{
    const struct json *element = json_is(j, JSON_ARRAY) ? json_first(j) : NULL;

    while (element != NULL && i-- > 0)
        element = json_next(element);
    return element;
}

size_t
json_count(const struct json *j)
{
    size_t n = 0;

    for (const struct json *c = json_first(j); c != NULL; c = json_next(c))
        n++;
    return n;
}

struct slice
json_name(const struct json *j)
{
    return slice_str(node_of(j)->string);
}

struct slice
json_str(const struct json *j)
{
    return json_is(j, JSON_STRING) ? slice_str(node_of(j)->valuestring) : SLICE_NONE;
}

bool
json_bool(const struct json *j, bool fallback)
{
    return json_is(j, JSON_BOOL) ? cJSON_IsTrue(node_of(j)) : fallback;
}

double
json_num(const struct json *j, double fallback)
{
    return json_is(j, JSON_NUMBER) ? node_of(j)->valuedouble : fallback;
}

bool
json_int(const struct json *j, int64_t *value_r)
{
    double v = json_num(j, NAN);

    if (!(fabs(v) <= MAX_EXACT) || v != trunc(v))
        return false;
    *value_r = (int64_t)v;
    return true;
}
