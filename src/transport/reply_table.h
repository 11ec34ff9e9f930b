#ifndef TRANSPORT_REPLY_TABLE_H
#define TRANSPORT_REPLY_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "transport/reply_class.h"

/**
 * One row of the table of reply classes. A reply matches when its stage is in `stages` (bits
 * 1 << enum reply_stage), its code and its enhanced code are within the bounds (an upper bound of 0
 * takes any, and none), and its text speaks of throttling if the row asks for it. First match decides.
 */
struct reply_rule {
    unsigned stages;
    int code_min, code_max;
    int enhanced_min, enhanced_max;
    bool is_throttle_text;
    enum transport_outcome outcome;
    enum transport_scope scope;
    enum send_fail_class fail_class;
    enum bounce_type bounce;
    bool is_suppress;
};

/** The table, in order. Its last row matches everything. */
const struct reply_rule *reply_table(size_t *n_r);
/** The row as it stands in docs/replies.md: "| stages | code | enhanced | text | ... |". */
void reply_table_row_text(const struct reply_rule *rule, struct buf *out);

#endif
