#ifndef API_SEND_VIEW_H
#define API_SEND_VIEW_H

#include <stddef.h>

#include "api/api.h"
#include "base/err.h"
#include "store/sends.h"

struct broadcast_view;

/** A row as people see it, with the contact's external id and, where there is one, the reply it got:
 * {id, generation, broadcastSlug, templateSlug, externalId, email, kind, lane, status, failClass,
 * replyCode, enhancedCode, errorMessage, provider, providerMessageId, queuedAt, dueAt, sentAt, ...}.
 * Rows of one broadcast are shown in its light (`v`: held and cancelled are a view); NULL reads the
 * broadcasts that the rows belong to. Elements of an open array. Blocking. */
int send_view_write_rows(struct api_call *c, const struct broadcast_view *v,
    const struct send_row *rows, size_t n, struct err *err);

/** One row as a member of an open object; NULL row writes null. */
int send_view_write_row(
    struct api_call *c, const char *name, const struct send_row *row, struct err *err);

#endif
