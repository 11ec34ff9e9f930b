#ifndef MODEL_TOKEN_DOC_H
#define MODEL_TOKEN_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct store;

#define TOKENS_COLL "tokens"

/** One API token. The token itself is never stored, only its SHA-256. */
struct token_doc {
    uint64_t id;
    struct slice actor; /* label on every audit row: "agent:deploy-bot" */
    uint32_t scopes;    /* bits as the API numbers them; stored by name by the caller's table */
    int64_t created_at_ms, revoked_at_ms; /* 0 = in force */
    struct slice created_by;
};

/** SHA-256 of a token in hex, NUL-terminated: the key it is found by. */
void token_doc_hash(struct slice token, char out[65]);
/** Make a token: 32 random bytes as "mst_" and base64url, appended to `token_out` and shown once.
 * Audited, blocking. `actor` is 1–128 printable characters. */
int token_doc_create(struct store *st, struct slice actor, uint32_t scopes, struct slice created_by,
    int64_t now_ms, struct buf *token_out, uint64_t *id_r, struct err *err);
/** The token in force with this hash; ERR_NOTFOUND when unknown or revoked. Blocking. */
int token_doc_find(struct store *st, const char *hash_hex, struct arena *a, struct token_doc *t_r,
    struct err *err);
/** All tokens, id ascending (at most 500). */
int token_doc_list(struct store *st, struct arena *a, const struct token_doc **tokens_r,
    size_t *n_r, struct err *err);
/** ERR_NOTFOUND "not_found" when unknown or revoked already. Audited, blocking. */
int token_doc_revoke(
    struct store *st, uint64_t id, struct slice actor, int64_t now_ms, struct err *err);

#endif
