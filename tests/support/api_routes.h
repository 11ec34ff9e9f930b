#ifndef SUPPORT_API_ROUTES_H
#define SUPPORT_API_ROUTES_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "support/api_world.h"

/*
 * A handful of routes under /t/ that stand for the kinds there are, and what they did.
 */

extern atomic_uint n_made;  /* calls of POST /t/mail that did their work */
extern atomic_uint n_polls; /* calls of the handler of GET /t/wait */
extern atomic_uint n_held;  /* calls of POST /t/mail that wait, or waited, at the gate */
extern atomic_bool poll_done;
extern sem_t gate; /* POST /t/mail waits here: each with "hold", the first one with "first" */
/** These, the self-description and the operators' routes. */
extern const struct api_route *const groups[];

void setup(struct api_world *w);
void teardown(struct api_world *w);
/** Turn the loop until `n` calls have come to the gate. */
void turn_until_held(struct api_world *w, unsigned n);

#endif
