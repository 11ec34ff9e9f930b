#include "api/resources.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/resource.h"
#include "api/templates.h"
#include "base/clock.h"
#include "model/contact.h"
#include "model/template_doc.h"
#include "send/content.h"

/*
 * Templates: publish, read, list. What is published has been compiled by the same code that will send
 * it, so a mail can fail by its data only.
 */

/* ---- publish --------------------------------------------------------------------------------- */

/* "html: line 3, column 7: what is wrong", as members of the error. */
static int
refuse_compile(struct api_call *c, struct err *err)
{
    struct slice rest = slice_str(err->text), part;
    unsigned line, column;
    int end = 0;

    if (err->code != ERR_INVALID)
        return -1;
    if (slice_cut(&rest, ':', &part) &&
        sscanf(err->text + part.n, ": line %u, column %u: %n", &line, &column, &end) == 2 &&
        end > 0) {
        jw_str(api_details(c), "part", part);
        jw_int(api_details(c), "line", line);
        jw_int(api_details(c), "column", column);
        jw_cstr(api_details(c), "problem", err->text + part.n + end);
    }
    jw_cstr(api_details(c), "reason", err->sub);
    snprintf(err->sub, sizeof err->sub, "compile_failed");
    return -1;
}

static int
read_content(struct api_call *c, struct template_content *t, struct err *err)
{
    struct content *compiled;

    memset(t, 0, sizeof *t);
    if (template_content_from_json(c->body, true, t, err) != 0 ||
        template_content_check(t, err) != 0)
        return -1;
    if (content_compile(t, &compiled, err) != 0)
        return refuse_compile(c, err);
    t->n_links = compiled->n_links;
    content_unref(&compiled);
    return 0;
}

static int
publish(struct api_call *c, struct err *err)
{
    struct slice by = api_body_str(c, "publishedBy");
    struct template_content content;
    struct template_put put = {
        .slug = c->params[0],
        .name = api_body_str(c, "name"),
        .description = api_body_str(c, "description"),
        .content = &content,
        .actor = by.n > 0 ? by : slice_str(c->actor.label),
        .now_ms = clock_now_ms(),
        .is_discard_draft = json_bool(json_get(c->body, "discardDraft"), false),
    };
    struct template_doc t;
    bool is_created;

    if (read_content(c, &content, err) != 0 ||
        template_doc_publish(c->env->store, &put, c->arena, &t, &is_created, err) != 0)
        return -1;
    c->status = is_created ? 201 : 200;
    jw_obj(&c->w, NULL);
    jw_str(&c->w, "slug", t.slug);
    jw_bool(&c->w, "created", is_created);
    jw_int(&c->w, "version", t.version);
    template_doc_write_json(&c->w, "template", &t, false);
    jw_end_obj(&c->w);
    return 0;
}

/* ---- read ------------------------------------------------------------------------------------ */

int
template_find(struct api_call *c, struct template_doc *t, struct err *err)
{
    if (template_doc_get(c->env->store, c->params[0], c->arena, t, err) == 0)
        return 0;
    if (err->code == ERR_NOTFOUND)
        jw_str(api_details(c), "slug", c->params[0]);
    return -1;
}

static int
get(struct api_call *c, struct err *err)
{
    struct template_doc t;

    if (template_find(c, &t, err) != 0)
        return -1;
    jw_obj(&c->w, NULL);
    template_doc_write_json(&c->w, "template", &t, true);
    jw_end_obj(&c->w);
    return 0;
}

static int
list(struct api_call *c, struct err *err)
{
    const struct template_doc *docs;
    unsigned limit = api_page_limit(c);
    size_t n;

    if (template_doc_list(c->env->store, api_query(c, "cursor"), limit, c->arena, &docs, &n, err) !=
        0)
        return -1;
    api_page_begin(c);
    for (size_t i = 0; i < n; i++)
        template_doc_write_json(&c->w, NULL, &docs[i], false);
    api_page_end_text(c, n == limit ? docs[n - 1].slug : SLICE_NONE);
    return 0;
}

static int
get_version(struct api_call *c, struct err *err)
{
    struct template_version v;
    uint64_t number;

    if (!slice_u64(c->params[1], &number) || number == 0 || number > UINT32_MAX)
        return err_sub(err, ERR_NOTFOUND, "version_not_found", "versions are numbers from 1");
    if (template_version_get(c->env->store, c->params[0], (uint32_t)number, c->arena, &v, err) !=
        0) {
        jw_int(api_details(c), "version", (int64_t)number);
        return -1;
    }
    jw_obj(&c->w, NULL);
    jw_obj(&c->w, "version");
    jw_id(&c->w, "id", v.id);
    jw_str(&c->w, "slug", v.slug);
    jw_int(&c->w, "version", v.version);
    template_content_write_members(&c->w, &v.content, true);
    jw_time(&c->w, "publishedAt", v.published_at_ms);
    jw_str(&c->w, "publishedBy", v.published_by);
    jw_end_obj(&c->w);
    jw_end_obj(&c->w);
    return 0;
}

/* ---- routes ---------------------------------------------------------------------------------- */

static const char *const kinds[] = {"marketing", "transactional", NULL};
static const char *const formats[] = {"multipart", "text_only", NULL};

static const struct api_field body_fields[] = {
    {.name = "html", .type = FIELD_STRING, .max = TEMPLATE_MAX_HTML_BYTES},
    {.name = "plainText",
        .type = FIELD_STRING,
        .is_nullable = true,
        .max = TEMPLATE_MAX_TEXT_BYTES,
        .help = "made from the HTML when it is blank"},
    {.name = NULL},
};

