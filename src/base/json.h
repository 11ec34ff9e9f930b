#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/** A parsed JSON value. Strings are well-formed UTF-8 without U+0000; keys of an object are unique. */
struct json;

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/**
 * Parse one JSON text (RFC 8259). Refused with ERR_INVALID, sub "invalid_json": trailing bytes,
 * nesting deeper than `max_depth` (0 = 32, at most 48), ill-formed UTF-8, \u0000, numbers beyond
 * the range of a double, duplicate keys, more than `max_nodes` values (0 = 100000). The text needs no
 * NUL and may be forgotten afterwards. NULL on failure; the caller frees the result.
 */
struct json *json_parse(struct slice text, unsigned max_depth, unsigned max_nodes, struct err *err);
void json_free(struct json **j);

/** `j` must not be NULL. */
enum json_type json_type(const struct json *j);
/** Member by exact name, borrowed; NULL when absent or `j` is no object (or NULL). */
const struct json *json_get(const struct json *j, const char *name);
/** Element of an array, borrowed, or NULL. Walking with json_first/json_next is linear. */
const struct json *json_at(const struct json *j, size_t i);
/** Number of elements or members; 0 for other types and NULL. Linear. */
size_t json_count(const struct json *j);
/** First element or member, or NULL; then its followers, NULL at the end. Borrowed. */
const struct json *json_first(const struct json *j);
const struct json *json_next(const struct json *j);
/** Name of a member reached by json_first/json_next of an object. */
struct slice json_name(const struct json *j);

/** False when `j` is NULL. */
bool json_is(const struct json *j, enum json_type type);
/** String value, borrowed; empty with p NULL when `j` is NULL or no string. */
struct slice json_str(const struct json *j);
/** The value, or `fallback` when `j` is NULL or of another type. */
bool json_bool(const struct json *j, bool fallback);
double json_num(const struct json *j, double fallback);
/** True when `j` is a number without fraction within ±(2^53 − 1), where every integer is exact. */
bool json_int(const struct json *j, int64_t *value_r);

/**
 * Streaming writer: appends to `out`, keeps commas right, escapes by RFC 8259 §7 (and "<" as
 * \u003c so that output is safe inside a page). Names are written for members of objects and NULL
 * for elements of arrays. Nesting up to 64. Bytes that are not UTF-8 are written as U+FFFD.
 */
struct json_writer {
    struct buf *out;
    uint64_t comma; /* bit per level: a value was written */
    unsigned depth;
    bool has_key; /* jw_key() was called, its value is still to come */
};

void jw_init(struct json_writer *w, struct buf *out);
void jw_obj(struct json_writer *w, const char *name);
void jw_arr(struct json_writer *w, const char *name);
void jw_end_obj(struct json_writer *w);
void jw_end_arr(struct json_writer *w);
/** An empty slice, also with p NULL, writes "". */
void jw_str(struct json_writer *w, const char *name, struct slice v);
/** NULL writes null. */
void jw_cstr(struct json_writer *w, const char *name, const char *v);
void jw_int(struct json_writer *w, const char *name, int64_t v);
/** Shortest decimal that reads back as the same double; NaN and infinity write null. */
void jw_num(struct json_writer *w, const char *name, double v);
void jw_bool(struct json_writer *w, const char *name, bool v);
void jw_null(struct json_writer *w, const char *name);
/** An id as its 13 characters; 0 writes null. */
void jw_id(struct json_writer *w, const char *name, uint64_t id);
/** ISO-8601 UTC with milliseconds; 0 writes null. */
void jw_time(struct json_writer *w, const char *name, int64_t ms);
/** Already serialised JSON, copied as it is. */
void jw_raw(struct json_writer *w, const char *name, struct slice json);
/** A parsed value, serialised; NULL writes null. */
void jw_json(struct json_writer *w, const char *name, const struct json *v);
/** Name given as a slice (keys from data); the next value is then written with name NULL. */
void jw_key(struct json_writer *w, struct slice name);

#endif
