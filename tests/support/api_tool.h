#ifndef SUPPORT_API_TOOL_H
#define SUPPORT_API_TOOL_H

#include <stdint.h>

#include "api/api.h"
#include "base/json.h"
#include "support/engine.h"

struct api_local;

/** The API's handlers over an engine, as a daemon has them: each call runs on a thread of its own while
 * the loop turns. The caller is the owner. Anything that is not as expected fails the test. */
struct api_tool {
    struct engine *engine;
    struct api_env env;
    struct api_local *local;
    unsigned status;
    struct json *answer; /* of the last call, NULL when there was no JSON */
    struct buf raw;
};

/** Start an engine with a folder of this name and the routes of the API over it. */
void api_tool_open(struct api_tool *t, struct engine *e, const char *name);
void api_tool_close(struct api_tool *t);

/** One call that must be answered with this status. Single quotes in `body` (NULL = none) stand for double
 * ones. Returns the answer, which lives until the next call. */
const struct json *api_tool_call(
    struct api_tool *t, const char *method, const char *target, const char *body, unsigned status);
/** The same with the body as it is. */
const struct json *api_tool_raw(
    struct api_tool *t, const char *method, const char *target, struct slice body, unsigned status);
/** One call that must be refused with this status and word, which its route must have declared. */
const struct json *api_tool_refuse(struct api_tool *t, const char *method, const char *target,
    const char *body, unsigned status, const char *error);

/** A member of the last answer by its path ("items.0.email"); must be there, of this type. */
const struct json *api_tool_get(const struct api_tool *t, const char *path);
int64_t api_tool_int(const struct api_tool *t, const char *path);
/** In a static buffer, until the next call but three. "" for null. */
const char *api_tool_str(const struct api_tool *t, const char *path);
bool api_tool_bool(const struct api_tool *t, const char *path);

/** Refusals as a table, ended by method NULL. */
struct api_tool_case {
    const char *method, *target, *body;
    unsigned status;
    const char *error;
};
void api_tool_refuse_all(struct api_tool *t, const struct api_tool_case *cases);

#endif
