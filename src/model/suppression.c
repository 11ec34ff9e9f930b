/*
 * Addresses that must not be mailed. A row is keyed by (address hash, scope, reason), so that an opt-out
 * never absorbs a hard bounce, and it only ever gets stronger: permanent beats temporary, later beats
 * sooner. Every added row is also noted for claims, so a mail prepared before it is not sent after it.
 */
#include "model/suppression.h"

#include <string.h>

#include "base/bsonx.h"
#include "base/id.h"
#include "crypto/crypto.h"
#include "model/digest.h"
#include "model/docs.h"
#include "store/store.h"

static const struct {
    const char *name;
    enum exclusion_reason exclusion;
} reasons[SUPPRESSION_REASONS] = {
    [SUPPRESSION_UNSUBSCRIBED] = {"unsubscribed", EXCL_SUPPRESSED_UNSUBSCRIBED},
    [SUPPRESSION_HARD_BOUNCE] = {"hard_bounce", EXCL_SUPPRESSED_HARD_BOUNCE},
    [SUPPRESSION_COMPLAINT] = {"complaint", EXCL_SUPPRESSED_COMPLAINT},
    [SUPPRESSION_MANUAL] = {"manual", EXCL_SUPPRESSED_MANUAL},
    [SUPPRESSION_LIST_CLEANING] = {"list_cleaning", EXCL_SUPPRESSED_LIST_CLEANING},
    [SUPPRESSION_GDPR_FORGET] = {"gdpr_forget", EXCL_SUPPRESSED_ERASURE},
};

const char *
suppression_reason_name(enum suppression_reason r)
{
    return reasons[r].name;
}

int
suppression_reason_parse(struct slice name)
{
    for (int i = 0; i < SUPPRESSION_REASONS; i++) {
        if (slice_eq_str(name, reasons[i].name))
            return i;
    }
    return -1;
}

enum exclusion_reason
suppression_exclusion(enum suppression_reason r)
{
    return reasons[r].exclusion;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

#define CATEGORY_PREFIX SLICE_LIT("category:")

bool
suppression_scope_valid(struct slice scope)
{
    struct slice rest, part;

    if (slice_eq_str(scope, "all") || slice_eq_str(scope, "marketing") ||
        slice_eq_str(scope, "transactional"))
        return true;
    if (!slice_starts(scope, CATEGORY_PREFIX) || scope.n > 128)
        return false;
    rest = slice_from(scope, CATEGORY_PREFIX.n);
    if (rest.n == 0)
        return false;
    while (slice_cut(&rest, '.', &part)) {
        if (part.n == 0)
            return false;
        for (size_t i = 0; i < part.n; i++) {
            char c = part.p[i];

            if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
                return false;
        }
    }
    return true;
}

bool
suppression_scope_blocks(struct slice scope, enum mail_kind kind, struct slice category)
{
    if (slice_eq_str(scope, "all"))
        return true;
    if (kind == MAIL_TRANSACTIONAL)
        return slice_eq_str(scope, "transactional");
    if (slice_eq_str(scope, "marketing"))
        return true;
    return category.n > 0 && slice_starts(scope, CATEGORY_PREFIX) &&
           slice_eq(slice_from(scope, CATEGORY_PREFIX.n), category);
}

/* ---- writes ---------------------------------------------------------------------------------- */

void
suppression_address_of(
    const struct crypto_keys *keys, struct slice address_key, struct suppression_address *out_r)
{
    uint8_t mac[CRYPTO_SHA256_SIZE];

    crypto_address_mac(keys, address_key, mac);
    digest_hex_of(mac, out_r->mac_hex);
    out_r->key = address_key;
    out_r->hash = crypto_address_hash(keys, address_key);
}

static void
key_filter(bson_t *filter, const struct suppression_add *s)
{
    bsonx_add_i64(filter, "emailHash", s->address->hash);
    bsonx_add_str(filter, "scope", s->scope);
    bsonx_add_str(filter, "reason", slice_str(reasons[s->reason].name));
}

/* The row when there is none. A permanent one sets its expiry always, a temporary one only at first. */
static void
upsert_op(struct store_batch *b, const struct suppression_add *s)
{
    bson_t filter, update, set, first;
    bool is_permanent = s->expires_at_ms == 0;

    bson_init(&filter);
    key_filter(&filter, s);
    bson_init(&update);
    if (is_permanent) {
        bson_append_document_begin(&update, "$set", -1, &set);
        bson_append_null(&set, "expiresAt", -1);
        bson_append_document_end(&update, &set);
    }
    bson_append_document_begin(&update, "$setOnInsert", -1, &first);
    bsonx_add_i64(&first, "_id", (int64_t)id_next());
    bsonx_add_str(&first, "emailMac", slice_str(s->address->mac_hex));
    bsonx_add_str_or_null(&first, "email", s->is_hash_only ? SLICE_NONE : s->address->key);
    bsonx_add_str(&first, "source", s->source);
    bsonx_add_str_or_null(&first, "notes", s->notes.n > 0 ? s->notes : SLICE_NONE);
    bsonx_add_time(&first, "addedAt", s->now_ms);
    if (!is_permanent)
        bsonx_add_time(&first, "expiresAt", s->expires_at_ms);
    bson_append_document_end(&update, &first);
    store_update(b, SUPPRESSIONS_COLL, STORE_INDEXED, &filter, &update, STORE_UPSERT);
    bson_destroy(&update);
    bson_destroy(&filter);
}

/* A temporary row that ends sooner is prolonged; a permanent one (null) is left alone. */
static void
prolong_op(struct store_batch *b, const struct suppression_add *s)
{
    bson_t filter, update, set, cond;

    bson_init(&filter);
    key_filter(&filter, s);
    bson_append_document_begin(&filter, "expiresAt", -1, &cond);
    bsonx_add_time(&cond, "$lt", s->expires_at_ms);
    bson_append_document_end(&filter, &cond);
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &set);
    bsonx_add_time(&set, "expiresAt", s->expires_at_ms);
    bson_append_document_end(&update, &set);
    store_update(b, SUPPRESSIONS_COLL, STORE_INDEXED, &filter, &update, 0);
    bson_destroy(&update);
    bson_destroy(&filter);
}

