#ifndef MODEL_SUPPRESSION_H
#define MODEL_SUPPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bson/bson.h>

#include "mailshot/states.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"
#include "model/mail_kind.h"

struct crypto_keys;
struct store;
struct store_batch;

#define SUPPRESSIONS_COLL "suppressions"

enum suppression_reason {
    SUPPRESSION_UNSUBSCRIBED = 0,
    SUPPRESSION_HARD_BOUNCE,
    SUPPRESSION_COMPLAINT,
    SUPPRESSION_MANUAL,
    SUPPRESSION_LIST_CLEANING,
    SUPPRESSION_GDPR_FORGET,
    SUPPRESSION_REASONS
};

/** Stored names; parsing gives -1 for an unknown one. */
const char *suppression_reason_name(enum suppression_reason r);
int suppression_reason_parse(struct slice name);
/** The verdict that a blocking row leads to. */
enum exclusion_reason suppression_exclusion(enum suppression_reason r);

/** "all", "marketing", "transactional" or "category:<dotted slug>". */
bool suppression_scope_valid(struct slice scope);
/** Does a row of this scope block a mail of this kind (and category, may be empty)? */
bool suppression_scope_blocks(struct slice scope, enum mail_kind kind, struct slice category);

/** One row: at most one per (address hash, scope, reason). */
struct suppression {
    uint64_t id;
    int64_t email_hash;
    struct slice email_mac; /* 64 hex characters: the whole keyed hash */
    struct slice email;     /* address key; empty when hashed only */
    struct slice scope;
    enum suppression_reason reason;
    struct slice source, notes;
    int64_t added_at_ms, expires_at_ms; /* 0 = permanent */
};

/** An address in the three forms rows need. */
struct suppression_address {
    struct slice key; /* borrowed */
    int64_t hash;
    char mac_hex[65];
};
void suppression_address_of(
    const struct crypto_keys *keys, struct slice address_key, struct suppression_address *out_r);

/** What to add. */
struct suppression_add {
    const struct suppression_address *address;
    bool is_hash_only; /* do not store the address itself */
    struct slice scope;
    enum suppression_reason reason;
    struct slice source; /* ≤ 256 */
    struct slice notes;  /* ≤ 1024, empty = none */
    int64_t now_ms, expires_at_ms;
};

/**
 * Add a row or strengthen the one that stands: the later expiry wins, permanent before all; the first
 * addedAt stays. Also tells claims (store_note_suppressed). Idempotent; up to two operations.
 */
void suppression_add_ops(struct store_batch *b, const struct suppression_add *s);

/** Remove this address's own opt-outs (reason unsubscribed): scope marketing clears marketing and all,
 * all clears every scope, any other clears itself. Rows of other reasons stay. Returns the operation,
 * whose result.changed is the number removed. */
unsigned suppression_remove_optouts_op(
    struct store_batch *b, int64_t email_hash, struct slice scope);
/** Remove one row by id, whatever its reason, by hand. */
unsigned suppression_remove_op(struct store_batch *b, uint64_t id);

/** Add a read of the rows of up to 500 addresses; hashes of 0 are left out. One find gives at most 1000
 * rows: when result.n_docs says 1000, ask suppression_lookup() instead. */
unsigned suppression_lookup_op(struct store_batch *b, const int64_t *hashes, size_t n);

/**
 * Verdict per address, from the rows of one or more look-ups. `out[i]` belongs to `hashes[i]`:
 * -1 = may be mailed, else the enum suppression_reason that weighs most (erasure, complaint, hard
 * bounce, unsubscribed, list cleaning, manual). Expired rows count as absent.
 */
struct suppression_query {
    enum mail_kind kind;
    struct slice category;
    int64_t now_ms;
};
/** `hashes` may be in any order and hold repeats. */
void suppression_lookup_result(const struct store_batch *b, unsigned op,
    const struct suppression_query *q, const int64_t *hashes, size_t n, int8_t *out);
/** Blocking, pages through as many rows as there are; for workers. */
int suppression_lookup(struct store *st, const struct suppression_query *q, const int64_t *hashes,
    size_t n, int8_t *out, struct err *err);

/** All rows of one address, newest first; blocking. */
int suppression_list_address(struct store *st, int64_t email_hash, struct arena *a,
    const struct suppression **rows_r, size_t *n_r, struct err *err);
/** One page of all rows, id ascending after `after_id`, limit 1..500. */
int suppression_list(struct store *st, uint64_t after_id, unsigned limit, struct arena *a,
    const struct suppression **rows_r, size_t *n_r, struct err *err);

bool suppression_from_bson(const bson_t *doc, struct suppression *s_r);
/** {id, email, scope, reason, source, notes, addedAt, expiresAt}. */
void suppression_write_json(struct json_writer *w, const char *name, const struct suppression *s);

#endif
