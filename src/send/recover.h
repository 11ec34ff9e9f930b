#ifndef SEND_RECOVER_H
#define SEND_RECOVER_H

#include <stdint.h>

#include "base/err.h"

struct store;

/**
 * After a start: rows that a dead owner left in `sending`. Whether their mail was accepted was never
 * read, so bulk rows become `unknown` and immediate ones go again with the same Message-ID, or as the
 * profile says. Blocking, before the first claim. `moved_r` counts the rows.
 */
int recover_sends(struct store *st, uint64_t live_owner, uint64_t *moved_r, struct err *err);

#endif
