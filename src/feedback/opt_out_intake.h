#ifndef FEEDBACK_OPT_OUT_INTAKE_H
#define FEEDBACK_OPT_OUT_INTAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "message/tokens.h"

struct gates;
struct loop;
struct opt_out;
struct opt_out_intake;
struct run_table;
struct store;
struct workers;

/**
 * Where people's opt-outs come in: each is made durable before it is answered. Those of one loop turn,
 * and those that arrive while a batch is on its way, share a batch. What the store does not take within
 * a second goes to the journal, and from then until the journal has been folded GATE_JOURNAL is closed:
 * no mail is claimed past an opt-out that the store does not know yet.
 */
struct opt_out_intake_args {
    struct loop *loop;
    struct store *store;
    struct gates *gates;
    struct run_table *runs;
    struct workers *cpu;        /* folds run here */
    const char *journal_folder; /* private (0700), must exist; borrowed for the call */
};
struct opt_out_intake *opt_out_intake_create(const struct opt_out_intake_args *args);
/** Nothing may be on its way: see opt_out_intake_busy(). */
void opt_out_intake_free(struct opt_out_intake **in);
/** Opt-outs and follow-up work that are not finished; turn the loop until it is 0. */
size_t opt_out_intake_busy(const struct opt_out_intake *in);

enum opt_out_kept {
    OPT_OUT_DURABLE,    /* in the store */
    OPT_OUT_JOURNALLED, /* in the journal, on disk */
    OPT_OUT_NOT_KEPT    /* nowhere: the person must be told to try again */
};
typedef void opt_out_done_fn(enum opt_out_kept kept, void *arg);

/** Loop thread. Everything is copied; `done` comes exactly once, from the loop, never before this has
 * returned. `ref` is the mail it answers; send 0 = none. Recording it on that mail may follow later. */
void opt_out_submit(struct opt_out_intake *in, const struct opt_out *o,
    const struct token_send *ref, opt_out_done_fn *done, void *arg);

/** Before the first claim of the process: fold what an earlier one left. Blocking, the loop does not
 * turn. A failure is logged, and leaves the gate closed until a later fold succeeds. */
void opt_out_intake_settle(struct opt_out_intake *in);

/** `err` is NULL or says why the journal could not be folded. */
typedef void opt_out_folded_fn(const struct err *err, void *arg);
/** Fold the journal on a worker, and open the gate when nothing is left. Loop thread; `done` comes from
 * the loop, at once when there is nothing to do. One at a time: asserted. */
void opt_out_intake_fold(struct opt_out_intake *in, opt_out_folded_fn *done, void *arg);

#endif
