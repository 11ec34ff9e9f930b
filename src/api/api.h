#ifndef API_API_H
#define API_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"

struct api_auth;
struct api_env;
struct api_ready;
struct api_route;
struct api_table;
struct broadcasts;
struct crypto_keys;
struct gates;
struct http_param;
struct loop;
struct sender;
struct store;
struct ticker;

/*
 * What a resource file needs. A resource is an array of api_route (ended by method NULL) that
 * api/routes.c names in its list; everything else (routing, authentication, schemas, errors,
 * idempotency, self-description) follows from the rows of that array.
 */

/** Who calls. */
enum api_via {
    API_VIA_TOKEN,
    API_VIA_SOCKET,   /* control socket: its file mode is the permission */
    API_VIA_LOOPBACK, /* no token, but from this machine: API_LOOPBACK routes only */
    API_VIA_LOCAL     /* tool in process, no daemon */
};

struct api_actor {
    char label[129]; /* for audit rows: "agent:deploy-bot", "owner:local" */
    uint32_t scopes; /* bits of enum api_scope */
    enum api_via via;
    uint64_t token; /* id of the token, 0 = none */
};

/** Stored with each token: never renumber. A token with API_ADMIN may do everything. */
enum api_scope {
    API_READ = 1u << 0,
    API_TEST = 1u << 1,
    API_TEMPLATES = 1u << 2,
    API_BROADCASTS = 1u << 3,
    API_CONTACTS = 1u << 4,
    API_ADMIN = 1u << 5,
    API_ANY = 1u << 6 /* any valid token */
};
#define API_ALL_SCOPES 0x7fu

/** One field of a JSON body or query; checked before the handler runs, all faults listed. */
enum api_field_type {
    FIELD_STRING,
    FIELD_SLUG,
    FIELD_EMAIL,
    FIELD_INT,
    FIELD_NUMBER,
    FIELD_BOOL,
    FIELD_TIME, /* RFC 3339 with an offset or Z */
    FIELD_ID,   /* 13 characters */
    FIELD_OBJECT,
    FIELD_ARRAY,
    FIELD_ANY
};

/**
 * `min` and `max` are a length in characters, a value, or a number of items. With max 0 a string
 * has at most API_STRING_MAX characters, an array at most API_ITEMS_MAX items, and a number no
 * upper bound; with both 0 it has none at all.
 */
struct api_field {
    const char *name;
    enum api_field_type type;
    bool is_required, is_nullable;
    int64_t min, max;
    const char *const *one_of; /* NULL-terminated, strings only */
    /** Members of an object, or of each element of an array; ends with name NULL. An object without
     * takes any members, an array without has elements of `item_type`. */
    const struct api_field *items;
    enum api_field_type item_type;
    const char *help; /* one line for the machine description */
};

#define API_STRING_MAX 1000
#define API_ITEMS_MAX  1000
#define API_PARAMS     4

/** One call, whether it came over HTTP, the control socket, or from a tool in process. Handlers run
 * on an API worker and may block on the store; they never touch the loop's data but through
 * loop_call(). */
struct api_call {
    struct api_env *env;
    struct arena *arena;
    struct api_actor actor;
    const char *request_id;
    const struct api_route *route;
    struct slice params[API_PARAMS]; /* path parameters in order, decoded */
    const struct http_param *query;  /* see api_query() */
    size_t n_query;
    const struct json *body;     /* object; {} when there was none */
    struct slice raw_body;       /* routes with API_RAW_BODY */
    const char *idempotency_key; /* NULL, or 64 hex characters: same caller and key, same text. A
                                    repetition after a crash has it again: derive dedupe keys from it */
    /* answer */
    unsigned status;          /* 200 unless set */
    struct json_writer w;     /* the handler writes one JSON value ... */
    struct buf out;           /* ... which lands here */
    const char *content_type; /* application/json unless set */
    int64_t retry_after_s;    /* 0 = no such header */
    /* long polls (API_LONG_POLL): set again_ms to be called once more after that time, with a fresh
     * answer and the same state; waited_ms says how long the caller has been waiting. */
    int64_t again_ms, waited_ms;
    void *state; /* in the arena; NULL at the first call */
    /* errors */
    struct buf details; /* see api_details() */
    struct json_writer details_w;
    struct buf message; /* longer than err.text: takes its place */
};

/** Decoded query value, p NULL when absent. */
struct slice api_query(const struct api_call *c, const char *name);
/** Values that the schema has checked; `fallback` when absent. */
int64_t api_query_int(const struct api_call *c, const char *name, int64_t fallback);
bool api_query_bool(const struct api_call *c, const char *name, bool fallback);
/** An open JSON object whose members are merged into the error object when the handler fails. */
struct json_writer *api_details(struct api_call *c);
/** Has the actor this scope? API_ADMIN has all. */
bool api_actor_may(const struct api_actor *a, uint32_t scope);

#define API_TEST_CONTACTS 1u  /* guarded: test contacts only */
#define API_CREATES_MAIL  2u  /* honours Idempotency-Key */
#define API_RAW_BODY      4u  /* body is not JSON; limit in route->max_body */
#define API_OWNER_ONLY    8u  /* control socket, tool in process, or scope admin */
#define API_LONG_POLL     16u /* may ask to be called again; at most ten at a time per actor */
#define API_INLINE        32u /* runs in the loop: no store, under a millisecond */
#define API_LOOPBACK      64u /* no token needed from this machine */

/** Returns 0 with the answer written, or -1 with `err`: code and sub-code map to HTTP status and
 * error word (api/error.h), members written through api_details() come along. */
typedef int api_handler_fn(struct api_call *c, struct err *err);

struct api_route {
    const char *method, *path; /* "/agent/broadcasts/:slug" */
    const char *summary;
    uint32_t scope; /* one scope bit that is needed */
    unsigned flags;
    const struct api_field *body; /* ends with name NULL; NULL = no body members */
    const struct api_field *query;
    size_t max_body; /* 0 = 1 MiB */
    api_handler_fn *handler;
    const char *const *errors; /* sub-codes it may answer, NULL-terminated */
};

/** Everything handlers reach. Filled by the wiring; loop, sender, ticker and gates are NULL in a tool
 * without a daemon (handlers that need them then answer 409 "daemon_required"), and the broadcast
 * functions do without their live parts. `table` and `auth` are set by api_create(), `table` alone by
 * api_local_create(). */
struct api_env {
    struct store *store;
    struct loop *loop;
    const struct crypto_keys *keys;
    struct sender *sender;
    struct broadcasts *broadcasts;
    struct ticker *ticker;
    struct gates *gates;
    struct api_ready *ready; /* NULL: always ready */
    const struct api_table *table;
    struct api_auth *auth;  /* set by api_create(); NULL in a tool */
    const char *public_url; /* "" when not configured */
    const char *data_dir;
    const char *sender_address;       /* postal address for templates */
    const char *const *test_contacts; /* patterns */
    size_t n_test_contacts;
    int64_t started_at_ms;
    unsigned tick_interval_s;
    unsigned n_workers; /* threads that run handlers; 0 = 4 */
};

#endif
