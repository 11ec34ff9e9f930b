#ifndef CONTRACT_SENDS_MODEL_H
#define CONTRACT_SENDS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "store/runs.h"
#include "store/sends.h"

/**
 * What the store should hold, as plain arrays. It is written from the rules, not from the code it
 * checks: states are derived from what is known about a row where the store looks edges up in a table.
 */
#define MODEL_CONTACTS 160
#define MODEL_TOKENS   6

struct model_row {
    bool exists;
    int excluded; /* enum exclusion_reason, -1 = not */
    int address;  /* number of the address; two contacts may share one */
    enum send_state state;
    uint32_t generation, attempt;
    uint64_t tokens[MODEL_TOKENS]; /* newest last */
    uint64_t owner;
    int64_t due_ms, sent_ms, delivered_ms, bounced_ms, complained_ms;
    int64_t unsubscribed_ms, open_ms, click_ms;
    bool is_hard;
    enum send_fail_class fail_class;
};

struct model {
    struct model_row rows[MODEL_CONTACTS]; /* by contact; 0 is unused */
    enum run_state run;
    uint32_t reasons;
    uint64_t last_token;
};

void model_init(struct model *m);
/** Does the run let its rows be claimed and planned? */
bool model_flows(const struct model *m);
void model_plan(struct model *m, int contact, int address, int64_t due_ms);
void model_exclude(struct model *m, int contact, enum exclusion_reason reason);
enum sends_verdict model_claim(
    struct model *m, int contact, uint32_t generation, uint64_t token, uint64_t owner, int64_t now);
bool model_settle(struct model *m, int contact, const struct sends_settle *s);
bool model_settle_queued(struct model *m, int contact, const struct sends_settle *s);
bool model_fact(struct model *m, int contact, const struct sends_feedback *f);
bool model_recover(struct model *m, int contact, const struct sends_recover *r);
bool model_requeue(struct model *m, int contact, enum send_state from, int64_t now);
bool model_resolve(struct model *m, int contact, enum send_state to, int64_t now);
/** Counters of the run, counted from scratch. */
struct run_counters model_count(const struct model *m);

#endif
