#include "api/resources.h"

#include "api/contacts.h"
#include "api/resource.h"
#include "model/contact.h"

/*
 * The rows of contacts, once for agents and once for applications. On the agent's side whatever mails,
 * tags, wipes or changes the consent of a person is guarded: test contacts only, with scope "test". An
 * application does it for the people it knows, with scope "contacts".
 */

#define CONTACT_FIELDS                                                                             \
    {.name = "tags",                                                                               \
        .type = FIELD_ARRAY,                                                                       \
        .item_type = FIELD_STRING,                                                                 \
        .max = CONTACT_MAX_TAGS,                                                                   \
        .help = "all of them: tags that are left out are removed"},                                \
        {.name = "fields",                                                                         \
            .type = FIELD_OBJECT,                                                                  \
            .help = "anything; members replace stored ones, null removes, others stay"},           \
        {.name = "timezone",                                                                       \
            .type = FIELD_STRING,                                                                  \
            .is_nullable = true,                                                                   \
            .max = 64,                                                                             \
            .help = "IANA name"},                                                                  \
    {                                                                                              \
        .name = "locale", .type = FIELD_STRING, .is_nullable = true, .max = 35,                    \
        .help = "BCP 47, such as pt-BR"                                                            \
    }

static const struct api_field create_fields[] = {
    {.name = "externalId",
        .type = FIELD_STRING,
        .min = 1,
        .max = CONTACT_MAX_EXTERNAL_ID,
        .help = "your key; our id when left out"},
    {.name = "email", .type = FIELD_EMAIL, .is_required = true},
    CONTACT_FIELDS,
    {.name = "subscribe", .type = FIELD_BOOL, .help = "record a first consent"},
    {.name = "source", .type = FIELD_STRING, .min = 1, .max = 256, .help = "of that consent"},
    {.name = NULL},
};

static const struct api_field patch_fields[] = {
    {.name = "externalId", .type = FIELD_STRING, .min = 1, .max = CONTACT_MAX_EXTERNAL_ID},
    {.name = "email", .type = FIELD_EMAIL},
    CONTACT_FIELDS,
    {.name = NULL},
};

static const struct api_field list_query[] = {
    {.name = "emailPrefix", .type = FIELD_STRING, .min = 1, .max = 320},
    {.name = "externalIdPrefix", .type = FIELD_STRING, .min = 1, .max = CONTACT_MAX_EXTERNAL_ID},
    {.name = "tag", .type = FIELD_STRING, .min = 1, .max = CONTACT_MAX_TAG},
    API_PAGE_FIELDS,
    {.name = NULL},
};

static const struct api_field page_query[] = {
    API_PAGE_FIELDS,
    {.name = NULL},
};

static const struct api_field tag_fields[] = {
    {.name = "add", .type = FIELD_ARRAY, .item_type = FIELD_STRING, .max = 25},
    {.name = "remove", .type = FIELD_ARRAY, .item_type = FIELD_STRING, .max = 25},
    {.name = NULL},
};

static const char *const scopes[] = {"all", "marketing", "transactional", NULL};

static const struct api_field consent_fields[] = {
    {.name = "source", .type = FIELD_STRING, .min = 1, .max = 256},
    {.name = NULL},
};

static const struct api_field optout_fields[] = {
    {.name = "scope", .type = FIELD_STRING, .one_of = scopes, .help = "marketing unless given"},
    {.name = "source", .type = FIELD_STRING, .min = 1, .max = 256},
    {.name = NULL},
};

static const struct api_field reset_fields[] = {
    {.name = "suppressions", .type = FIELD_BOOL, .help = "lift them; true unless given"},
    {.name = "subscribe", .type = FIELD_BOOL, .help = "subscribe again; true unless given"},
    {.name = NULL},
};

static const struct api_field import_query[] = {
    {.name = "overwrite", .type = FIELD_BOOL, .help = "change contacts that exist"},
    {.name = "subscribe",
        .type = FIELD_BOOL,
        .help = "consent for contacts that have said nothing"},
    {.name = "dryRun", .type = FIELD_BOOL, .help = "count what would happen, write nothing"},
    {.name = "source", .type = FIELD_STRING, .min = 1, .max = 256, .help = "of that consent"},
    {.name = NULL},
};

static const char *const list_errors[] = {"bad_cursor", NULL};
static const char *const page_errors[] = {"contact_not_found", "bad_cursor", NULL};
static const char *const find_errors[] = {"contact_not_found", NULL};
static const char *const create_errors[] = {"contact_exists", "opted_out", NULL};
static const char *const patch_errors[] = {"contact_not_found", "contact_exists", NULL};
static const char *const consent_errors[] = {"contact_not_found", "not_a_test_contact",
    "test_contacts_not_configured", "opted_out", "no_address", NULL};
static const char *const url_errors[] = {"contact_not_found", "not_a_test_contact",
    "test_contacts_not_configured", "no_address", "public_url_required", NULL};
static const char *const tag_errors[] = {"contact_not_found", "no_tags", "tag_conflict",
    "not_a_test_contact", "test_contacts_not_configured", NULL};
