#ifndef CONTROL_GATES_H
#define CONTROL_GATES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Gates of the house: conditions outside a broadcast that hold planning and claiming back while they
 * last. They are never stored and clear by themselves; reasons of a broadcast (mailshot/states.h)
 * need a person. Gates are per process (GATE_SCOPE_ALL) or per broadcast. Each gate has one owner that
 * closes and opens it: what one watch saw, another must not take back. Loop thread only.
 */
enum gate {
    GATE_DISK,    /* free space under its limit, or the store found no room */
    GATE_STORE,   /* the store does not answer */
    GATE_COMMIT,  /* the last durable step failed; it is tried again each second */
    GATE_RECOUNT, /* counters of the broadcast are being recounted */
    GATE_COPY,    /* this data folder is a copy that nobody has adopted */
    GATE_FENCE,   /* this instance's beat is too old */
    GATE_JOURNAL, /* opt-outs wait in the journal and have not been folded into the store yet */
    GATE_STOP,    /* the daemon is stopping */
    GATE_COUNT
};

#define GATE_SCOPE_ALL UINT64_C(0)

struct gates;
typedef void gates_fn(void *arg);

struct gates *gates_create(void);
void gates_free(struct gates **g);
/** Called after any gate opened or closed. At most eight listeners. */
void gates_listen(struct gates *g, gates_fn *fn, void *arg);
/** Close or open a gate for a broadcast, or for all with GATE_SCOPE_ALL. `why` is a short constant or
 * NULL. Logs the change; nothing happens when it stands so already. */
void gates_set(struct gates *g, uint64_t scope, enum gate gate, bool is_closed, const char *why);
/** Bits of the gates closed for a broadcast (its own and the house's); 0 = may go. */
uint32_t gates_closed(const struct gates *g, uint64_t broadcast);
/** Forget the gates of a broadcast that has ended. */
void gates_forget(struct gates *g, uint64_t broadcast);
/** API name ("disk", "copy", ...) and the reason given, "" when none. */
const char *gate_name(enum gate gate);
const char *gates_why(const struct gates *g, uint64_t broadcast, enum gate gate);

#endif
