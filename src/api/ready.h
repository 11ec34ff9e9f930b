#ifndef API_READY_H
#define API_READY_H

#include <stdbool.h>

#include "base/json.h"

/**
 * Which parts of the daemon are ready. A part is known from its first api_ready_set() on. Belongs to
 * the loop thread, as does the handler of /readyz that reads it.
 */
struct api_ready;

struct api_ready *api_ready_create(void);
void api_ready_free(struct api_ready **r);
/** `name` is a constant; `reason` is copied (NULL = none) and shown while the part is not ready. */
void api_ready_set(struct api_ready *r, const char *name, bool ok, const char *reason);
/** The same for a part without which requests are answered all the same: it is shown, and counts
 * for nothing in api_ready_all(). A part is set or noted, never both. */
void api_ready_note(struct api_ready *r, const char *name, bool ok, const char *reason);
/** All parts that were set are ready. */
bool api_ready_all(const struct api_ready *r);
/** An object {"<part>": {"ok": bool, "reason"?: text}} in order of first setting. */
void api_ready_write(const struct api_ready *r, struct json_writer *w, const char *name);

#endif
