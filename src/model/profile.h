#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"

struct crypto_keys;
struct store;
struct store_batch;

#define PROFILES_COLL    "profiles"
#define PROFILE_MAX_DKIM 2

enum profile_kind { PROFILE_SMTP = 0, PROFILE_CAPTURE = 1 };
enum profile_tls { PROFILE_TLS_NONE = 0, PROFILE_TLS_STARTTLS = 1, PROFILE_TLS_IMPLICIT = 2 };
enum profile_state { PROFILE_ACTIVE = 0, PROFILE_PAUSED = 1 };
enum profile_doubt { PROFILE_DOUBT_LEAVE = 0, PROFILE_DOUBT_REPEAT = 1 };

struct profile_dkim {
    struct slice domain, selector;
    struct slice sealed_key; /* opened by profile_dkim_key() */
    struct slice algorithm;  /* "rsa-sha256" or "ed25519-sha256" */
};

/** A sending identity: transport, sealed credentials, from address, pace, limits. */
struct profile {
    uint64_t id;
    struct slice slug, name;
    enum profile_kind kind;
    struct slice host;
    unsigned port;
    enum profile_tls tls;
    bool tls_verify;
    struct slice username;              /* empty = no AUTH */
    struct slice sealed_password;       /* opened by profile_password() */
    struct slice from_name, from_email; /* defaults when a template names none */
    struct slice ehlo_name;             /* empty = the installation's */
    struct slice bounce_domain;         /* of the return path; empty = domain of the from address */
    uint32_t pace_per_s;                /* 0 = unlimited (capture) */
    uint32_t max_sessions;
    struct slice capture_dir; /* capture only */
    struct profile_dkim dkim[PROFILE_MAX_DKIM];
    size_t n_dkim;
    enum profile_doubt doubt_bulk, doubt_immediate;
    enum profile_state state;
    struct slice state_reason; /* why it is paused; empty = none */
    bool is_default;
    uint32_t version; /* +1 per write; users of a profile compare it */
    int64_t created_at_ms, updated_at_ms;
};

/** What a person gives; secrets are plain here and sealed on the way in. */
struct profile_input {
    struct profile p;                        /* id, state, version and times are not read */
    struct slice password;                   /* p NULL = keep the stored one */
    struct slice dkim_pem[PROFILE_MAX_DKIM]; /* p NULL = keep the stored one of that selector */
};

/** Defaults for a new profile of a kind: port 587 STARTTLS verified, 10 per second, 10 sessions; capture
 * unlimited, 8 sessions; doubt leave for bulk, repeat for immediate. */
void profile_input_init(struct profile_input *in, enum profile_kind kind);
/** Members of a JSON object over what `in` holds; strings borrow from `body`. */
int profile_input_from_json(const struct json *body, struct profile_input *in, struct err *err);
/** Check all; a plain-text password without TLS off loopback is refused. ERR_INVALID names the field. */
int profile_input_check(const struct profile_input *in, struct err *err);

/**
 * Create or replace by slug; version + 1. A stored password is dropped when the host changes and none
 * is given: ERR_INVALID (a secret is never posted to a new host unasked). The first profile becomes the
 * default. Audited, blocking.
 */
int profile_put(struct store *st, const struct crypto_keys *keys, const struct profile_input *in,
    struct slice actor, int64_t now_ms, struct arena *a, struct profile *p_r, bool *created_r,
    struct err *err);

/** ERR_NOTFOUND "profile_unknown". Blocking. */
int profile_get(
    struct store *st, struct slice slug, struct arena *a, struct profile *p_r, struct err *err);
int profile_get_id(
    struct store *st, uint64_t id, struct arena *a, struct profile *p_r, struct err *err);
/** The default profile; ERR_NOTFOUND "mail_unavailable" when there is none. */
int profile_get_default(struct store *st, struct arena *a, struct profile *p_r, struct err *err);
/** All, slug ascending (at most 200). */
int profile_list(struct store *st, struct arena *a, const struct profile **profiles_r, size_t *n_r,
    struct err *err);
/** Add the change of state to a batch; conditional on the other state, so a second pause keeps the first
 * reason. Returns the operation (result.changed). */
unsigned profile_set_state_op(struct store_batch *b, uint64_t id, enum profile_state state,
    struct slice reason, int64_t now_ms);

/** Open the secrets: appended to `out`, which the caller wipes. ERR_PERM when the key does not fit.
 * Nothing is appended when the profile has none. */
int profile_password(
    const struct crypto_keys *keys, const struct profile *p, struct buf *out, struct err *err);
int profile_dkim_key(const struct crypto_keys *keys, const struct profile *p, size_t i,
    struct buf *pem, struct err *err);

/** Without secrets: {hasPassword}, DKIM by domain and selector. */
void profile_write_json(struct json_writer *w, const char *name, const struct profile *p);

#endif
