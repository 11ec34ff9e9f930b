#ifndef BASE_BSONX_H
#define BASE_BSONX_H

#include <stdbool.h>
#include <stdint.h>

#include <bson/bson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/slice.h"

/** Short helpers over libbson. Readers give the fallback when the path is absent, null or of
 * another type. Paths are dotted ("fields.city"); array elements by index ("a.0"). */
bool bsonx_find(const bson_t *doc, const char *path, bson_iter_t *it_r);
struct slice bsonx_str(const bson_t *doc, const char *path);
/** Any of int32, int64, double with an integral value, or date (milliseconds). */
int64_t bsonx_i64(const bson_t *doc, const char *path, int64_t fallback);
double bsonx_num(const bson_t *doc, const char *path, double fallback);
bool bsonx_bool(const bson_t *doc, const char *path, bool fallback);
/** Borrowed sub-document or array; false when absent. `out` must not be destroyed. */
bool bsonx_doc(const bson_t *doc, const char *path, bson_t *out);
struct slice bsonx_bin(const bson_t *doc, const char *path);

void bsonx_add_str(bson_t *doc, const char *key, struct slice v);
/** Writes null when the slice's p is NULL (bsonx_add_str() writes "" then). */
void bsonx_add_str_or_null(bson_t *doc, const char *key, struct slice v);
void bsonx_add_i64(bson_t *doc, const char *key, int64_t v);
void bsonx_add_bool(bson_t *doc, const char *key, bool v);
/** UTC date; 0 writes null. */
void bsonx_add_time(bson_t *doc, const char *key, int64_t ms);
void bsonx_add_bin(bson_t *doc, const char *key, struct slice v);

/** A view of stored bytes as a document; false when they are not one well-formed document. */
bool bsonx_view(struct slice bytes, bson_t *out);
struct slice bsonx_bytes(const bson_t *doc);

/**
 * JSON object to BSON: numbers without fraction within ±(2^53 − 1) become int64, others double,
 * strings stay strings. `out` is initialised here; on success the caller destroys it. Refused (ERR_INVALID): empty keys, keys that start with '$' or hold '.' or
 * NUL, nesting deeper than `max_depth`.
 */
int bsonx_from_json(const struct json *j, unsigned max_depth, bson_t *out, struct err *err);
/** BSON to JSON: dates as ISO text, int64 as number within ±(2^53 − 1) else as text, binary as base64,
 * object ids as hex, types we do not write as null; so are levels deeper than the writer holds. */
void bsonx_to_json(struct json_writer *w, const char *name, const bson_t *doc);
/** As above for an array. */
void bsonx_arr_to_json(struct json_writer *w, const char *name, const bson_t *arr);

#endif
