/*
 * Two steps, a read and a write, so that the same code serves the loop (two batches one after the
 * other) and the fold of the journal (both blocking). Recording a fact twice changes nothing.
 */
#include "feedback/attribution.h"

#include "base/mem.h"
#include "store/sends.h"
#include "store/store.h"

/* Equal hashes of different addresses are stored on neighbouring values, at most so far apart. */
#define HASH_STEPS 4

size_t
attribution_read_ops(struct store_batch *read, const struct attribution *a, size_t n)
{
    size_t named = 0;

    for (size_t i = 0; i < n; i++) {
        sends_get(read, a[i].ref.broadcast, &a[i].ref.send, a[i].ref.send != 0 ? 1 : 0);
        named += a[i].ref.send != 0;
    }
    return named;
}

static bool
fits(const struct send_row *row, const struct attribution *a)
{
    int64_t steps = row->address_hash - a->address_hash;

    return row->id == a->ref.send && row->broadcast == a->ref.broadcast && steps >= 0 &&
           steps <= HASH_STEPS;
}

size_t
attribution_fact_ops(const struct store_batch *read, const struct attribution *a, size_t n,
    struct store_batch *write)
{
    struct sends_feedback *facts = mem_array(n, sizeof(*facts));
    size_t n_facts = 0;

    for (size_t i = 0; i < n; i++) {
        const struct sends_result *r = sends_result(read, (unsigned)i);

        if (r->n_rows == 1 && fits(&r->rows[0], &a[i]))
            facts[n_facts++] = (struct sends_feedback){.broadcast = a[i].ref.broadcast,
                .id = a[i].ref.send,
                .fact = FACT_UNSUBSCRIBED,
                .at_ms = a[i].at_ms};
    }
    if (n_facts > 0)
        sends_feedback(write, facts, n_facts);
    mem_free(facts);
    return n_facts;
}
