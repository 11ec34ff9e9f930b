#ifndef CLI_LEDGER_H
#define CLI_LEDGER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "mailshot/states.h"

struct json;

/** The two equations of a broadcast, added up here from an answer of the API:
 * matched = eligible + excluded, eligible = sum of the states. */
struct ledger {
    int64_t matched, eligible;
    int64_t excluded;            /* sum over all reasons */
    int64_t states[SEND_STATES]; /* as shown, by enum send_state */
    int64_t in_states;           /* sum of them */
    bool is_closed_by_daemon;    /* what the daemon says of itself */
};

/** Read the `ledger` member of an answer. Returns 0, or -1 when it is not one: a figure is missing or
 * a state has an unknown name. */
int ledger_read(const struct json *j, struct ledger *l_r);

/** Do both equations hold, and does the daemon say so too? */
bool ledger_closes(const struct ledger *l);

/** Print "matched N = N eligible + N reason ...": every reason that is not zero. `j` is any object with
 * matched, eligible and excluded, so the answer of a count will do. */
void ledger_print_matched(const struct json *j, FILE *out);
/** Print "eligible N = N state + ...": every state that is not zero. */
void ledger_print_eligible(const struct json *j, FILE *out);
/** Both, and whether they close. */
void ledger_print(const struct json *j, FILE *out);

#endif
