#ifndef SEND_ONEOFF_H
#define SEND_ONEOFF_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "message/value.h"
#include "send/content.h"
#include "store/sends.h"

struct store;

/** One mail to one contact, outside any broadcast. Slices are borrowed. */
struct oneoff {
    uint64_t contact, profile;
    struct slice address;
    int64_t address_hash;
    struct slice template_slug;
    uint32_t version;
    struct slice vars;   /* BSON bytes, empty = none */
    struct slice key;    /* caller's key: the same key makes no second mail; empty = none */
    struct slice origin; /* who asked: "broadcast-test:spring" */
    int64_t now_ms;
};

/** Insert the row with its recipe. `existing_r` is true when the key was used before: then `id_r` is
 * that row and nothing is inserted. Blocking. Tell the sender (sender_oneoff_added()) afterwards. */
int oneoff_insert(
    struct store *st, const struct oneoff *o, uint64_t *id_r, bool *existing_r, struct err *err);

/** The content and variables of a one-off row, from its recipe. Blocking; the content is the caller's,
 * `vars_r` lives in `a`. */
int oneoff_load(struct store *st, const struct send_row *row, struct arena *a, struct content **c_r,
    struct value *vars_r, struct err *err);

#endif
