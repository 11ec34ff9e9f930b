#ifndef MODEL_TEMPLATE_CONTENT_H
#define MODEL_TEMPLATE_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

#include <bson/bson.h>

#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"
#include "model/mail_kind.h"

#define TEMPLATE_MAX_HTML_BYTES (2u << 20)
#define TEMPLATE_MAX_TEXT_BYTES (1u << 20)

/** Everything that decides what a mail looks like. Slices are borrowed. */
struct template_content {
    enum mail_kind kind;
    struct slice subject, preheader; /* template language; 1–998, ≤ 998 characters */
    struct slice html, text;         /* empty text is derived when sending */
    struct slice from_name, from_email;
    struct slice reply_to; /* empty = none */
    struct slice profile;  /* slug of a profile that overrides; empty = none */
    bool is_text_only;     /* no HTML part, no tracking */
    bool track_opens, track_clicks;
    uint32_t n_links; /* static and dynamic links, set by the publisher */
};

/** Lengths, characters, addresses and kind of a content; no compiling. The sender may be empty: then the
 * profile's is used. ERR_INVALID names the field; a body without html and text is "empty_body". */
int template_content_check(const struct template_content *c, struct err *err);

/**
 * Read {kind, subject, preheader, body: {html, plainText}, fromName, fromEmail, replyTo,
 * providerOverride, bodyFormat, trackOpens, trackClicks} from a JSON object. Members that are absent keep
 * what `c` holds. `is_new`: tracking defaults to on for marketing and off otherwise. Strings borrow
 * from `body`.
 */
int template_content_from_json(
    const struct json *body, bool is_new, struct template_content *c, struct err *err);

/** Stored form, appended to an initialised document. */
void template_content_to_bson(const struct template_content *c, bson_t *doc);
/** Reads the members from a document; absent ones are empty. */
void template_content_from_bson(const bson_t *doc, struct template_content *c_r);
/** Members written into an open object; body with html and plainText when `with_body`. */
void template_content_write_members(
    struct json_writer *w, const struct template_content *c, bool with_body);

#endif
