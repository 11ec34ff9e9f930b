#ifndef SEND_CONTENT_H
#define SEND_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "message/template.h"
#include "message/value.h"
#include "model/mail_kind.h"
#include "model/profile.h"
#include "transport/transport.h"

struct crypto_keys;
struct crypto_signer;
struct store;
struct template_content;

/**
 * What all mails of a group have in common: one immutable, compiled template version with the
 * broadcast's variables. Loaded on a worker, then shared by prepare batches through a count that only
 * the loop thread changes.
 */
struct content {
    unsigned refs;
    struct arena *arena;
    uint64_t broadcast; /* 0 for one-off mail */
    struct slice template_slug;
    uint32_t version;
    enum mail_kind kind;
    struct template *subject, *preheader, *html, *text;
    bool has_html;
    uint32_t n_links; /* that are tracked */
    struct slice from_name, from_address, reply_to;
    struct value vars;       /* of the broadcast */
    struct slice slug, name; /* of the broadcast */
};

/** Compile a content that is not stored, as publishing does to see whether it can be sent. The result
 * has no sender and no slug; the caller is its only owner. ERR_INVALID with the part, line and column in
 * its text. */
int content_compile(const struct template_content *t, struct content **c_r, struct err *err);

/** Load and compile version `version` of a template for a broadcast. Blocking. ERR_NOTFOUND when it is
 * gone; what does not compile is ERR_INVALID. */
int content_load_broadcast(
    struct store *st, uint64_t broadcast, struct content **c_r, struct err *err);
int content_load_template(
    struct store *st, struct slice slug, uint32_t version, struct content **c_r, struct err *err);
/** Count down; frees the last. Loop thread (or the only owner). */
void content_unref(struct content **c);

/** A profile's settings as the sender uses them: opened secrets, signers. Shared like content. */
struct outlet {
    unsigned refs;
    struct arena *arena;
    struct profile profile;
    struct crypto_signer *signers[PROFILE_MAX_DKIM];
    char *password; /* NULL = none */
};

/** Blocking. */
int outlet_load(struct store *st, const struct crypto_keys *keys, uint64_t profile,
    struct outlet **o_r, struct err *err);
void outlet_unref(struct outlet **o);
/** Settings for transport_create(); strings borrow from the outlet. */
void outlet_settings(
    const struct outlet *o, const char *default_ehlo, struct transport_settings *s_r);

#endif
