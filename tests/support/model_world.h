#ifndef SUPPORT_MODEL_WORLD_H
#define SUPPORT_MODEL_WORLD_H

#include <check.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"
#include "model/contact.h"
#include "model/suppression.h"
#include "store/store.h"

/** One empty store with fixed keys and a scratch arena, for suites on documents and audiences. */
#define MODEL_NOW INT64_C(1760000000000)

struct model_world {
    struct store *st;
    struct crypto_keys *keys;
    struct arena *a;
    struct err err;
};

void model_world_open(struct model_world *w);
void model_world_close(struct model_world *w);

/** Run a batch that must succeed, and free it. */
void model_world_run(struct store_batch **b);
/** A contact from JSON text with double quotes written as single ones; must succeed. */
struct contact model_world_contact(struct model_world *w, const char *json);
/** Give consent; must succeed. */
void model_world_subscribe(struct model_world *w, const struct contact *c);
/** Opt an address out for a reason. */
void model_world_opt_out(struct model_world *w, struct slice email, enum suppression_reason reason);
/** Parsed JSON from text with single quotes; ends with the test's process. */
struct json *model_world_json(struct model_world *w, const char *text);

#endif
