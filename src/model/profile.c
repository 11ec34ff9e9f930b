/*
 * Sending identities as stored. Secrets are sealed with the profile's id and the member's name as
 * context, so ciphertext moved to another place does not open. Reading a profile never opens a secret;
 * the two functions that do are at the end.
 */
#include "model/profile.h"

#include <stdio.h>
#include <string.h>

#include "base/bsonx.h"
#include "base/id.h"
#include "crypto/crypto.h"
#include "model/audit.h"
#include "model/docs.h"
#include "model/slug.h"
#include "store/store.h"

static const char *const kinds[] = {"smtp", "capture"};
static const char *const tls_modes[] = {"none", "starttls", "implicit"};
static const char *const states[] = {"active", "paused"};
static const char *const doubts[] = {"leave", "repeat"};

static int
index_of(const char *const *names, int n, struct slice name)
{
    for (int i = 0; i < n; i++) {
        if (slice_eq_str(name, names[i]))
            return i;
    }
    return 0;
}

/* ---- secrets --------------------------------------------------------------------------------- */

static struct slice
password_context(uint64_t id, char *out, size_t size)
{
    char id_txt[ID_TEXT_SIZE];

    snprintf(out, size, "profile:%s:password", id_text(id, id_txt));
    return slice_str(out);
}

static struct slice
dkim_context(uint64_t id, const struct profile_dkim *d, char *out, size_t size)
{
    char id_txt[ID_TEXT_SIZE];

    snprintf(out, size, "profile:%s:dkim:%.*s:%.*s", id_text(id, id_txt), SLICE_FMT(d->selector),
        SLICE_FMT(d->domain));
    return slice_str(out);
}

int
profile_password(
    const struct crypto_keys *keys, const struct profile *p, struct buf *out, struct err *err)
{
    char context[64];

    if (p->sealed_password.n == 0)
        return 0;
    return crypto_unseal(
        keys, password_context(p->id, context, sizeof(context)), p->sealed_password, out, err);
}

int
profile_dkim_key(const struct crypto_keys *keys, const struct profile *p, size_t i, struct buf *pem,
    struct err *err)
{
    char context[600];

