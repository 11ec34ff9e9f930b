#include "api/rate.h"

#include "base/map.h"
#include "base/mem.h"

/*
 * Token buckets in whole numbers: a bucket holds sixty-thousandths of a token, so that a rate per
 * minute adds exactly `per_minute` units each millisecond and nothing is lost to rounding.
 */

#define UNITS    60000
#define SWEEP_MS 1000

struct bucket {
    int64_t units;
    int64_t at_ms;
};

struct rate_table {
    struct map_str *names;
    int64_t per_minute, full_units;
    size_t max_names;
    int64_t swept_at_ms; /* last walk over all names */
};

struct rate_table *
rate_table_create(unsigned per_minute, unsigned burst, size_t max_names)
{
    struct rate_table *t = mem_zalloc(sizeof *t);

    t->names = map_str_create();
    t->per_minute = per_minute > 0 ? per_minute : 1;
    t->full_units = (int64_t)burst * UNITS;
    t->max_names = max_names;
    t->swept_at_ms = INT64_MIN / 2;
    return t;
}

void
rate_table_free(struct rate_table **t)
{
    struct slice name;
    void *bucket;
    size_t it = 0;

    if (*t == NULL)
        return;
    while (map_str_next((*t)->names, &it, &name, &bucket))
        mem_free(bucket);
    map_str_free(&(*t)->names);
    mem_free(*t);
    *t = NULL;
}

static int64_t
units_at(const struct rate_table *t, const struct bucket *b, int64_t now_ms)
{
    int64_t passed = now_ms > b->at_ms ? now_ms - b->at_ms : 0;

    if (passed >= (t->full_units - b->units) / t->per_minute)
        return t->full_units;
    return b->units + passed * t->per_minute;
}

static int64_t
wait_for_token(const struct rate_table *t, int64_t units)
{
    if (units >= UNITS)
        return 0;
    return (UNITS - units + t->per_minute - 1) / t->per_minute;
}

/** Forget names whose bucket is full again. */
static void
forget_full(struct rate_table *t, int64_t now_ms)
{
    struct map_str *kept = map_str_create();
    struct slice name;
    void *value;
    size_t it = 0;

    t->swept_at_ms = now_ms;
    while (map_str_next(t->names, &it, &name, &value)) {
        if (units_at(t, value, now_ms) >= t->full_units)
            mem_free(value);
        else
            map_str_put(kept, name, value);
    }
    map_str_free(&t->names);
    t->names = kept;
}

int64_t
rate_table_peek(const struct rate_table *t, struct slice name, int64_t now_ms)
{
    const struct bucket *b = map_str_get(t->names, name);

    return b != NULL ? wait_for_token(t, units_at(t, b, now_ms)) : 0;
}

int64_t
rate_table_take(struct rate_table *t, struct slice name, int64_t now_ms)
{
    struct bucket *b = map_str_get(t->names, name);
    int64_t wait_ms;

    if (b == NULL) {
        if (map_str_count(t->names) >= t->max_names && now_ms - t->swept_at_ms >= SWEEP_MS)
            forget_full(t, now_ms);
        if (map_str_count(t->names) >= t->max_names)
            return wait_for_token(t, 0);
        b = mem_zalloc(sizeof *b);
        *b = (struct bucket){t->full_units, now_ms};
        map_str_put(t->names, name, b);
    }
    b->units = units_at(t, b, now_ms);
    if (now_ms > b->at_ms)
        b->at_ms = now_ms;
    if ((wait_ms = wait_for_token(t, b->units)) == 0)
        b->units -= UNITS;
    return wait_ms;
}
