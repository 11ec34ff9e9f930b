#ifndef SUPPORT_ENGINE_H
#define SUPPORT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broadcast/broadcasts.h"
#include "model/profile.h"
#include "store/runs.h"

/** A whole sending engine in one process: an embedded store in the test's scratch folder, workers,
 * sender, dispatcher, closer; no HTTP. Any failure fails the test. */
struct engine {
    const char *folder; /* scratch, emptied at start unless it is a restart */
    struct loop *loop;
    struct workers *cpu;
    struct store *store;
    struct crypto_keys *keys;
    struct gates *gates;
    struct run_table *runs;
    struct queue *queue;
    struct sender *sender;
    struct dispatcher *dispatcher;
    struct run_closer *closer;
    struct arena *arena;
    struct broadcasts b;
    struct broadcast_call call;
    int64_t stop_ms;     /* how long a stop waits for what is on the wire, 0 = 30 s */
    int64_t start_in_ms; /* broadcasts are scheduled for so long from now */
};

void engine_start(struct engine *e, const char *name);
/** Stop in good order, and start again on the same folder. */
void engine_restart(struct engine *e);
void engine_stop(struct engine *e);

/** Batches with an operation of one of these kinds (1 << enum store_op_kind) fail with ERR_TEMP
 * "disk_full" from now on; 0 = none. */
void engine_refuse(uint64_t op_kinds);

/** A capture profile "main" writing to FOLDER/mail; its id. */
uint64_t engine_add_profile(struct engine *e);
/** Another kind of profile "main", or new settings; names and the sender are filled in. */
uint64_t engine_put_profile(struct engine *e, struct profile_input *in);
/** `n` subscribed contacts user<i>@r<i % 7>.example.org with fields.name. */
void engine_add_contacts(struct engine *e, unsigned first, unsigned n);
/** A published marketing template "news" of one link. */
void engine_add_template(struct engine *e);
/** Create, count and schedule now a broadcast to everybody; returns the number confirmed. */
uint64_t engine_start_broadcast(struct engine *e, const char *slug);
uint64_t engine_start_broadcast_of(struct engine *e, struct broadcast_doc *d);
/** As a person does when the account has been mended. */
void engine_set_profile_active(struct engine *e, uint64_t profile);
/** Count what is left and resume. */
void engine_resume(struct engine *e, const char *slug);
/** The run as the store has it. */
struct run_record engine_run(struct engine *e, const char *slug);
/** Turn the loop until the run is in one of the states (bits), at most 60 s. */
struct run_record engine_wait(struct engine *e, const char *slug, uint32_t state_mask);
/** Mails captured so far. */
unsigned engine_captured(const struct engine *e);

#endif
