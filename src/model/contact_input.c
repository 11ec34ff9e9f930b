/*
 * What a caller may say about a contact: read from JSON, checked member by member, and built into a
 * document. Everything that is stored has passed contact_input_check(): well-formed UTF-8 without
 * control characters (so that no value can break a header field), bounded sizes and depth, one usable
 * address, a zone that exists.
 */
#include "model/contact.h"

#include <string.h>

#include "base/bsonx.h"
#include "base/id.h"
#include "base/tz.h"
#include "base/utf8.h"
#include "crypto/crypto.h"
#include "message/address.h"
#include "model/docs.h"
#include "model/slug.h"

/* ---- from JSON ------------------------------------------------------------------------------- */

/* A text or null; null reads as empty. */
static int
read_text(const struct json *body, const char *name, unsigned bit, struct contact_input *in,
    struct slice *out, struct err *err)
{
    const struct json *j = json_get(body, name);

    if (j == NULL)
        return 0;
    if (!json_is(j, JSON_STRING) && !json_is(j, JSON_NULL))
        return err_field(err, name, "must be a string");
    *out = json_is(j, JSON_STRING) ? json_str(j) : SLICE_LIT("");
    in->set |= bit;
    return 0;
}

static int
read_tags(const struct json *body, struct arena *a, struct contact_input *in, struct err *err)
{
    const struct json *j = json_get(body, "tags");
    struct slice *tags;
    size_t n = 0;

    if (j == NULL)
        return 0;
    if (!json_is(j, JSON_ARRAY))
        return err_field(err, "tags", "must be a list of strings");
    if (json_count(j) > CONTACT_MAX_TAGS)
        return err_field(err, "tags", "must have at most %d elements", CONTACT_MAX_TAGS);
    tags = arena_array(a, json_count(j) + 1, sizeof(*tags));
    for (const struct json *e = json_first(j); e != NULL; e = json_next(e)) {
        if (!json_is(e, JSON_STRING))
            return err_field(err, "tags", "must be a list of strings");
        tags[n++] = json_str(e);
    }
    in->tags = tags;
    in->n_tags = n;
    in->set |= CONTACT_SET_TAGS;
    return 0;
}

static int
read_fields(const struct json *body, struct arena *a, struct contact_input *in, struct err *err)
{
    const struct json *j = json_get(body, "fields");
    struct err why;
    bson_t doc;

    if (j == NULL)
        return 0;
    if (!json_is(j, JSON_OBJECT))
        return err_field(err, "fields", "must be an object");
    err_clear(&why);
    if (bsonx_from_json(j, CONTACT_MAX_FIELDS_DEPTH, &doc, &why) != 0)
        return err_field(err, "fields", "%s", why.text);
    in->fields = arena_dup(a, bsonx_bytes(&doc));
    in->set |= CONTACT_SET_FIELDS;
    bson_destroy(&doc);
    return 0;
}