static const char *const reset_errors[] = {"contact_not_found", "not_a_test_contact",
    "test_contacts_not_configured", "has_broadcast_sends", "no_address", NULL};
static const char *const import_errors[] = {"bad_header", NULL};

#define IMPORT_MAX_BYTES (64u << 20)

/* Rows of one prefix; `consent` is the scope of what changes consent, `guard` its flags. */
#define CONTACT_ROUTES(prefix, consent, guard)                                                     \
    {                                                                                              \
        .method = "POST",                                                                          \
        .path = prefix,                                                                            \
        .summary = "Create a contact",                                                             \
        .scope = API_CONTACTS,                                                                     \
        .body = create_fields,                                                                     \
        .handler = contacts_create,                                                                \
        .errors = create_errors,                                                                   \
    },                                                                                             \
        {                                                                                          \
            .method = "GET",                                                                       \
            .path = prefix,                                                                        \
            .summary = "Contacts, by id",                                                          \
            .scope = API_READ,                                                                     \
            .query = list_query,                                                                   \
            .handler = contacts_list,                                                              \
            .errors = list_errors,                                                                 \
        },                                                                                         \
        {                                                                                          \
            .method = "POST",                                                                      \
            .path = prefix "/import",                                                              \
            .summary = "Import CSV (body, at most 64 MiB); the first line names the columns",      \
            .scope = API_CONTACTS,                                                                 \
            .flags = API_RAW_BODY,                                                                 \
            .query = import_query,                                                                 \
            .max_body = IMPORT_MAX_BYTES,                                                          \
            .handler = contact_import,                                                             \
            .errors = import_errors,                                                               \
        },                                                                                         \
        {                                                                                          \
            .method = "GET",                                                                       \
            .path = prefix "/by-email/:email",                                                     \
            .summary = "The contact with an address",                                              \
            .scope = API_READ,                                                                     \
            .handler = contacts_get_email,                                                         \
            .errors = find_errors,                                                                 \
        },                                                                                         \
        {                                                                                          \
            .method = "GET",                                                                       \
            .path = prefix "/:externalId",                                                         \
            .summary = "A contact with consent and suppressions",                                  \
            .scope = API_READ,                                                                     \
            .handler = contacts_get,                                                               \
            .errors = find_errors,                                                                 \
        },                                                                                         \
        {                                                                                          \
            .method = "PATCH",                                                                     \
            .path = prefix "/:externalId",                                                         \
            .summary = "Change a contact",                                                         \
            .scope = API_CONTACTS,                                                                 \
            .body = patch_fields,                                                                  \
            .handler = contacts_patch,                                                             \
            .errors = patch_errors,                                                                \
        },                                                                                         \
        {                                                                                          \
            .method = "GET",                                                                       \
            .path = prefix "/:externalId/sends",                                                   \
            .summary = "Mail a contact got or is to get, oldest first",                            \
            .scope = API_READ,                                                                     \
            .query = page_query,                                                                   \
            .handler = contacts_sends,                                                             \
            .errors = page_errors,                                                                 \
        },                                                                                         \
        {                                                                                          \
            .method = "POST",                                                                      \
            .path = prefix "/:externalId/tags",                                                    \
            .summary = "Add and remove tags",                                                      \
            .scope = consent,                                                                      \
            .flags = guard,                                                                        \
            .body = tag_fields,                                                                    \
            .handler = contacts_tags,                                                              \
            .errors = tag_errors,                                                                  \
        },                                                                                         \
        {                                                                                          \
            .method = "POST",                                                                      \
            .path = prefix "/:externalId/subscribe",                                               \
            .summary = "An explicit opt-in: restores consent and lifts the person's own opt-outs", \
            .scope = consent,                                                                      \
            .flags = guard,                                                                        \
            .body = consent_fields,                                                                \
            .handler = consent_subscribe,                                                          \
            .errors = consent_errors,                                                              \
        },                                                                                         \
        {                                                                                          \
            .method = "POST",                                                                      \
            .path = prefix "/:externalId/unsubscribe",                                             \
            .summary = "An opt-out; durable when answered",                                        \
            .scope = consent,                                                                      \
            .flags = guard,                                                                        \
            .body = optout_fields,                                                                 \
            .handler = consent_unsubscribe,                                                        \
            .errors = consent_errors,                                                              \
        },                                                                                         \
    {                                                                                              \
        .method = "GET", .path = prefix "/:externalId/unsubscribe-url",                            \
        .summary = "The contact's own unsubscribe address", .scope = consent, .flags = guard,      \
        .handler = consent_unsubscribe_url, .errors = url_errors,                                  \
    }

const struct api_route api_contact_routes[] = {
    CONTACT_ROUTES("/agent/contacts", API_TEST, API_TEST_CONTACTS),
    {
        .method = "POST",
        .path = "/agent/contacts/:externalId/reset",
        .summary = "Lift the suppressions of a test contact and subscribe it again",
        .scope = API_TEST,
        .flags = API_TEST_CONTACTS,
        .body = reset_fields,
        .handler = consent_reset,
        .errors = reset_errors,
    },
    CONTACT_ROUTES("/v1/contacts", API_CONTACTS, 0),
    {.method = NULL},
};
