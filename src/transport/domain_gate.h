#ifndef TRANSPORT_DOMAIN_GATE_H
#define TRANSPORT_DOMAIN_GATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct domain_gate;

/** Limits per receiver domain; 0 = no limit. */
struct domain_gate_settings {
    unsigned max_in_flight; /* mails to one domain at a time (each occupies one session) */
    unsigned per_minute;    /* mails to one domain in any minute, released evenly */
    size_t max_domains; /* size of the table, 0 = 10 000; the longest unused domain leaves first */
};

/**
 * Remembers for each receiver domain (lower-case A-label) how many mails are under way, how many went
 * lately and whether it asked to wait. Loop thread; time from base/clock. A domain that is pushed out
 * of the full table is forgotten; one with a mail in flight never is.
 */
struct domain_gate *domain_gate_create(const struct domain_gate_settings *settings);
void domain_gate_free(struct domain_gate **g);
void domain_gate_set_limits(struct domain_gate *g, unsigned max_in_flight, unsigned per_minute);
/**
 * May a mail to `domain` go now? Returns 0 and counts it as under way until domain_gate_leave(), or
 * the milliseconds to wait (> 0) with nothing counted. When `max_in_flight` is what blocks, that is
 * 50: a mail may end at any time.
 */
int64_t domain_gate_enter(struct domain_gate *g, struct slice domain);
/** As domain_gate_enter() without counting: is it worth preparing a mail to `domain`? */
int64_t domain_gate_wait_ms(const struct domain_gate *g, struct slice domain);
/** The mail that entered has its result. */
void domain_gate_leave(struct domain_gate *g, struct slice domain);
/**
 * The domain asked to wait (TRANSPORT_SCOPE_DOMAIN). Without a delay named (`retry_after_ms` 0) it is
 * 60 s, doubled with each further request up to 30 minutes until domain_gate_accepted().
 * Returns the milliseconds it is blocked for now.
 */
int64_t domain_gate_block(struct domain_gate *g, struct slice domain, int64_t retry_after_ms);
/** The domain took a mail: forget its past requests to wait. */
void domain_gate_accepted(struct domain_gate *g, struct slice domain);
/** Domains in the table, and how many of them are blocked now. */
size_t domain_gate_count(const struct domain_gate *g, size_t *blocked_r);

#endif
