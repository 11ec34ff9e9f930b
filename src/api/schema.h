#ifndef API_SCHEMA_H
#define API_SCHEMA_H

#include <stddef.h>

#include "api/api.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

struct http_param;

/** Everything that is wrong with a request, not just the first thing. */
struct api_faults {
    struct buf text;   /* "path: problem; path: problem" */
    struct buf issues; /* elements of a JSON array of {path, problem} */
    struct json_writer issues_w;
    unsigned n;
};

void api_faults_init(struct api_faults *f);
void api_faults_deinit(struct api_faults *f);
/** Note one fault. An empty path is shown as "body". Beyond fifty, faults are only counted. */
void api_faults_add(struct api_faults *f, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/** 0 without faults. Else -1, `err` as "validation_failed" and, on the call, the full text as its
 * message and `issues` as a detail. */
int api_faults_raise(struct api_faults *f, struct api_call *c, struct err *err);

/** Check a JSON body: required members, types, bounds, unknown members. `fields` NULL = none. */
void api_schema_body(const struct api_field *fields, const struct json *body, struct api_faults *f);
/** Check query parameters the same way; values are texts of the type. */
void api_schema_query(const struct api_field *fields, const struct http_param *params, size_t n,
    struct api_faults *f);

/** The fields as one JSON Schema object (draft 2020-12), for descriptions. */
void api_schema_write(struct json_writer *w, const char *name, const struct api_field *fields);
/** One field as a JSON Schema. */
void api_schema_write_field(struct json_writer *w, const char *name, const struct api_field *f);
/** Word for a type in descriptions: "string", "slug", "time", ... */
const char *api_field_type_name(enum api_field_type type);

#endif
