#ifndef API_RESOURCE_H
#define API_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "base/err.h"
#include "base/slice.h"

struct broadcast_call;
struct contact;
struct send_row;

/* What the resource files have in common: lists, the contact a call is about, the environment of the
 * broadcast functions. Everything runs on API workers and may block. */

/** Query fields of a list. `limit` beyond the maximum is a fault that names it, never a silent cut. */
#define API_PAGE_MAX     500
#define API_PAGE_DEFAULT 50
#define API_PAGE_FIELDS                                                                            \
    {.name = "limit",                                                                              \
        .type = FIELD_INT,                                                                         \
        .min = 1,                                                                                  \
        .max = API_PAGE_MAX,                                                                       \
        .help = "items on a page, 50 unless given"},                                               \
    {                                                                                              \
        .name = "cursor", .type = FIELD_STRING, .min = 1, .max = 200,                              \
        .help = "nextCursor of the page before"                                                    \
    }

/** Items a caller wants on a page. */
unsigned api_page_limit(const struct api_call *c);
/** The cursor as an id, 0 = from the start. -1 with "bad_cursor" for what is none of ours. */
int api_page_after(const struct api_call *c, uint64_t *after_r, struct err *err);
/** {"items": [ ... */
void api_page_begin(struct api_call *c);
/** ... ], "nextCursor": the id or null} */
void api_page_end(struct api_call *c, uint64_t next);
void api_page_end_text(struct api_call *c, struct slice next);

/** A path parameter that must be an id; 404 "not_found" otherwise. */
int api_id_param(const struct api_call *c, size_t i, uint64_t *id_r, struct err *err);

/** String member of the body, p NULL when absent or null. */
struct slice api_body_str(const struct api_call *c, const char *name);
/** A time of the body that the schema has checked; 0 when absent or null. */
int64_t api_body_time(const struct api_call *c, const char *name);

/** ERR_CONFLICT "daemon_required" when the broadcast functions are not to be had. */
int api_broadcast_call(struct api_call *c, struct broadcast_call *out_r, struct err *err);

/** The contact with this external id (or, when it has none, its id text). 404 "contact_not_found" with
 * the externalId as a detail. */
int api_contact_find(
    struct api_call *c, struct slice external_id, struct contact *out_r, struct err *err);

/** Give an error with this sub-code a text for people: conditions of the store know none. Returns -1. */
int api_reword(struct err *err, const char *sub, const char *text);

/** Write one audit row of an action that has no batch of its own. */
int api_audit(struct api_call *c, const char *action, const char *resource, struct slice id,
    const char *summary, struct err *err);

#endif
