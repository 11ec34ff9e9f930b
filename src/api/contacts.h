#ifndef API_CONTACTS_H
#define API_CONTACTS_H

#include "api/api.h"
#include "base/err.h"

struct contact;

/* Handlers of contacts, which contact_routes.c puts under /agent/contacts and /v1/contacts. */

/** Answer with the contact: {contact, isTestContact, subscription, suppressions}. */
int contacts_answer(struct api_call *c, const struct contact *contact, struct err *err);

/* contacts.c */
int contacts_create(struct api_call *c, struct err *err);
int contacts_patch(struct api_call *c, struct err *err);
int contacts_get(struct api_call *c, struct err *err);
int contacts_get_email(struct api_call *c, struct err *err);
int contacts_list(struct api_call *c, struct err *err);
int contacts_tags(struct api_call *c, struct err *err);
int contacts_sends(struct api_call *c, struct err *err);

/* consent.c */
int consent_subscribe(struct api_call *c, struct err *err);
int consent_unsubscribe(struct api_call *c, struct err *err);
int consent_unsubscribe_url(struct api_call *c, struct err *err);
int consent_reset(struct api_call *c, struct err *err);

/* contact_import.c */
int contact_import(struct api_call *c, struct err *err);

#endif
