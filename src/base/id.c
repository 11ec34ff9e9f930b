#include "base/id.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/clock.h"

/*
 * Making and spelling ids.
 *
 * One atomic word holds the last position: milliseconds since ID_EPOCH_MS << 12 | sequence. A new id
 * is max(last + 1, now << 12), taken by compare and swap. So ids rise whatever the clock does: a
 * used-up sequence and a clock that stepped back both run on into the next millisecond.
 * The instance number is put between the two parts on the way out.
 */

#define SEQ_BITS      12
#define INSTANCE_BITS 10
#define SEQ_MASK      ((UINT64_C(1) << SEQ_BITS) - 1)
#define MS_SHIFT      (SEQ_BITS + INSTANCE_BITS)

static _Atomic uint64_t last_position;
static atomic_uint instance_number;

static uint64_t
position_of_ms(int64_t unix_ms)
{
    return unix_ms > ID_EPOCH_MS ? (uint64_t)(unix_ms - ID_EPOCH_MS) << SEQ_BITS : 0;
}

/* Move the last position up to `wanted`, never down. */
static void
raise_position(uint64_t wanted)
{
    uint64_t last = atomic_load(&last_position);

    while (last < wanted && !atomic_compare_exchange_weak(&last_position, &last, wanted))
        continue;
}

void
id_init(unsigned instance, int64_t floor_ms)
{
    assert(instance < 1u << INSTANCE_BITS);
    /* A smaller instance number within the same millisecond would break the order: leave it. */
    if (atomic_exchange(&instance_number, instance) != instance)
        raise_position(atomic_load(&last_position) | SEQ_MASK);
    if (position_of_ms(floor_ms) > 0)
        raise_position(position_of_ms(floor_ms) - 1);
}

static uint64_t
id_of_position(uint64_t position, uint64_t instance)
{
    uint64_t ms = position >> SEQ_BITS;

    return ms << MS_SHIFT | instance << SEQ_BITS | (position & SEQ_MASK);
}

/* Take `n` positions in a row and return the first. */
static uint64_t
take_positions(unsigned n)
{
    uint64_t now = position_of_ms(clock_now_ms());
    uint64_t last = atomic_load_explicit(&last_position, memory_order_relaxed);
    uint64_t first;

    do {
        first = last + 1 > now ? last + 1 : now;
    } while (!atomic_compare_exchange_weak(&last_position, &last, first + n - 1));
    return first;
}

uint64_t
id_next(void)
{
    return id_of_position(take_positions(1), atomic_load(&instance_number));
}

void
id_next_many(uint64_t *out, unsigned n)
{
    uint64_t first, instance;

    if (n == 0)
        return;
    first = take_positions(n);
    instance = atomic_load(&instance_number);
    for (unsigned i = 0; i < n; i++)
        out[i] = id_of_position(first + i, instance);
}

int64_t
id_high_water_ms(void)
{
    return (int64_t)(atomic_load(&last_position) >> SEQ_BITS) + ID_EPOCH_MS;
}

int64_t
id_time_ms(uint64_t id)
{
    return (int64_t)(id >> MS_SHIFT) + ID_EPOCH_MS;
}

char *
id_text(uint64_t id, char out[ID_TEXT_SIZE])
{
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

    for (int i = ID_TEXT_SIZE - 2; i >= 0; i--) {
        out[i] = alphabet[id & 31];
        id >>= 5;
    }
    out[ID_TEXT_SIZE - 1] = '\0';
    return out;
}

/* Value + 1 of each character, 0 for the others: both cases, O as 0, I and L as 1, no U. */
static const unsigned char values[128] = {
    ['0'] = 1,
    ['O'] = 1,
    ['o'] = 1,
    ['1'] = 2,
    ['I'] = 2,
    ['i'] = 2,
    ['L'] = 2,
    ['l'] = 2,
    ['2'] = 3,
    ['3'] = 4,
    ['4'] = 5,
    ['5'] = 6,
    ['6'] = 7,
    ['7'] = 8,
    ['8'] = 9,
    ['9'] = 10,
    ['A'] = 11,
    ['a'] = 11,
    ['B'] = 12,
    ['b'] = 12,
    ['C'] = 13,
    ['c'] = 13,
    ['D'] = 14,
    ['d'] = 14,
    ['E'] = 15,
    ['e'] = 15,
    ['F'] = 16,
    ['f'] = 16,
    ['G'] = 17,
    ['g'] = 17,
    ['H'] = 18,
    ['h'] = 18,
    ['J'] = 19,
    ['j'] = 19,
    ['K'] = 20,
    ['k'] = 20,
    ['M'] = 21,
    ['m'] = 21,
    ['N'] = 22,
    ['n'] = 22,
    ['P'] = 23,
    ['p'] = 23,
    ['Q'] = 24,
    ['q'] = 24,
    ['R'] = 25,
    ['r'] = 25,
    ['S'] = 26,
    ['s'] = 26,
    ['T'] = 27,
    ['t'] = 27,
    ['V'] = 28,
    ['v'] = 28,
    ['W'] = 29,
    ['w'] = 29,
    ['X'] = 30,
    ['x'] = 30,
    ['Y'] = 31,
    ['y'] = 31,
    ['Z'] = 32,
    ['z'] = 32,
};

bool
id_parse(struct slice s, uint64_t *id_r)
{
    uint64_t id = 0;

    if (s.n != ID_TEXT_SIZE - 1)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        unsigned value = c < sizeof values ? values[c] : 0;

        /* The first character carries bits 60 to 62 only. */
        if (value == 0 || (i == 0 && value > 8))
            return false;
        id = id << 5 | (value - 1);
    }
    if (id == 0)
        return false;
    *id_r = id;
    return true;
}
