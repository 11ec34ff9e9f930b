#ifndef MESSAGE_ADDRESS_H
#define MESSAGE_ADDRESS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/** Longest address taken in, in bytes: 64 + 1 + 255 (RFC 5321 §4.5.3.1), UTF-8 as given. */
#define ADDRESS_MAX 320

/**
 * One addr-spec as people give it: trimmed, dot-atom or quoted local part (RFC 5321 §4.1.2, UTF-8 by
 * RFC 6531), domain of letters-digits-hyphens labels or an internationalised name; no address
 * literal, no comment, no control character. `ascii_domain` is the A-label form, lower case.
 */
struct address {
    struct slice local;     /* as given, borrowed from the input */
    struct slice domain;    /* as given, borrowed */
    char ascii_domain[256]; /* IDNA2008 A-labels, lower case, NUL-terminated */
    bool is_local_utf8;     /* needs SMTPUTF8 (RFC 6531) */
};

/** ERR_INVALID with a text that says what is wrong (never the address itself). */
int address_parse(struct slice text, struct address *a_r, struct err *err);

/** The address key: ASCII-lowered local part, '@', A-label domain. It feeds every comparison, unique
 * key and hash. Appended to `out`. */
void address_key(const struct address *a, struct buf *out);
/** Parse and key in one step. */
int address_key_of(struct slice text, struct buf *out, struct err *err);

/** Form for the SMTP envelope and header fields: local part as given, '@', A-label domain. */
void address_wire(const struct address *a, struct buf *out);

/** `"Name" <local@domain>` for a header field: the phrase quoted or RFC 2047-encoded as needed. The
 * caller folds nothing: the result is folded near 76 columns, starting at column `column`. A name
 * with control characters is ERR_INVALID. An empty name gives the bare address. */
int address_mailbox(struct slice display_name, const struct address *a, size_t column,
    struct buf *out, struct err *err);

#endif
