#ifndef SUPPORT_PUBLIC_WORLD_H
#define SUPPORT_PUBLIC_WORLD_H

#include <stdint.h>

#include "message/tokens.h"
#include "support/engine.h"
#include "support/http_raw.h"

/** The engine with the recipients' side behind a real HTTP server, in one thread with its client. */
struct public_world {
    struct engine engine;
    struct opt_out_intake *opt_outs;
    struct engagements *engagements;
    struct public_site *site;
    struct http_server *server;
    char journal[700];
};

#define PUBLIC_LEGACY_SECRET "0123456789abcdef0123456789abcdef"

void public_world_open(struct public_world *w, const char *name);
void public_world_close(struct public_world *w);
/** A broadcast to `n` contacts user0@r0.example.org and so on, sent. Returns its id. */
uint64_t public_world_send(struct public_world *w, unsigned n);
/** The row of user<i>. */
struct token_send public_world_row(struct public_world *w, uint64_t broadcast, unsigned i);

/** One request on a connection of its own: method, path, agent (NULL = none), body (NULL = none). */
void public_world_ask(struct public_world *w, const char *method, const char *path,
    const char *agent, const char *body, struct raw_answer *a_r);
/** The same, for the status alone. */
unsigned public_world_status(
    struct public_world *w, const char *method, const char *path, const char *agent);
/** Turn the loop until nothing is on its way. */
void public_world_rest(struct public_world *w);

/** Paths with tokens made by the installation's keys. */
const char *public_world_unsub(struct public_world *w, const char *address_key,
    const struct token_send *ref, enum token_scope scope, int64_t expires_ms);
const char *public_world_open_path(struct public_world *w, const struct token_send *ref);
const char *public_world_click_path(
    struct public_world *w, const struct token_send *ref, uint32_t ordinal, const char *target);

/** Suppressions that stand for an address. */
unsigned public_world_suppressions(struct public_world *w, const char *address_key);

#endif
