#ifndef SEND_RENDER_H
#define SEND_RENDER_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "message/value.h"
#include "model/contact.h"
#include "send/content.h"

struct crypto_keys;

/** Installation-wide inputs of a render. */
struct render_env {
    const struct crypto_keys *keys;
    struct slice public_url;     /* without trailing slash; empty = links stay as written */
    struct slice sender_address; /* postal address */
    int64_t unsubscribe_lifetime_ms;
    int64_t now_ms;
};

/** One recipient. Without a send id (preview) nothing is tracked. */
struct render_recipient {
    uint64_t broadcast, send;
    uint32_t generation;
    struct slice address_key;
    const struct contact *contact;
    const struct value *vars; /* over the content's own; NULL = those */
};

/** The rendered parts, appended to buffers of the caller (cleared first). */
struct render_parts {
    struct buf subject, preheader, html, text, unsubscribe_url;
    unsigned n_inert; /* dynamic hrefs that were no http(s) URL */
};

void render_parts_init(struct render_parts *p);
void render_parts_deinit(struct render_parts *p);

/**
 * Render all parts for one recipient. Any thread; `scratch` is reset by the caller. Errors are
 * deterministic ("render_failed"): a repeat gives the same.
 */
int render_mail(const struct render_env *env, const struct content *c,
    const struct render_recipient *to, struct arena *scratch, struct render_parts *out,
    struct err *err);

#endif