void
suppression_add_ops(struct store_batch *b, const struct suppression_add *s)
{
    upsert_op(b, s);
    if (s->expires_at_ms != 0)
        prolong_op(b, s);
    store_note_suppressed(b, s->address->hash);
}

unsigned
suppression_remove_optouts_op(struct store_batch *b, int64_t email_hash, struct slice scope)
{
    static const struct slice marketing[] = {{"marketing", 9}, {"all", 3}};
    bson_t filter;
    unsigned op;

    bson_init(&filter);
    bsonx_add_i64(&filter, "emailHash", email_hash);
    bsonx_add_str(&filter, "reason", slice_str(reasons[SUPPRESSION_UNSUBSCRIBED].name));
    if (slice_eq_str(scope, "marketing"))
        docs_cond_strs(&filter, "scope", "$in", marketing, 2);
    else if (!slice_eq_str(scope, "all"))
        bsonx_add_str(&filter, "scope", scope);
    op = store_delete(b, SUPPRESSIONS_COLL, STORE_INDEXED, &filter, STORE_MANY);
    bson_destroy(&filter);
    return op;
}

unsigned
suppression_remove_op(struct store_batch *b, uint64_t id)
{
    bson_t filter;
    unsigned op;

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)id);
    op = store_delete(b, SUPPRESSIONS_COLL, STORE_INDEXED, &filter, 0);
    bson_destroy(&filter);
    return op;
}

bool
suppression_from_bson(const bson_t *doc, struct suppression *s_r)
{
    int reason = suppression_reason_parse(bsonx_str(doc, "reason"));

    memset(s_r, 0, sizeof(*s_r));
    if (reason < 0)
        return false;
    s_r->id = (uint64_t)bsonx_i64(doc, "_id", 0);
    s_r->email_hash = bsonx_i64(doc, "emailHash", 0);
    s_r->email_mac = bsonx_str(doc, "emailMac");
    s_r->email = bsonx_str(doc, "email");
    s_r->scope = bsonx_str(doc, "scope");
    s_r->reason = (enum suppression_reason)reason;
    s_r->source = bsonx_str(doc, "source");
    s_r->notes = bsonx_str(doc, "notes");
    s_r->added_at_ms = bsonx_i64(doc, "addedAt", 0);
    s_r->expires_at_ms = bsonx_i64(doc, "expiresAt", 0);
    return s_r->email_hash != 0;
}

void
suppression_write_json(struct json_writer *w, const char *name, const struct suppression *s)
{
    jw_obj(w, name);
    jw_id(w, "id", s->id);
    if (s->email.n > 0)
        jw_str(w, "email", s->email);
    else
        jw_null(w, "email");
    jw_str(w, "scope", s->scope);
    jw_cstr(w, "reason", reasons[s->reason].name);
    jw_str(w, "source", s->source);
    if (s->notes.n > 0)
        jw_str(w, "notes", s->notes);
    else
        jw_null(w, "notes");
    jw_time(w, "addedAt", s->added_at_ms);
    jw_time(w, "expiresAt", s->expires_at_ms);
    jw_end_obj(w);
}
