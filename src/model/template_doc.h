#ifndef MODEL_TEMPLATE_DOC_H
#define MODEL_TEMPLATE_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"
#include "model/template_content.h"

struct store;

#define TEMPLATES_COLL         "templates"
#define TEMPLATE_VERSIONS_COLL "template_versions"

/** A template: what is live (the newest version) and what waits as a draft. */
struct template_doc {
    uint64_t id;
    struct slice slug, name, description;
    uint32_t version; /* newest published, 0 = none */
    bool has_draft;
    struct template_content live, draft; /* live: empty while version is 0 */
    int64_t published_at_ms, created_at_ms, updated_at_ms;
    struct slice published_by;
};

/** One immutable version. */
struct template_version {
    uint64_t id, template_id;
    struct slice slug;
    uint32_t version;
    struct template_content content;
    int64_t published_at_ms;
    struct slice published_by;
};

/** What to write. */
struct template_put {
    struct slice slug, name, description; /* p NULL name or description keeps what is stored */
    const struct template_content *content;
    struct slice actor;
    int64_t now_ms;
    bool is_discard_draft; /* publish although an unpublished draft waits */
};

/** Store a draft (made new when the slug is free). Blocking. */
int template_doc_save_draft(struct store *st, const struct template_put *p, struct arena *a,
    struct template_doc *t_r, bool *created_r, struct err *err);
/**
 * Publish: allocate the next version number on the template (one atomic find-and-update), insert the
 * immutable row, then move the live content forward to it. A crash between the steps leaves a gap in
 * the numbers, nothing else. ERR_CONFLICT "draft_exists". The caller has compiled the content.
 * Audited. Blocking.
 */
int template_doc_publish(struct store *st, const struct template_put *p, struct arena *a,
    struct template_doc *t_r, bool *created_r, struct err *err);

/** ERR_NOTFOUND "template_not_found". Blocking; results live in `a`. */
int template_doc_get(struct store *st, struct slice slug, struct arena *a, struct template_doc *t_r,
    struct err *err);
int template_version_get(struct store *st, struct slice slug, uint32_t version, struct arena *a,
    struct template_version *v_r, struct err *err);
/** Templates by slug ascending after `after_slug`, without bodies, limit 1..500. */
int template_doc_list(struct store *st, struct slice after_slug, unsigned limit, struct arena *a,
    const struct template_doc **docs_r, size_t *n_r, struct err *err);

/** Summary {slug, name, kind, subject, fromEmail, …, version}; with bodies when `with_body`. */
void template_doc_write_json(
    struct json_writer *w, const char *name, const struct template_doc *t, bool with_body);

#endif
