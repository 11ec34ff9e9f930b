#ifndef MODEL_MAIL_KIND_H
#define MODEL_MAIL_KIND_H

#include "base/slice.h"

/** What a mail is for; decides consent, suppression scopes and the unsubscribe headers. Stored by
 * name. */
enum mail_kind { MAIL_MARKETING = 0, MAIL_TRANSACTIONAL = 1 };

/** "marketing" or "transactional". Static storage. */
const char *mail_kind_name(enum mail_kind kind);
/** The kind, or -1 for an unknown name. */
int mail_kind_parse(struct slice name);

#endif
