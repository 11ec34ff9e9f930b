#ifndef API_LOCAL_H
#define API_LOCAL_H

#include "api/api.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct api_local;

/**
 * The same routes and handlers without HTTP: for tools that hold the data folder because no daemon
 * runs. The caller is the owner. `env->table` is set here.
 */
struct api_local *api_local_create(struct api_env *env, const struct api_route *const *groups);
void api_local_free(struct api_local **l);

/**
 * Run one route to its end on the calling thread; a long poll sleeps between its calls. `target` is
 * a path with an optional query, percent-encoded as in a URL. The answer's body is appended to
 * `out` and its HTTP status returned; a target that cannot be parsed is answered 400 as well.
 */
unsigned api_local_run(struct api_local *l, const char *method, const char *target,
    struct slice body, struct buf *out);

#endif
