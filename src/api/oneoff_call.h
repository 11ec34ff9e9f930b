#ifndef API_ONEOFF_CALL_H
#define API_ONEOFF_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "base/err.h"
#include "base/slice.h"

struct contact;
struct profile;
struct template_content;

/** One mail outside any broadcast, on behalf of a call. Slices are borrowed. */
struct oneoff_request {
    const struct contact *contact;
    const struct profile *profile;
    struct slice template_slug;
    uint32_t version;
    struct slice vars; /* BSON bytes; empty = none */
    struct slice key;  /* the same key makes no second mail */
    const char *origin;
};

/** The profile that a content goes through when none is named: its own, else the default. ERR_CONFLICT
 * "mail_unavailable", "profile_unknown"; "public_url_required" when marketing could not be left. */
int oneoff_profile(
    struct api_call *c, const struct template_content *t, struct profile *p_r, struct err *err);

/** Queue it and tell the sender. `existing_r`: the key was used before, and `id_r` is that mail. */
int oneoff_queue(struct api_call *c, const struct oneoff_request *r, uint64_t *id_r,
    bool *existing_r, struct err *err);

/** A key for a call that names none: derived from its Idempotency-Key, so that a repetition after a
 * crash makes no second mail, else random. In the arena. */
struct slice oneoff_key(struct api_call *c, const char *prefix);

/** An object member of the body as BSON bytes in the arena; empty when absent. -1 with a field error. */
int oneoff_vars(struct api_call *c, const char *name, struct slice *vars_r, struct err *err);

/** Write a one-off mail as a member of an open object. */
int oneoff_write_send(struct api_call *c, const char *name, uint64_t id, struct err *err);

#endif
