#ifndef DAEMON_INSTANCE_H
#define DAEMON_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;
struct store_batch;

/**
 * This process as the store knows it: its number (part of every id it makes), its incarnation (owner of
 * claims and leases), its beat, and whether its folder is the installation or a copy that nobody has
 * adopted.
 */
struct instance {
    unsigned number;
    uint64_t incarnation;
    bool is_adopted;
    int64_t beat_at_ms;          /* as stored last, wall clock */
    int64_t previous_beat_at_ms; /* of this folder before this start, 0 = it is new */
};

/** Register the start, set up ids and reserve the first of them. A tool does not count as life: it
 * leaves the beat of the last daemon as it was. Blocking. */
int instance_start(
    struct store *st, const char *fingerprint, bool is_tool, struct instance *i_r, struct err *err);

/** Add a beat to a batch. Ids are reserved `lookahead_ms` ahead of the clock, and some millions beyond the
 * last one made where that is further, so that none is made twice when the process dies and the clock
 * is set back. */
unsigned instance_beat_op(
    struct store_batch *b, const struct instance *i, int64_t now_ms, int64_t lookahead_ms);
/** The same, blocking; a tool calls it at its end (its beat stays where it was). */
int instance_beat(struct store *st, struct instance *i, bool is_tool, struct err *err);

/** Make this folder the installation, after every broadcast that could send has been parked (see
 * park.h), so that what another copy may have sent is not sent again unseen. Blocking; any thread but
 * the loop's. `n_parked_r`: broadcasts parked. */
int instance_adopt(
    struct store *st, const struct instance *i, unsigned *n_parked_r, struct err *err);

#endif
