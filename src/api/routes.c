#include <stddef.h>

#include "api/resources.h"

/*
 * The route table: every resource of the API. Order is that of the self-description; matching does
 * not depend on it.
 */

const struct api_route *const api_all_routes[] = {
    api_describe_routes,
    api_ops_routes,
    api_broadcast_routes,
    api_template_routes,
    api_send_routes,
    api_contact_routes,
    api_suppression_routes,
    api_profile_routes,
    api_status_routes,
    api_audit_routes,
    api_token_routes,
    api_query_routes,
    NULL,
};