static const struct api_field publish_fields[] = {
    {.name = "name", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 200},
    {.name = "description", .type = FIELD_STRING, .max = 2000},
    {.name = "kind", .type = FIELD_STRING, .is_required = true, .one_of = kinds},
    {.name = "fromName", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 200},
    {.name = "fromEmail", .type = FIELD_EMAIL, .is_required = true},
    {.name = "replyTo", .type = FIELD_EMAIL, .is_nullable = true},
    {.name = "providerOverride",
        .type = FIELD_SLUG,
        .is_nullable = true,
        .help = "profile that sends it, else the broadcast's or the default"},
    {.name = "subject", .type = FIELD_STRING, .is_required = true, .min = 1, .max = 998},
    {.name = "preheader", .type = FIELD_STRING, .max = 998},
    {.name = "body", .type = FIELD_OBJECT, .is_required = true, .items = body_fields},
    {.name = "bodyFormat", .type = FIELD_STRING, .one_of = formats},
    {.name = "trackOpens", .type = FIELD_BOOL, .help = "true for marketing unless given"},
    {.name = "trackClicks", .type = FIELD_BOOL, .help = "true for marketing unless given"},
    {.name = "publishedBy", .type = FIELD_STRING, .min = 1, .max = 200},
    {.name = "discardDraft",
        .type = FIELD_BOOL,
        .help = "publish although a draft waits, which is lost"},
    {.name = NULL},
};

static const struct api_field list_query[] = {
    API_PAGE_FIELDS,
    {.name = NULL},
};

static const struct api_field sample_fields[] = {
    {.name = "email", .type = FIELD_EMAIL, .is_required = true},
    {.name = "externalId", .type = FIELD_STRING, .min = 1, .max = CONTACT_MAX_EXTERNAL_ID},
    {.name = "tags", .type = FIELD_ARRAY, .item_type = FIELD_STRING, .max = CONTACT_MAX_TAGS},
    {.name = "fields", .type = FIELD_OBJECT},
    {.name = "timezone", .type = FIELD_STRING, .max = 64},
    {.name = "locale", .type = FIELD_STRING, .max = 35},
    {.name = NULL},
};

static const struct api_field render_fields[] = {
    {.name = "contactId",
        .type = FIELD_STRING,
        .min = 1,
        .max = CONTACT_MAX_EXTERNAL_ID,
        .help = "externalId of a contact"},
    {.name = "sampleContact",
        .type = FIELD_OBJECT,
        .items = sample_fields,
        .help = "one that is stored nowhere, instead"},
    {.name = "vars", .type = FIELD_OBJECT},
    {.name = NULL},
};

static const struct api_field send_fields[] = {
    {.name = "contactId",
        .type = FIELD_STRING,
        .is_required = true,
        .min = 1,
        .max = CONTACT_MAX_EXTERNAL_ID,
        .help = "externalId of a test contact"},
    {.name = "vars", .type = FIELD_OBJECT},
    {.name = "dedupeKey",
        .type = FIELD_STRING,
        .min = 1,
        .max = 256,
        .help = "the same key makes no second mail"},
    {.name = NULL},
};

static const char *const publish_errors[] = {"empty_body", "compile_failed", "draft_exists", NULL};
static const char *const find_errors[] = {"template_not_found", NULL};
static const char *const render_errors[] = {
    "template_not_found", "contact_not_found", "not_published", "render_failed", NULL};
static const char *const send_errors[] = {"template_not_found", "contact_not_found",
    "test_contacts_not_configured", "not_a_test_contact", "not_published", "mail_unavailable",
    "profile_unknown", "public_url_required", "no_address", NULL};
static const char *const version_errors[] = {"template_not_found", "version_not_found", NULL};

#define MAX_BODY (8u << 20) /* two texts of at most 2 and 1 MiB, escaped */

const struct api_route api_template_routes[] = {
    {
        .method = "GET",
        .path = "/agent/templates",
        .summary = "Templates, by slug",
        .scope = API_READ,
        .query = list_query,
        .handler = list,
    },
    {
        .method = "PUT",
        .path = "/agent/templates/:slug",
        .summary = "Compile and publish a new version; mails nobody",
        .scope = API_TEMPLATES,
        .body = publish_fields,
        .max_body = MAX_BODY,
        .handler = publish,
        .errors = publish_errors,
    },
    {
        .method = "GET",
        .path = "/agent/templates/:slug",
        .summary = "A template with what is live",
        .scope = API_READ,
        .handler = get,
        .errors = find_errors,
    },
    {
        .method = "GET",
        .path = "/agent/templates/:slug/versions/:version",
        .summary = "One published version",
        .scope = API_READ,
        .handler = get_version,
        .errors = version_errors,
    },
    {
        .method = "POST",
        .path = "/agent/templates/:slug/render",
        .summary = "Render what is live for a contact; sends nothing",
        .scope = API_READ,
        .body = render_fields,
        .handler = template_render_preview,
        .errors = render_errors,
    },
    {
        .method = "POST",
        .path = "/agent/templates/:slug/send",
        .summary = "Really send what is live to a test contact",
        .scope = API_TEST,
        .flags = API_TEST_CONTACTS | API_CREATES_MAIL,
        .body = send_fields,
        .handler = template_send,
        .errors = send_errors,
    },
    {.method = NULL},
};
