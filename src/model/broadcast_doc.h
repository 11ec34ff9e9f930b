#ifndef MODEL_BROADCAST_DOC_H
#define MODEL_BROADCAST_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"
#include "model/stop_rules.h"

struct run_record;
struct store;
struct store_batch;

#define BROADCASTS_COLL "broadcasts"

/** What a broadcast is; everything that changes while it runs is in its run record. */
struct broadcast_doc {
    uint64_t id;
    struct slice slug, name, template_slug;
    struct slice segment; /* BSON bytes in canonical form (audience/segment.h) */
    struct slice profile; /* slug; empty = the template's, else the default profile */
    struct stop_rules stop_rules;
    struct slice vars;        /* BSON bytes given to the template as `vars`; empty = none */
    int64_t max_lateness_ms;  /* 0 = default */
    int64_t growth_limit_pct; /* tolerated growth after confirmation; -1 = default */
    int64_t created_at_ms, updated_at_ms;
    struct slice created_by;
    struct slice confirmed_by; /* last confirmation; empty = none */
};

#define BROADCAST_SET_NAME       (1u << 0)
#define BROADCAST_SET_TEMPLATE   (1u << 1)
#define BROADCAST_SET_SEGMENT    (1u << 2)
#define BROADCAST_SET_PROFILE    (1u << 3)
#define BROADCAST_SET_STOP_RULES (1u << 4)
#define BROADCAST_SET_VARS       (1u << 5)
#define BROADCAST_SET_LATENESS   (1u << 6)
#define BROADCAST_SET_GROWTH     (1u << 7)

/** Lengths, slugs and sizes (vars ≤ 64 KiB, depth 16). ERR_INVALID names the field. */
int broadcast_doc_check(const struct broadcast_doc *d, unsigned set, struct err *err);

/** Insert the document and its run record (draft) in one batch, with an audit row. Blocking. Fills id
 * and times. ERR_CONFLICT "slug_taken". */
int broadcast_doc_create(
    struct store *st, struct broadcast_doc *d, struct slice actor, int64_t now_ms, struct err *err);
/** Change the members in `set` while the run is a draft. ERR_NOTFOUND "not_found", ERR_CONFLICT
 * "not_draft". The document as it is afterwards in `d_r`. Blocking, audited. */
int broadcast_doc_patch(struct store *st, uint64_t id, const struct broadcast_doc *d, unsigned set,
    struct slice actor, int64_t now_ms, struct arena *a, struct broadcast_doc *d_r,
    struct err *err);
/** Remember who confirmed last, in any state; adds one update to a batch. */
void broadcast_doc_confirmed_op(
    struct store_batch *b, uint64_t id, struct slice actor, int64_t now_ms);
/** Replace the stop rules in any state (resume); adds one update to a batch. */
void broadcast_doc_stop_rules_op(
    struct store_batch *b, uint64_t id, const struct stop_rules *r, int64_t now_ms);
/** Delete a draft with its run record. ERR_CONFLICT "not_draft". Blocking, audited. */
int broadcast_doc_delete(
    struct store *st, uint64_t id, struct slice actor, int64_t now_ms, struct err *err);

/** ERR_NOTFOUND "not_found"; the run record comes along when `run_r` is given (its slices live in
 * `a`). Blocking. */
int broadcast_doc_get(struct store *st, struct slice slug, struct arena *a,
    struct broadcast_doc *d_r, struct run_record *run_r, struct err *err);
int broadcast_doc_get_id(struct store *st, uint64_t id, struct arena *a, struct broadcast_doc *d_r,
    struct run_record *run_r, struct err *err);
/** Newest first, before `before_id` (0 = newest), limit 1..200, with their run records. */
int broadcast_doc_list(struct store *st, uint64_t before_id, unsigned limit, struct arena *a,
    const struct broadcast_doc **docs_r, const struct run_record **runs_r, size_t *n_r,
    struct err *err);

/** The members of the definition written into an open object: id, slug, name, templateSlug,
 * segmentDefinition, profile, stopRules, vars, createdAt, createdBy, updatedAt, confirmedBy. */
void broadcast_doc_write_members(struct json_writer *w, const struct broadcast_doc *d);

#endif
