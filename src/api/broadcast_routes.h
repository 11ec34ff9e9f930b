#ifndef API_BROADCAST_ROUTES_H
#define API_BROADCAST_ROUTES_H

#include "api/api.h"
#include "broadcast/broadcasts.h"

/* Handlers of broadcasts, which broadcast_routes.c names. */

/** The broadcast that path parameter 0 names, and the environment to act on it. 404 "not_found". */
int broadcast_find(
    struct api_call *c, struct broadcast_call *bc, struct broadcast_view *v, struct err *err);
/** {broadcast}. Returns 0. */
int broadcast_answer(struct api_call *c, const struct broadcast_view *v);

/* broadcasts.c */
int broadcasts_list(struct api_call *c, struct err *err);
int broadcasts_get(struct api_call *c, struct err *err);
int broadcasts_create(struct api_call *c, struct err *err);
int broadcasts_patch(struct api_call *c, struct err *err);
int broadcasts_delete(struct api_call *c, struct err *err);

/* broadcast_actions.c */
int broadcasts_count(struct api_call *c, struct err *err);
int broadcasts_count_get(struct api_call *c, struct err *err);
int broadcasts_schedule(struct api_call *c, struct err *err);
int broadcasts_unschedule(struct api_call *c, struct err *err);
int broadcasts_pause(struct api_call *c, struct err *err);
int broadcasts_resume(struct api_call *c, struct err *err);
int broadcasts_cancel(struct api_call *c, struct err *err);
int broadcasts_wait(struct api_call *c, struct err *err);

/* broadcast_rows.c */
int broadcasts_sends(struct api_call *c, struct err *err);
int broadcasts_exclusions(struct api_call *c, struct err *err);

/* broadcast_repair.c */
int broadcasts_requeue(struct api_call *c, struct err *err);
int broadcasts_resolve(struct api_call *c, struct err *err);

/* broadcast_test.c */
int broadcasts_test_send(struct api_call *c, struct err *err);

#endif
