#ifndef AUDIENCE_SEGMENT_H
#define AUDIENCE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bson/bson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"
#include "model/subscription.h"

#define SEGMENT_MAX_FILTERS 50 /* in one list */
#define SEGMENT_MAX_DEPTH   8
#define SEGMENT_MAX_NODES   500
#define SEGMENT_MAX_VALUES  1000 /* of one fieldIn */

/**
 * Who a broadcast is for: {"filters": [...]}, all of which must hold. A filter is
 *   fieldEquals {field, value}, fieldIn {field, values}, fieldExists {field},
 *   hasTag {tag}, notHasTag {tag}, subscriptionStatus {equals},
 *   any {filters}, not {filter}
 * A field is externalId, email, timezone, locale, createdAt or updatedAt, else a path below `fields`
 * ("fields.plan" and "plan" are the same). Equality: a list matches by any element, a path goes through
 * lists, null matches what is missing, numbers compare across types, a string that is an RFC 3339 time
 * also matches that date; nothing else crosses types. Immutable once parsed; shared by threads.
 */
struct segment;

/**
 * Parse and check strictly. ERR_INVALID, sub "invalid_segment"; the text lists the faults as
 * "path: problem" joined by "; " as far as they fit, and all of them go to `issues` when it is given.
 * Unknown kinds and unknown members are faults.
 */
struct segment *segment_parse(const struct json *j, struct buf *issues, struct err *err);
/** As above from JSON text. */
struct segment *segment_parse_text(struct slice json, struct buf *issues, struct err *err);
/** From the stored canonical form. */
struct segment *segment_from_bson(struct slice bytes, struct err *err);
void segment_free(struct segment **s);
/** The segment of everybody who is subscribed: what a broadcast gets when none is given. */
struct segment *segment_default(void);

/** Canonical form: members in fixed order, "fields." prefixes resolved. Equal segments
 * give equal bytes and equal hashes. */
void segment_to_bson(const struct segment *s, bson_t *out);
void segment_write_json(struct json_writer *w, const char *name, const struct segment *s);
/** SHA-256 of the canonical bytes in hex, NUL-terminated. */
void segment_hash(const struct segment *s, char out[65]);

/** Is there a top-level filter subscriptionStatus = subscribed? Marketing needs one. */
bool segment_requires_subscribed(const struct segment *s);

/** What the page walk needs to know. */
struct segment_plan {
    /** The filter over contacts: every top-level filter (but the consent leaf) that consists of fields
     * and tags alone, and "not erased". Valid as long as the segment. */
    const bson_t *filter;
    bool is_consent;      /* the top-level subscribed leaf: a verdict, not a filter */
    bool needs_post;      /* other filters are left to segment_match_rest() */
    bool needs_status;    /* the rest looks at subscription statuses */
    bool needs_documents; /* the rest looks at fields or tags: read whole contacts */
};
const struct segment_plan *segment_plan(const struct segment *s);

/** Do the filters left over by the plan hold for a contact? `status` from the page's look-up. */
bool segment_match_rest(
    const struct segment *s, const bson_t *contact, enum subscription_status status);
/** Does the whole segment hold (the consent leaf left out, as in the plan)? The in-memory meaning, which
 * the store filter must equal. */
bool segment_match(const struct segment *s, const bson_t *contact, enum subscription_status status);

#endif
