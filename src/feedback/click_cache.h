#ifndef FEEDBACK_CLICK_CACHE_H
#define FEEDBACK_CLICK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "message/tokens.h"

struct click_cache;
struct click_wait;
struct store;
struct workers;

/**
 * Link tables of the mails that are being clicked, so that a click costs no store call. Bounded in
 * bytes, the least recently used goes first. A broadcast that is gone is remembered for a minute.
 * Loop thread only.
 */
struct click_cache *click_cache_create(struct store *st, struct workers *cpu);
/** Nothing may be loading. */
void click_cache_free(struct click_cache **c);

enum click_found {
    CLICK_TARGET,    /* `url_r` borrowed until the next call */
    CLICK_UNKNOWN,   /* no such link */
    CLICK_NOT_LOADED /* ask click_cache_wait() */
};
enum click_found click_cache_find(
    struct click_cache *c, const struct token_send *ref, uint32_t ordinal, struct slice *url_r);

/** Called once when the table has been looked for; false = it could not be read now. */
typedef void click_wait_fn(bool is_loaded, void *arg);
/** Load, or join those who wait for it. Never calls `fn` before it returns. NULL when too many wait. */
struct click_wait *click_cache_wait(
    struct click_cache *c, const struct token_send *ref, click_wait_fn *fn, void *arg);
/** Afterwards `fn` is not called. */
void click_cache_cancel(struct click_cache *c, struct click_wait **w);

#endif
