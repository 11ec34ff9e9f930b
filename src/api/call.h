#ifndef API_CALL_H
#define API_CALL_H

#include "api/api.h"

/** Ready for a handler: empty answer, writers set up. `c` is zeroed by the caller beforehand; env,
 * arena, actor, route, params and query are filled in afterwards. */
void api_call_init(struct api_call *c);
void api_call_deinit(struct api_call *c);
/** Forget what was answered, so that the handler can be called again. */
void api_call_reset(struct api_call *c);

#endif
