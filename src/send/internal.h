#ifndef SEND_INTERNAL_H
#define SEND_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mailshot/states.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/slice.h"
#include "send/content.h"
#include "send/sender.h"
#include "store/sends.h"
#include "transport/transport.h"

/**
 * Structures shared by the files of send/. One thread (the loop's) owns them all; a prepare batch is
 * lent to a CPU worker while it runs.
 *
 *   sender ── channels (one per profile in use) ── sessions of its transport
 *      │          └─ prepared jobs, per lane
 *      ├─ groups (one per broadcast in work, one per profile with one-off mail)
 *      └─ step (the one pending commit)
 */
struct channel;
struct domain_gate;
struct group;
struct job;
struct loop_timer;
struct map_u64;
struct pace;
struct step;

#define LANES          2
#define PREPARE_BATCH  32  /* rows per prepare job */
#define FEED_WINDOW    512 /* ids read from the due index at a time */
#define FEED_LOW_WATER 256
#define REPLY_TEXT_MAX 512
#define SHELF_MAX      64

enum job_state {
    JOB_PREPARING, /* lent to a worker */
    JOB_PREPARED,  /* waits on its channel */
    JOB_WAITING,   /* its receiver domain asked to wait: on the channel's waiting list */
    JOB_CLAIMING,  /* its claim is in the pending or running commit */
    JOB_ON_WIRE,   /* granted, given to the session */
    JOB_SETTLING   /* its outcome is in the pending or running commit */
};

/** One prepared mail, from its row to its outcome. */
struct job {
    struct list node;
    enum job_state state;
    struct channel *channel;
    struct session_slot *slot; /* its session, from claim to result */
    uint64_t broadcast, group, id, contact;
    enum send_lane lane;
    uint32_t generation, attempt, delay_min;
    int64_t address_hash;
    uint64_t seen_seq, token;
    bool is_in_domain; /* counted by the domain gate */
    struct buf bytes;  /* the message */
    struct buf env;    /* return path, recipient, domain: the slices of `mail` point into it */
    struct transport_mail mail;
    /* outcome */
    struct sends_settle settle;
    bool is_suppress;
    struct buf recipient_key; /* address key, for the suppression of a dead recipient */
    char reply_text[REPLY_TEXT_MAX];
    char provider_id[128];
};

/** A profile at work. */
struct channel {
    struct sender *sender;
    uint64_t profile;
    uint32_t version; /* of the profile document it was built from */
    bool is_loading, is_paused, is_stale;
    bool is_refused, is_refusing; /* a refused account is to be recorded; is being recorded */
    struct outlet *outlet;        /* settings, signers: shared with prepare batches */
    struct transport *transport;
    struct pace *pace;
    struct domain_gate *domains;
    struct list slots; /* struct session_slot: of every session that was ready once */
    struct list ready; /* those of idle sessions */
    size_t n_ready;
    unsigned n_busy[LANES]; /* sessions with a claim or mail in work, until its result */
    struct list prepared[LANES];
    size_t n_prepared[LANES], n_preparing[LANES];
    struct list waiting; /* jobs whose domain asked to wait, bounded */
    size_t n_waiting;
    bool is_taking[LANES], has_ready[LANES]; /* ids asked for; ids in the queue */
    int64_t waiting_seen_ms, demand_at_ms;
    struct loop_timer *timer; /* pace or domain wait, retry of loading */
    int64_t wake_at_ms;
    size_t n_in_flight; /* claimed and not settled */
    unsigned n_refused_runs;
    char last_error[160];
};

struct session_slot {
    struct list all;  /* on channel->slots */
    struct list node; /* on channel->ready while idle */
    struct transport_session *session;
    struct job *job;
};

/** Rows that share their content: a broadcast, or the one-off mail of a profile. */
struct group {
    struct sender *sender;
    uint64_t id; /* broadcast, or profile for one-off mail */
    bool is_broadcast;
    uint64_t profile;
    enum send_lane lane;
    struct content *content; /* broadcasts; NULL until loaded */
    bool is_loading, is_feeding, is_exhausted, is_closed;
    unsigned n_preparing; /* prepare batches under way */
    unsigned n_lent;      /* batches, loads and feeds that come back to the group */
    int64_t pos_due_ms;   /* position in the due index */
    uint64_t pos_id;
    int64_t rewound_at_ms, wake_at_ms; /* monotonic clock */
    struct loop_timer *timer;          /* begin at the head again */
    unsigned load_failures;
};

