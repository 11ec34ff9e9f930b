#ifndef API_DISPATCH_H
#define API_DISPATCH_H

#include <stddef.h>

#include "api/api.h"

struct api;
struct http_request;

/**
 * The API over HTTP: routes, authenticates before the body is read, runs handlers on a pool of
 * workers and answers in the loop. `env` must outlive it; its members `table` and `auth` are set
 * here. `groups` as in api_table_create().
 */
struct api *api_create(struct loop *l, struct api_env *env, const struct api_route *const *groups);
/** The daemon is stopping: long polls that wait are answered 503 at once, and new ones do not wait. */
void api_quiesce(struct api *a);
/** After http_server_free() of every server that uses it, from the loop thread. */
void api_free(struct api **a);

/** Members of struct http_handlers for the server's public port and the control socket; `arg` is
 * the struct api. */
size_t api_http_head(struct http_request *r, void *arg);
void api_http_body(struct http_request *r, void *arg);
/** Calls that are with a worker or waiting in a long poll. */
size_t api_in_work(const struct api *a);

#endif
