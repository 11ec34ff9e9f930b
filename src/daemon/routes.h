#ifndef DAEMON_ROUTES_H
#define DAEMON_ROUTES_H

#include "api/api.h"
#include "broadcast/broadcasts.h"

struct daemon;
struct installation;

/** What handlers of the daemon's own routes reach beyond the API's environment; a handler gets from
 * `call->env` to the whole, of which it is the first member. */
struct daemon_env {
    struct api_env api;
    struct broadcasts broadcasts; /* its live parts are the daemon's to fill */
    struct installation *home;
    struct daemon *daemon; /* NULL in a tool */
};

/** All routes there are: those of the API and the daemon's own, ended by NULL. The caller frees the
 * array with mem_free(). */
const struct api_route *const *daemon_routes_create(void);

/** Fill the members of the environment that daemon and tools have in common. */
struct config;
void daemon_env_init(struct daemon_env *env, const struct config *c, struct installation *home);

#endif
