#ifndef MODEL_CONTACT_H
#define MODEL_CONTACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"
#include "message/value.h"

struct crypto_keys;
struct store;
struct store_batch;

#define CONTACT_MAX_TAGS         500
#define CONTACT_MAX_TAG          128          /* characters */
#define CONTACT_MAX_EXTERNAL_ID  256          /* bytes */
#define CONTACT_MAX_FIELDS_BYTES (256 * 1024) /* BSON size of the fields */
#define CONTACT_MAX_FIELDS_DEPTH 16
#define CONTACTS_COLL            "contacts"

/** One person. Slices borrow from the document or the arena it was read into. */
struct contact {
    uint64_t id;
    struct slice external_id; /* the caller's key; unique. The id's text when none was given */
    struct slice email;       /* as given, trimmed; empty after erasure */
    struct slice email_key;   /* address key: every comparison uses it */
    int64_t email_hash;       /* crypto_address_hash() of the key; 0 when blank */
    const struct slice *tags;
    size_t n_tags;
    struct slice fields; /* BSON bytes of the sub-document; empty = none */
    struct slice timezone, locale;
    int64_t created_at_ms, updated_at_ms, deleted_at_ms;
};

#define CONTACT_SET_EXTERNAL_ID (1u << 0)
#define CONTACT_SET_EMAIL       (1u << 1)
#define CONTACT_SET_TAGS        (1u << 2)
#define CONTACT_SET_FIELDS      (1u << 3) /* members given replace, null removes, others stay */
#define CONTACT_SET_TIMEZONE    (1u << 4) /* empty clears */
#define CONTACT_SET_LOCALE      (1u << 5) /* empty clears */
#define CONTACT_REPLACE_FIELDS  (1u << 6) /* with SET_FIELDS: the whole sub-document */
#define CONTACT_ADD_TAGS        (1u << 7) /* with SET_TAGS: add to what is there */

/** What a caller wants a contact to be. Only members whose bit is in `set` count. */
struct contact_input {
    unsigned set;
    struct slice external_id, email;
    const struct slice *tags;
    size_t n_tags;
    struct slice fields; /* BSON bytes of one document */
    struct slice timezone, locale;
};

/**
 * Read {externalId, email, tags, fields, timezone, locale} from a JSON object; other members are
 * ignored (the caller's schema refuses them). Strings borrow from `body`, built parts from `a`.
 * ERR_INVALID names the field.
 */
int contact_input_from_json(
    const struct json *body, struct arena *a, struct contact_input *in_r, struct err *err);
/**
 * Check every member that is set: address syntax, well-formed UTF-8 without control characters (line
 * ends are refused everywhere, so no value can break a header), sizes, time zone known, locale in
 * BCP 47 form (RFC 5646). ERR_INVALID with `field` set.
 */
int contact_input_check(const struct contact_input *in, struct err *err);

/** Key and hash of an address as people give it: key appended to `key`, hash never 0. ERR_INVALID with
 * field "email". */
int contact_address(const struct crypto_keys *keys, struct slice email, struct buf *key,
    int64_t *hash_r, struct err *err);

/** Checks, makes the id, inserts. Blocking. The address is required. ERR_CONFLICT "contact_exists"
 * when the external id is taken. `c_r` lives in `a`. */
int contact_create(struct store *st, const struct crypto_keys *keys, const struct contact_input *in,
    int64_t now_ms, struct arena *a, struct contact *c_r, struct err *err);
/** Change the members in `in->set` and return the contact as it is afterwards. Blocking. A new address
 * moves the contact's subscription to it in the same batch. ERR_NOTFOUND "contact_not_found",
 * ERR_CONFLICT "contact_exists". */
int contact_patch(struct store *st, const struct crypto_keys *keys, uint64_t id,
    const struct contact_input *in, int64_t now_ms, struct arena *a, struct contact *c_r,
    struct err *err);
/** The same as operations of a batch, for bulk writers. `old` is the contact as it was read: the merged
 * sizes are checked against it. `in` has been checked. `op_r` (may be NULL) gets the update. */
int contact_patch_ops(struct store_batch *b, const struct crypto_keys *keys,
    const struct contact *old, const struct contact_input *in, int64_t now_ms, unsigned *op_r,
    struct err *err);
/** Add reads of contacts that have one of these external ids or address hashes, up to 500 each, not
 * erased. Either list may be empty: then its operation is left out and its number is not written. */
void contact_match_ops(struct store_batch *b, const struct slice *external_ids, size_t n_ids,
    unsigned *ids_op_r, const int64_t *hashes, size_t n_hashes, unsigned *hashes_op_r);
/** Add and remove tags (set semantics) in one update. Blocking. */
int contact_change_tags(struct store *st, uint64_t id, const struct slice *add, size_t n_add,
    const struct slice *remove, size_t n_remove, int64_t now_ms, struct arena *a,
    struct contact *c_r, struct err *err);

/** Readers; blocking, result in `a`. ERR_NOTFOUND "contact_not_found". Erased contacts are not found. */
int contact_get(
    struct store *st, uint64_t id, struct arena *a, struct contact *c_r, struct err *err);
int contact_get_external(struct store *st, struct slice external_id, struct arena *a,
    struct contact *c_r, struct err *err);
/** The oldest contact with this address. ERR_INVALID when it is none. */
int contact_get_email(struct store *st, const struct crypto_keys *keys, struct slice email,
    struct arena *a, struct contact *c_r, struct err *err);

/** Add a read of up to 1000 contacts by id; its documents go through contact_from_bson(). */
unsigned contact_find_op(struct store_batch *b, const uint64_t *ids, size_t n);

/** One page of contacts, id ascending. */
struct contact_list {
    uint64_t after_id;         /* 0 = from the start */
    unsigned limit;            /* 1..500; ERR_INVALID otherwise */
    struct slice email_prefix; /* of the address key; empty = any */
    struct slice external_prefix;
    struct slice tag; /* empty = any */
};
struct contact_page {
    const struct contact *contacts;
    size_t n;
    bool has_more; /* continue after the last id of this page */
};
int contact_list(struct store *st, const struct contact_list *q, struct arena *a,
    struct contact_page *page_r, struct err *err);

/** Read a stored document; false when it is none of ours. Strings borrow from `doc`. */
bool contact_from_bson(const bson_t *doc, struct arena *a, struct contact *c_r);
/** {id, externalId, email, tags, fields, timezone, locale, createdAt, updatedAt}. */
void contact_write_json(struct json_writer *w, const char *name, const struct contact *c);
/** What templates see as `contact`: {id, externalId, email, tags, fields, timezone, locale}. Borrows
 * from `c`; lives as long as `a` and the contact's document. */
void contact_to_value(struct arena *a, const struct contact *c, struct value *out_r);
/** A new contact's document, checked input, appended to an initialised `doc`. For batches. */
int contact_build(const struct crypto_keys *keys, const struct contact_input *in, uint64_t id,
    int64_t now_ms, bson_t *doc, struct err *err);

#endif
