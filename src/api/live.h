#ifndef API_LIVE_H
#define API_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "control/gates.h"
#include "send/sender.h"
#include "tick/ticker.h"

/** As many mails as one profile can have on the wire. */
#define LIVE_IDS_MAX 1024

/** What only the loop knows about a broadcast at this moment; all empty in a tool without a daemon. */
struct live_broadcast {
    uint64_t in_flight[LIVE_IDS_MAX];
    size_t n_listed, n_in_flight; /* listed of so many */
    uint32_t gates;               /* bits of enum gate */
    const char *why[GATE_COUNT];
    bool has_sender; /* the profile has been used since start */
    struct sender_profile_status sender;
    struct sender_status totals;
    bool has_tick;
    struct ticker_status tick;
};

/** Ask the loop; waits for it. Any API worker. 0 as broadcast or profile asks for all or none. */
void live_read(
    const struct api_env *env, uint64_t broadcast, uint64_t profile, struct live_broadcast *live_r);

/** Write the gates that are closed, as an array of {gate, why}. `profile_reason` (p NULL = none) adds
 * the gate "profile". */
void live_write_gates(struct json_writer *w, const char *name, const struct live_broadcast *live,
    struct slice profile_reason);
/** Write how the sender of the profile fares; null when it has not been used since start. */
void live_write_sender(struct json_writer *w, const char *name, const struct live_broadcast *live);
/** Write the ids in flight as an array. */
void live_write_in_flight(
    struct json_writer *w, const char *name, const struct live_broadcast *live);

/** Rows were made or put back: the sender looks for them. Any API worker. */
void live_rows_added(const struct api_env *env, uint64_t broadcast);

#endif
