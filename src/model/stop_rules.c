/*
 * The stop rules that a broadcast overrides: read strictly, kept as integers in parts per million, so
 * that they are evaluated without floating point.
 */
#include "model/stop_rules.h"

#include <math.h>
#include <string.h>

#include "base/bsonx.h"

static const struct {
    const char *name;
    unsigned bit;
} rates[] = {
    {"hardBounceRatePct", STOP_RULES_HARD_BOUNCE},
    {"complaintRatePct", STOP_RULES_COMPLAINT},
    {"unsubscribeRatePct", STOP_RULES_UNSUBSCRIBE},
};

static uint32_t
get_rate(const struct stop_rules *r, unsigned bit)
{
    switch (bit) {
    case STOP_RULES_HARD_BOUNCE: return r->hard_bounce_ppm;
    case STOP_RULES_COMPLAINT: return r->complaint_ppm;
    default: return r->unsubscribe_ppm;
    }
}

static void
set_rate(struct stop_rules *r, unsigned bit, uint32_t ppm)
{
    switch (bit) {
    case STOP_RULES_HARD_BOUNCE: r->hard_bounce_ppm = ppm; break;
    case STOP_RULES_COMPLAINT: r->complaint_ppm = ppm; break;
    default: r->unsubscribe_ppm = ppm; break;
    }
    r->set |= bit;
}

static int
fault(struct err *err, const char *what)
{
    return err_sub(err, ERR_INVALID, "invalid_stop_rules", "%s", what);
}

static int
read_member(const struct json *m, struct stop_rules *r, struct err *err)
{
    struct slice name = json_name(m);
    int64_t sample;

    if (slice_eq_str(name, "enabled")) {
        if (!json_is(m, JSON_BOOL))
            return fault(err, "enabled must be true or false");
        r->enabled = json_bool(m, false);
        r->set |= STOP_RULES_ENABLED;
        return 0;
    }
    if (slice_eq_str(name, "minSample")) {
        if (!json_int(m, &sample) || sample < 1 || sample > 1000000)
            return fault(err, "minSample must be an integer from 1 to 1000000");
        r->min_sample = (uint32_t)sample;
        r->set |= STOP_RULES_MIN_SAMPLE;
        return 0;
    }
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        double pct = json_num(m, -1);

        if (!slice_eq_str(name, rates[i].name))
            continue;
        if (!json_is(m, JSON_NUMBER) || !(pct >= 0 && pct <= 100))
            return fault(err, "a rate must be a number from 0 to 100");
        set_rate(r, rates[i].bit, (uint32_t)lround(pct * 10000));
        return 0;
    }
    return fault(err, "there is no such rule");
}

int
stop_rules_from_json(const struct json *j, struct stop_rules *r_r, struct err *err)
{
    memset(r_r, 0, sizeof(*r_r));
    if (j == NULL || json_is(j, JSON_NULL))
        return 0;
    if (!json_is(j, JSON_OBJECT))
        return fault(err, "stopRules must be an object or null");
    for (const struct json *m = json_first(j); m != NULL; m = json_next(m)) {
        if (read_member(m, r_r, err) != 0)
            return -1;
    }
    return 0;
}

void
stop_rules_write_json(struct json_writer *w, const char *name, const struct stop_rules *r)
{
    if (r->set == 0) {
        jw_null(w, name);
        return;
    }
    jw_obj(w, name);
    if ((r->set & STOP_RULES_ENABLED) != 0)
        jw_bool(w, "enabled", r->enabled);
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        if ((r->set & rates[i].bit) != 0)
            jw_num(w, rates[i].name, get_rate(r, rates[i].bit) / 10000.0);
    }
    if ((r->set & STOP_RULES_MIN_SAMPLE) != 0)
        jw_int(w, "minSample", r->min_sample);
    jw_end_obj(w);
}

/* ---- stored ---------------------------------------------------------------------------------- */

void
stop_rules_to_bson(const struct stop_rules *r, bson_t *doc, const char *key)
{
    bson_t sub;

    if (r->set == 0) {
        bson_append_null(doc, key, -1);
        return;
    }
    bson_append_document_begin(doc, key, -1, &sub);
    if ((r->set & STOP_RULES_ENABLED) != 0)
        bsonx_add_bool(&sub, "enabled", r->enabled);
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        if ((r->set & rates[i].bit) != 0)
            bsonx_add_i64(&sub, rates[i].name, get_rate(r, rates[i].bit));
    }
    if ((r->set & STOP_RULES_MIN_SAMPLE) != 0)
        bsonx_add_i64(&sub, "minSample", r->min_sample);
    bson_append_document_end(doc, &sub);
}

void
stop_rules_from_bson(const bson_t *doc, const char *key, struct stop_rules *r_r)
{
    bson_t sub;

    memset(r_r, 0, sizeof(*r_r));
    if (!bsonx_doc(doc, key, &sub))
        return;
    if (bson_has_field(&sub, "enabled")) {
        r_r->enabled = bsonx_bool(&sub, "enabled", true);
        r_r->set |= STOP_RULES_ENABLED;
    }
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        if (!bson_has_field(&sub, rates[i].name))
            continue;
        set_rate(r_r, rates[i].bit, (uint32_t)bsonx_i64(&sub, rates[i].name, 0));
    }
    if (bson_has_field(&sub, "minSample")) {
        r_r->min_sample = (uint32_t)bsonx_i64(&sub, "minSample", 100);
        r_r->set |= STOP_RULES_MIN_SAMPLE;
    }
}
