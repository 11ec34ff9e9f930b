/*
 * Suppression notes: which addresses were suppressed lately, so that a claim can tell whether a mail
 * prepared earlier has been overtaken by an opt-out.
 *
 * The writer appends while it runs a batch and publishes the count when the group has ended, well or
 * not. A note of a batch that was rolled back only makes a claim prepare again. Invariant: a reader
 * that sees `published` = n can read, in any later snapshot, every suppression noted up to n.
 */
#include "store/sqlite/core.h"

void
sq_suppressed_append(struct sq_store *s, int64_t address_hash)
{
    s->notes.ring[s->notes.head % SQ_NOTES_MAX] = address_hash;
    s->notes.head++;
}

void
sq_notes_publish(struct sq_store *s)
{
    atomic_store_explicit(&s->notes.published, s->notes.head, memory_order_release);
}

bool
sq_suppressed_since(struct sq_store *s, int64_t address_hash, uint64_t seen_seq)
{
    const struct sq_notes *n = &s->notes;

    if (seen_seq > n->head || n->head - seen_seq > SQ_NOTES_MAX)
        return true; /* older than the ring, or from before a restart */
    for (uint64_t i = seen_seq; i < n->head; i++) {
        if (n->ring[i % SQ_NOTES_MAX] == address_hash)
            return true;
    }
    return false;
}
