#ifndef MODEL_STOP_RULES_H
#define MODEL_STOP_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include <bson/bson.h>

#include "base/err.h"
#include "base/json.h"

/** Overrides of the stop rules; a member that is not in `set` follows the configuration. Rates are
 * integers in parts per million: 2 % = 20000. */
struct stop_rules {
    unsigned set; /* STOP_RULES_* bits */
    bool enabled;
    uint32_t hard_bounce_ppm, complaint_ppm, unsubscribe_ppm;
    uint32_t min_sample;
};
#define STOP_RULES_ENABLED     (1u << 0)
#define STOP_RULES_HARD_BOUNCE (1u << 1)
#define STOP_RULES_COMPLAINT   (1u << 2)
#define STOP_RULES_UNSUBSCRIBE (1u << 3)
#define STOP_RULES_MIN_SAMPLE  (1u << 4)

/** null or {enabled, hardBounceRatePct, complaintRatePct, unsubscribeRatePct 0–100, minSample
 * 1–1 000 000}; unknown members are refused. ERR_INVALID "invalid_stop_rules". */
int stop_rules_from_json(const struct json *j, struct stop_rules *r_r, struct err *err);
/** The same shape; null when nothing is overridden. */
void stop_rules_write_json(struct json_writer *w, const char *name, const struct stop_rules *r);

/** Stored form under `key` of a document. */
void stop_rules_to_bson(const struct stop_rules *r, bson_t *doc, const char *key);
void stop_rules_from_bson(const bson_t *doc, const char *key, struct stop_rules *r_r);

#endif