int
contact_input_from_json(
    const struct json *body, struct arena *a, struct contact_input *in_r, struct err *err)
{
    struct contact_input *in = in_r;

    memset(in, 0, sizeof(*in));
    if (read_text(body, "externalId", CONTACT_SET_EXTERNAL_ID, in, &in->external_id, err) != 0 ||
        read_text(body, "email", CONTACT_SET_EMAIL, in, &in->email, err) != 0 ||
        read_text(body, "timezone", CONTACT_SET_TIMEZONE, in, &in->timezone, err) != 0 ||
        read_text(body, "locale", CONTACT_SET_LOCALE, in, &in->locale, err) != 0 ||
        read_tags(body, a, in, err) != 0)
        return -1;
    return read_fields(body, a, in, err);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int
check_external_id(struct slice id, struct err *err)
{
    if (id.n < 1 || id.n > CONTACT_MAX_EXTERNAL_ID)
        return err_field(err, "externalId", "must have 1 to %d bytes", CONTACT_MAX_EXTERNAL_ID);
    return text_check("externalId", id, 1, CONTACT_MAX_EXTERNAL_ID, false, err);
}

static int
check_email(struct slice email, struct err *err)
{
    struct address parsed;
    struct err why;

    err_clear(&why);
    if (address_parse(slice_trim(email), &parsed, &why) != 0)
        return err_field(err, "email", "no valid address: %s", why.text);
    return 0;
}

static int
check_tags(const struct slice *tags, size_t n, struct err *err)
{
    if (n > CONTACT_MAX_TAGS)
        return err_field(err, "tags", "must have at most %d elements", CONTACT_MAX_TAGS);
    for (size_t i = 0; i < n; i++) {
        if (text_check("tags", tags[i], 1, CONTACT_MAX_TAG, false, err) != 0)
            return -1;
    }
    return 0;
}

/* Every name and text in the document, however deep; depth is bounded by the limit. */
static int
check_field_texts(bson_iter_t *it, unsigned depth, struct err *err)
{
    bson_iter_t sub;

    if (depth > CONTACT_MAX_FIELDS_DEPTH)
        return err_field(err, "fields", "must not nest deeper than %d", CONTACT_MAX_FIELDS_DEPTH);
    while (bson_iter_next(it)) {
        struct slice key = slice_str(bson_iter_key(it));

        if (key.n == 0 || key.p[0] == '$' || slice_find_char(key, '.') >= 0)
            return err_field(err, "fields", "has an empty name, or one with '$' or '.'");
        if (!utf8_valid(key) || utf8_has_control(key))
            return err_field(err, "fields", "has a name with control characters");
        if (BSON_ITER_HOLDS_UTF8(it)) {
            uint32_t len;
            const char *p = bson_iter_utf8(it, &len);
            struct slice v = slice_make(p, len);

            if (!utf8_valid(v) || utf8_has_control(v))
                return err_field(err, "fields", "member \"%.40s\" has control characters", key.p);
        } else if (BSON_ITER_HOLDS_DOCUMENT(it) || BSON_ITER_HOLDS_ARRAY(it)) {
            if (!bson_iter_recurse(it, &sub) || check_field_texts(&sub, depth + 1, err) != 0)
                return -1;
        }
    }
    return 0;
}

static int
check_fields(struct slice bytes, struct err *err)
{
    bson_t doc;
    bson_iter_t it;

    if (bytes.n == 0)
        return 0;
    if (bytes.n > CONTACT_MAX_FIELDS_BYTES)
        return err_field(err, "fields", "must have at most %d bytes", CONTACT_MAX_FIELDS_BYTES);
    if (!bsonx_view(bytes, &doc) || !bson_iter_init(&it, &doc))
        return err_field(err, "fields", "must be an object");
    return check_field_texts(&it, 1, err);
}

static int
check_timezone(struct slice zone, struct err *err)
{
    char name[65];

    if (zone.n == 0)
        return 0;
    if (zone.n < sizeof(name) && memchr(zone.p, '\0', zone.n) == NULL) {
        memcpy(name, zone.p, zone.n);
        name[zone.n] = '\0';
        if (tz_valid(name))
            return 0;
    }
    return err_field(err, "timezone", "is no known time zone");
}

/* The shape of a language tag (RFC 5646 §2.1): subtags of letters and digits joined by hyphens, the
 * first of 2 to 8 letters. */
static int
check_locale(struct slice locale, struct err *err)
{
    struct slice rest = locale, tag;
    bool is_first = true;

    if (locale.n == 0)
        return 0;
    if (locale.n > 35)
        return err_field(err, "locale", "must have at most 35 characters");
    while (slice_cut(&rest, '-', &tag)) {
        if (tag.n < (is_first ? 2 : 1) || tag.n > 8)
            return err_field(err, "locale", "is no language tag");
        for (size_t i = 0; i < tag.n; i++) {
            char c = tag.p[i];
            bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

            if (!is_letter && (is_first || c < '0' || c > '9'))
                return err_field(err, "locale", "is no language tag");
        }
        is_first = false;
    }
    return 0;
}

int
contact_input_check(const struct contact_input *in, struct err *err)
{
    if ((in->set & CONTACT_SET_EXTERNAL_ID) != 0 && check_external_id(in->external_id, err) != 0)
        return -1;
    if ((in->set & CONTACT_SET_EMAIL) != 0 && check_email(in->email, err) != 0)
        return -1;
    if ((in->set & CONTACT_SET_TAGS) != 0 && check_tags(in->tags, in->n_tags, err) != 0)
        return -1;
    if ((in->set & CONTACT_SET_FIELDS) != 0 && check_fields(in->fields, err) != 0)
        return -1;
    if ((in->set & CONTACT_SET_TIMEZONE) != 0 && check_timezone(in->timezone, err) != 0)
        return -1;
    if ((in->set & CONTACT_SET_LOCALE) != 0)
        return check_locale(in->locale, err);
    return 0;
}

int
contact_address(const struct crypto_keys *keys, struct slice email, struct buf *key,
    int64_t *hash_r, struct err *err)
{
    struct address parsed;
    struct err why;
    size_t start = key->n;

    err_clear(&why);
    if (address_parse(slice_trim(email), &parsed, &why) != 0)
        return err_field(err, "email", "no valid address: %s", why.text);
    address_key(&parsed, key);
    *hash_r = crypto_address_hash(keys, slice_from(buf_slice(key), start));
    return 0;
}

/* ---- the document ---------------------------------------------------------------------------- */

/* Tags as a set: repeats are dropped. At most 500, so comparing each with each is cheap enough. */
static void
add_tag_set(bson_t *doc, const struct slice *tags, size_t n)
{
    struct slice kept[CONTACT_MAX_TAGS];
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < n_kept && !slice_eq(kept[k], tags[i]))
            k++;
        if (k == n_kept)
            kept[n_kept++] = tags[i];
    }
    docs_add_strs(doc, "tags", kept, n_kept);
}