    return crypto_unseal(keys, dkim_context(p->id, &p->dkim[i], context, sizeof(context)),
        p->dkim[i].sealed_key, pem, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void
read_dkim(const bson_t *doc, struct profile *p)
{
    bson_iter_t it, sub;
    bson_t item;
    const uint8_t *bytes;
    uint32_t len;

    if (!bson_iter_init_find(&it, doc, "dkim") || !BSON_ITER_HOLDS_ARRAY(&it) ||
        !bson_iter_recurse(&it, &sub))
        return;
    while (p->n_dkim < PROFILE_MAX_DKIM && bson_iter_next(&sub)) {
        struct profile_dkim *d = &p->dkim[p->n_dkim];

        if (!BSON_ITER_HOLDS_DOCUMENT(&sub))
            continue;
        bson_iter_document(&sub, &len, &bytes);
        if (!bson_init_static(&item, bytes, len))
            continue;
        d->domain = bsonx_str(&item, "domain");
        d->selector = bsonx_str(&item, "selector");
        d->sealed_key = bsonx_bin(&item, "key");
        d->algorithm = bsonx_str(&item, "algorithm");
        p->n_dkim++;
    }
}

static void
from_doc(const bson_t *doc, struct profile *p)
{
    memset(p, 0, sizeof(*p));
    p->id = (uint64_t)bsonx_i64(doc, "_id", 0);
    p->slug = bsonx_str(doc, "slug");
    p->name = bsonx_str(doc, "name");
    p->kind = (enum profile_kind)index_of(kinds, 2, bsonx_str(doc, "kind"));
    p->host = bsonx_str(doc, "host");
    p->port = (unsigned)bsonx_i64(doc, "port", 0);
    p->tls = (enum profile_tls)index_of(tls_modes, 3, bsonx_str(doc, "tls"));
    p->tls_verify = bsonx_bool(doc, "tlsVerify", true);
    p->username = bsonx_str(doc, "username");
    p->sealed_password = bsonx_bin(doc, "password");
    p->from_name = bsonx_str(doc, "fromName");
    p->from_email = bsonx_str(doc, "fromEmail");
    p->ehlo_name = bsonx_str(doc, "ehloName");
    p->bounce_domain = bsonx_str(doc, "bounceDomain");
    p->pace_per_s = (uint32_t)bsonx_i64(doc, "pacePerSecond", 0);
    p->max_sessions = (uint32_t)bsonx_i64(doc, "maxSessions", 1);
    p->capture_dir = bsonx_str(doc, "captureDir");
    p->doubt_bulk = (enum profile_doubt)index_of(doubts, 2, bsonx_str(doc, "inDoubtBulk"));
    p->doubt_immediate =
        (enum profile_doubt)index_of(doubts, 2, bsonx_str(doc, "inDoubtImmediate"));
    p->state = (enum profile_state)index_of(states, 2, bsonx_str(doc, "state"));
    p->state_reason = bsonx_str(doc, "stateReason");
    p->is_default = bsonx_bool(doc, "isDefault", false);
    p->version = (uint32_t)bsonx_i64(doc, "version", 0);
    p->created_at_ms = bsonx_i64(doc, "createdAt", 0);
    p->updated_at_ms = bsonx_i64(doc, "updatedAt", 0);
    read_dkim(doc, p);
}

int
profile_get(
    struct store *st, struct slice slug, struct arena *a, struct profile *p_r, struct err *err)
{
    bson_t doc;

    if (!slug_valid(slug))
        return err_sub(err, ERR_NOTFOUND, "profile_unknown", "there is no such profile");
    if (docs_find_key(st, PROFILES_COLL, "slug", slug, "profile_unknown", a, &doc, err) != 0)
        return -1;
    from_doc(&doc, p_r);
    return 0;
}

int
profile_get_id(struct store *st, uint64_t id, struct arena *a, struct profile *p_r, struct err *err)
{
    bson_t doc;

    if (docs_find_id(st, PROFILES_COLL, id, "profile_unknown", a, &doc, err) != 0)
        return -1;
    from_doc(&doc, p_r);
    return 0;
}

int
profile_get_default(struct store *st, struct arena *a, struct profile *p_r, struct err *err)
{
    bson_t filter, doc;
    int rc;

    bson_init(&filter);
    bsonx_add_bool(&filter, "isDefault", true);
    rc = docs_find_one(
        st, PROFILES_COLL, STORE_BOUNDED, &filter, NULL, "mail_unavailable", a, &doc, err);
    bson_destroy(&filter);
    if (rc == 0)
        from_doc(&doc, p_r);
    return rc;
}

int
profile_list(struct store *st, struct arena *a, const struct profile **profiles_r, size_t *n_r,
    struct err *err)
{
    struct profile *profiles;
    bson_t filter, sort;
    const bson_t *docs;
    size_t n;
    int rc;

    bson_init(&filter);
    bson_init(&sort);
    bson_append_int32(&sort, "slug", -1, 1);
    rc = docs_find_many(st, PROFILES_COLL, STORE_BOUNDED, &filter,
        &(struct store_find){.sort = &sort, .limit = 200}, a, &docs, &n, err);
    bson_destroy(&sort);
    bson_destroy(&filter);
    if (rc != 0)
        return -1;
    profiles = arena_array(a, n, sizeof(*profiles));
    for (size_t i = 0; i < n; i++)
        from_doc(&docs[i], &profiles[i]);
    *profiles_r = profiles;
    *n_r = n;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static const struct profile_dkim *
find_dkim(const struct profile *old, const struct profile_dkim *d)
{
    for (size_t i = 0; old != NULL && i < old->n_dkim; i++) {
        if (slice_eq(old->dkim[i].domain, d->domain) &&
            slice_eq(old->dkim[i].selector, d->selector))
            return &old->dkim[i];
    }
    return NULL;
}

/* One signature: a new key is checked and sealed, an unnamed one is taken over from the old profile. */
static int
add_dkim_key(const struct crypto_keys *keys, uint64_t id, const struct profile_dkim *d,
    struct slice pem, const struct profile *old, bson_t *item, struct err *err)
{
    const struct profile_dkim *kept = find_dkim(old, d);
    struct crypto_signer *signer;
    struct buf sealed = BUF_INIT;
    char context[600];

    if (pem.n == 0) {
        if (kept == NULL)
            return err_field(err, "dkim", "privateKey is required");
        bsonx_add_bin(item, "key", kept->sealed_key);
        bsonx_add_str(item, "algorithm", kept->algorithm);
        return 0;
    }
    if ((signer = crypto_signer_create(pem, NULL)) == NULL)
        return err_field(err, "dkim", "privateKey is no RSA (1024 bits or more) or Ed25519 key");
    crypto_seal(keys, dkim_context(id, d, context, sizeof(context)), pem, &sealed);
    bsonx_add_bin(item, "key", buf_slice(&sealed));
    bsonx_add_str(item, "algorithm",
        crypto_signer_alg(signer) == CRYPTO_SIGN_ED25519 ? SLICE_LIT("ed25519-sha256")
                                                         : SLICE_LIT("rsa-sha256"));
    buf_deinit(&sealed);
    crypto_signer_free(&signer);
    return 0;
}

static int
add_dkim(const struct crypto_keys *keys, uint64_t id, const struct profile_input *in,
    const struct profile *old, bson_t *set, struct err *err)
{
    bson_t list, item;
    int rc = 0;

    bson_append_array_begin(set, "dkim", -1, &list);
    for (size_t i = 0; i < in->p.n_dkim; i++) {
        const struct profile_dkim *d = &in->p.dkim[i];

        bson_append_document_begin(&list, i == 0 ? "0" : "1", 1, &item);
        bsonx_add_str(&item, "domain", d->domain);
        bsonx_add_str(&item, "selector", d->selector);
        if (rc == 0)
            rc = add_dkim_key(keys, id, d, in->dkim_pem[i], old, &item, err);
        bson_append_document_end(&list, &item);
    }
    bson_append_array_end(set, &list);
    return rc;
}

static int
add_password(const struct crypto_keys *keys, uint64_t id, const struct profile_input *in,
    const struct profile *old, bson_t *set, struct err *err)
{
    struct buf sealed = BUF_INIT;
    char context[64];

    if (in->password.p == NULL) {
        if (old == NULL || old->sealed_password.n == 0)
            return 0;
        if (!slice_ieq(slice_trim(old->host), slice_trim(in->p.host)))
            return err_field(err, "password", "is required again when the host changes");
        bsonx_add_bin(set, "password", old->sealed_password);
        return 0;
    }
    if (in->password.n == 0) {
        bson_append_null(set, "password", -1);
        return 0;
    }
    crypto_seal(keys, password_context(id, context, sizeof(context)), in->password, &sealed);
    bsonx_add_bin(set, "password", buf_slice(&sealed));
    buf_deinit(&sealed);
    return 0;
}

static void
add_text(bson_t *set, const char *key, struct slice v)
{
    bsonx_add_str(set, key, v.p != NULL ? v : SLICE_LIT(""));
}

static void
add_plain(const struct profile *p, int64_t now_ms, bson_t *set)
{
    add_text(set, "name", p->name);
    bsonx_add_str(set, "kind", slice_str(kinds[p->kind]));
    add_text(set, "host", p->host);
    bsonx_add_i64(set, "port", p->port);
    bsonx_add_str(set, "tls", slice_str(tls_modes[p->tls]));
    bsonx_add_bool(set, "tlsVerify", p->tls_verify);
    add_text(set, "username", p->username);
    add_text(set, "fromName", p->from_name);
    add_text(set, "fromEmail", p->from_email);
    add_text(set, "ehloName", p->ehlo_name);
    add_text(set, "bounceDomain", p->bounce_domain);
    bsonx_add_i64(set, "pacePerSecond", p->pace_per_s);
    bsonx_add_i64(set, "maxSessions", p->max_sessions);
    add_text(set, "captureDir", p->capture_dir);
    bsonx_add_str(set, "inDoubtBulk", slice_str(doubts[p->doubt_bulk]));
    bsonx_add_str(set, "inDoubtImmediate", slice_str(doubts[p->doubt_immediate]));
    bsonx_add_time(set, "updatedAt", now_ms);
}

/* {slug} → $set members, version + 1, and what a new profile starts with. */
static unsigned
put_op(struct store_batch *b, uint64_t id, const struct profile *p, const bson_t *set,
    bool is_default, int64_t now_ms)
{
    bson_t filter, update, first, inc;
    unsigned op;

    bson_init(&filter);
    bsonx_add_str(&filter, "slug", p->slug);
    bson_init(&update);
    bson_append_document(&update, "$set", -1, set);
    bson_append_document_begin(&update, "$inc", -1, &inc);
    bsonx_add_i64(&inc, "version", 1);
    bson_append_document_end(&update, &inc);
    bson_append_document_begin(&update, "$setOnInsert", -1, &first);
    bsonx_add_i64(&first, "_id", (int64_t)id);
    bsonx_add_str(&first, "state", slice_str(states[PROFILE_ACTIVE]));
    if (!is_default)
        bsonx_add_bool(&first, "isDefault", false);
    bsonx_add_time(&first, "createdAt", now_ms);
    bson_append_document_end(&update, &first);
    op = store_update(b, PROFILES_COLL, STORE_INDEXED, &filter, &update, STORE_UPSERT);
    bson_destroy(&update);
    bson_destroy(&filter);
    return op;
}

/* The others are the default no longer. */
static void
clear_default_op(struct store_batch *b, struct slice slug)
{
    bson_t filter, update, set;

    bson_init(&filter);
    bsonx_add_bool(&filter, "isDefault", true);
    docs_cond_str(&filter, "slug", "$ne", slug);
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &set);
    bsonx_add_bool(&set, "isDefault", false);
    bson_append_document_end(&update, &set);
    store_update(b, PROFILES_COLL, STORE_BOUNDED, &filter, &update, STORE_MANY);
    bson_destroy(&update);
    bson_destroy(&filter);
}

/* What stands now: the profile of this slug if any, and whether there is a default. */
static int
read_standing(struct store *st, struct slice slug, struct arena *a, struct profile *old_r,
    bool *has_old_r, bool *has_default_r, struct err *err)
{
    const struct profile *all;
    size_t n;

    *has_old_r = *has_default_r = false;
    if (profile_list(st, a, &all, &n, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        *has_default_r = *has_default_r || all[i].is_default;
        if (slice_eq(all[i].slug, slug)) {
            *old_r = all[i];
            *has_old_r = true;
        }
    }
    if (n >= 200 && !*has_old_r)
        return err_sub(err, ERR_LIMIT, "too_many_profiles", "there are 200 profiles already");
    return 0;
}

int
profile_put(struct store *st, const struct crypto_keys *keys, const struct profile_input *in,
    struct slice actor, int64_t now_ms, struct arena *a, struct profile *p_r, bool *created_r,
    struct err *err)
{
    bool has_old, has_default, is_default;
    struct profile old;
    struct store_batch *b;
    uint64_t id;
    bson_t set;
    int rc;

    if (profile_input_check(in, err) != 0 ||
        read_standing(st, in->p.slug, a, &old, &has_old, &has_default, err) != 0)
        return -1;
    id = has_old ? old.id : id_next();
    is_default = in->p.is_default || !has_default;
    bson_init(&set);
    add_plain(&in->p, now_ms, &set);
    if (is_default)
        bsonx_add_bool(&set, "isDefault", true);
    rc = add_password(keys, id, in, has_old ? &old : NULL, &set, err);
    if (rc == 0)
        rc = add_dkim(keys, id, in, has_old ? &old : NULL, &set, err);
    if (rc == 0) {
        b = store_batch_create(st, STORE_URGENT);
        if (is_default)
            clear_default_op(b, in->p.slug);
        put_op(b, id, &in->p, &set, is_default, now_ms);
        audit_add_op(
            b, &(struct audit_entry){
                   .actor = actor,
                   .action = has_old ? SLICE_LIT("profile.update") : SLICE_LIT("profile.create"),
                   .resource = SLICE_LIT(PROFILES_COLL),
                   .resource_id = in->p.slug,
                   .at_ms = now_ms,
               });
        rc = docs_run(&b, err);
    }
    bson_destroy(&set);
    *created_r = !has_old;
    return rc == 0 ? profile_get(st, in->p.slug, a, p_r, err) : -1;
}

unsigned
profile_set_state_op(struct store_batch *b, uint64_t id, enum profile_state state,
    struct slice reason, int64_t now_ms)
{
    bson_t filter, update, set;
    unsigned op;

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)id);
    docs_cond_str(&filter, "state", "$ne", slice_str(states[state]));
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &set);
    bsonx_add_str(&set, "state", slice_str(states[state]));
    bsonx_add_str_or_null(&set, "stateReason", reason.n > 0 ? reason : SLICE_NONE);
    bsonx_add_time(&set, "updatedAt", now_ms);
    bson_append_document_end(&update, &set);
    op = store_update(b, PROFILES_COLL, STORE_INDEXED, &filter, &update, 0);
    bson_destroy(&update);
    bson_destroy(&filter);
    return op;
}

