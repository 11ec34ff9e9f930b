#include "base/map.h"

#include <assert.h>
#include <endian.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"

/*
 * Open addressing with linear probing; the table size is a power of two and at most 70 % full.
 * A slot is free when its value is NULL. Deleting moves later members of the run back into the gap,
 * so there are no tombstones and a table that lives long does not decay.
 *
 * The two maps are written out apart: they differ in what a slot holds and how keys compare, and
 * the 64-bit one is on hot paths.
 */

#define FIRST_SLOTS 16

static bool
is_too_full(size_t n, size_t slots)
{
    return n * 10 >= slots * 7;
}

/* ---- 64-bit keys ---- */

struct u64_slot {
    uint64_t key;
    void *value;
};

struct map_u64 {
    struct u64_slot *slots;
    size_t mask;
    size_t n;
};

static inline size_t
u64_home(const struct map_u64 *m, uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(key ^ key >> 32) & m->mask;
}

/* The slot that holds `key`, or the free one where it would go. */
static struct u64_slot *
u64_slot_of(const struct map_u64 *m, uint64_t key)
{
    size_t i = u64_home(m, key);

    while (m->slots[i].value != NULL && m->slots[i].key != key)
        i = (i + 1) & m->mask;
    return &m->slots[i];
}

struct map_u64 *
map_u64_create(void)
{
    struct map_u64 *m = mem_zalloc(sizeof *m);

    m->slots = mem_zalloc(FIRST_SLOTS * sizeof m->slots[0]);
    m->mask = FIRST_SLOTS - 1;
    return m;
}

void
map_u64_free(struct map_u64 **m)
{
    if (*m == NULL)
        return;
    mem_free((*m)->slots);
    mem_free(*m);
    *m = NULL;
}

void *
map_u64_get(const struct map_u64 *m, uint64_t key)
{
    return u64_slot_of(m, key)->value;
}

bool
map_u64_has(const struct map_u64 *m, uint64_t key)
{
    return map_u64_get(m, key) != NULL;
}

static void
u64_grow(struct map_u64 *m)
{
    struct u64_slot *old = m->slots;
    size_t n_old = m->mask + 1;

    m->slots = mem_zalloc(2 * n_old * sizeof old[0]);
    m->mask = 2 * n_old - 1;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].value != NULL)
            *u64_slot_of(m, old[i].key) = old[i];
    mem_free(old);
}

void *
map_u64_put(struct map_u64 *m, uint64_t key, void *value)
{
    struct u64_slot *slot;
    void *before;

    assert(value != NULL);
    if (is_too_full(m->n + 1, m->mask + 1))
        u64_grow(m);
    slot = u64_slot_of(m, key);
    before = slot->value;
    m->n += before == NULL;
    *slot = (struct u64_slot){key, value};
    return before;
}

void *
map_u64_del(struct map_u64 *m, uint64_t key)
{
    struct u64_slot *slot = u64_slot_of(m, key);
    void *before = slot->value;
    size_t gap = (size_t)(slot - m->slots);

    if (before == NULL)
        return NULL;
    for (size_t i = (gap + 1) & m->mask; m->slots[i].value != NULL; i = (i + 1) & m->mask) {
        /* A member may fill the gap unless its home lies behind it. */
        if (((i - u64_home(m, m->slots[i].key)) & m->mask) >= ((i - gap) & m->mask)) {
            m->slots[gap] = m->slots[i];
            gap = i;
        }
    }
    m->slots[gap].value = NULL;
    m->n--;
    return before;
}

void
map_u64_clear(struct map_u64 *m)
{
    memset(m->slots, 0, (m->mask + 1) * sizeof m->slots[0]);
    m->n = 0;
}

size_t
map_u64_count(const struct map_u64 *m)
{
    return m->n;
}

bool
map_u64_next(const struct map_u64 *m, size_t *it, uint64_t *key_r, void **value_r)
{
    while (*it <= m->mask) {
        const struct u64_slot *slot = &m->slots[(*it)++];

        if (slot->value == NULL)
            continue;
        if (key_r != NULL)
            *key_r = slot->key;
        if (value_r != NULL)
            *value_r = slot->value;
        return true;
    }
    return false;
}

/* ---- byte strings ---- */

struct str_slot {
    uint64_t hash;
    char *key; /* owned copy */
    size_t key_n;
    void *value;
};

struct map_str {
    struct str_slot *slots;
    size_t mask;
    size_t n;
};

