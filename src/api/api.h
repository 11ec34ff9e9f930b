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

struct store;
struct loop;
struct crypto_keys;
struct sender;
struct broadcasts;
struct ticker;
struct api_env;
struct http_request;

/** Who calls. */
enum api_via { API_VIA_TOKEN, API_VIA_SOCKET, API_VIA_LOCAL /* tool in process, no daemon */ };
struct api_actor {
    char label[128];  /* "agent:deploy-bot", "owner:local" */
    uint32_t scopes;  /* bits of enum api_scope */
    enum api_via via;
    uint64_t token;   /* id of the token, 0 = none */
};

enum api_scope {
    API_READ = 1u << 0, API_TEST = 1u << 1, API_TEMPLATES = 1u << 2, API_BROADCASTS = 1u << 3,
    API_CONTACTS = 1u << 4, API_ADMIN = 1u << 5, API_ANY = 1u << 6 /* any valid token */
};

/** One field of a JSON body or query; checked before the handler runs, all faults listed. */
enum api_field_type { FIELD_STRING, FIELD_SLUG, FIELD_EMAIL, FIELD_INT, FIELD_NUMBER, FIELD_BOOL,
    FIELD_TIME, FIELD_ID, FIELD_OBJECT, FIELD_ARRAY, FIELD_ANY };
struct api_field {
    const char *name;
    enum api_field_type type;
    bool is_required, is_nullable;
    int64_t min, max;                 /* length in characters, value, or number of items */
    const char *const *one_of;        /* NULL-terminated, strings only */
    const struct api_field *items;    /* schema of an object's members or of an array's elements: ends with name NULL */
    enum api_field_type item_type;    /* FIELD_ARRAY of scalars */
    const char *help;                 /* one line for the machine description */
};

/** One call, whether it came over HTTP, the control socket, or from a tool in process. Handlers run on
 * an API worker and may block on the store; they never touch the loop's data but through loop_call(). */
struct api_call {
    struct api_env *env;
    struct arena *arena;
    struct api_actor actor;
    const char *request_id;
    const struct api_route *route;
    struct slice params[4];     /* path parameters in order */
    const struct json *body;    /* object; {} when there was none */
    struct slice raw_body;      /* routes with API_RAW_BODY */
    /** Decoded query value, p NULL when absent. */
    struct slice (*query)(const struct api_call *c, const char *name);
    const void *query_arg;
    /* answer */
    unsigned status;            /* 200 unless set */
    struct json_writer w;       /* the handler writes one JSON value */
    struct buf out;
    const char *content_type;   /* application/json unless set */
    int64_t retry_after_s;
};

#define API_TEST_CONTACTS 1u  /* guarded: test contacts only */
#define API_CREATES_MAIL  2u  /* honours Idempotency-Key */
#define API_RAW_BODY      4u  /* body is not JSON; limit in route->max_body */
#define API_OWNER_ONLY    8u  /* control socket or scope admin */

/** Returns 0 with the answer written, or -1 with `err`: code and sub-code map to HTTP status, members
 * already written to c->w after api_details() are merged into the error object. */
typedef int api_handler_fn(struct api_call *c, struct err *err);

struct api_route {
    const char *method, *path; /* "/agent/broadcasts/:slug" */
    const char *summary;
    uint32_t scope;            /* one scope bit that is needed */
    unsigned flags;
    const struct api_field *body;  /* ends with name NULL; NULL = no body members */
    const struct api_field *query;
    size_t max_body;           /* 0 = 1 MiB */
    api_handler_fn *handler;
    const char *const *errors; /* sub-codes it may answer, NULL-terminated */
};

/** Everything handlers reach. Filled by daemon/wiring.c; sender, broadcasts and ticker are NULL in a
 * tool without a daemon (handlers that need them then answer 409 "daemon_required"). */
struct api_env {
    struct store *store;
    struct loop *loop;
    const struct crypto_keys *keys;
    struct sender *sender;
    struct broadcasts *broadcasts;
    struct ticker *ticker;
    const char *public_url;      /* "" when not configured */
    const char *data_dir;
    const char *sender_address;  /* postal address for templates */
    const char *const *test_contacts; /* patterns */
    size_t n_test_contacts;
    int64_t started_at_ms;
    unsigned tick_interval_s;
};

#endif
