#include "api/resources.h"

#include "api/broadcast_routes.h"
#include "api/resource.h"

/*
 * The rows of broadcasts: paths, fields, scopes. Handlers are in broadcasts.c, broadcast_actions.c,
 * broadcast_rows.c, broadcast_repair.c and broadcast_test.c.
 */

#define LATENESS_MAX_MIN 10080
#define COUNT_MAX        INT64_C(100000000)
#define IDS_MAX          500

#define DEFINITION_FIELDS                                                                          \
    {.name = "segmentDefinition",                                                                  \
        .type = FIELD_OBJECT,                                                                      \
        .is_nullable = true,                                                                       \
        .help = "{filters: [...]}, all of which must hold; everybody subscribed unless given"},    \
        {.name = "profile",                                                                        \
            .type = FIELD_SLUG,                                                                    \
            .is_nullable = true,                                                                   \
            .help = "else the template's, else the default profile"},                              \
        {.name = "stopRules",                                                                      \
            .type = FIELD_OBJECT,                                                                  \
            .is_nullable = true,                                                                   \
            .help = "{enabled, hardBounceRatePct, complaintRatePct, unsubscribeRatePct, "          \
                    "minSample}"},                                                                 \
        {.name = "vars", .type = FIELD_OBJECT, .is_nullable = true, .help = "for the template"},   \
        {.name = "maxLatenessMinutes",                                                             \
            .type = FIELD_INT,                                                                     \
            .min = 1,                                                                              \
            .max = LATENESS_MAX_MIN,                                                               \
            .help = "a start that would be later waits for a decision"},                           \
    {                                                                                              \
        .name = "audienceGrowthPct", .type = FIELD_INT, .max = 1000,                               \
        .help = "how much more than confirmed may be planned; 0 allows nothing"                    \
    }

static const struct api_field create_fields[] = {
    {.name = "slug", .type = FIELD_SLUG, .is_required = true},
    {.name = "name", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 200},
    {.name = "templateSlug", .type = FIELD_SLUG, .is_required = true},
    DEFINITION_FIELDS,
    {.name = NULL},
};

static const struct api_field patch_fields[] = {
    {.name = "name", .type = FIELD_STRING, .min = 1, .max = 200},
    {.name = "templateSlug", .type = FIELD_SLUG},
    DEFINITION_FIELDS,
    {.name = NULL},
};

static const char *const purposes[] = {"schedule", "resume", NULL};

static const struct api_field count_fields[] = {
    {.name = "purpose",
        .type = FIELD_STRING,
        .one_of = purposes,
        .help = "what the token is for; resume when the broadcast is paused, else schedule"},
    {.name = "waitMs", .type = FIELD_INT, .max = 10000, .help = "10000 unless given"},
    {.name = NULL},
};

static const struct api_field schedule_fields[] = {
    {.name = "scheduledAt", .type = FIELD_STRING, .max = 64, .help = "\"now\" or RFC 3339"},
    {.name = "countToken", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 64},
    {.name = "confirmedCount",
        .type = FIELD_INT,
        .max = COUNT_MAX,
        .help = "recipientCount of the count"},
    {.name = NULL},
};

static const struct api_field resume_fields[] = {
    {.name = "countToken", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 64},
    {.name = "confirmedCount",
        .type = FIELD_INT,
        .max = COUNT_MAX,
        .help = "confirmCount of the count: people still to be planned and rows held"},
    {.name = NULL},
};

static const struct api_field pause_fields[] = {
    {.name = "reason", .type = FIELD_STRING, .max = 500},
    {.name = NULL},
};

static const char *const states[] = {"queued", "sending", "sent", "delivered", "bounced",
    "complained", "suppressed", "failed", "cancelled", "unknown", "held", NULL};
static const char *const classes[] = {"address", "message", "account", "network", "render",
    "attachment", "expired", "recipient", "mailbox_full", "throttled", NULL};
static const char *const reasons[] = {"invalid_address", "no_consent", "duplicate_address",
    "suppressed_unsubscribed", "suppressed_hard_bounce", "suppressed_complaint",
    "suppressed_manual", "suppressed_list_cleaning", "suppressed_erasure", NULL};

static const struct api_field sends_query[] = {
    {.name = "status", .type = FIELD_STRING, .one_of = states},
    {.name = "failClass", .type = FIELD_STRING, .one_of = classes},
    API_PAGE_FIELDS,
    {.name = NULL},
};

static const char *const requeue_states[] = {"failed", "unknown", "suppressed", NULL};
static const char *const resolve_states[] = {"sent", "failed", NULL};

