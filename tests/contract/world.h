#ifndef CONTRACT_WORLD_H
#define CONTRACT_WORLD_H

#include "contract/drivers.h"
#include "store/runs.h"
#include "store/sends.h"

/**
 * A small world for suites on typed records: one store and one broadcast that is being sent. Ids of
 * rows derive from contacts, so a test names a row by its contact.
 */
#define WORLD_RUN     UINT64_C(5000)
#define WORLD_PROFILE UINT64_C(77)
#define WORLD_OWNER   UINT64_C(0xF00000000000000F) /* a negative number in a signed column */
#define WORLD_T0      INT64_C(1700000000000)

struct world {
    struct store *st;
    int64_t now_ms;
    uint32_t page;
    uint64_t cursor, token;
};

void world_open(struct world *w, const struct contract_driver *d);
void world_close(struct world *w);

/** Create a run `sending` under fence 1 with an empty cursor. */
void world_create_run(struct world *w, uint64_t broadcast);

static inline uint64_t
world_id(uint64_t contact)
{
    return contact + 1000000;
}

/** The row a planner would hand over for a contact: address and hash of its own, due now. */
struct sends_plan_row world_plan_row(const struct world *w, uint64_t contact);
/** Plan one slice on a page of its own; the cursor moves on. Returns how many rows were made. */
uint64_t world_plan(struct world *w, const struct sends_plan_row *rows, size_t n_rows,
    const struct sends_plan_exclusion *excluded, size_t n_excluded);
/** Plan contacts from..to, one row each. */
void world_plan_range(struct world *w, uint64_t from, uint64_t to);

/** Claim with generation 1, everything known so far, under a token of its own (kept in w->token). */
enum sends_verdict world_claim(struct world *w, uint64_t contact);
/** Settle the row under w->token. */
bool world_settle(struct world *w, uint64_t contact, enum send_state to);
bool world_settle_with(struct world *w, const struct sends_settle *s);
/** One fact at w->now_ms; true when it was new. */
bool world_fact(struct world *w, uint64_t contact, enum send_fact fact);
/** Change the state of the run; asserts that the condition held. */
void world_set_run(struct world *w, enum run_state to, uint32_t reasons);

struct run_record world_run(struct world *w);
struct send_row world_row(struct world *w, uint64_t contact);
/** Both equations hold in the run, and a recount gives the same counters. */
void world_check_ledger(struct world *w, int64_t matched);

#endif
