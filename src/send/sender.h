#ifndef SEND_SENDER_H
#define SEND_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crypto_keys;
struct gates;
struct loop;
struct queue;
struct run_table;
struct sender;
struct store;
struct workers;

/**
 * The pipeline that every mail takes: feed → prepare → durable step → wire → settle. All in the loop
 * thread but preparing, which runs on CPU workers.
 */
struct sender_args {
    struct loop *loop;
    struct store *store;
    struct workers *cpu;
    struct queue *queue; /* borrowed */
    const struct crypto_keys *keys;
    struct gates *gates;
    struct run_table *runs;
    uint64_t owner;             /* incarnation of this instance, not 0 */
    const char *public_url;     /* without trailing slash; "" = no links can be made */
    const char *sender_address; /* postal address, "" = none */
    const char *ehlo_name;      /* default for profiles without one */
    int64_t unsubscribe_lifetime_ms;
    unsigned n_workers; /* threads of `cpu` */
    /** Is the instance allowed to finish a mail now (fence)? NULL = always. */
    bool (*may_commit)(void *arg);
    void *may_commit_arg;
};

/** Strings are copied. */
struct sender *sender_create(const struct sender_args *args);
/** After sender_stop(), when no worker and no batch of the store refers to the sender any more
 * (asserted). Mails that are still on the wire are dropped without an outcome: their rows stay
 * `sending` and the next start puts them in doubt. */
void sender_free(struct sender **s);

/** Look for work at the end of this turn. Cheap; call after anything that may allow progress. */
void sender_kick(struct sender *s);
/** Rows of a broadcast were planned or requeued. */
void sender_rows_added(struct sender *s, uint64_t broadcast);
/** One-off rows of a profile were inserted. Any thread. */
void sender_oneoff_added(struct sender *s, uint64_t profile);
/** A profile document changed (settings, paused, resumed). Any thread. */
void sender_profile_changed(struct sender *s, uint64_t profile);

/** Stop claiming; `done` comes when the last open transaction has been settled, or after
 * `timeout_ms`. Rows not claimed stay queued. */
void sender_stop(struct sender *s, int64_t timeout_ms, void (*done)(void *arg), void *arg);

/** Nothing is on the wire, with the store, on a worker, or waits to be settled. */
bool sender_is_idle(const struct sender *s);

/** Ids of mails claimed and not settled of a broadcast (0 = all), at most `max`. Returns how many there
 * are in all. */
size_t sender_in_flight(const struct sender *s, uint64_t broadcast, uint64_t *ids, size_t max);

struct sender_profile_status {
    uint64_t profile;
    bool is_known, is_paused, is_limited; /* limited by the relay */
    double rate_per_second;               /* allowed now, 0 = unlimited */
    unsigned sessions, ready;
    size_t prepared, in_flight;
    int64_t backoff_ms; /* until the next connection attempt */
    char last_error[160];
};
/** False when the profile has not been used since start. */
bool sender_profile_status(
    const struct sender *s, uint64_t profile, struct sender_profile_status *st_r);

struct sender_status {
    size_t waiting, prepared, in_flight;
    uint64_t accepted_total, deferred_total, refused_total, in_doubt_total;
};
void sender_status(const struct sender *s, struct sender_status *st_r);

#endif
