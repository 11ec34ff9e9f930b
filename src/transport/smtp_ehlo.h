#ifndef TRANSPORT_SMTP_EHLO_H
#define TRANSPORT_SMTP_EHLO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/** What a server said it can do in its answer to EHLO (RFC 5321 §4.1.1.1). */
struct smtp_caps {
    bool has_pipelining; /* RFC 2920 */
    bool has_starttls;   /* RFC 3207 */
    bool has_8bitmime;   /* RFC 6152 */
    bool has_smtputf8;   /* RFC 6531 */
    bool has_size;       /* RFC 1870 */
    uint64_t size_max;   /* 0 = no limit stated */
    bool has_auth_plain; /* RFC 4616 */
    bool has_auth_login;
};

/** Parse the text of a 250 reply to EHLO: lines joined by '\n', the first being the greeting. Unknown
 * keywords and broken parameters are passed over. */
void smtp_ehlo_parse(struct slice text, struct smtp_caps *caps_r);

#endif