#define ROWS_FIELDS                                                                                \
    {.name = "ids",                                                                                \
        .type = FIELD_ARRAY,                                                                       \
        .item_type = FIELD_ID,                                                                     \
        .min = 1,                                                                                  \
        .max = IDS_MAX,                                                                            \
        .help = "these rows; all that fit when left out"},                                         \
    {                                                                                              \
        .name = "confirmedCount", .type = FIELD_INT, .max = COUNT_MAX,                             \
        .help = "how many rows this is about"                                                      \
    }

static const struct api_field requeue_fields[] = {
    {.name = "state", .type = FIELD_STRING, .is_required = true, .one_of = requeue_states},
    {.name = "failClass", .type = FIELD_STRING, .one_of = classes},
    ROWS_FIELDS,
    {.name = NULL},
};

static const struct api_field resolve_fields[] = {
    {.name = "to", .type = FIELD_STRING, .is_required = true, .one_of = resolve_states},
    ROWS_FIELDS,
    {.name = NULL},
};

static const struct api_field test_fields[] = {
    {.name = "contactIds",
        .type = FIELD_ARRAY,
        .is_required = true,
        .item_type = FIELD_STRING,
        .min = 1,
        .max = 10,
        .help = "externalIds of test contacts"},
    {.name = "vars", .type = FIELD_OBJECT, .help = "over those of the broadcast"},
    {.name = NULL},
};

static const struct api_field exclusions_query[] = {
    {.name = "reason", .type = FIELD_STRING, .is_required = true, .one_of = reasons},
    API_PAGE_FIELDS,
    {.name = NULL},
};

static const struct api_field list_query[] = {
    API_PAGE_FIELDS,
    {.name = NULL},
};

static const struct api_field get_query[] = {
    {.name = "recount",
        .type = FIELD_BOOL,
        .help = "count the rows anew and compare; reads every row"},
    {.name = NULL},
};

static const struct api_field wait_query[] = {
    {.name = "status", .type = FIELD_STRING, .max = 100, .help = "states, parted by commas"},
    {.name = "timeoutMs", .type = FIELD_INT, .max = 55000, .help = "30000 unless given"},
    {.name = NULL},
};

static const char *const list_errors[] = {"bad_cursor", NULL};
static const char *const find_errors[] = {"not_found", NULL};
static const char *const create_errors[] = {"slug_taken", "template_not_marketing",
    "segment_requires_subscribed", "invalid_segment", "invalid_stop_rules", NULL};
static const char *const patch_errors[] = {"not_found", "not_draft", "template_not_marketing",
    "segment_requires_subscribed", "invalid_segment", "invalid_stop_rules", NULL};
static const char *const draft_errors[] = {"not_found", "not_draft", NULL};
static const char *const count_errors[] = {"not_found", "template_not_found",
    "template_not_published", "template_not_marketing", "segment_requires_subscribed",
    "too_many_counts", NULL};
static const char *const schedule_errors[] = {"not_found", "scheduledAt_required",
    "bad_scheduledAt", "confirmedCount_required", "not_draft", "segment_requires_subscribed",
    "template_not_found", "template_not_marketing", "template_not_published", "mail_unavailable",
    "profile_unknown", "public_url_required", "count_expired", "count_stale", "count_mismatch",
    NULL};
static const char *const unschedule_errors[] = {"not_found", "not_scheduled", NULL};
static const char *const pause_errors[] = {"not_found", "not_pausable", NULL};
static const char *const resume_errors[] = {"not_found", "confirmedCount_required", "not_paused",
    "segment_requires_subscribed", "profile_paused", "count_expired", "count_stale",
    "count_mismatch", NULL};
static const char *const cancel_errors[] = {"not_found", "already_finished", NULL};
static const char *const requeue_errors[] = {
    "not_found", "confirmedCount_required", "count_mismatch", "not_requeueable", NULL};
static const char *const resolve_errors[] = {
    "not_found", "confirmedCount_required", "count_mismatch", NULL};
static const char *const test_errors[] = {"not_found", "template_not_found", "not_published",
    "contact_not_found", "test_contacts_not_configured", "not_a_test_contact", "mail_unavailable",
    "profile_unknown", "public_url_required", NULL};
static const char *const page_errors[] = {"not_found", "bad_cursor", NULL};

#define BROADCAST "/agent/broadcasts/:slug"

