#ifndef API_RUN_H
#define API_RUN_H

#include <stdbool.h>

#include "api/api.h"
#include "base/err.h"
#include "base/slice.h"

/**
 * Run one call from its body to its answer, without any transport: parse, check against the row's
 * schemas, take the idempotency key, call the handler, make the error object. Afterwards
 * status, out, content_type and retry_after_s hold the answer, always a complete one; or again_ms
 * is set and the caller runs it again after that time. Blocks on the store; any thread.
 */
void api_run(struct api_call *c, struct slice body);

/** What api_run() needs to know beyond the call. */
struct api_run_extra {
    struct slice idempotency_header; /* p NULL = none */
    bool is_replay;                  /* out: the answer is that of an earlier call */
};
void api_run_with(struct api_call *c, struct slice body, struct api_run_extra *extra);

/** Turn an error into the answer of the call. Logs what the answer hides. */
void api_run_fail(struct api_call *c, const struct err *err);

#endif