/* ---- shown ----------------------------------------------------------------------------------- */

static void
write_or_null(struct json_writer *w, const char *name, struct slice v)
{
    if (v.n > 0)
        jw_str(w, name, v);
    else
        jw_null(w, name);
}

static void
write_dkim(struct json_writer *w, const struct profile *p)
{
    jw_arr(w, "dkim");
    for (size_t i = 0; i < p->n_dkim; i++) {
        jw_obj(w, NULL);
        jw_str(w, "domain", p->dkim[i].domain);
        jw_str(w, "selector", p->dkim[i].selector);
        jw_str(w, "algorithm", p->dkim[i].algorithm);
        jw_end_obj(w);
    }
    jw_end_arr(w);
}

void
profile_write_json(struct json_writer *w, const char *name, const struct profile *p)
{
    jw_obj(w, name);
    jw_id(w, "id", p->id);
    jw_str(w, "slug", p->slug);
    jw_str(w, "name", p->name);
    jw_cstr(w, "kind", kinds[p->kind]);
    if (p->kind == PROFILE_SMTP) {
        jw_str(w, "host", p->host);
        jw_int(w, "port", p->port);
        jw_cstr(w, "tls", tls_modes[p->tls]);
        jw_bool(w, "tlsVerify", p->tls_verify);
        write_or_null(w, "username", p->username);
        jw_bool(w, "hasPassword", p->sealed_password.n > 0);
    } else {
        jw_str(w, "captureDir", p->capture_dir);
    }
    write_or_null(w, "fromName", p->from_name);
    jw_str(w, "fromEmail", p->from_email);
    write_or_null(w, "ehloName", p->ehlo_name);
    write_or_null(w, "bounceDomain", p->bounce_domain);
    jw_int(w, "pacePerSecond", p->pace_per_s);
    jw_int(w, "maxSessions", p->max_sessions);
    jw_cstr(w, "inDoubtBulk", doubts[p->doubt_bulk]);
    jw_cstr(w, "inDoubtImmediate", doubts[p->doubt_immediate]);
    write_dkim(w, p);
    jw_cstr(w, "state", states[p->state]);
    write_or_null(w, "stateReason", p->state_reason);
    jw_bool(w, "isDefault", p->is_default);
    jw_int(w, "version", p->version);
    jw_time(w, "createdAt", p->created_at_ms);
    jw_time(w, "updatedAt", p->updated_at_ms);
    jw_end_obj(w);
}