const struct api_route api_broadcast_routes[] = {
    {
        .method = "GET",
        .path = "/agent/broadcasts",
        .summary = "Broadcasts, newest first",
        .scope = API_READ,
        .query = list_query,
        .handler = broadcasts_list,
        .errors = list_errors,
    },
    {
        .method = "POST",
        .path = "/agent/broadcasts",
        .summary = "Create a draft",
        .scope = API_BROADCASTS,
        .body = create_fields,
        .handler = broadcasts_create,
        .errors = create_errors,
    },
    {
        .method = "GET",
        .path = BROADCAST,
        .summary = "A broadcast with ledger, progress, gates, mail in flight and statistics",
        .scope = API_READ,
        .query = get_query,
        .handler = broadcasts_get,
        .errors = find_errors,
    },
    {
        .method = "PATCH",
        .path = BROADCAST,
        .summary = "Change a draft",
        .scope = API_BROADCASTS,
        .body = patch_fields,
        .handler = broadcasts_patch,
        .errors = patch_errors,
    },
    {
        .method = "DELETE",
        .path = BROADCAST,
        .summary = "Delete a draft",
        .scope = API_BROADCASTS,
        .handler = broadcasts_delete,
        .errors = draft_errors,
    },
    {
        .method = "POST",
        .path = BROADCAST "/count",
        .summary = "Count the recipients; the answer has the token for schedule or resume, or 202",
        .scope = API_BROADCASTS,
        .flags = API_LONG_POLL,
        .body = count_fields,
        .handler = broadcasts_count,
        .errors = count_errors,
    },
    {
        .method = "GET",
        .path = BROADCAST "/counts/:id",
        .summary = "A count that was answered 202",
        .scope = API_READ,
        .handler = broadcasts_count_get,
        .errors = find_errors,
    },
    {
        .method = "POST",
        .path = BROADCAST "/schedule",
        .summary = "Schedule a draft with a count's token and its number",
        .scope = API_BROADCASTS,
        .flags = API_CREATES_MAIL,
        .body = schedule_fields,
        .handler = broadcasts_schedule,
        .errors = schedule_errors,
    },
    {
        .method = "POST",
        .path = BROADCAST "/unschedule",
        .summary = "Back to draft before it starts",
        .scope = API_BROADCASTS,
        .handler = broadcasts_unschedule,
        .errors = unschedule_errors,
    },
    {
        .method = "POST",
        .path = BROADCAST "/pause",
        .summary = "Hold what has not been claimed; the answer names what is in flight",
        .scope = API_BROADCASTS,
        .body = pause_fields,
        .handler = broadcasts_pause,
        .errors = pause_errors,
    },
    {
        .method = "POST",
        .path = BROADCAST "/resume",
        .summary = "Go on after a count for resume",
        .scope = API_BROADCASTS,
        .flags = API_CREATES_MAIL,
        .body = resume_fields,
        .handler = broadcasts_resume,
        .errors = resume_errors,
    },
    {
        .method = "POST",
        .path = BROADCAST "/cancel",
        .summary = "Never send what has not been claimed",
        .scope = API_BROADCASTS,
        .handler = broadcasts_cancel,
        .errors = cancel_errors,
    },
    {
        .method = "GET",
        .path = BROADCAST "/wait",
        .summary = "Wait until the broadcast is in one of the states",
        .scope = API_READ,
        .flags = API_LONG_POLL,
        .query = wait_query,
        .handler = broadcasts_wait,
        .errors = find_errors,
    },
    {
        .method = "GET",
        .path = BROADCAST "/sends",
        .summary = "Rows, by state as the ledger shows it",
        .scope = API_READ,
        .query = sends_query,
        .handler = broadcasts_sends,
        .errors = page_errors,
    },
    {
        .method = "GET",
        .path = BROADCAST "/exclusions",
        .summary = "Contacts that were matched and left out, by reason",
        .scope = API_READ,
        .query = exclusions_query,
        .handler = broadcasts_exclusions,
        .errors = page_errors,
    },
    {
        .method = "POST",
        .path = BROADCAST "/sends/requeue",
        .summary = "Put rows back that failed or are in doubt: they may be mailed (again)",
        .scope = API_BROADCASTS,
        .flags = API_CREATES_MAIL,
        .body = requeue_fields,
        .handler = broadcasts_requeue,
        .errors = requeue_errors,
    },
    {
        .method = "POST",
        .path = BROADCAST "/sends/resolve",
        .summary = "Say what became of rows in doubt",
        .scope = API_BROADCASTS,
        .body = resolve_fields,
        .handler = broadcasts_resolve,
        .errors = resolve_errors,
    },
    {
        .method = "POST",
        .path = BROADCAST "/test-send",
        .summary = "Really send its mail to test contacts; counts in no figure",
        .scope = API_TEST,
        .flags = API_TEST_CONTACTS | API_CREATES_MAIL,
        .body = test_fields,
        .handler = broadcasts_test_send,
        .errors = test_errors,
    },
    {.method = NULL},
};
