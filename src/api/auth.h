#ifndef API_AUTH_H
#define API_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "base/err.h"
#include "base/slice.h"

struct http_request;
struct store;

/**
 * Who is calling, and may they? Tokens are looked up by their SHA-256 in the store and remembered
 * for at most five seconds, so that a revoked token is dead soon everywhere. Belongs to the loop
 * thread, but api_auth_lookup().
 */
struct api_auth *api_auth_create(void);
void api_auth_free(struct api_auth **a);

/** Hex SHA-256 of a token, NUL-terminated. */
struct api_auth_key {
    char hex[65];
};

enum api_auth_verdict {
    API_AUTH_KNOWN,  /* actor_r is filled */
    API_AUTH_LOOKUP, /* ask the store: api_auth_lookup() with key_r, then api_auth_remember() */
    API_AUTH_REFUSED /* err is filled: "unauthorized" or "rate_limited" */
};
/** Decide from the headers alone. Wait for `retry_after_s_r` seconds when "rate_limited". */
enum api_auth_verdict api_auth_begin(struct api_auth *a, struct http_request *r,
    const struct api_route *route, int64_t now_ms, struct api_actor *actor_r,
    struct api_auth_key *key_r, int64_t *retry_after_s_r, struct err *err);
/** Find the token in the store. Blocking, any thread. -1 with "unauthorized" when it is unknown or
 * revoked, or the store's own error. */
int api_auth_lookup(
    struct store *st, const struct api_auth_key *key, struct api_actor *actor_r, struct err *err);
/** Note the outcome: `actor` for a token that was found, NULL for a failure of this client. */
void api_auth_remember(struct api_auth *a, const struct api_auth_key *key,
    const struct api_actor *actor, const char *client, int64_t now_ms);
/** Scope and rate of a known actor. -1 with "insufficient_scope" or "rate_limited". */
int api_auth_admit(struct api_auth *a, const struct api_route *route, const struct api_actor *actor,
    int64_t now_ms, int64_t *retry_after_s_r, struct err *err);

/** A token was revoked or changed: forget what is remembered. From a handler, any thread. */
void api_tokens_changed(struct api_env *env);

/** The caller behind the control socket, and tools in process. */
void api_actor_owner(struct api_actor *actor_r, enum api_via via);

/** Names of scopes: "read", "test", "templates", "broadcasts", "contacts", "admin". Bit 0 for an
 * unknown name; NULL for a bit without a name. */
uint32_t api_scope_parse(struct slice name);
const char *api_scope_name(uint32_t bit);

/** The token in an Authorization header: "Bearer", blanks, 24 to 256 visible characters. */
bool api_auth_bearer(struct slice header, struct slice *token_r);

#endif