static struct str_slot *
str_slot_of(const struct map_str *m, uint64_t hash, struct slice key)
{
    size_t i = (size_t)hash & m->mask;

    while (m->slots[i].value != NULL) {
        const struct str_slot *s = &m->slots[i];

        if (s->hash == hash && slice_eq(slice_make(s->key, s->key_n), key))
            break;
        i = (i + 1) & m->mask;
    }
    return &m->slots[i];
}

struct map_str *
map_str_create(void)
{
    struct map_str *m = mem_zalloc(sizeof *m);

    m->slots = mem_zalloc(FIRST_SLOTS * sizeof m->slots[0]);
    m->mask = FIRST_SLOTS - 1;
    return m;
}

void
map_str_free(struct map_str **m)
{
    if (*m == NULL)
        return;
    for (size_t i = 0; i <= (*m)->mask; i++)
        if ((*m)->slots[i].value != NULL)
            mem_free((*m)->slots[i].key);
    mem_free((*m)->slots);
    mem_free(*m);
    *m = NULL;
}

void *
map_str_get(const struct map_str *m, struct slice key)
{
    return str_slot_of(m, map_hash(key), key)->value;
}

static void
str_grow(struct map_str *m)
{
    struct str_slot *old = m->slots;
    size_t n_old = m->mask + 1;

    m->slots = mem_zalloc(2 * n_old * sizeof old[0]);
    m->mask = 2 * n_old - 1;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].value != NULL)
            *str_slot_of(m, old[i].hash, slice_make(old[i].key, old[i].key_n)) = old[i];
    mem_free(old);
}

void *
map_str_put(struct map_str *m, struct slice key, void *value)
{
    uint64_t hash = map_hash(key);
    struct str_slot *slot;
    void *before;

    assert(value != NULL);
    if (is_too_full(m->n + 1, m->mask + 1))
        str_grow(m);
    slot = str_slot_of(m, hash, key);
    before = slot->value;
    if (before == NULL) {
        *slot = (struct str_slot){hash, mem_alloc(key.n), key.n, NULL};
        if (key.n != 0)
            memcpy(slot->key, key.p, key.n);
        m->n++;
    }
    slot->value = value;
    return before;
}

void *
map_str_del(struct map_str *m, struct slice key)
{
    struct str_slot *slot = str_slot_of(m, map_hash(key), key);
    void *before = slot->value;
    size_t gap = (size_t)(slot - m->slots);

    if (before == NULL)
        return NULL;
    mem_free(slot->key);
    for (size_t i = (gap + 1) & m->mask; m->slots[i].value != NULL; i = (i + 1) & m->mask) {
        if (((i - (size_t)m->slots[i].hash) & m->mask) >= ((i - gap) & m->mask)) {
            m->slots[gap] = m->slots[i];
            gap = i;
        }
    }
    m->slots[gap] = (struct str_slot){0, NULL, 0, NULL};
    m->n--;
    return before;
}

size_t
map_str_count(const struct map_str *m)
{
    return m->n;
}

bool
map_str_next(const struct map_str *m, size_t *it, struct slice *key_r, void **value_r)
{
    while (*it <= m->mask) {
        const struct str_slot *slot = &m->slots[(*it)++];

        if (slot->value == NULL)
            continue;
        if (key_r != NULL)
            *key_r = slice_make(slot->key, slot->key_n);
        if (value_r != NULL)
            *value_r = slot->value;
        return true;
    }
    return false;
}

/* ---- SipHash-2-4 (Aumasson, Bernstein 2012) ---- */

static uint64_t seed[2];
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

static void
seed_fill(void)
{
    rand_bytes(seed, sizeof seed);
}

static inline uint64_t
rotl(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void
sip_rounds(uint64_t v[4], int rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotl(v[1], 13) ^ v[0];
        v[3] = rotl(v[3], 16) ^ v[2];
        v[0] = rotl(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotl(v[1], 17) ^ v[2];
        v[3] = rotl(v[3], 21) ^ v[0];
        v[2] = rotl(v[2], 32);
    }
}

uint64_t
map_siphash(const uint64_t key[2], struct slice s)
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
        key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    uint64_t last = (uint64_t)s.n << 56;
    size_t whole = s.n & ~(size_t)7;
    uint64_t word;

    for (size_t i = 0; i < whole; i += 8) {
        memcpy(&word, s.p + i, 8);
        word = le64toh(word);
        v[3] ^= word;
        sip_rounds(v, 2);
        v[0] ^= word;
    }
    for (size_t i = whole; i < s.n; i++)
        last |= (uint64_t)(unsigned char)s.p[i] << (8 * (i - whole));
    v[3] ^= last;
    sip_rounds(v, 2);
    v[0] ^= last;
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t
map_hash(struct slice s)
{
    pthread_once(&seed_once, seed_fill);
    return map_siphash(seed, s);
}