struct sender {
    struct sender_args args;
    char *public_url, *sender_address, *ehlo_name;
    struct map_u64 *channels; /* profile -> struct channel */
    struct map_u64 *groups;   /* group -> struct group */
    struct map_u64 *busy;     /* send id -> struct job, from the start of its preparing on */
    struct step *step;
    struct list free_jobs; /* reused with their buffers */
    size_t n_free_jobs;
    bool is_kicked, is_stopping;
    bool is_journal_closed;
    uint64_t journal_epoch; /* how often GATE_JOURNAL has closed */
    struct loop_timer *stop_timer;
    void (*stop_done)(void *arg);
    void *stop_arg;
    unsigned n_prepare_jobs; /* on the CPU workers now */
    unsigned n_lent;         /* worker jobs and batches that still refer to the sender */
    uint64_t accepted_total, deferred_total, refused_total, in_doubt_total;
};

/* sender.c */
bool sender_may_work(const struct sender *s, const struct group *g);
void sender_check_stopped(struct sender *s);
struct job *job_get(struct sender *s);
/** Back to the free list; leaves the busy map. */
void job_put(struct sender *s, struct job *j);

/* group.c */
struct group *group_of(struct sender *s, uint64_t id, bool is_broadcast, uint64_t profile);
void group_pump(struct group *g);
/** Start at the head again as soon as the last start is a second old, or when a row is due. */
void group_rewind(struct group *g);
void group_rewind_at(struct group *g, int64_t due_at_ms);
/** Drop what waits. The group is freed when nothing is lent any more: at once, or by the last
 * group_return(). Until then group_of() opens it again. */
void group_close(struct group *g);
/** Something that refers to the group (and the sender) was given away; it has come back. */
void group_lend(struct group *g);
void group_return(struct group *g);
void group_free(struct group *g);

/* channel.c */
struct channel *channel_of(struct sender *s, uint64_t profile);
void channel_pump(struct channel *ch);
void channel_free(struct channel *ch);
/** The session is idle again and may take a job. */
void channel_session_idle(struct channel *ch, struct session_slot *slot);
/** The claim was granted: the mail goes to its session. */
void channel_granted(struct channel *ch, struct job *j);
/** The claim was granted, but must not be used: the row goes back to queued with the next step. */
void channel_regret(struct channel *ch, struct job *j);
/** A claim was refused or withdrawn: the session is idle again, the job ends, and its group looks
 * whether the row still waits. */
void channel_unclaim(struct channel *ch, struct job *j);
/** The outcome is durable: the job ends. */
void channel_settled(struct channel *ch, struct job *j);
/** Drop prepared jobs of a group (paused, cancelled); 0 = of all. */
void channel_drop_group(struct channel *ch, uint64_t group);

/** Look again after `delay_ms`, or earlier when somebody asked so before. */
void channel_sleep(struct channel *ch, int64_t delay_ms);
unsigned channel_max_sessions(const struct channel *ch);
/** Give back the mail's place in its receiver domain. */
void channel_leave_domain(struct channel *ch, struct job *j);

/* assign.c */
/** A prepared mail, in its lane's order. */
void channel_prepared(struct channel *ch, struct job *j);
/** Hand prepared mails to idle sessions, prepare more, ask for sessions. */
void assign_pump(struct channel *ch);

/* prepare.c */
/** Prepare up to PREPARE_BATCH rows of one group, all different and none in work, on a CPU worker.
 * False when the pool is full: the group looks for them again. */
bool prepare_start(struct channel *ch, struct group *g, const uint64_t *ids, size_t n);

/* step.c */
struct step *step_create(struct sender *s);
void step_free(struct step **st);
/** Add a claim (job->token is made here) or an outcome (job->settle is filled); sent with the next
 * commit, which starts at the end of this turn when none is running. */
void step_claim(struct step *st, struct job *j);
void step_settle(struct step *st, struct job *j);
bool step_is_idle(const struct step *st);
/** Is a commit with the store now? */
bool step_is_running(const struct step *st);

/* shelve.c */
/** Settle rows of a profile that are still queued and never reach a session (suppressed, render error,
 * put back until later): one batch of their own, at most SHELF_MAX. Token of each is the generation;
 * slices are copied. Their groups look again when those put back are due; when the store fails, soon. */
void shelve_submit(struct sender *s, uint64_t profile, const struct sends_settle *rows, size_t n);

/* outcome.c */
/** Turn a result of the wire into the row's settle. */
void outcome_fill(
    struct job *j, const struct transport_result *r, bool repeat_in_doubt, int64_t now_ms);

#endif
