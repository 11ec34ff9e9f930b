#ifndef FEEDBACK_JOURNAL_H
#define FEEDBACK_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

struct journal;

/** A line is cut off here; nothing we write comes near. */
#define JOURNAL_LINE_MAX 16384

/**
 * A file of lines for what the store could not take: "opt-outs.log" in a private folder. Appending
 * and folding may run on different threads at the same time, and one fold at a time: a writer holds
 * the file's lock and makes sure that the file still has its name, a fold takes the name away first.
 * A crash at any point may repeat lines and never loses one that was reported as kept.
 */
struct journal *journal_create(const char *folder);
void journal_free(struct journal **j);

/** Append whole lines (each ended by a line feed). When it returns 0 they are on the disk. Blocking. */
int journal_append(struct journal *j, struct slice lines, struct err *err);

/** Is there nothing to fold? Blocking; false also when that cannot be seen. */
bool journal_is_empty(const struct journal *j);

/** Given some whole lines in order. Must make them durable elsewhere before it returns 0; -1 stops the
 * fold, and the same lines come again with the next one. */
typedef int journal_apply_fn(struct slice lines, void *arg, struct err *err);
/** Apply everything, then remove it. Lines handed over successfully are not repeated by this process,
 * even when a later one fails. Blocking. */
int journal_fold(struct journal *j, journal_apply_fn *apply, void *arg, struct err *err);

/** Put a line aside that nobody can read: it goes to "opt-outs.unreadable", for people. Blocking. */
int journal_set_aside(struct journal *j, struct slice line, struct err *err);

#endif
