/*
 * API tokens. The token is shown once when it is made; the store keeps its SHA-256 only. A token has
 * 256 random bits, so a plain hash is enough: there is nothing to guess and nothing to stretch.
 */
#include "model/token_doc.h"

#include <string.h>

#include <bson/bson.h>

#include "base/base64.h"
#include "base/bsonx.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/rand.h"
#include "model/audit.h"
#include "model/digest.h"
#include "model/docs.h"
#include "model/slug.h"
#include "store/store.h"

#define TOKEN_PREFIX "mst_"
#define TOKEN_BYTES  32

void
token_doc_hash(struct slice token, char out[65])
{
    digest_hex(token, out);
}

static void
audit_op(struct store_batch *b, const char *action, uint64_t id, struct slice actor,
    struct slice summary, int64_t now_ms)
{
    char id_txt[ID_TEXT_SIZE];

    audit_add_op(b, &(struct audit_entry){
                        .actor = actor,
                        .action = slice_str(action),
                        .resource = SLICE_LIT(TOKENS_COLL),
                        .resource_id = slice_str(id_text(id, id_txt)),
                        .summary = summary,
                        .at_ms = now_ms,
                    });
}

int
token_doc_create(struct store *st, struct slice actor, uint32_t scopes, struct slice created_by,
    int64_t now_ms, struct buf *token_out, uint64_t *id_r, struct err *err)
{
    struct store_batch *b;
    const bson_t *docs[1];
    uint8_t secret[TOKEN_BYTES];
    size_t start = token_out->n;
    uint64_t id = id_next();
    char hash[65];
    bson_t doc;

    if (text_check("actor", actor, 1, 128, false, err) != 0)
        return -1;
    rand_bytes(secret, sizeof(secret));
    buf_append_str(token_out, TOKEN_PREFIX);
    base64url_encode(slice_make(secret, sizeof(secret)), token_out);
    mem_wipe(secret, sizeof(secret));
    token_doc_hash(slice_from(buf_slice(token_out), start), hash);

    bson_init(&doc);
    bsonx_add_i64(&doc, "_id", (int64_t)id);
    bsonx_add_str(&doc, "hash", slice_str(hash));
    bsonx_add_str(&doc, "actor", actor);
    bsonx_add_i64(&doc, "scopes", scopes);
    bsonx_add_str(&doc, "createdBy", created_by);
    bsonx_add_time(&doc, "createdAt", now_ms);
    bsonx_add_time(&doc, "revokedAt", 0);
    b = store_batch_create(st, STORE_URGENT);
    docs[0] = &doc;
    store_require(b, store_insert(b, TOKENS_COLL, docs, 1), ERR_INTERNAL, "internal");
    audit_op(b, "token.create", id, created_by, actor, now_ms);
    bson_destroy(&doc);
    *id_r = id;
    return docs_run(&b, err);
}

static void
from_doc(const bson_t *doc, struct token_doc *t_r)
{
    memset(t_r, 0, sizeof(*t_r));
    t_r->id = (uint64_t)bsonx_i64(doc, "_id", 0);
    t_r->actor = bsonx_str(doc, "actor");
    t_r->scopes = (uint32_t)bsonx_i64(doc, "scopes", 0);
    t_r->created_by = bsonx_str(doc, "createdBy");
    t_r->created_at_ms = bsonx_i64(doc, "createdAt", 0);
    t_r->revoked_at_ms = bsonx_i64(doc, "revokedAt", 0);
}

int
token_doc_find(
    struct store *st, const char *hash_hex, struct arena *a, struct token_doc *t_r, struct err *err)
{
    bson_t doc;

    if (docs_find_key(st, TOKENS_COLL, "hash", slice_str(hash_hex), "not_found", a, &doc, err) != 0)
        return -1;
    from_doc(&doc, t_r);
    if (t_r->revoked_at_ms != 0)
        return err_sub(err, ERR_NOTFOUND, "not_found", "the token was revoked");
    return 0;
}

int
token_doc_list(struct store *st, struct arena *a, const struct token_doc **tokens_r, size_t *n_r,
    struct err *err)
{
    bson_t filter = BSON_INITIALIZER;
    struct token_doc *tokens;
    const bson_t *docs;
    size_t n;
    int rc;

    rc = docs_find_many(st, TOKENS_COLL, STORE_BOUNDED, &filter, &(struct store_find){.limit = 500},
        a, &docs, &n, err);
    bson_destroy(&filter);
    if (rc != 0)
        return -1;
    tokens = arena_array(a, n, sizeof(*tokens));
    for (size_t i = 0; i < n; i++)
        from_doc(&docs[i], &tokens[i]);
    *tokens_r = tokens;
    *n_r = n;
    return 0;
}

int
token_doc_revoke(struct store *st, uint64_t id, struct slice actor, int64_t now_ms, struct err *err)
{
    struct store_batch *b = store_batch_create(st, STORE_URGENT);
    bson_t filter, update, set;
    unsigned op;

    bson_init(&filter);
    bsonx_add_i64(&filter, "_id", (int64_t)id);
    bson_append_null(&filter, "revokedAt", -1);
    bson_init(&update);
    bson_append_document_begin(&update, "$set", -1, &set);
    bsonx_add_time(&set, "revokedAt", now_ms);
    bson_append_document_end(&update, &set);
    op = store_update(b, TOKENS_COLL, STORE_INDEXED, &filter, &update, 0);
    store_require(b, op, ERR_NOTFOUND, "not_found");
    audit_op(b, "token.revoke", id, actor, SLICE_NONE, now_ms);
    bson_destroy(&update);
    bson_destroy(&filter);
    return docs_run(&b, err);
}
