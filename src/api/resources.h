#ifndef API_RESOURCES_H
#define API_RESOURCES_H

#include "api/api.h"

/* The route arrays of all resources, one per file, each ended by method NULL. routes.c names them in
 * one list. */

extern const struct api_route api_describe_routes[];    /* describe.c */
extern const struct api_route api_ops_routes[];         /* ops.c */
extern const struct api_route api_profile_routes[];     /* profiles.c */
extern const struct api_route api_contact_routes[];     /* contact_routes.c */
extern const struct api_route api_template_routes[];    /* templates.c */
extern const struct api_route api_broadcast_routes[];   /* broadcast_routes.c */
extern const struct api_route api_send_routes[];        /* sends.c */
extern const struct api_route api_suppression_routes[]; /* suppressions.c */
extern const struct api_route api_status_routes[];      /* status.c */
extern const struct api_route api_audit_routes[];       /* audit.c */
extern const struct api_route api_token_routes[];       /* tokens.c */
extern const struct api_route api_query_routes[];       /* db_query.c */

/** All of them, ended by NULL: what api_create() and api_local_create() take. */
extern const struct api_route *const api_all_routes[];

/** Handler of GET /openapi.json (openapi.c), named by describe.c. */
int api_openapi(struct api_call *c, struct err *err);

#endif
