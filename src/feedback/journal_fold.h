#ifndef FEEDBACK_JOURNAL_FOLD_H
#define FEEDBACK_JOURNAL_FOLD_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "message/tokens.h"

struct journal;
struct opt_out;
struct run_table;
struct store;

/** One line of the journal: the mail it answers (13 characters, or "-"), a blank, the opt-out as JSON
 * (model/opt_out.h), a line feed. */
void journal_line_write(const struct opt_out *o, const struct token_send *ref, struct buf *out);
/** False for a line that is not one of ours. Slices borrow from `scratch`. */
bool journal_line_read(
    struct slice line, struct buf *scratch, struct opt_out *o_r, struct token_send *ref_r);

struct journal_folded {
    uint64_t applied, unreadable;
};
/**
 * Take all that is in the journal into the store, attribution included; idempotent. A line that cannot
 * be read is set aside, logged and counted. Blocking. A failure leaves the rest for the next call. New
 * counters of runs are posted to `runs`, which may be NULL.
 */
int journal_fold_opt_outs(struct journal *j, struct store *st, struct run_table *runs,
    struct journal_folded *r, struct err *err);

#endif