/* Members that are null are not stored: null and missing mean the same. */
static void
add_fields(bson_t *doc, struct slice bytes)
{
    bson_t fields, view;
    bson_iter_t it;

    bson_append_document_begin(doc, "fields", -1, &fields);
    if (bytes.n > 0 && bsonx_view(bytes, &view) && bson_iter_init(&it, &view)) {
        while (bson_iter_next(&it)) {
            if (!BSON_ITER_HOLDS_NULL(&it))
                bson_append_iter(&fields, NULL, 0, &it);
        }
    }
    bson_append_document_end(doc, &fields);
}

int
contact_build(const struct crypto_keys *keys, const struct contact_input *in, uint64_t id,
    int64_t now_ms, bson_t *doc, struct err *err)
{
    struct buf key = BUF_INIT;
    char id_txt[ID_TEXT_SIZE];
    int64_t hash;

    if ((in->set & CONTACT_SET_EMAIL) == 0)
        return err_field(err, "email", "is required");
    if (contact_address(keys, in->email, &key, &hash, err) != 0) {
        buf_deinit(&key);
        return -1;
    }
    bsonx_add_i64(doc, "_id", (int64_t)id);
    bsonx_add_str(doc, "externalId",
        (in->set & CONTACT_SET_EXTERNAL_ID) != 0 ? in->external_id
                                                 : slice_str(id_text(id, id_txt)));
    bsonx_add_str(doc, "email", slice_trim(in->email));
    bsonx_add_str(doc, "emailKey", buf_slice(&key));
    bsonx_add_i64(doc, "emailHash", hash);
    add_tag_set(doc, in->tags, (in->set & CONTACT_SET_TAGS) != 0 ? in->n_tags : 0);
    add_fields(doc, (in->set & CONTACT_SET_FIELDS) != 0 ? in->fields : SLICE_NONE);
    bsonx_add_str_or_null(doc, "timezone", in->timezone.n > 0 ? in->timezone : SLICE_NONE);
    bsonx_add_str_or_null(doc, "locale", in->locale.n > 0 ? in->locale : SLICE_NONE);
    bsonx_add_time(doc, "createdAt", now_ms);
    bsonx_add_time(doc, "updatedAt", now_ms);
    bson_append_null(doc, "deletedAt", -1);
    buf_deinit(&key);
    return 0;
}
