#ifndef SUPPORT_API_WORLD_H
#define SUPPORT_API_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "api/dispatch.h"
#include "base/json.h"
#include "http/server.h"
#include "support/http_raw.h"

/** A store, the API with the routes given, one TCP server and one control socket, all in the loop of
 * the test. */
struct api_world {
    struct store *store;
    struct loop *loop;
    struct api_env env;
    struct api *api;
    struct http_server *tcp, *control;
};

void api_world_open(struct api_world *w, const struct api_route *const *groups);
void api_world_close(struct api_world *w);

/** A new token; the text is in a static buffer until the next call but three. */
const char *api_world_token(
    struct api_world *w, const char *actor, uint32_t scopes, uint64_t *id_r);

/** One request on a connection of its own. `token` NULL = none; `headers` are whole lines or "";
 * `body` NULL = none. */
void api_world_call(struct api_world *w, const char *method, const char *target, const char *token,
    const char *headers, const char *body, struct raw_answer *a_r);
/** The same over the control socket. */
void api_world_control(struct api_world *w, const char *method, const char *target,
    const char *body, struct raw_answer *a_r);
/** Send without waiting for the answer. */
void api_world_send(struct api_world *w, struct raw *c, const char *method, const char *target,
    const char *token, const char *headers, const char *body);
/** Is the answer this status with this error word (NULL = no error object)? Releases the answer. */
void api_world_expect(struct raw_answer *a, unsigned status, const char *error);

#endif
